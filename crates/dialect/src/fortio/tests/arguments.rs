//! Command lines: what is read, what is printed in their place, and with which exit code.

use plimsoll_core::plan::{DriverPlan, Spin};

use super::{command, words};
use crate::UsageText;
use crate::fortio::{Call, Command, LogLevel, Payload, parse};

fn usage(line: &str) -> UsageText {
    parse(&words(line)).expect_err(line)
}

/// The line before the usage, or after it.
fn complaint(line: &str) -> (String, u8) {
    let UsageText { stdout, stderr, code } = usage(line);
    assert_eq!(stdout, "", "{line}");
    let lines: Vec<&str> = stderr.lines().collect();
    let text = if code == 2 { lines.first() } else { lines.last() };
    ((*text.expect("a line")).to_owned(), code)
}

#[test]
fn flags_mean_what_they_mean_in_fortio() {
    let text = |text: &str| Some(text.to_owned());
    for (flags, is_as_wanted) in [
        (
            "",
            (|it| it.qps == 8.0 && it.threads == 4 && it.duration_ns == 5_000_000_000)
                as fn(&Command) -> bool,
        ),
        ("", |it| it.percentiles == [50.0, 75.0, 90.0, 99.0, 99.9] && it.exactly == 0),
        ("", |it| it.keep_alive && it.log_errors && it.log_level == LogLevel::Info),
        ("--qps=3.5 -c 9", |it| it.qps == 3.5 && it.threads == 9),
        ("-qps 0", |it| !it.has_rate()),
        ("-c -3 -n -3", |it| it.threads == 4 && it.exactly == 0),
        ("-r 0", |it| it.resolution_s == 0.001),
        ("-r 0.0001 -offset 1ms", |it| it.resolution_s == 1e-4 && it.offset_ns == 1_000_000),
        ("-timeout 0", |it| it.timeout_ns == 3_000_000_000),
        ("-p 50,99.99", |it| it.percentiles == [50.0, 99.99]),
        ("-quiet", |it| it.log_level == LogLevel::Error),
        ("-loglevel warning", |it| it.log_level == LogLevel::Warning),
        ("-keepalive=false -k", |it| !it.keep_alive && it.insecure),
        ("-connection-reuse 7:7", |it| it.calls_per_connection == Some(7)),
        ("-connection-reuse 7", |it| it.calls_per_connection == Some(7)),
        ("-payload-size 5", |it| it.payload == Payload::Random(5)),
        ("-payload-size -5", |it| it.payload == Payload::None),
        ("-payload a -payload-file b", |it| it.payload == Payload::File("b".to_owned())),
        ("-grpc", |it| it.call == Some(Call::Health(String::new()))),
        ("-grpc -ping -grpc-ping-delay 1ms", |it| {
            it.call == Some(Call::Ping { delay_ns: 1_000_000 })
        }),
        ("-grpc -s 3 -c 2", |it| it.streams == 3 && it.threads == 6),
        ("-http-port 1 -logger-json=false -httpbufferkb 1", |it| it.qps == 8.0),
        ("-driver epoll -spin off", |it| it.driver == DriverPlan::Epoll && it.spin == Spin::Off),
    ] {
        let command = command(flags);
        assert!(is_as_wanted(&command), "{flags}: {command:?}");
    }
    let headers = command("-H x-a:b -H USER-AGENT: -H Host:c:1").headers;
    let want = [("X-A", text("b")), ("User-Agent", None), ("Host", text("c:1"))];
    assert_eq!(headers, want.map(|(name, value)| (name.to_owned(), value)));
    let spaced = ["load", "-H", "user-agent: ", "u"].map(str::to_owned);
    let headers = parse(&spaced).expect("a command").headers;
    assert_eq!(headers, [("User-Agent".to_owned(), text(""))]);
    assert_eq!(command("").url(), "http://h/");
}

