//! fortio and us, side by side: the same lines, the same keys, the same counts, and the same
//! requests on the wire. fortio 1.66 and later are compared.

use std::process::Command;

use super::fortio_server::Echo;
use super::outputs::shape;
use super::recorder::Recorder;
use crate::nginx::Nginx;
use crate::programs::{share_with, turn_with};
use crate::support::{Finished, plimsoll, run};

/// fortio's run, and ours in fortio's own pace.
pub(super) fn both(arguments: &[&str]) -> [Finished; 2] {
    let theirs = run(Command::new("fortio").arg("load").args(arguments));
    let ours = run(&mut plimsoll(&[&["fortio", "load", "-as-original"], arguments].concat()));
    [theirs, ours]
}

/// Lines of the report, without the log and without buckets, whose number depends on the values.
pub(super) fn lines(finished: &Finished) -> Vec<String> {
    let is_wanted = |line: &&str| !line.starts_with(['{', '>']);
    let lines = finished.stderr.lines().filter(is_wanted);
    // Small numbers have exponents, and versions are each program's own.
    let without = |line: &str| {
        let plain = ["e-04", "e-05", "e-06", "e-07"]
            .iter()
            .fold(line.to_owned(), |line, end| line.replace(end, ""));
        plain.replacen(concat!("+plimsoll.", env!("CARGO_PKG_VERSION")), "", 1)
    };
    lines.map(|line| shape(&without(line))).collect()
}

/// Keys of the outermost object, in order.
pub(super) fn keys(document: &str) -> Vec<&str> {
    let lines = document.lines().filter_map(|line| line.strip_prefix("  \""));
    lines.filter_map(|line| line.split('"').next()).collect()
}

/// Lines that have the same figures in any run of these flags.
fn counts(finished: &Finished) -> Vec<&str> {
    let starts = ["Code ", "Sockets used", "Starting at", "Uniform", "Response "];
    let is_wanted = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    finished.stderr.lines().filter(is_wanted).collect()
}

#[test]
fn fortio_load_prints_what_fortio_prints() {
    let Some(_turn) = turn_with(&["nginx", "fortio"]) else { return };
    let nginx = Nginx::start();
    let (url, missing) = (nginx.url("/"), nginx.url("/none"));
    for arguments in [
        &["-qps", "50", "-t", "1s", "-c", "2", "-json", "-", &url][..],
        &["-qps", "20", "-n", "5", "-c", "2", "-json", "-", &url],
        &["-qps", "40", "-n", "12", "-c", "3", "-uniform", "-jitter", "-r", "0.0001", &url],
        &["-qps", "0", "-n", "100", "-c", "4", "-quiet", &url],
        &["-qps", "10", "-n", "3", "-loglevel", "warning", "-labels", "a", &url],
        &["-qps", "10", "-n", "4", "-c", "2", "-keepalive=false", &url],
        &["-qps", "10", "-n", "4", "-c", "1", "-connection-reuse", "2:2", &url],
    ] {
        let [theirs, ours] = both(arguments);
        assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{arguments:?}: {ours:?}");
        assert_eq!(lines(&ours), lines(&theirs), "{arguments:?}");
        assert_eq!(counts(&ours), counts(&theirs), "{arguments:?}");
        assert_eq!(keys(&ours.stdout), keys(&theirs.stdout), "{arguments:?}");
    }
    for arguments in [&["-t", "1s", &missing][..], &["-x", &url], &["-p", "101", &url], &[]] {
        let [theirs, ours] = both(arguments);
        assert_eq!(ours.code, theirs.code, "{arguments:?}: {ours:?} {theirs:?}");
    }
}

