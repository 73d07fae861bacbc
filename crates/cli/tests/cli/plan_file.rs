//! Plan files from the outside: reports of several runs, their exit code, and what is refused
//! before the first one starts.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::closed::ClosedPort;
use crate::planned::Plan;
use crate::support::{Report, Running, Server, plimsoll, run};

#[test]
fn reports_come_one_after_the_other_with_the_names_of_their_runs() {
    let server = Server::start(&[]);
    let plan = Plan::new(&format!(
        "url = '{}'\nrequests = 20\njson = '{{name}}.json'\n\
         [[run]]\nname = 'one'\nconnections = 2\n[[run]]\nname = 'two'\nrequests = 30\n\
         [[run]]\nname = 'three'\nrequests = 40",
        server.url("/"),
    ));
    let finished = plan.run(&[]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    let headings: Vec<&str> =
        finished.stdout.lines().filter(|line| line.starts_with("== ")).collect();
    assert_eq!(headings, ["== one (1 of 3) ==", "== two (2 of 3) ==", "== three (3 of 3) =="]);
    for (name, requests) in [("one.json", 20), ("two.json", 30), ("three.json", 40)] {
        assert_eq!(plan.report(name).ledger(["completed"]), [requests], "{name}");
    }
}

#[test]
fn documents_come_one_after_the_other() {
    let server = Server::start(&[]);
    let plan = Plan::new(&format!("url = '{}'\n{}", server.url("/"), "[[run]]\n".repeat(3)));
    let finished = plan.run(&["--format", "json", "-n", "15"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let documents = serde_json::Deserializer::from_str(&finished.stdout);
    let documents: Vec<serde_json::Value> =
        documents.into_iter().map(|document| document.expect("a document")).collect();
    assert_eq!(documents.len(), 3);
    for document in documents {
        assert_eq!(Report::read(&document.to_string()).ledger(["completed"]), [15]);
    }
}

#[test]
fn the_worst_run_decides_the_exit_code() {
    let server = Server::start(&[]);
    let closed = ClosedPort::new();
    let nobody = closed.url();
    let fine = format!("[[run]]\nurl = '{}'\nrequests = 5\n", server.url("/"));
    let doubtful = format!(
        "[[run]]\nname = 'doubtful'\nurl = '{}'\nrequests = 2\nrequire-valid = true\n",
        server.url("/status/503"),
    );
    let refused = format!("[[run]]\nname = 'nobody'\nurl = '{nobody}'\nrequests = 2\n");
    for (runs, code) in [
        ([&fine, &fine, &fine], 0),
        ([&fine, &doubtful, &fine], 4),
        ([&doubtful, &refused, &fine], 1),
        ([&refused, &doubtful, &fine], 1),
    ] {
        let plan = Plan::new(&runs.map(String::as_str).concat());
        let finished = plan.run(&[]);
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert_eq!(finished.stderr.contains("run 'nobody': "), code == 1, "{finished:?}");
        assert_eq!(finished.stderr.contains("run 'doubtful' failed\n"), code != 0, "{finished:?}");
        // The others are run anyway.
        assert!(finished.stdout.contains("(3 of 3)"), "{finished:?}");
    }
}

#[test]
fn a_signal_ends_the_run_and_those_that_would_follow() {
    let server = Server::start(&[]);
    let plan = Plan::new(&format!(
        "url = '{}'\nduration = '60s'\nrate = 50\n[[run]]\nname = 'a'\n[[run]]\nname = 'b'\n",
        server.url("/"),
    ));
    let mut command = plimsoll(&["run", "plan.toml", "--timeseries", "{name}.ndjson"]);
    let mut running = Running::start(command.current_dir(plan.path()));
    assert_eq!(running.next_line(crate::support::Stream::Out), "== a (1 of 2) ==\n");
    let series = plan.path().join("a.ndjson");
    while running.ended().is_none() && length(&series) == 0 {
        std::thread::yield_now();
    }
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert!(finished.stdout.contains("interrupted after"), "{finished:?}");
    assert!(!finished.stdout.contains("== b"), "{finished:?}");
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

#[test]
fn nothing_runs_when_anything_in_the_file_is_wrong() {
    let server = Server::start(&[]);
    let first = format!("url = '{}'\nrequests = 5\n[[run]]\n[[run]]\n", server.url("/"));
    for (rest, beside, says) in [
        ("pipeline = 0", &[][..], "plan.toml:5: pipeline: pipeline = 0"),
        ("", &["-o", "report.txt"], "'run-1' and 'run-2' would both write 'report.txt'"),
        ("", &["--json", "x.json"], "put {name} into the path"),
        ("", &["--format", "html"], "-o '{name}.html'"),
        ("", &["-c", "0"], "-c 1 or more"),
    ] {
        let finished = Plan::new(&format!("{first}{rest}")).run(beside);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{finished:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
        assert!(finished.stderr.contains(says), "{finished:?}");
    }
}

#[test]
fn what_is_printed_can_be_run() {
    let server = Server::start(&[]);
    let printed = run(&mut plimsoll(&["--print-plan", "-n", "25", "-c", "5", &server.url("/")]));
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""), "{printed:?}");
    let plan = Plan::new(&printed.stdout);
    let again = plan.run(&["--print-plan"]);
    assert!(again.stdout.contains("[[run]]\nname = \"plan\"\n"), "{again:?}");
    let finished = plan.run(&["--format", "json"]);
    assert_eq!(Report::read(&finished.stdout).ledger(["completed"]), [25]);
}

#[test]
fn a_plan_file_that_is_not_there_is_missed_as_one() {
    for arguments in [&["run", "no/such.toml"][..], &["no/such.toml"], &["--plan", "no/such.toml"]]
    {
        let finished = run(&mut plimsoll(arguments));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished:?}");
        assert!(finished.stderr.contains("plan file 'no/such.toml'"), "{finished:?}");
    }
}

/// The plans of `examples/plans`, in little time.
#[test]
fn the_examples_run() {
    let server = Server::start(&[]);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plans");
    let mut count = 0;
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a file");
        let url = server.url("");
        assert!(text.contains("http://127.0.0.1:8080"), "{path:?} is not for plimsoll serve");
        // Durations of seconds become as many hundredths.
        let text = text.replace("http://127.0.0.1:8080", &url);
        let finished = Plan::new(&text.replace("0s\"", "00ms\"").replace("0s@", "00ms@")).run(&[]);
        assert_eq!(finished.code, Some(0), "{path:?}: {finished:?}");
        count += 1;
    }
    assert!(count >= 2, "{count} plans");
}
