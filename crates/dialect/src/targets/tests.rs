//! What each format reads, what is refused with its line, and inputs in no known format.

use std::path::Path;

use plimsoll_core::expect::Expectation;
use plimsoll_core::plan::Request;
use plimsoll_core::random::{Stream, below};

use super::fuzz::fuzz_targets;
use super::*;

fn read_file(path: &str) -> Result<Vec<u8>, String> {
    match path {
        "body.json" => Ok(b"{\"a\":1}".to_vec()),
        _ => Err("no such file".to_owned()),
    }
}

fn read_url(text: &str) -> Result<Endpoint, String> {
    let rest = text.strip_prefix("http://").ok_or_else(|| format!("'{text}' is not a URL"))?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Ok(Endpoint::http(host, 80, if path.is_empty() { "/" } else { path }))
}

fn read(path: &str, text: &str, origin: Option<&Endpoint>) -> Result<Targets, TargetsError> {
    let (read_file, read_url) = (&read_file, &read_url);
    parse(&Source { path, text, format: None, origin, read_file, read_url })
}

fn target(name: &str, path: &str, request: Request) -> Target {
    let (name, path) = (name.to_owned(), path.to_owned());
    Target { name, path: path.into(), request, weight: 1, expect: Vec::new() }
}

fn request(method: &str, headers: &[(&str, &str)], body: Option<&str>) -> Request {
    Request {
        method: method.to_owned(),
        headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        body: body.map(|text| Body::Text(text.into())),
        ..Request::get()
    }
}

const HTTP: &str = "\u{feff}# comment
GET http://a/one?x=1
  # another
POST http://a/two
Content-Type: application/json
X-Y:z:1
# between headers
@body.json
DELETE http://a/{{random 1 9}}
x-empty:

PURGE /four";

const JSON: &str = r#"
{"method":"GET","url":"http://a/one?x=1"}
{"method":"POST","url":"http://a/two","header":{"X":["1","2"],"A":["b"]},"body":"aGVsbG8="}

{"method":"PUT","url":"http://a","header":null,"body":null}
"#;

const TOML: &str = r#"
[[target]]
name = "search"
path = "/one?x=1"
headers = ["X: 1", "A: b"]
weight = 3
expect = ["status=200", "body*=x"]

[[target]]
url = "http://a/two"
headers = { X = ["1", "2"], A = "b" }
body = "hello"
chunked = true

[[target]]
method = "PUT"
url = "http://a/three"
body_file = "body.json"
"#;

#[test]
fn vegetas_http_format() {
    let found = read("targets.txt", HTTP, None).unwrap();
    assert_eq!(found.origin, Endpoint::http("a", 80, "/"));
    let two = [("Content-Type", "application/json"), ("X-Y", "z:1")];
    let want = [
        target("GET /one", "/one?x=1", request("GET", &[], None)),
        target("POST /two", "/two", request("POST", &two, Some("{\"a\":1}"))),
        target(
            "DELETE /{{random 1 9}}",
            "/{{random 1 9}}",
            request("DELETE", &[("x-empty", "")], None),
        ),
        target("PURGE /four", "/four", request("PURGE", &[], None)),
    ];
    assert_eq!(found.targets, want);
    assert_eq!(read("t", &HTTP.replace('\n', "\r\n"), None).unwrap().targets, want);
}

#[test]
fn vegetas_json_lines() {
    let want = [
        target("GET /one", "/one?x=1", request("GET", &[], None)),
        target(
            "POST /two",
            "/two",
            request("POST", &[("A", "b"), ("X", "1"), ("X", "2")], Some("hello")),
        ),
        target("PUT /", "/", request("PUT", &[], None)),
    ];
    for path in ["targets.json", "targets", "x.jsonl"] {
        assert_eq!(read(path, JSON, None).unwrap().targets, want);
    }
}

#[test]
fn toml_says_everything() {
    let chunked = request("POST", &[("A", "b"), ("X", "1"), ("X", "2")], Some("hello"));
    let expect =
        vec![Expectation::Status(vec![(200, 200)]), Expectation::BodyContains("x".to_owned())];
    let want = [
        Target {
            weight: 3,
            expect,
            ..target("search", "/one?x=1", request("GET", &[("X", "1"), ("A", "b")], None))
        },
        target("POST /two", "/two", Request { chunked: true, ..chunked }),
        target("PUT /three", "/three", request("PUT", &[], Some("{\"a\":1}"))),
    ];
    for path in ["targets.toml", "targets"] {
        assert_eq!(read(path, TOML, None).unwrap().targets, want);
    }
}

#[test]
fn an_origin_that_is_given_replaces_the_targets() {
    let given = Endpoint::http("b", 8080, "/");
    for (text, path) in [(HTTP, "t"), (JSON, "t"), (TOML, "t"), ("GET /x", "t")] {
        assert_eq!(read(path, text, Some(&given)).unwrap().origin, given);
    }
}

