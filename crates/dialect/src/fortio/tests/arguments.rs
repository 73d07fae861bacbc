//! Command lines: what is read, what is printed in their place, and with which exit code.

use plimsoll_core::plan::{DriverPlan, Spin};

use super::{command, words};
use crate::UsageText;
use crate::fortio::{Call, Command, LogLevel, Payload, Task, parse};

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
        ("-connection-reuse 7:7", |it| it.connection_reuse == Some([7, 7])),
        ("-connection-reuse 9:2", |it| it.connection_reuse == Some([2, 9])),
        ("-connection-reuse 7", |it| it.connection_reuse == Some([7, 7])),
        ("-abort-on 503", |it| it.abort_on == 503),
        ("-access-log-file a -access-log-format influx", |it| {
            it.access_log.as_ref().is_some_and(|log| log.path == "a" && log.is_influx)
        }),
        ("-halfclose", |it| it.half_close && it.keep_alive),
        ("-halfclose -keepalive=false -stdclient", |it| it.half_close && !it.keep_alive),
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
    let Ok(Task::Load(command)) = parse(&spaced) else { panic!("a load") };
    assert_eq!(command.headers, [("User-Agent".to_owned(), text(""))]);
    assert_eq!(super::command("").url(), "http://h/");
}

#[test]
fn complaints_and_exit_codes_are_fortios() {
    for (line, want, code) in [
        ("load", "Error: fortio load/curl needs a URL or destination", 1),
        ("load a b", "At most 1 argument expected, got 2", 1),
        ("curl", "Error: fortio load/curl needs a URL or destination", 1),
        (
            "grpcping",
            "Error: fortio grpcping needs host argument in the form of host, host:port or ip:port",
            1,
        ),
        ("nc", "Error: fortio nc needs a host:port or host port destination", 1),
        ("server x", "Error: too many arguments (typo in a flag?)", 1),
        ("proxies", "Error: fortio proxies command needs at least one -P / -M flag", 1),
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
        ("load -profile f u", "-profile"),
        ("load -halfclose -keepalive=false u", "-halfclose"),
        ("load -stream u", "-stream"),
        ("load -c 2000000 u", "-c"),
        ("load -grpc -c 2000 -s 2000 u", "-s"),
        ("load -payload-size 999999999 u", "-payload-size"),
        ("load -qps nan u", "-qps"),
        ("load -abort-on 99 u", "-abort-on 99"),
        ("grpcping -n 99999999 h", "-n"),
        ("script", "script"),
    ] {
        let UsageText { stdout, stderr, code } = usage(line);
        assert_eq!((stdout.as_str(), code), ("", 1), "{line}");
        assert!(stderr.contains(name), "{line}: {stderr}");
        let is_line = stderr.starts_with("fortio: ") && stderr.lines().count() == 1;
        assert!(is_line, "{line}: {stderr}");
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

/// What each command other than `load` asks for.
#[test]
fn tasks_are_read() {
    let task = |line: &str| parse(&words(line)).unwrap_or_else(|usage| panic!("{line}: {usage:?}"));
    for line in ["curl -curl-stdout-headers u", "load -curl -curl-stdout-headers u"] {
        let Task::Curl(curl) = task(line) else { panic!("{line}") };
        assert!(curl.stdout_headers && !curl.streams && curl.command.target == "u", "{line}");
    }
    for (line, count, call, is_health) in [
        ("grpcping h", 1, Call::Ping { delay_ns: 0 }, false),
        ("grpcping -n 3 -grpc-ping-delay 1ms h", 3, Call::Ping { delay_ns: 1_000_000 }, false),
        ("grpcping -health -healthservice a h", 1, Call::Health("a".to_owned()), true),
    ] {
        let Task::GrpcPing(ping) = task(line) else { panic!("{line}") };
        assert_eq!((ping.count, ping.command.call, ping.is_health), (count, Some(call), is_health));
    }
    for (line, address, is_udp, stops_on_eof) in [
        ("nc h:1", "h:1", false, true),
        ("nc h 1", "h:1", false, true),
        ("nc -nc-dont-stop-on-eof udp://h:1", "h:1", true, false),
    ] {
        let Task::Netcat(netcat) = task(line) else { panic!("{line}") };
        assert_eq!(netcat.address(), address, "{line}");
        assert_eq!((netcat.is_udp, netcat.stops_on_eof), (is_udp, stops_on_eof), "{line}");
    }
    for (line, want) in [
        ("server", ["8080", "8079", "8081", "8078", "8078", "/fortio/"]),
        (
            "server -http-port a:1 -grpc-port disabled -ui-path=",
            ["a:1", "", "8081", "8078", "8078", ""],
        ),
        ("report", ["8080", "", "8081", "", "", "/"]),
        ("redirect -redirect-port 9", ["", "", "9", "", "", "/fortio/"]),
        ("tcp-echo", ["", "", "", "8078", "", "/fortio/"]),
        ("udp-echo", ["", "", "", "", "8078", "/fortio/"]),
        ("proxies -P x", ["", "", "", "", "", "/fortio/"]),
    ] {
        let Task::Serve(serve) = task(line) else { panic!("{line}") };
        let got =
            [&serve.http, &serve.grpc, &serve.redirect, &serve.tcp, &serve.udp, &serve.ui_path];
        assert_eq!(got, want.each_ref().map(|it| *it), "{line}");
    }
}
