//! How each tester is asked for a load: its command line, its files, and what it refuses.

use super::*;

fn ask() -> Ask {
    Ask { url: "http://127.0.0.1:8080/a".to_owned(), connections: 7, ..Ask::to("/") }
}

fn line(name: &str, ask: &Ask) -> String {
    match tool(name).call(ask) {
        Call::Command { arguments, .. } => arguments.join(" "),
        Call::CannotExpress(why) => format!("cannot: {why}"),
    }
}

#[test]
fn command_lines_at_a_rate() {
    let ask = Ask {
        rate_rps: Some(700.0),
        duration_s: Some(10.0),
        timeout_s: Some(2.0),
        headers: vec![("X-A".to_owned(), "b".to_owned())],
        ..ask()
    };
    for (name, want) in [
        ("wrk", "cannot: no fixed rate"),
        (
            "wrk2",
            "-t1 -c7 -d10s --timeout 2s -s {dir}/plimsoll.lua -U -R700 -H X-A: b http://127.0.0.1:8080/a",
        ),
        ("ab", "cannot: no fixed rate"),
        ("hey", "-disable-redirects -c 7 -t 2 -z 10000ms -q 100 -H X-A: b http://127.0.0.1:8080/a"),
        (
            "fortio",
            "load -quiet -allow-initial-errors -log-errors=false -json - -r 0.0001 -p \
             50,75,90,95,99,99.9,99.99 -c 7 -qps 700 -timeout 2000ms -t 10000ms -H X-A:b -uniform \
             http://127.0.0.1:8080/a",
        ),
        ("k6", "run --no-usage-report --no-color --quiet {dir}/plimsoll.js"),
        (
            "oha",
            "--no-tui --stats-success-breakdown -w --output-format json -c 7 -t 2000ms -z 10000ms -q \
             700 -H X-A: b --latency-correction http://127.0.0.1:8080/a",
        ),
        (
            "vegeta",
            "attack -targets={dir}/targets.txt -output={dir}/vegeta.bin -max-body=0 -redirects=-1 \
             -http2=false -rate=700/1s -duration=10000ms -timeout=2000ms -workers=7 \
             -max-workers=20000 -connections=7 -max-connections=7 -header=X-A: b",
        ),
        (
            "bombardier",
            "--print=r --fasthttp --format=path:{dir}/plimsoll.template --connections=7 \
             --timeout=2000ms --duration=10000ms --rate=700 --header=X-A: b http://127.0.0.1:8080/a",
        ),
        ("autocannon", "--json -c 7 -t 2 -d 10 -R 700 -H X-A=b http://127.0.0.1:8080/a"),
        ("h2load", "cannot: no timeout of a request"),
        (
            "zrk",
            "--plain -t1 --format json --output {dir}/zrk.json --hdr {dir}/zrk.hgrm -c 7 -d 10000ms \
             --timeout 2000ms -R 700 -H X-A: b http://127.0.0.1:8080/a",
        ),
    ] {
        assert_eq!(line(name, &ask), want, "{name}");
    }
}

#[test]
fn command_lines_of_a_closed_loop() {
    let ask = Ask { requests: Some(3), keep_alive: false, method: Method::Head, ..ask() };
    for (name, want) in [
        ("wrk", "cannot: no exact count"),
        ("wrk2", "cannot: no closed loop"),
        ("ab", "-q -r -l -c 3 -s 30 -e {dir}/ab.csv -n 3 -i http://127.0.0.1:8080/a"),
        (
            "hey",
            "-disable-redirects -c 3 -t 30 -n 3 -m HEAD -disable-keepalive http://127.0.0.1:8080/a",
        ),
        ("h2load", "cannot: no HEAD"),
        ("vegeta", "cannot: no exact count"),
        ("zrk", "cannot: no closed loop"),
        (
            "bombardier",
            "--print=r --fasthttp --format=path:{dir}/plimsoll.template --connections=7 \
             --timeout=30000ms --requests=3 --header=Connection: close --method=HEAD \
             http://127.0.0.1:8080/a",
        ),
    ] {
        assert_eq!(line(name, &ask), want, "{name}");
    }
}

