//! `plimsoll fortio load` over TCP and UDP: echoes, and servers that do not echo.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use serde_json::{Value, json};

use crate::fortio::load;
use crate::fortio_server::FortioServer;
use crate::support::{check_schema, plimsoll, run};

/// Has each connection to a new port served.
pub(crate) fn serve(with: impl Fn(TcpStream) + Copy + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || with(stream));
        }
    });
    address
}

#[test]
fn an_echo_over_tcp_is_counted_as_fortio_counts() {
    let (folder, server) = FortioServer::all();
    let target = format!("tcp://{}", server.address("tcp-echo"));
    let own = folder.path().join("own.json").display().to_string();
    let common = ["-json", "-", "-qps", "0", "-c", "2"];
    let flags = [&common[..], &["-n", "30", "-labels", "a", "-json-result", &own]].concat();
    let finished = load(&flags, &target);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let mut lines = finished.stderr.lines().filter(|line| !line.starts_with('{'));
    for start in [
        "Fortio 1.75.2+plimsoll.",
        "Starting at max qps with 2 thread(s) [gomax ",
        "Ended after ",
        "Aggregated Function Time : count 30 avg ",
        "Error cases : no data",
        "Sockets used: 2 (for perfect no error run, would be 2)",
        "Total Bytes sent: 720, received: 720",
        "tcp OK : 30 (100.0 %)",
        "All done 30 calls (plus 0 warmup) ",
        "Successfully wrote ",
        "Corrected Function Time : count 30 avg ",
    ] {
        assert!(lines.any(|line| line.starts_with(start)), "{start}: {}", finished.stderr);
    }
    assert!(finished.stderr.contains("Starting tcp test for tcp://127.0.0.1:"), "{finished:?}");
    let end = format!(
        "\"Destination\": \"{target}\",\n  \"Payload\": null,\n  \"UnixDomainSocket\": \"\",\n  \
         \"ReqTimeout\": 0,\n  \"RetCodes\": {{\n    \"OK\": 30\n  }},\n  \"SocketCount\": 2,\n  \
         \"BytesSent\": 720,\n  \"BytesReceived\": 720,\n  \"CorrectedDurationHistogram\": "
    );
    assert!(finished.stdout.contains(&end), "{}", finished.stdout);
    assert!(finished.stdout.starts_with("{\n  \"RunType\": \"TCP\",\n"), "{}", finished.stdout);
    let report = run(&mut plimsoll(&["report", &own]));
    assert!(report.stdout.contains(&format!("bytes to {target} and back")), "{report:?}");
    assert!(report.stdout.contains("TCP"), "{report:?}");
    let own = std::fs::read_to_string(&own).expect("written");
    check_schema(&serde_json::from_str(&own).expect("JSON"), "result");

    // The warm-up counts among the bytes. Payloads of any size come back whole.
    for (flags, bytes) in [
        (&["-t", "200ms", "-qps", "100"][..], 22 * 24),
        (&["-n", "20", "-payload", "hello {uuid}"], 20 * 12),
        (&["-n", "20", "-payload-size", "200000"], 20 * 200_000),
        (&["-n", "20", "-keepalive=false", "-http1.0", "-H", "a: b", "-X", "PUT"], 20 * 24),
    ] {
        let finished = load(&[&common[..], flags].concat(), &target);
        let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(document["RetCodes"], json!({ "OK": 20 }), "{flags:?}: {finished:?}");
        assert_eq!(document["SocketCount"], 2, "{flags:?}");
        for direction in ["BytesSent", "BytesReceived"] {
            assert_eq!(document[direction], bytes, "{flags:?}");
        }
    }
    let result = server.json(&format!("/fortio/rest/run?url={target}&n=12&qps=-1&c=3"));
    assert_eq!((&result["RunType"], &result["RetCodes"]), (&json!("TCP"), &json!({ "OK": 12 })));
}

