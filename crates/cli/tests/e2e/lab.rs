//! The shortest suite with a real nginx, twice, compared, and its page in a real browser.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::browser::nothing_is_cut;
use crate::programs::turn_with;
use crate::support::{check_schema, plimsoll, run};

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs/echo-servers/short.toml")
}

#[test]
fn the_shortest_suite_runs_and_is_compared_with_itself() {
    let Some(_turn) = turn_with(&["nginx", "chromium"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["one", "two"] {
        let mut lab = plimsoll(&["lab", "-o", name, "--work", "work"]);
        let finished = run(lab.arg(suite()).current_dir(folder.path()));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stdout.contains("nginx"), "{finished:?}");
        check(&folder.path().join(name));
    }
    // Two repeats are too few to tell anything: it says so, and no limit can be decided by them.
    for (limits, code) in [(&[][..], 0), (&["--fail-if", "p99>+10%"], 4)] {
        let mut compare = plimsoll(&["compare", "one/study.json", "two/study.json"]);
        let compared = run(compare.args(limits).current_dir(folder.path()));
        assert_eq!(compared.code, Some(code), "{compared:?}");
        // The report breaks its lines at the terminal's width.
        let words: Vec<&str> = compared.stdout.split_whitespace().collect();
        let said = words.join(" ");
        assert!(said.contains("4 cases: 4 can't tell"), "{said}");
        assert_eq!(said.contains("UNDECIDED, all 4 limits"), code == 4, "{said}");
    }
    let page = folder.path().join("one/report.html");
    shown(&page);
    nothing_is_cut(&[("lab", fs::read_to_string(page).expect("a page"))]);
}

/// Every case was measured, its server watched, and the reports are there.
fn check(folder: &Path) {
    let text = fs::read_to_string(folder.join("study.json")).expect("a study");
    let study: Value = serde_json::from_str(&text).expect("JSON");
    check_schema(&study, "study");
    let cases = study["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 4);
    for case in cases {
        let runs = case["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 2);
        for run in runs {
            assert_eq!(run["failure"], Value::Null, "{run}");
            let server = &run["server"];
            assert!(server["cpu_s"].as_f64().is_some_and(|cpu_s| cpu_s > 0.0), "{run}");
            let nginx = case["server"] == "nginx";
            assert!(server["processes_max"] == if nginx { 2 } else { 1 }, "{run}");
        }
    }
    let version = &study["servers"][0]["version"];
    assert!(version.as_str().is_some_and(|it| it.starts_with("nginx version:")), "{version}");
    for name in ["report.md", "report.csv", "report.html"] {
        let text = fs::read_to_string(folder.join(name)).expect(name);
        assert!(text.contains("nginx") && text.contains("plimsoll"), "{name}");
    }
}

/// The page as a browser makes it, without a word on its console.
fn shown(page: &Path) {
    let output = std::process::Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
        .args(["--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium");
    let dom = String::from_utf8_lossy(&output.stdout);
    assert!(dom.contains("<svg") && dom.contains("nginx"), "{}", dom.len());
    let console = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = console.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(said.is_empty(), "{said:?}");
}