#[test]
fn complaints_and_exit_codes_are_fortios() {
    for (line, want, code) in [
        ("load", "Error: fortio load/curl needs a URL or destination", 1),
        ("load a b", "At most 1 argument expected, got 2", 1),
        ("lod", "Error: unknown command \"lod\"", 1),
        ("help x", "Error: unknown command \"help\"", 1),
        ("-h", "Error: unknown command \"-h\"", 1),
        ("-qps 3 load", "At most 1 argument expected, got 2", 1),
        (
            "load -p 101 u",
            "Unable to extract percentiles from -p: percentile 101 must be > 0 and < 100",
            1,
        ),
        (
            "load -p abc",
            "Unable to extract percentiles from -p: strconv.ParseFloat: parsing \"abc\": invalid \
             syntax",
            1,
        ),
        ("load -p= u", "Unable to extract percentiles from -p: list can't be empty", 1),
        (
            "load -calc-qps u",
            "Error: can't use `-calc-qps` without also specifying `-n` and `-t`",
            1,
        ),
        ("load -x u", "flag provided but not defined: -x", 2),
        ("lod -x", "flag provided but not defined: -x", 2),
        ("load -t 5 u", "invalid value \"5\" for flag -t: parse error", 2),
        (
            "load -H abc u",
            "invalid value \"abc\" for flag -H: invalid extra header 'abc', expecting Key: Value",
            2,
        ),
        (
            "load -loglevel x u",
            "invalid value \"x\" for flag -loglevel: should be one of [Debug Verbose Info Warning \
             Error Critical Fatal]",
            2,
        ),
        (
            "load -dns-method z u",
            "invalid value \"z\" for flag -dns-method: invalid value for dns method, should be one \
             of cached-rr, first, rnd or rr",
            2,
        ),
        (
            "load -connection-reuse a:b u",
            "invalid value \"a:b\" for flag -connection-reuse: invalid value for connection reuse \
             range, err: strconv.Atoi: parsing \"a\": invalid syntax",
            2,
        ),
    ] {
        assert_eq!(complaint(line), (want.to_owned(), code), "{line}");
    }
    let UsageText { stderr, code, .. } = parse(&[]).expect_err("nothing");
    assert!(stderr.ends_with("\nMissing command argument\n") && code == 1, "{stderr}");
}

/// One line, without the usage.
#[test]
fn what_is_not_done_is_refused_by_name() {
    for (line, name) in [
        ("load tcp://h:1", "tcp://"),
        ("load udp://h:1", "udp://"),
        ("load -L u", "-L"),
        ("load -profile f u", "-profile"),
        ("load -access-log-file f u", "-access-log-file"),
        ("load -grpc -grpc-compression u", "-grpc-compression"),
        ("load -grpc -grpc-method m u", "-grpc-method"),
        ("load -halfclose u", "-halfclose"),
        ("load -stream u", "-stream"),
        ("load -connection-reuse 3:9 u", "-connection-reuse"),
        ("load -c 2000000 u", "-c"),
        ("load -grpc -c 2000 -s 2000 u", "-s"),
        ("load -payload-size 999999999 u", "-payload-size"),
        ("load -qps nan u", "-qps"),
        ("load -abort-on 503 u", "-abort-on 503"),
        ("load -curl u", "-curl"),
        ("curl u", "curl"),
        ("grpcping h", "grpcping"),
        ("server", "server"),
        ("nc h 1", "At most"),
        ("nc h:1", "nc"),
        ("report", "report"),
        ("script", "script"),
    ] {
        let UsageText { stdout, stderr, code } = usage(line);
        assert_eq!((stdout.as_str(), code), ("", 1), "{line}");
        assert!(stderr.contains(name), "{line}: {stderr}");
        let is_line = stderr.starts_with("fortio: ") && stderr.lines().count() == 1;
        assert!(is_line || name == "At most", "{line}: {stderr}");
    }
    for (line, code) in [("load -driver x u", 2), ("load -spin x u", 2)] {
        assert_eq!(complaint(line).1, code, "{line}");
    }
}

#[test]
fn special_arguments_print_to_stdout() {
    for (line, start) in [
        ("version", "1.75.2+plimsoll."),
        ("buildinfo", "1.75.2+plimsoll."),
        ("help", "Φορτίο 1.75.2"),
        ("envhelp", "# No environment variable"),
    ] {
        let UsageText { stdout, stderr, code } = usage(line);
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        assert!(stdout.starts_with(start) && stdout.ends_with('\n'), "{line}: {stdout}");
    }
    let UsageText { stdout, stderr, code } = usage("load -h");
    assert!(stdout.is_empty() && stderr.starts_with("Φορτίο") && code == 0, "{stderr}");
}
