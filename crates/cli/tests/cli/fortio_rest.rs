//! The contract of fortio's REST interface: what its server (1.66) answered to these requests, word
//! for word. Those of its server and ours side by side are end-to-end tests.

use serde_json::Value;

use crate::closed::ClosedPort;
use crate::fortio_server::FortioServer;

const JSON: &str = "application/json";

fn request(server: &FortioServer, target: &str, body: &str) -> (String, String) {
    let method = if body.is_empty() { "GET" } else { "POST" };
    let length = body.len();
    let (head, body) = server.ask(&format!(
        "{method} {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {length}\r\n\
         \r\n{body}"
    ));
    (head, String::from_utf8(body).expect("text"))
}

/// A field of a head.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[test]
fn answers_are_fortios_to_the_letter() {
    let (_folder, server) = FortioServer::all();
    for (target, body, status, want) in [
        ("/fortio/rest/run", "", 400, r#"{"error":true,"message":"URL is required"}"#),
        (
            "/fortio/rest/run?url=http://a/&t=bad",
            "",
            400,
            r#"{"error":true,"message":"parsing duration","exception":"time: invalid duration \"bad\""}"#,
        ),
        (
            "/fortio/rest/run?jsonPath=.nope",
            r#"{"metadata":{"url":"http://a/"}}"#,
            400,
            r#"{"error":true,"message":"body json deserialization error","exception":"\"nope\" not found in json"}"#,
        ),
        ("/fortio/rest/status", "", 200, r#"{"Statuses":{}}"#),
        ("/fortio/rest/status?runid=abc", "", 200, r#"{"Statuses":{}}"#),
        ("/fortio/rest/status?runid=999", "", 200, r#"{"Statuses":null}"#),
        (
            "/fortio/rest/stop",
            "",
            200,
            r#"{"message":"stopping","RunID":0,"Count":0,"ResultID":"","ResultURL":""}"#,
        ),
        (
            "/fortio/rest/stop?runid=999&wait=true",
            "",
            200,
            r#"{"message":"stopping","RunID":999,"Count":0,"ResultID":"","ResultURL":""}"#,
        ),
        (
            "/fortio/rest/dns?name=127.0.0.1",
            "",
            200,
            r#"{"Name":"127.0.0.1","IPv4":["127.0.0.1"],"IPv6":[]}"#,
        ),
        (
            "/fortio/rest/dns",
            "",
            400,
            r#"{"error":true,"message":"dns failed","exception":"can't resolve empty host"}"#,
        ),
    ] {
        let (head, answer) = request(&server, target, body);
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        assert_eq!((code, answer.as_str()), (Some(status), want), "{target}");
        let names: Vec<&str> =
            head.lines().filter_map(|line| line.split_once(": ")).map(|(name, _)| name).collect();
        assert_eq!(names, ["Content-Type", "Date", "Content-Length", "Connection"], "{target}");
        assert_eq!(field(&head, "Content-Type"), Some(JSON), "{target}");
    }
}

/// Values that cannot be read count as not given, and what is not a text in a body does too.
#[test]
fn runs_do_what_they_do_with_fortio() {
    let (_folder, server) = FortioServer::all();
    let url = server.http.clone();
    let few = format!("url={url}&n=4&qps=-1&c=2");
    let body = format!(r#"{{"metadata":{{"url":"{url}","n":"4","qps":"-1","c":"2"}}}}"#);
    let number = format!(r#"{{"url":"{url}","n":4,"qps":"-1","c":"1","t":"20ms"}}"#);
    let list = format!(r#"{{"url":"{url}","n":"4","qps":"-1","headers":["a:b","bad"]}}"#);
    for (target, body, path, want) in [
        (format!("?{few}"), "", "/RetCodes", serde_json::json!({ "200": 4 })),
        (format!("?{few}&headers=x&H=bad"), "", "/RetCodes/200", 4.into()),
        (format!("?{few}&p=101"), "", "/DurationHistogram/Percentiles", Value::Null),
        (format!("?{few}&p=50,x"), "", "/DurationHistogram/Percentiles/0/Percentile", 50.into()),
        (format!("?url={url}&n=abc&qps=xx&c=1&t=100ms"), "", "/RequestedQPS", "8".into()),
        (format!("?url={url}&n=abc&qps=xx&c=1&t=100ms"), "", "/RequestedDuration", "100ms".into()),
        (format!("?{few}&connection-reuse=1:1"), "", "/SocketCount", 4.into()),
        (format!("?{few}&labels=a+b"), "", "/Labels", "a b".into()),
        (format!("?{few}&timeout=bad"), "", "/HTTPReqTimeOut", 3_000_000_000_i64.into()),
        ("?jsonPath=.metadata".to_owned(), &body, "/RequestedDuration", "exactly 4 calls".into()),
        (String::new(), &number, "/RequestedDuration", "20ms".into()),
        (String::new(), &list, "/RetCodes/200", 4.into()),
        ("?qps=5&c=1".to_owned(), &list, "/RequestedQPS", "5".into()),
    ] {
        let target = format!("/fortio/rest/run{target}");
        let (head, answer) = request(&server, &target, body);
        assert!(head.starts_with("HTTP/1.1 200 "), "{target} {body}: {head}{answer}");
        assert_eq!(field(&head, "Content-Type"), Some(JSON), "{target}");
        let result: Value = serde_json::from_str(&answer).expect("JSON");
        let found = result.pointer(path).unwrap_or(&Value::Null);
        assert_eq!(found, &want, "{target} {body}: {path}");
    }
    let closed = ClosedPort::new();
    let nobody = server.json(&format!("/fortio/rest/run?url={}&n=4&qps=-1&c=2", closed.url()));
    assert_eq!(nobody["RetCodes"], serde_json::json!({ "-1": 4 }));
}

#[test]
fn results_are_listed_and_given_as_fortio_does() {
    let (folder, server) = FortioServer::all();
    std::fs::write(folder.path().join("a.json"), "{}").expect("written");
    for (path, status, kind, cors) in [
        ("/fortio/data/a.json", 200, JSON, Some("*")),
        ("/fortio/data/index.tsv", 200, "text/plain; charset=UTF-8", Some("*")),
        ("/fortio/data/", 200, "text/html; charset=UTF-8", None),
        ("/fortio/data/none.json", 404, "text/plain; charset=utf-8", Some("*")),
        ("/fortio/rest/none", 200, "text/html; charset=UTF-8", None),
    ] {
        let (head, _) = request(&server, path, "");
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        assert_eq!(field(&head, "Content-Type"), Some(kind), "{path}");
        assert_eq!(field(&head, "Access-Control-Allow-Origin"), cors, "{path}");
    }
    let (head, _) = request(&server, "/fortio/data/index.tsv", "");
    let changed = field(&head, "Last-Modified").expect("a date");
    assert_eq!(field(&head, "Etag"), Some(format!("\"{changed}\"").as_str()));
    assert_eq!((changed.len(), &changed[changed.len() - 4..]), (29, " GMT"));
    let (head, _) = request(&server, "/fortio/data/a.json", "");
    assert_eq!(field(&head, "Cache-Control"), Some("max-age=365000000, immutable"));
}
