//! Plimsoll's adapter, on hand-made asks and results.

use super::*;
use crate::tool::{Resolve, Rpc};

fn arguments(ask: &Ask) -> String {
    match Plimsoll.call(ask) {
        Call::Command { arguments, .. } => arguments.join(" "),
        Call::CannotExpress(why) => panic!("{why}"),
    }
}

#[test]
fn asks_become_flags() {
    let plain = "run / --no-progress --json {dir}/result.json -c 1";
    assert_eq!(arguments(&Ask::to("/")), plain);
    let full = Ask {
        connections: 10,
        rate_rps: Some(0.5),
        poisson: true,
        duration_s: Some(2.5),
        requests: Some(7),
        timeout_s: Some(1.0),
        keep_alive: false,
        warmup_s: 2.0,
        insecure: true,
        seed: Some(9),
        method: Method::Head,
        headers: vec![("A".to_owned(), "b".to_owned())],
        resolve: Some(Resolve {
            host: "h".to_owned(),
            port: 80,
            addresses: ["127.0.0.1", "127.0.0.2"].map(|text| text.parse().unwrap()).to_vec(),
        }),
        source_addresses: vec!["127.0.0.3".parse().unwrap()],
        extra: vec![
            Need::Growth { connections_max: 20 },
            Need::Shed { after_s: 0.1 },
            Need::Intervals("i".to_owned()),
        ],
        ..Ask::to("/")
    };
    let flags = "-c 10..20 -r 0.5 -d 2500000us --arrival poisson -n 7 --timeout 1000000us --drain \
                 10000000us --warmup 2000000us --seed 9 --no-keepalive --insecure -X HEAD -H A: b --resolve \
                 h:80:127.0.0.1,127.0.0.2 --bind 127.0.0.3 --shed-after 100000us --timeseries {dir}/i";
    assert!(arguments(&full).ends_with(flags), "{}", arguments(&full));
    let needs = vec![
        Need::Pipeline(2),
        Need::Threads(3),
        Need::Form("a=b&c=d".to_owned()),
        Need::Gate { p99_s: 0.15 },
        Need::ErrorGate { share: 0.01 },
    ];
    let flags = "-c 1 --pipeline 2 -t 3 --form-urlencoded a=b --form-urlencoded c=d --gate \
                 p99<150000us --gate errors<1%";
    let asked = arguments(&Ask { extra: needs, ..Ask::to("/") });
    assert!(asked.ends_with(flags), "{asked}");
    let streams = vec![Need::Http2 { streams: 5 }, Need::Upload(3)];
    let streams = Ask { extra: streams, ..Ask::to("/") };
    let flags = "--http 2 -m 5 --no-resend -X POST -b @{dir}/body";
    assert!(arguments(&streams).ends_with(flags), "{}", arguments(&streams));
    let Call::Command { files, .. } = Plimsoll.call(&streams) else {
        panic!("it can be expressed")
    };
    assert_eq!(files, [("body".to_owned(), "xxx".to_owned())]);
    let call = Ask { extra: vec![Need::Grpc(Rpc::ServerStream)], ..Ask::to("http://h:1/") };
    let flags =
        "--grpc fgrpc.PingServer/Watch --proto {dir}/ping.proto -b {\"payload\":\"hello\"} -m 1";
    assert!(arguments(&call).ends_with(flags), "{}", arguments(&call));
    let socket = Need::WebSocket { in_flight: 5, is_pushed_to: true };
    let socket = Ask { extra: vec![socket], ..Ask::to("http://h:1/") };
    let asked = arguments(&socket);
    assert!(asked.starts_with("run ws://h:1/ "), "{asked}");
    assert!(asked.ends_with("--ws-message hello -m 5 --ws-reply match:^re: "), "{asked}");
    let ramp = Ask {
        duration_s: Some(4.0),
        extra: vec![Need::Ramp { from_rps: 1.0, to_rps: 5.0 }],
        ..Ask::to("/")
    };
    assert!(arguments(&ramp).ends_with("-c 1 --stages 4000000us@1..5"), "{}", arguments(&ramp));
}

#[test]
fn targets_stand_in_a_file_as_often_as_they_weigh() {
    let targets = vec![("/a".to_owned(), 2), ("/b".to_owned(), 1)];
    let ask = Ask { extra: vec![Need::Targets(targets)], ..Ask::to("http://h:1/x/y") };
    let Call::Command { files, .. } = Plimsoll.call(&ask) else { panic!("it can be expressed") };
    let file = "GET http://h:1/a\n\nGET http://h:1/a\n\nGET http://h:1/b\n\n";
    assert_eq!(files, [("targets".to_owned(), file.to_owned())]);
    assert!(
        arguments(&ask).ends_with("--targets {dir}/targets --targets-format http --order random")
    );
    assert_eq!(["http://h:1", "/"].map(origin), ["http://h:1", ""]);
}

#[test]
fn only_quantiles_with_a_tail_are_shown() {
    let mut histogram = Histogram::new();
    histogram.record_n(1_000_000, 200);
    let shown: Vec<f64> = shown(&histogram).into_iter().map(|(q, _)| q).collect();
    assert_eq!(shown, [0.5, 0.75, 0.9, 0.95, 0.99]);
}

#[test]
fn what_is_no_result_is_said() {
    let scratch = tempfile::tempdir().unwrap();
    let run = |stderr: &str| Finished {
        code: Some(2),
        stderr: stderr.to_owned(),
        scratch: scratch.path().to_path_buf(),
        ..Finished::default()
    };
    assert_eq!(
        Plimsoll.read(&run("plimsoll: no such flag\n")).unwrap_err(),
        "plimsoll: no such flag"
    );
    assert_eq!(Plimsoll.read(&run("")).unwrap_err(), "it printed nothing");
    std::fs::write(scratch.path().join(RESULT), "{}").unwrap();
    assert!(Plimsoll.read(&run("")).unwrap_err().contains("is not a result"));
}

/// Its document has no figures, and its last line has the reason.
#[test]
fn a_run_that_was_not_carried_out_is_no_result() {
    let whole = include_str!("../../../../docs/pictures/report.json");
    let mut unrun: serde_json::Value = serde_json::from_str(whole).unwrap();
    unrun["elapsed_s"] = 0.into();
    for (document, want) in [
        (whole.to_owned(), None),
        (unrun.to_string(), Some("plimsoll: no connection could be opened")),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join(RESULT), document).unwrap();
        let run = Finished {
            code: Some(1),
            stderr: "plimsoll: no connection could be opened\n".to_owned(),
            scratch: scratch.path().to_path_buf(),
            ..Finished::default()
        };
        assert_eq!(Plimsoll.read(&run).err().as_deref(), want);
    }
}