#[test]
fn requests_are_those_of_fortio() {
    let Some(_turn) = turn_with(&["fortio"]) else { return };
    let recorder = Recorder::start();
    for flags in [
        &[][..],
        &["-H", "x-a: b", "-H", "Host: foo.bar"],
        &["-H", "user-agent:"],
        &["-payload", "hello", "-user", "a:b"],
        &["-payload", "hello", "-content-type", "text/plain", "-keepalive=false"],
        &["-content-type", "text/plain"],
        &["-X", "PUT"],
        &["-http1.0"],
        &["-keepalive=false"],
        &["-H", "content-type: a/b", "-payload", "zz"],
    ] {
        let url = recorder.url("/a?b=c");
        let all = [&["-quiet", "-qps", "0", "-n", "1", "-c", "1"], flags, &[&url]].concat();
        let seen = both(&all).map(|finished| finished.code);
        assert_eq!(seen, [Some(0); 2], "{flags:?}");
        let requests: Vec<String> =
            recorder.take().into_iter().flatten().map(unversioned).collect();
        assert_eq!(requests.len(), 2, "{flags:?}: {requests:?}");
        assert_eq!(requests[1], requests[0], "{flags:?}");
    }
}

/// Calls that are redirected count once, with the last status.
#[test]
fn loads_follow_redirects_as_fortios_do() {
    let Some(_turn) = turn_with(&["fortio"]) else { return };
    let server = Echo::start(Command::new("fortio"));
    let common = ["-L", "-qps", "100", "-c", "2", "-n", "8", "-json", "-"];
    for (flags, path) in [
        (&[][..], "?status=302&header=Location:/b"),
        (&["-payload", "abc"], "?status=307&header=Location:/b"),
        (&["-payload", "abc"], "?status=301&header=Location:/b"),
        (&["-X", "PUT", "-payload", "abc"], "?status=302&header=Location:/b?status=503"),
    ] {
        let url = format!("http://{}/{path}", server.address);
        let [theirs, ours] = both(&[&common[..], flags, &[&url]].concat());
        assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{flags:?}: {ours:?}");
        assert_eq!(lines(&ours), lines(&theirs), "{path}");
        assert_eq!(counts(&ours), counts(&theirs), "{path}");
        assert_eq!(keys(&ours.stdout), keys(&theirs.stdout), "{path}");
    }
}

/// A request without the number of fortio's version.
fn unversioned(request: String) -> String {
    let Some((before, after)) = request.split_once("fortio-") else { return request };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    format!("{before}fortio{rest}")
}

#[test]
fn clients_print_what_fortios_print() {
    let Some(_turn) = share_with(&["fortio"]) else { return };
    let server = Echo::start(Command::new("fortio"));
    let url = format!("http://{}", server.address);
    for (flags, path) in [
        (&["curl"][..], "/"),
        (&["curl", "-stdclient", "-payload", "abcd"], "/"),
        (&["curl", "-h2", "-payload", "abcd"], "/"),
        (&["curl", "-payload", "abc"], "/"),
        (&["curl", "-curl-stdout-headers"], "/?header=A:B"),
        (&["curl"], "/?status=204"),
        (&["load", "-curl", "-payload", "abcd"], "/"),
        (&["curl", "-L"], "/?status=302&header=Location:/a?status=404"),
        (&["curl", "-L", "-payload", "ab"], "/?status=307&header=Location:b"),
        (&["curl", "-L", "-payload", "ab"], "/?status=301&header=Location:b"),
    ] {
        let target = format!("{url}{path}");
        let arguments = [flags, &[&target]].concat();
        let theirs = run(Command::new("fortio").args(&arguments));
        let ours = run(&mut plimsoll(&[&["fortio"], &arguments[..]].concat()));
        assert_eq!(ours.code, theirs.code, "{arguments:?}: {ours:?}");
        let undated = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with("Date: "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(undated(&ours.stdout), undated(&theirs.stdout), "{arguments:?}");
        let heads = |finished: &Finished| {
            let lines = finished.stderr.lines().filter(|line| !line.starts_with('{'));
            lines.filter(|line| !line.starts_with("Date: ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(heads(&ours), heads(&theirs), "{arguments:?}");
    }
}
