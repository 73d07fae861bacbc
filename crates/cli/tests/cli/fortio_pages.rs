//! The pages of `plimsoll fortio server`, and runs whose clients leave.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::json;

use crate::fortio_server::FortioServer;

fn page(server: &FortioServer, path: &str) -> (String, String) {
    let (head, body) = server.get(path);
    (head, String::from_utf8(body).expect("text"))
}

#[test]
fn pages_show_results_with_charts() {
    let (folder, server) = FortioServer::all();
    let run = format!("url={}&n=20&qps=-1&c=2&load=Start", server.http);
    let (head, shown) = page(&server, &format!("/fortio/?{run}&save=on&labels=one"));
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/html"), "{head}");
    assert!(shown.contains("<h3>Latency by percentile</h3>"), "{shown}");
    let (head, wrong) = page(&server, "/fortio/?load=Start");
    assert!(
        head.starts_with("HTTP/1.1 400 ") && wrong.contains("URL is required"),
        "{head}{wrong}"
    );
    assert_eq!(server.json(&format!("/fortio/?{run}&json=on&save=on&labels=two"))["Labels"], "two");

    let files = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    let mut names: Vec<String> =
        files.map(|file| file.file_name().into_string().expect("text")).collect();
    names.sort();
    let (_, list) = page(&server, "/fortio/browse");
    assert!(names.len() == 2 && names.iter().all(|name| list.contains(name)), "{names:?} {list}");
    let (_, one) = page(&server, &format!("/fortio/browse?url={}", names[0]));
    assert!(one.contains("<h3>Calls by latency</h3>"), "{one}");
    let both = format!("/fortio/browse?sel={}&sel={}", names[0], names[1]);
    assert!(page(&server, &both).1.contains("<h1>2 results</h1>"));
    // What fetches pages of others has to be asked for.
    let list = format!("url={}fortio/data/index.tsv", server.http);
    let (_copies, copier) = FortioServer::with(&["-fetch"]);
    for (path, status, part) in [
        (format!("/fortio/sync?{list}"), 200, "2 new results copied."),
        (format!("/fortio/sync?{list}"), 200, "0 new results copied."),
        ("/fortio/sync".to_owned(), 200, "name=\"url\""),
        ("/fortio/sync?url=ftp://a/".to_owned(), 400, "<p>"),
    ] {
        let (head, body) = page(&copier, &path);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        assert!(body.contains(part), "{path}: {body}");
    }
    for (path, status, part) in [
        ("/fortio/sync?url=x", 200, "control UI"),
        ("/fortio/", 200, "control UI"),
        ("/fortio/flags", 200, "-qps rate"),
        ("/fortio/browse?url=none.json", 404, "There is no result"),
        ("/debug/pprof/", 501, "perf record"),
    ] {
        let (head, body) = page(&server, path);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        assert!(body.contains(part), "{path}: {body}");
    }
}

/// Without an end, nobody would hear of such a run. Others end by themselves, and save their
/// result.
#[test]
fn an_endless_run_ends_when_its_client_leaves() {
    let (_folder, server) = FortioServer::all();
    let start = |length: &str| {
        let address = server.http.trim_start_matches("http://").trim_end_matches('/');
        let mut client = TcpStream::connect(address).expect("a server");
        let url = format!("/fortio/rest/run?url={}&qps=50&c=1&{length}", server.http);
        write!(client, "GET {url} HTTP/1.1\r\nHost: h\r\n\r\n").expect("sent");
        client
    };
    let status = || server.json("/fortio/rest/status");
    let states = || {
        let status = status();
        let runs = status["Statuses"].as_object().expect("runs").values();
        runs.map(|run| run["State"].as_i64().unwrap_or(0)).collect::<Vec<_>>()
    };
    let bounded = start("t=1h");
    while states() != [2] {}
    let endless = start("t=on");
    while states() != [2, 2] {}
    drop((bounded, endless));
    while states() != [2] {}
    let left = status()["Statuses"].as_object().expect("runs").keys().cloned().collect::<Vec<_>>();
    let stopped = server.json(&format!("/fortio/rest/stop?runid={}&wait=true", left[0]));
    assert_eq!((&left, &stopped["message"]), (&vec!["1".to_owned()], &json!("stopped")));
}