/// Who cannot say what, with the ask otherwise one that all of them can.
#[test]
fn what_goes_beyond_a_tester_is_refused() {
    let rate = |rate_rps| Ask { rate_rps: Some(rate_rps), duration_s: Some(4.0), ..ask() };
    let with = |need: Need| Ask { extra: vec![need], ..rate(100.0) };
    let resolve = |addresses: &[&str]| Resolve {
        host: "a.test".to_owned(),
        port: 80,
        addresses: addresses.iter().map(|address| address.parse().expect("an address")).collect(),
    };
    for (ask, can) in [
        (
            rate(100.0),
            "wrk2 hey fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta bombardier autocannon h2load zrk",
        ),
        (rate(0.5), "hey fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta h2load"),
        (Ask { poisson: true, ..rate(100.0) }, ""),
        (
            Ask { duration_s: Some(4.0), ..ask() },
            "wrk ab hey fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta bombardier autocannon h2load",
        ),
        (
            Ask { duration_s: Some(0.5), ..ask() },
            "hey fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta bombardier h2load",
        ),
        (
            Ask { timeout_s: Some(1.0), requests: Some(9), ..ask() },
            "hey fortio plimsoll-fortio k6 plimsoll-k6 oha bombardier autocannon",
        ),
        (
            Ask { timeout_s: Some(100.0), requests: Some(9), ..ask() },
            "ab hey fortio plimsoll-fortio k6 plimsoll-k6 oha bombardier autocannon h2load",
        ),
        (Ask { warmup_s: 1.0, ..rate(100.0) }, "k6 plimsoll-k6 autocannon h2load"),
        (with(Need::Growth { connections_max: 100 }), "k6 plimsoll-k6 vegeta"),
        (with(Need::Shed { after_s: 0.1 }), "zrk"),
        (with(Need::Targets(vec![("/b".to_owned(), 1)])), "wrk2 k6 plimsoll-k6 vegeta"),
        (with(Need::Intervals("i".to_owned())), "zrk"),
        (with(Need::IntervalsOnStdout), "k6 plimsoll-k6 zrk"),
        (
            Ask { rate_rps: None, ..with(Need::Ramp { from_rps: 1.0, to_rps: 9.0 }) },
            "k6 plimsoll-k6 zrk",
        ),
        (
            Ask { resolve: Some(resolve(&["127.0.0.1"])), ..rate(100.0) },
            "fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta h2load",
        ),
        (Ask { resolve: Some(resolve(&["127.0.0.1", "::1"])), ..rate(100.0) }, "oha vegeta"),
        (
            Ask { source_addresses: vec!["127.0.0.2".parse().expect("one")], ..rate(100.0) },
            "k6 plimsoll-k6 vegeta",
        ),
        (
            Ask { url: "https://127.0.0.1/".to_owned(), ..rate(100.0) },
            "fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta bombardier zrk",
        ),
    ] {
        let able = all().into_iter().filter(|tool| matches!(tool.call(&ask), Call::Command { .. }));
        let names: Vec<&str> = able.map(|tool| tool.name()).collect();
        assert_eq!(names.join(" "), can, "{ask:?}");
    }
}

#[test]
fn paths_are_drawn_by_weight_and_from_the_seed() {
    let drawn = |seed| {
        let paths = vec![("/b".to_owned(), 3), ("/c".to_owned(), 1)];
        let extra = vec![Need::Targets(paths)];
        let ask =
            Ask { rate_rps: Some(9.0), duration_s: Some(4.0), seed: Some(seed), extra, ..ask() };
        match tool("vegeta").call(&ask) {
            Call::Command { files, .. } => files[0].1.clone(),
            Call::CannotExpress(why) => panic!("{why}"),
        }
    };
    let first = drawn(1);
    let often = first.lines().filter(|line| *line == "GET http://127.0.0.1:8080/b").count();
    assert!((7300..7700).contains(&often), "{often} of {}", first.lines().count());
    assert_eq!(first, drawn(1));
    assert_ne!(first, drawn(2));
}

