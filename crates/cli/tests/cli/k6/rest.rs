//! `--address`, `--paused` and `--linger`, and the commands for a run elsewhere.

use rustix::process::Signal;

use super::World;
use crate::support::{Running, Stream, run};

#[test]
fn a_run_is_watched_and_resumed_from_elsewhere() {
    let world = World::new(
        "import { sleep } from 'k6'; export const options = { iterations: 3 };
         export default function () { sleep(0.01); }",
    );
    let flags = ["run", "-v", "--paused", "--linger", "--address", "127.0.0.1:0", "script.js"];
    let mut running = Running::start(&mut world.k6(&flags));
    let address = loop {
        let line = running.next_line(Stream::Err);
        if let Some((_, rest)) = line.split_once("the REST interface is at http://") {
            break rest.trim().trim_end_matches('"').to_owned();
        }
    };
    let ask = |command: &[&str]| {
        let finished = run(world.k6(command).env("K6_ADDRESS", &address));
        assert!(!finished.stderr.contains("panicked"), "{finished:?}");
        finished
    };
    let await_stage = |stage: &str| while !ask(&["status"]).stdout.starts_with(stage) {};
    await_stage("status: 4\npaused: \"true\"\n");
    let scaled = ask(&["scale", "-u", "5"]);
    assert_eq!(scaled.code, Some(255), "{scaled:?}");
    assert!(scaled.stderr.contains("Execution config error: the numbers of VUs"), "{scaled:?}");
    let resumed = ask(&["resume"]);
    assert_eq!((resumed.code, resumed.stderr.as_str()), (Some(0), ""), "{resumed:?}");
    await_stage("status: 9\npaused: \"false\"\n");
    let stats = ask(&["stats"]);
    let iterations = stats.stdout.split_once("- name: iterations\n").expect("a metric").1;
    assert!(iterations.contains("    count: 3\n"), "{stats:?}");
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("TOTAL RESULTS"), "{finished:?}");
    let gone = ask(&["status"]);
    assert_eq!(gone.code, Some(255), "{gone:?}");
    assert!(gone.stderr.contains("/v1/status: Connection refused"), "{gone:?}");
}
