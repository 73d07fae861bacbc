//! Lua scripts: what a server is sent by wrk and by us.

use std::path::Path;
use std::process::Command;

use super::recorder::Recorder;
use crate::programs::turn_with;
use crate::support::{Finished, plimsoll, run};

/// Our own examples.
fn examples() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lua");
    let mut paths: Vec<String> = std::fs::read_dir(directory)
        .expect("examples")
        .map(|entry| entry.expect("an entry").path().display().to_string())
        .filter(|path| path.ends_with(".lua"))
        .collect();
    paths.sort();
    paths
}

fn wrk(is_ours: bool, script: &str, url: &str) -> Finished {
    let arguments = ["-t1", "-c1", "-d1s", "-s", script, url];
    let mut command = if is_ours { plimsoll(&["wrk"]) } else { Command::new("wrk") };
    // Some read files beside them.
    let directory = Path::new(script).parent().expect("an absolute path");
    let finished = run(command.args(arguments).current_dir(directory));
    assert_eq!(finished.code, Some(0), "{script}: {finished:?}");
    finished
}

/// One connection: the order of requests is the script's alone.
#[test]
fn each_example_sends_what_it_sends_under_wrk() {
    let Some(_turn) = turn_with(&["wrk"]) else { return };
    let recorder = Recorder::start();
    let examples = examples();
    assert!(examples.len() >= 5, "{examples:?}");
    for script in &examples {
        let [theirs, ours] = [false, true].map(|is_ours| {
            wrk(is_ours, script, &recorder.url("/start?x=1"));
            recorder.take().into_iter().flatten().map(sorted).collect::<Vec<_>>()
        });
        let count = theirs.len().min(ours.len()).min(200);
        assert!(count > 0, "{script}: nothing was sent: {} and {}", theirs.len(), ours.len());
        assert_eq!(ours[..count], theirs[..count], "{script}");
    }
}

/// A request with its fields in order of their names: `pairs` gives them in none.
fn sorted(request: String) -> String {
    let (head, body) = request.split_once("\r\n\r\n").expect("a whole request");
    let mut lines: Vec<&str> = head.lines().collect();
    lines[1..].sort_unstable();
    format!("{}\n\n{body}", lines.join("\n"))
}
