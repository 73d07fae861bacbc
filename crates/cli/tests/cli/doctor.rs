//! `plimsoll doctor` from the outside: its report on this host, whatever host that is, and on
//! planned runs.

use serde_json::Value;

use crate::closed::ClosedPort;
use crate::support::{Finished, plimsoll, run};
use crate::usage::with_open_files;

fn document(finished: &Finished) -> Value {
    assert_eq!(finished.stderr, "");
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

fn check<'a>(document: &'a Value, name: &str) -> &'a Value {
    let checks = document["checks"].as_array().expect("a list");
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn the_host_is_described_in_json() {
    let finished = run(&mut plimsoll(&["doctor", "--quick", "--json"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document = document(&finished);
    assert_eq!(document["schema"], "plimsoll/doctor/1");
    assert_eq!(document["tool"]["name"], "plimsoll");
    let checks = document["checks"].as_array().expect("a list");
    for check in checks {
        for key in ["group", "name", "value"] {
            assert!(check[key].as_str().is_some_and(|text| !text.is_empty()), "{check}");
        }
        let is_good = check["level"] == "good";
        assert!(is_good || ["warn", "bad"].contains(&check["level"].as_str().unwrap()), "{check}");
        assert_eq!(check["advice"].is_null(), is_good, "{check}");
    }
    for name in
        ["open_files", "local_ports", "conntrack", "cpus", "smt", "clock_read", "timer_sleep"]
    {
        check(&document, name);
    }
    for name in ["io_uring", "epoll", "hypervisor", "governor", "cpu_quota"] {
        check(&document, name);
    }
    assert_eq!(check(&document, "epoll")["level"], "good");
    assert!(checks.iter().all(|check| check["group"] != "floor"), "--quick leaves the floor out");
}

#[test]
fn the_host_is_described_in_words_without_colour() {
    let finished = run(&mut plimsoll(&["doctor", "--quick"]));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    for word in ["limits\n", "open files", "drivers\n", "to look at"] {
        assert!(finished.stdout.contains(word), "{}", finished.stdout);
    }
    assert!(!finished.stdout.contains('\u{1b}'), "{}", finished.stdout);
}

#[test]
fn a_limit_too_low_for_a_planned_run_is_named() {
    let closed = ClosedPort::new();
    let url = closed.url();
    let planned = ["run", "-c", "100", "-r", "50", &url];
    let doctor = |flags: &[&str]| {
        let arguments = [&["doctor", "--quick", "--json"], flags, &planned[..]].concat();
        with_open_files(64, &arguments).expect("limits may be lowered")
    };
    let finished = doctor(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document = document(&finished);
    let files = check(&document, "files");
    assert_eq!((&files["level"], &files["group"]), (&"bad".into(), &"plan".into()));
    assert!(files["value"].as_str().unwrap().contains("136 file descriptors needed, 64 allowed"));
    assert!(files["advice"].as_str().unwrap().contains("ulimit -n"));
    assert_eq!(document["worst"], "bad");
    for name in ["threads", "ports", "connections", "tester_cpu", "placement"] {
        assert_eq!(check(&document, name)["group"], "plan");
    }
    assert_eq!(doctor(&["--strict"]).code, Some(1));
}

#[test]
fn a_planned_run_is_read_as_run_reads_it() {
    for (arguments, says) in [
        (&["doctor", "--quick", "run"][..], "URL"),
        (&["doctor", "--quick", "run", "-c", "0", "http://127.0.0.1:1/"], "-c"),
        (&["doctor", "--quick", "run", "gopher://a/"], "'gopher'"),
        (&["doctor", "bogus"], "bogus"),
    ] {
        let finished = run(&mut plimsoll(arguments));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(finished.stderr.contains(says), "{arguments:?}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    }
}