/// HTTP/2 is asked of those whose adapters can ask for it, with TLS or without.
#[test]
fn streams_are_asked_for() {
    let ask = |url: &str, connections, streams, rate_rps| Ask {
        connections,
        rate_rps,
        duration_s: Some(1.0),
        insecure: url.starts_with("https:"),
        extra: vec![Need::Http2 { streams }],
        ..Ask::to(url)
    };
    let [plain, secure] = ["http://h:1/", "https://h:1/"];
    for (name, ask, part) in [
        ("h2load", ask(plain, 1, 10, None), "-t1 -c1 -m10 --log-file"),
        ("h2load", ask(secure, 1, 10, None), "-t1 -c1 -m10 --log-file"),
        ("oha", ask(plain, 2, 10, None), "-c 2 -t 30000ms -z 1000ms --http-version 2 -p 10 http"),
        ("oha", ask(secure, 2, 1, None), "--http-version 2 -p 1 --insecure https"),
        ("fortio", ask(plain, 2, 1, None), "-h2 http://"),
        ("fortio", ask(secure, 2, 1, None), "-k -h2 https://"),
        ("fortio", ask(plain, 2, 2, None), "cannot: one stream on each connection"),
        ("vegeta", ask(plain, 1, 10, None), "-http2=true -rate=0 -duration=1000ms"),
        ("vegeta", ask(plain, 1, 10, None), "-workers=10 -max-workers=10 -connections=1"),
        ("vegeta", ask(plain, 1, 10, Some(9.0)), "-workers=10 -max-workers=10 -connections=1"),
        ("vegeta", ask(plain, 1, 10, None), "-max-connections=1 -h2c"),
        ("vegeta", ask(secure, 1, 10, None), "-max-connections=1 -insecure"),
        ("vegeta", ask(plain, 2, 10, None), "cannot: one connection for all streams"),
        ("k6", ask(plain, 1, 1, None), "cannot: HTTP/2 only behind TLS"),
        ("k6", ask(secure, 2, 1, Some(9.0)), "'protocol is HTTP/2'"),
        ("k6", ask(secure, 2, 10, None), "Array.from({ length: 10 }, stream)"),
        ("k6", ask(secure, 2, 10, None), "const until = exec.scenario.startTime + 1000;"),
        ("k6", ask(secure, 2, 10, Some(9.0)), "cannot: at a rate, one stream on each connection"),
        ("wrk", ask(secure, 1, 1, None), "cannot: its adapter does not ask for HTTP/2"),
    ] {
        let called = called(name, &ask);
        assert!(called.contains(part), "{name}: {called}");
    }
    let counted =
        |requests| Ask { duration_s: None, requests: Some(requests), ..ask(secure, 2, 10, None) };
    assert!(called("k6", &counted(100)).contains("let left = 50;"));
    assert!(called("k6", &counted(101)).starts_with("cannot: over several streams"));
}