#[test]
fn what_is_no_echo_is_counted_by_what_was_wrong() {
    let differs = serve(|mut stream| {
        while stream.read_exact(&mut [0; 24]).is_ok() && stream.write_all(&[b'x'; 24]).is_ok() {}
    });
    let cuts = serve(|mut stream| {
        let mut request = [0; 24];
        if stream.read_exact(&mut request).is_ok() {
            let _ = stream.write_all(&request[..5]);
        }
    });
    let silent = serve(|mut stream| while stream.read_exact(&mut [0; 24]).is_ok() {});
    for (address, code, bytes) in [
        (differs, "read not echoing writes", 6 * 24),
        (cuts, "short read", 6 * 5),
        (silent, "i/o timeout", 0),
    ] {
        let flags = ["-n", "6", "-qps", "0", "-c", "2", "-timeout", "100ms", "-json", "-"];
        let finished = load(&flags, &format!("tcp://{address}"));
        assert_eq!(finished.code, Some(0), "{code}: {finished:?}");
        let line = format!("\ntcp {code} : 6 (100.0 %)\n");
        assert!(finished.stderr.contains(&line), "{code}: {}", finished.stderr);
        let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(document["ErrorsDurationHistogram"]["Count"], 6, "{code}");
        assert_eq!((&document["SocketCount"], &document["BytesSent"]), (&6.into(), &144.into()));
        assert_eq!(document["BytesReceived"], bytes, "{code}");
    }
    let nobody = run(&mut plimsoll(&["fortio", "load", "-n", "2", "tcp://127.0.0.1:1"]));
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
}

/// Has each datagram to a new port answered; `None` does not.
fn answer(with: impl Fn(usize, &[u8]) -> Option<Vec<u8>> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("bound");
    thread::spawn(move || {
        let mut room = vec![0; 1 << 16];
        for number in 0.. {
            let Ok((len, from)) = socket.recv_from(&mut room) else { return };
            if let Some(answer) = with(number, &room[..len]) {
                let _ = socket.send_to(&answer, from);
            }
        }
    });
    address
}

#[test]
fn an_echo_over_udp_is_counted_as_fortio_counts() {
    let target = format!("udp://{}", answer(|_, datagram| Some(datagram.to_vec())));
    let flags = ["-n", "30", "-qps", "0", "-c", "2", "-json", "-", "-as-original"];
    let finished = load(&flags, &target);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for line in [
        "Sockets used: 2 (for perfect no error run, would be 2)",
        "Total Bytes sent: 720, received: 720",
        "udp OK : 30 (100.0 %)",
    ] {
        assert!(finished.stderr.lines().any(|known| known == line), "{}", finished.stderr);
    }
    let end = format!(
        "\"Destination\": \"{target}\",\n  \"Payload\": null,\n  \"ReqTimeout\": 0,\n  \
         \"RetCodes\": {{\n    \"OK\": 30\n  }},\n  \"SocketCount\": 2,\n  \"BytesSent\": 720,\n  \
         \"BytesReceived\": 720\n}}\n"
    );
    assert!(finished.stdout.ends_with(&end), "{}", finished.stdout);
    assert!(finished.stdout.starts_with("{\n  \"RunType\": \"UDP\",\n"), "{}", finished.stdout);
    for driver in ["uring", "epoll"] {
        let bytes = (60_000 * 20).to_string();
        let flags = ["-n", "20", "-qps", "0", "-c", "1", "-driver", driver];
        let finished = load(&[&flags[..], &["-payload-size", "60000"]].concat(), &target);
        assert_eq!(finished.code, Some(0), "{driver}: {finished:?}");
        let line =
            format!("\nTotal Bytes sent: {bytes}, received: {bytes}\nudp OK : 20 (100.0 %)\n");
        assert!(finished.stderr.contains(&line), "{driver}: {}", finished.stderr);
    }
    let finished = load(&["-payload-size", "66000"], &target);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let line = "fortio: a datagram of 66000 bytes is above 65507: send less\n";
    assert_eq!(finished.stderr, line);
}

#[test]
fn what_is_lost_over_udp_is_late_and_what_is_no_echo_is_told() {
    let lossy = answer(|number, datagram| (number % 3 > 0).then(|| datagram.to_vec()));
    let differs = answer(|_, datagram| Some(vec![b'x'; datagram.len()]));
    let cuts = answer(|_, datagram| Some(datagram[1..].to_vec()));
    // A socket that hears another one alone keeps its port from everybody else.
    let deaf = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    deaf.connect(differs).expect("it is there");
    let nobody = deaf.local_addr().expect("bound");
    for (address, codes) in [
        (lossy, json!({ "OK": 4, "timeout": 2 })),
        (differs, json!({ "read not echoing writes": 6 })),
        (cuts, json!({ "short read": 6 })),
        (nobody, json!({ "short read": 6 })),
    ] {
        let flags = ["-n", "6", "-qps", "0", "-c", "1", "-udp-timeout", "50ms", "-json", "-"];
        let finished = load(&flags, &format!("udp://{address}"));
        assert_eq!(finished.code, Some(0), "{codes}: {finished:?}");
        let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(document["RetCodes"], codes, "{finished:?}");
    }
}