#[test]
fn what_is_refused_says_where_and_what_to_do() {
    for (text, line, says) in [
        ("", 1, "no target"),
        ("# nothing\n\n", 1, "no target"),
        ("GET /x", 1, "command line"),
        ("GET http://a/\n\nGET http://b/\n", 3, "http://b is not the server of line 1, http://a"),
        ("X: y\nGET http://a/", 1, "METHOD URL first"),
        ("@body.json", 1, "METHOD URL first"),
        ("GET http://a/\nX: y\n\nA: b", 4, "METHOD URL first"),
        ("GET", 1, "has no URL"),
        ("GE/T http://a/", 1, "not a method"),
        ("GET ftp://a/", 1, "not a URL"),
        ("GET http://a/\n: x", 2, "'Name: value'"),
        ("GET http://a/\n@missing", 2, "body 'missing': no such file"),
        ("{\"method\":\"GET\"}", 1, "missing field `url`"),
        (
            "\n{\"method\":\"GET\",\"url\":\"http://a\",\"headers\":{}}",
            2,
            "'headers' is not a key here: did you mean 'header'?",
        ),
        ("{\"method\":\"GET\",\"url\":\"http://a\",\"body\":\"?\"}", 1, "base64"),
        ("{\"method\":\"GET\",\"url\":\"http://a\"", 1, "column"),
        ("{\"method\":\"\",\"url\":\"http://a\"}", 1, "not a method"),
        ("[[target]]\npath = \"x\"", 1, "does not start with '/'"),
        ("[[target]]\nurl = \"http://a\"\n\n[[target]]\nname = \"x\"", 4, "a url or a path"),
        ("[[target]]\npath = \"/x\"\nurl = \"http://a\"", 1, "both a url and a path"),
        ("[[target]]\npath = \"/x\"\nbody = \"\"\nbody_file = \"y\"", 1, "both a body and"),
        ("[[target]]\npath = \"/x\"\nchunked = true", 1, "has no body"),
        ("[[target]]\npath = \"/x\"\nexpect = [\"size=1\"]", 1, "status=200..299"),
        (
            "[[target]]\npath = \"/x\"\nwieght = 1",
            3,
            "'wieght' is not a key here: did you mean 'weight'?",
        ),
        ("[[target]]\npath = \"/x\"\nweight = -1", 3, "-1"),
        ("[[target]]\npath = \"/x\"\nheaders = 1", 3, "a list"),
        ("[[target]]\npath = \"/x\"\nheaders = [\"x\"]", 1, "'Name: value'"),
        ("[[target]]\npath = \"/x\\ny\"", 1, "control character"),
        ("[[target]\n", 1, ""),
        ("[[targets]]\n", 1, "did you mean 'target'?"),
    ] {
        let error = read("some/file", text, None).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
        let error = error.to_string();
        assert!(error.starts_with("some/file, line ") && error.contains(says), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn bodies_and_targets_are_limited() {
    let five = |_: &str| Ok(b"12345".to_vec());
    let bytes = BODIES_BYTES_MAX - 10;
    let mut files = Files { read: &five, known: HashMap::new(), bytes };
    let results: Vec<_> = (1..=3).map(|line| files.body(line, "same").map(|_| ())).collect();
    assert_eq!(results[..2], [Ok(()), Ok(())]);
    assert!(results[2].as_ref().is_err_and(|(line, what)| *line == 3 && what.contains("1 GiB")));
    let many = "GET /x\n".repeat(TARGETS_MAX + 1);
    let error = read("t", &many, None).unwrap_err();
    assert!(error.line == TARGETS_MAX + 1 && error.what.contains("targets"), "{error}");
}

#[test]
fn a_format_that_is_given_is_not_detected() {
    let source = Source {
        path: "targets.toml",
        text: HTTP,
        format: Some(Format::Http),
        origin: None,
        read_file: &read_file,
        read_url: &read_url,
    };
    assert_eq!(parse(&source).unwrap().targets.len(), 4);
}

#[test]
fn the_documents_examples_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/requests.md");
    let page = std::fs::read_to_string(path).expect("a page");
    let read_file = |_: &str| Ok(Vec::new());
    for (fence, format, count) in [
        ("```text\n", Format::Http, 2),
        ("```json\n", Format::Json, 1),
        ("```toml\n", Format::Toml, 2),
    ] {
        let blocks: Vec<&str> =
            page.split(fence).skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert_eq!(blocks.len(), 1, "{fence}");
        let base = Endpoint::http("a", 80, "/");
        let (text, origin) = (blocks[0], Some(&base));
        let (read_file, read_url) = (&read_file, &read_url);
        let source = Source { path: "t", text, format: None, origin, read_file, read_url };
        assert_eq!(Format::detect(source.path, text), format);
        assert_eq!(parse(&source).expect(fence).targets.len(), count);
    }
}

#[test]
fn no_input_panics() {
    for text in [HTTP, JSON, TOML] {
        let bytes = text.as_bytes();
        for end in 0..=bytes.len() {
            fuzz_targets(&bytes[..end]);
        }
        let stream = Stream::new(1, 0);
        for round in 0..2000 {
            let mut changed = bytes.to_vec();
            for change in 0..3 {
                let word = stream.word(3 * round + change);
                let place = below(word, changed.len() as u128) as usize;
                changed[place] = b"\n\"{}[]=:@#/ x\r\0"[(word & 0xf) as usize % 15];
            }
            fuzz_targets(&changed);
        }
    }
}
