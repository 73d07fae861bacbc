//! A server that dies while it is loaded, and the clock that gates judge by.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use crate::peer::OK;
use crate::support::{Report, Server, plimsoll, run};

const CONNECTIONS: usize = 10;

/// A server that accepts ten connections, answers a few requests on each in turn, and goes away.
fn dying(rounds: usize) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("a bound address"));
    let serving = thread::spawn(move || {
        let accept = |_| listener.accept().expect("a connection").0;
        let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(accept).collect();
        for _ in 0..rounds {
            streams.iter_mut().for_each(answer);
        }
    });
    (url, serving)
}

fn answer(stream: &mut TcpStream) {
    let mut request = Vec::new();
    let mut bytes = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") {
        let read = stream.read(&mut bytes).expect("a request");
        assert!(read > 0, "the tester closed");
        request.extend_from_slice(&bytes[..read]);
    }
    stream.write_all(OK.as_bytes()).expect("a tester that reads");
}

#[test]
fn a_server_that_dies_fails_the_gates_and_the_verdict() {
    for load in [&[][..], &["-r", "500"]] {
        let (url, serving) = dying(20);
        let mut command = plimsoll(&[&url, "-c", "10", "-d", "2s", "--drain", "0s"]);
        command.args(load).args(["--format", "json"]);
        for gate in ["errors<1%", "outage<1%", "connect_errors<10", "outage<101%"] {
            command.args(["--gate", gate]);
        }
        let ended = run(&mut command);
        serving.join().expect("a server that served");
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let report = Report::read(&ended.stdout);
        let passes: Vec<bool> = report
            .at("/gates")
            .as_array()
            .expect("a list")
            .iter()
            .map(|gate| gate["pass"].as_bool().expect("a bool"))
            .collect();
        assert_eq!(passes, [false, false, false, true], "{}", report.at("/gates"));
        assert_ne!(report.text("/loader/verdict"), "valid");
        let codes: Vec<&str> = report
            .at("/loader/causes")
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|cause| cause["code"].as_str())
            .collect();
        assert!(codes.contains(&"outage"), "{codes:?}");
        assert_eq!(report.count("/outage/failed_attempts"), 10);
        assert!(report.number("/gates/0/value") >= report.number("/outage/share"));
        assert!(report.number("/outage/longest_s") <= 2.0);
    }
    let (url, serving) = dying(20);
    let ended = run(&mut plimsoll(&[&url, "-c", "10", "-d", "1s", "--require-valid"]));
    serving.join().expect("a server that served");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stdout.contains("users could not reach the server"), "{}", ended.stdout);
    assert!(ended.stdout.contains("unreachable in"), "{}", ended.stdout);
}

#[test]
fn a_server_that_is_there_has_no_outage() {
    let server = Server::start(&[]);
    let url = server.url("/");
    for flags in [&[][..], &["--no-keepalive"], &["-r", "500", "--no-keepalive"]] {
        let mut command = plimsoll(&[&url, "-n", "200", "-c", "4", "--format", "json"]);
        let ended = run(command.args(flags).args(["--gate", "outage<0.001%", "--gate", "p99<60s"]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let report = Report::read(&ended.stdout);
        // The p99 that is judged is the one that stands first.
        let quantiles = report.at("/latency/response/quantiles").as_array().expect("a list");
        let shown = quantiles.iter().find(|quantile| quantile["q"] == 0.99).expect("always there");
        assert_eq!(shown["us"], *report.at("/gates/1/value"), "{flags:?}");
    }
}
