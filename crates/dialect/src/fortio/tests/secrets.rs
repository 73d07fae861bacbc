//! Secrets of a command: no output shows them, and calls send them.

use plimsoll_core::details::Calls;
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::result::{RunResult, Tool};

use super::words;
use crate::WallTime;
use crate::fortio::pace::{Deal, schedule};
use crate::fortio::{Command, Host, Parts, Task, json, outcome, parse};

fn command(line: &str) -> Command {
    match parse(&words(line)) {
        Ok(Task::Load(command)) => *command,
        other => panic!("{line}: {other:?}"),
    }
}

/// The `Authorization` that a command sends.
fn sent(command: &Command) -> Option<String> {
    let deal = Deal::of(command);
    let parts = Parts { descriptors: vec![1], ..Parts::default() };
    let schedule = schedule(command, &deal).expect("times");
    let plan = command.plan(Endpoint::http("h", 80, "/"), &parts, &deal, schedule);
    let plan = plan.expect("a plan");
    let mut fields = plan.request.headers.iter();
    let found = fields.find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    found.map(|(_, value)| value.reveal().clone())
}

fn document(command: &Command) -> String {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let mut run = RunResult::empty(tool, &Draft::new(Endpoint::http("h", 80, "/")));
    run.details.calls = Some(Box::new(Calls::new(&command.calls_plan())));
    let host = Host { name: "vm", started: WallTime { unix_ns: 0, offset_s: 0 } };
    let outcome = outcome(command, &Deal::of(command), &run, host, b"");
    String::from_utf8(json::file(&outcome.result).expect("JSON")).expect("text")
}

/// `me:hush`, as a header has it.
const HUSH: &str = "Basic bWU6aHVzaA==";

#[test]
fn passwords_are_sent_and_not_shown() {
    for (line, authorization, url) in [
        ("load -user me:hush http://h/?token=x", Some(HUSH), "http://h/?token=x"),
        ("load http://me:hush@h:1/a", None, "http://h:1/a"),
        ("load -stdclient http://me:hush@h:1/a", Some(HUSH), "http://h:1/a"),
        ("load -h2 me:hush@h/a@b", Some(HUSH), "http://h/a@b"),
        ("load https://me:h%75sh@h", Some(HUSH), "https://h"),
        ("load -stdclient -user a:b http://me:hush@h/", Some("Basic YTpi"), "http://h/"),
        ("load -stdclient http://me@h/", Some("Basic bWU6"), "http://h/"),
        ("load http://h/?mail=me@h", None, "http://h/?mail=me@h"),
        ("load h/?url=http://a@b/", None, "http://h/?url=http://a@b/"),
        ("load -H authorization:hush http://h/", Some("hush"), "http://h/"),
    ] {
        let command = command(line);
        assert_eq!(sent(&command).as_deref(), authorization, "{line}");
        assert_eq!(command.url(), url, "{line}");
        let document = document(&command);
        assert!(!document.contains("hush") && !document.contains("h%75sh"), "{line}: {document}");
        let shown = format!("\"URL\": \"{url}\"");
        assert!(document.contains(&shown), "{line}: {document}");
        assert!(!format!("{command:?}").contains("me:hush"), "{line}");
    }
    let masked = document(&command("load -user me:hush http://h/"));
    assert!(masked.contains("\"UserCredentials\": \"[masked:"), "{masked}");
    assert!(document(&command("load http://h/")).contains("\"UserCredentials\": \"\""));
}

/// Metadata of calls stand in the result, each by its name.
#[test]
fn metadata_is_shown_without_its_secrets() {
    let document = document(&command("load -grpc -H authorization:hush -H te:trailers h:1"));
    assert!(!document.contains("hush"), "{document}");
    for shown in ["\"authorization\": [\n      \"[masked:", "\"te\": [\n      \"trailers\""] {
        assert!(document.contains(shown), "{shown} in {document}");
    }
}
