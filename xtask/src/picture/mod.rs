//! `cargo xtask picture`: draws the report that README.md shows. The text is what `plimsoll report`
//! prints for `docs/pictures/report.json` on a terminal, so the picture can be made again whenever
//! the text report changes. A test of crate report fails when the picture is out of date.

mod svg;
mod terminal;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};

/// The report, as `plimsoll run --json` wrote it, and where its pictures go.
const FOLDER: &str = "docs/pictures";
/// The columns of the terminal: the widest that a report becomes.
const COLUMNS: u16 = 100;

/// Draws the pictures of both themes.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("picture takes no arguments");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--package", "plimsoll", "--", "report"])
        .arg(format!("{FOLDER}/report.json"))
        .env("COLUMNS", COLUMNS.to_string())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .current_dir(&root);
    let text = terminal::text_of(&mut command)?;
    for (name, theme) in [("light", svg::LIGHT), ("dark", svg::DARK)] {
        let path = format!("{FOLDER}/report-{name}.svg");
        let picture = svg::draw(&text, &theme).map_err(|error| anyhow!("the report: {error}"))?;
        fs::write(root.join(&path), picture).with_context(|| format!("cannot write {path}"))?;
        println!("{path}");
    }
    Ok(())
}
