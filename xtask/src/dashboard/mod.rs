//! `cargo xtask dashboard`: draws `dist/grafana/plimsoll.json` as it looks during a real run,
//! because Grafana is in no registry that this project uses. A real Prometheus gets the figures of
//! a run and is asked each panel's expressions, as Grafana would ask them; only the drawing is
//! ours.
//!
//! Absent on purpose: a test that the picture is up to date. It shows a measurement, and the next
//! one looks different.

mod answers;
mod draw;
mod panel;
mod scale;

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use self::answers::Prometheus;
use self::panel::Window;

/// Where the picture goes.
const PICTURE: &str = "docs/pictures/dashboard.svg";

/// A server that takes 0.4 ms for each request, one after another, so that it can take 2500/s. For
/// a while it gets more.
const PATH: &str = "/queue/400us";
const LOAD: [&str; 10] = [
    "--stages",
    "20s@500,20s@500..2k,15s@3k,25s@1k",
    "--shed-after",
    "1s",
    "--gate",
    "p99<2s",
    "--gate",
    "errors<1%",
    "--out-label",
    "run=nightly",
];

/// Draws the picture. It takes a minute and a half.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("dashboard takes no arguments");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("dist/grafana/plimsoll.json"))?;
    let dashboard: Value = serde_json::from_str(&text).context("the dashboard")?;
    let folder = std::env::temp_dir().join(format!("plimsoll-dashboard-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let drawn = draw_run(&root, &folder, &dashboard);
    // What Prometheus stored is of no further use.
    let _ = fs::remove_dir_all(&folder);
    fs::write(root.join(PICTURE), drawn?).with_context(|| format!("cannot write {PICTURE}"))?;
    println!("{PICTURE}");
    Ok(())
}

fn draw_run(root: &Path, folder: &Path, dashboard: &Value) -> Result<String> {
    let (_prometheus, address) = prometheus(folder)?;
    let (_server, server) = server(root)?;
    let out = format!("prometheus-rw=http://{address}");
    let url = format!("http://{server}{PATH}");
    let mut command = plimsoll(root);
    command.arg("run").args(LOAD).args(["--no-progress", "--out", &out, &url]);
    let status = command.status().context("plimsoll run")?;
    // A gate that fails is part of the picture.
    if !matches!(status.code(), Some(0 | 3)) {
        bail!("plimsoll run: {status}");
    }
    let prometheus = Prometheus::at(address);
    let window = Window::of(&prometheus)?;
    let panels = panel::all(dashboard, &prometheus, window)?;
    let marks = panel::marks(dashboard, &prometheus, window)?;
    Ok(draw::dashboard(&panels, &marks, window))
}

/// A process that is ended with what holds it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn prometheus(folder: &Path) -> Result<(Running, String)> {
    let config = folder.join("prometheus.yml");
    fs::write(&config, "scrape_configs: []\n")?;
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
        .args(["--web.listen-address=127.0.0.1:0", "--web.enable-remote-write-receiver"])
        .stderr(Stdio::piped());
    let mut child = command.spawn().context("prometheus")?;
    let stderr = child.stderr.take().context("prometheus' stderr")?;
    let running = Running(child);
    let address = announced(stderr, "msg=\"Listening on\"", " address=")?;
    Ok((running, address))
}

fn server(root: &Path) -> Result<(Running, String)> {
    let mut command = plimsoll(root);
    command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut child = command.spawn().context("plimsoll serve")?;
    let stdout = child.stdout.take().context("plimsoll serve's stdout")?;
    let running = Running(child);
    let address = announced(stdout, "listening on", "http://")?;
    Ok((running, address))
}

/// The program as Cargo builds it, in the place of Cargo's process.
fn plimsoll(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet", "--package", "plimsoll", "--"]).current_dir(root);
    command
}

/// The address that a program says it listens on: in the line with `word`, behind `key`. What it
/// says after that is read and dropped, so that it can go on.
fn announced(stream: impl Read + Send + 'static, word: &str, key: &str) -> Result<String> {
    let mut lines = BufReader::new(stream).lines();
    for line in &mut lines {
        let line = line?;
        let behind = line.split(key).nth(1).filter(|_| line.contains(word));
        if let Some(address) = behind.and_then(|rest| rest.split_whitespace().next()) {
            let address = address.to_owned();
            std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
            return Ok(address);
        }
    }
    bail!("a program ended before it listened")
}
