//! Pages as a browser lays them out: which of their parts are cut, at any width of a window.
//!
//! One Chromium holds every page in frames of every width, measures them when all are loaded, and
//! prints what it found. Frames stand for windows because a browser's own window has a least width.
//! The end-to-end tests of the program include this file, so it needs nothing of this crate.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// Widths of windows, from a phone to a large screen.
pub(crate) const WIDTHS_PX: [u32; 6] = [360, 414, 768, 1024, 1280, 1920];

/// Findings that a failing test prints.
const FINDINGS_SHOWN: usize = 60;

const SCRIPT: &str = include_str!("browser.js");

/// Whether there is a browser; a test without one says so and passes, unless
/// `PLIMSOLL_E2E=require` is set.
pub(crate) fn is_here() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = std::env::split_paths(&path).any(|folder| folder.join("chromium").is_file());
    let is_required = std::env::var("PLIMSOLL_E2E").as_deref() == Ok("require");
    assert!(is_here || !is_required, "no chromium on the PATH");
    is_here
}

/// Panics with what is cut in pages, each with a name, at any of the widths. Their looks are for
/// people to judge: a folder in `PLIMSOLL_PAGES` gets a copy of each.
pub(crate) fn nothing_is_cut(pages: &[(&str, String)]) {
    if let Some(folder) = std::env::var_os("PLIMSOLL_PAGES") {
        let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
        for (name, page) in pages {
            let path = Path::new(&folder).join(format!("{test}-{name}.html"));
            std::fs::write(path, page).expect("a folder that can be written");
        }
    }
    if !is_here() {
        writeln!(std::io::stderr(), "skipped: no chromium on the PATH").expect("stderr");
        return;
    }
    let findings = cut(pages);
    let shown = findings.iter().take(FINDINGS_SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(findings.is_empty(), "{} parts of pages are cut:\n{shown}", findings.len());
}

/// What is cut: a line for each part, with its page and the width.
pub(crate) fn cut(pages: &[(&str, String)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("frames.html");
    // A page ends the script that holds it, unless its tags look otherwise.
    let data = serde_json::json!({ "pages": pages, "widths": WIDTHS_PX });
    let data = data.to_string().replace('<', "\\u003c");
    let frames = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>frames</title><body>\n\
         <script id=\"pages\" type=\"application/json\">{data}</script>\n\
         <script>{SCRIPT}</script>\n"
    );
    std::fs::write(&file, frames).expect("a file in a folder of ours");
    let shown = dump(&file, &folder.path().join("profile"));
    let (_, found) = shown.split_once("<pre id=\"findings\">").expect("a list of findings");
    let (found, _) = found.split_once("</pre>").expect("the end of the list");
    let (count, lines) = found.split_once('\n').expect("what was measured, then what is cut");
    // A script that measures nothing would find nothing.
    let expected = pages.len() * WIDTHS_PX.len();
    assert_eq!(count, format!("{expected} measured"), "{lines}");
    let text = lines.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    text.lines().map(str::to_owned).collect()
}

/// The document of a file after the browser has worked on it.
fn dump(file: &Path, profile: &Path) -> String {
    // `timeout` ends a browser that hangs.
    let output = Command::new("timeout")
        .args(["--kill-after=5", "80", "chromium"])
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("a browser");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).expect("text")
}