#[test]
fn who_speaks_http2_and_where() {
    let over = |over| {
        let able = all().into_iter().filter(move |tool| tool.http2() == over);
        able.map(|tool| tool.name()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(over(Some(Http2Over::Tls)), "k6 plimsoll-k6");
    assert_eq!(over(Some(Http2Over::Either)), "fortio plimsoll-fortio oha vegeta h2load");
}

#[test]
fn bodies_are_asked_for() {
    for (name, part) in [
        ("h2load", "--h1 --data={dir}/body"),
        ("oha", "-m POST -D {dir}/body"),
        ("fortio", "-payload-file {dir}/body"),
        ("vegeta", "-body={dir}/body"),
        ("k6", "const body = 'x'.repeat(5);\n"),
        ("k6", "http.request('POST', \"http://h:1/\", body, params)"),
    ] {
        let called = called_with(name, Need::Upload(5)).unwrap_or_default();
        assert!(called.contains(part), "{name}: {called}");
        assert!(name == "k6" || called.ends_with("xxxxx"), "{name}: {called}");
    }
    let called = called_with("vegeta", Need::Upload(5)).unwrap_or_default();
    assert!(called.contains("POST http://h:1/\n"), "{called}");
}

/// gRPC is asked of those that can call a method, and WebSockets of none but Plimsoll.
#[test]
fn calls_are_asked_for_in_each_ones_way() {
    let (unary, stream) = (Need::Grpc(Rpc::Unary), Need::Grpc(Rpc::ServerStream));
    for (name, need, parts) in [
        (
            "ghz",
            &unary,
            &[
                "--proto={dir}/ping.proto --call=fgrpc.PingServer/Ping --data={\"payload\":\"hello\"} \
                 --format=json --concurrency=1 --connections=1 --timeout=30000ms --duration=1000ms \
                 --insecure h:1 ",
                "rpc Watch(PingMessage) returns (stream PingMessage);",
            ][..],
        ),
        ("ghz", &stream, &["--call=fgrpc.PingServer/Watch "]),
        (
            "h2load",
            &unary,
            &[
                "-t1 -c1 -m1 --data={dir}/body --header=te: trailers --header=content-type: \
                 application/grpc --log-file",
                " http://h:1/fgrpc.PingServer/Ping \0\0\0\0\x07\x1a\x05hello",
            ],
        ),
        ("fortio", &unary, &["-payload hello -grpc -ping http://h:1/"]),
        (
            "k6",
            &unary,
            &[
                "client.invoke(\"fgrpc.PingServer/Ping\", {\"payload\":\"hello\"}, params)",
                "client.connect(\"h:1\", { plaintext: true })",
                "\"calls{scenario:load}\":[\"count>=0\"]",
                "service PingServer {",
            ],
        ),
        ("k6", &stream, &["new grpc.Stream(client, \"fgrpc.PingServer/Watch\", params)"]),
    ] {
        let called = called_with(name, need.clone()).unwrap_or_default();
        for part in parts {
            assert!(called.contains(part), "{name} {need:?}: {called}");
        }
    }
    let socket = Need::WebSocket { in_flight: 1, is_pushed_to: false };
    for (need, can) in [
        (&unary, "fortio plimsoll-fortio k6 plimsoll-k6 h2load ghz"),
        (&stream, "k6 plimsoll-k6 h2load ghz"),
        (&socket, ""),
    ] {
        let able = all().into_iter().map(|tool| tool.name());
        let able: Vec<_> = able.filter(|name| called_with(name, need.clone()).is_some()).collect();
        assert_eq!(able.join(" "), can, "{need:?}");
    }
    let ask = Ask { requests: Some(9), timeout_s: Some(0.1), extra: vec![unary], ..ask() };
    assert_eq!(line("fortio", &ask), "cannot: no timeout of a call");
    assert_eq!(line("h2load", &ask), "cannot: no timeout of a request");
    assert_eq!(line("ghz", &self::ask()), "cannot: nothing but gRPC");
}

/// What a tester is called with, files and all, for a need; `None`: it cannot express it.
fn called_with(name: &str, need: Need) -> Option<String> {
    let rate_rps = (name == "wrk2").then_some(100.0);
    let ask = Ask { rate_rps, duration_s: Some(1.0), extra: vec![need], ..Ask::to("http://h:1/") };
    Some(called(name, &ask)).filter(|called| !called.starts_with("cannot:"))
}

/// What a tester is called with, files and all, or why it cannot be.
fn called(name: &str, ask: &Ask) -> String {
    match tool(name).call(ask) {
        Call::Command { arguments, files } => {
            let files: Vec<String> = files.into_iter().map(|(_, content)| content).collect();
            format!("{} {}", arguments.join(" "), files.join(" "))
        }
        Call::CannotExpress(why) => format!("cannot: {why}"),
    }
}

#[test]
fn forms_threads_pipelines_and_conditions_are_asked_for_in_each_ones_way() {
    let form = || Need::Form("a=b".to_owned());
    let (pipeline, gate) = (|| Need::Pipeline(2), || Need::Gate { p99_s: 0.15 });
    for (name, need, part) in [
        ("wrk", form(), "wrk.body = \"a=b\""),
        ("wrk2", form(), "wrk.method = \"POST\""),
        ("hey", form(), "-m POST -d a=b -T application/x-www-form-urlencoded"),
        ("oha", form(), "-m POST -d a=b -T application/x-www-form-urlencoded"),
        ("fortio", form(), "-payload a=b -content-type application/x-www-form-urlencoded"),
        ("autocannon", form(), "-m POST -b a=b -H Content-Type=application/x-www-form-urlencoded"),
        ("k6", form(), "http.request('POST', \"http://h:1/\", \"a=b\", params)"),
        ("k6", gate(), "\"http_req_duration{scenario:load}\":[\"p(99)<150\"]"),
        (
            "k6",
            Need::ErrorGate { share: 0.01 },
            "\"http_req_failed{scenario:load}\":[\"rate<0.01\"]",
        ),
        ("wrk", pipeline(), "string.rep(wrk.format(), 2)"),
        ("autocannon", pipeline(), "-p 2"),
        ("wrk", Need::Threads(2), "-t2 "),
        ("wrk2", Need::Threads(2), "-t2 "),
    ] {
        let called = called_with(name, need.clone()).unwrap_or_default();
        assert!(called.contains(part), "{name} {need:?}: {called}");
    }
    for (name, need) in [("ab", form()), ("oha", pipeline()), ("hey", gate())] {
        assert_eq!(called_with(name, need), None, "{name}");
    }
}

/// The same flags and files behind the command, and the same reading of the same output.
#[test]
fn dialects_differ_from_the_original_in_the_program_alone() {
    for name in ["k6", "fortio"] {
        let (other, ours) = (tool(name), tool(&format!("plimsoll-{name}")));
        assert_eq!((ours.program(), ours.version_arguments()), ("plimsoll", &["--version"][..]));
        let asks = [
            Ask { rate_rps: Some(9.0), duration_s: Some(4.0), ..ask() },
            Ask { poisson: true, ..ask() },
        ];
        for ask in asks {
            match (other.call(&ask), ours.call(&ask)) {
                (
                    Call::Command { arguments: theirs, files },
                    Call::Command { arguments, files: same },
                ) => {
                    assert_eq!(arguments[0], name);
                    assert_eq!((&arguments[1..], same), (&theirs[..], files));
                }
                (theirs, ours) => assert_eq!(theirs, ours),
            }
        }
        for fixture in ["errors", "timeouts", "refused", "calls"] {
            let run = captured(&format!("{name}-{fixture}"));
            let [reading, same] = [&other, &ours].map(|tool| tool.read(&run).expect(fixture));
            assert_eq!(format!("{reading:?}"), format!("{same:?}"), "{name} {fixture}");
            let [theirs, ours] = [&other, &ours].map(|tool| tool.further(&run, &reading));
            assert_eq!(theirs, ours, "{name} {fixture}");
        }
    }
}
