//! `k6 status`, `stats`, `pause`, `resume` and `scale`: a client of the REST interface of a run
//! that goes on elsewhere. They print what k6 1 prints; k6 2 has dropped them.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use clap::ArgMatches;
use plimsoll_dialect::k6::{ExitCode, Refused};
use plimsoll_proto::http1::{
    Limits, RequestKind, ResponseDecoder, ResponseEvent, write_content_length, write_head_end,
    write_header,
};
use serde_json::{Value, json};

use super::log::other_fault;
use super::script::address;
use super::{args, print};
use crate::value_args::variable;

/// Where k6 1 listens unless it is told otherwise.
const ADDRESS: &str = "localhost:6565";

/// How long an answer may take. Functions of the script may be called for it.
const PATIENCE: Duration = Duration::from_secs(120);

/// The longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Asks a run, and prints what it says.
///
/// # Errors
/// No answer, or one that says why not; exit code 255.
pub(super) fn remote(command: &str, given: &ArgMatches) -> Result<ExitCode, Refused> {
    let address = address(given, &variable);
    let address = address.as_deref().unwrap_or(ADDRESS);
    let change = match command {
        "pause" => Some(json!({ "paused": true })),
        "resume" => Some(json!({ "paused": false })),
        "scale" => Some(scale(given)?),
        _ => None,
    };
    let text = match (command, change) {
        ("stats", _) => stats(&ask(address, "GET", "/v1/metrics", None)?),
        (_, None) => status(&ask(address, "GET", "/v1/status", None)?),
        (_, Some(attributes)) => {
            let data = json!({ "type": "status", "id": "default", "attributes": attributes });
            let body = json!({ "data": data }).to_string();
            status(&ask(address, "PATCH", "/v1/status", Some(&body))?)
        }
    };
    print(&text)?;
    Ok(ExitCode::Done)
}

fn scale(given: &ArgMatches) -> Result<Value, Refused> {
    let number = |flag: &str| {
        let text = args::text(given, flag);
        let number = text.map(|text| {
            text.parse::<u64>().map_err(|_| other_fault(format!("--{flag} '{text}' is no number")))
        });
        number.transpose()
    };
    match (number("vus")?, number("max")?) {
        (None, None) => Err(other_fault("neither number is given: give --vus or --max".to_owned())),
        (vus, max) => Ok(json!({ "vus": vus, "vus-max": max })),
    }
}

/// The document that a run answers with.
fn ask(address: &str, method: &str, path: &str, body: Option<&str>) -> Result<Value, Refused> {
    let failed = |error: io::Error| {
        let why = crate::message::without_error_numbers(&error.to_string());
        other_fault(format!("{method} http://{address}{path}: {why}"))
    };
    let answer = exchange(address, method, path, body.unwrap_or_default()).map_err(failed)?;
    let document: Value = serde_json::from_slice(&answer).map_err(|_| {
        other_fault(format!(
            "{method} http://{address}{path}: the answer is not k6's: it is no JSON"
        ))
    })?;
    match document.get("errors").and_then(|errors| errors.get(0)) {
        None => Ok(document),
        Some(fault) => {
            let part = |name: &str| fault[name].as_str().unwrap_or_default();
            Err(other_fault(format!("{}: {}", part("title"), part("detail"))))
        }
    }
}

/// Sends a request on a connection of its own, and gives the body of the response.
fn exchange(address: &str, method: &str, path: &str, body: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut request = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    write_header(&mut request, "Host", address.as_bytes());
    write_header(&mut request, "Connection", b"close");
    write_header(&mut request, "Content-Type", b"application/json");
    write_content_length(&mut request, body.len() as u64);
    write_head_end(&mut request);
    request.extend_from_slice(body.as_bytes());
    stream.write_all(&request)?;
    let mut decoder =
        ResponseDecoder::new(Limits { body_bytes: ANSWER_BYTES_MAX, ..Limits::default() });
    let (mut answer, mut buffer) = (Vec::new(), [0; 16 << 10]);
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            let ended = decoder.end().map_err(|error| wrong(error.to_string()))?;
            return ended.map(|_| answer).ok_or_else(|| wrong("there is no answer".to_owned()));
        }
        let mut input = &buffer[..read];
        while !input.is_empty() {
            let decoded = decoder.decode(RequestKind::Plain, input);
            let decoded = decoded.map_err(|error| wrong(error.to_string()))?;
            match decoded.event {
                Some(ResponseEvent::Body(piece)) => answer.extend_from_slice(piece),
                Some(ResponseEvent::End(_)) => return Ok(answer),
                _ => {}
            }
            input = &input[decoded.consumed..];
        }
    }
}

/// The state of a run as YAML.
fn status(document: &Value) -> String {
    let attributes = &document["data"]["attributes"];
    let plain = |name: &str| format!("{name}: {}\n", attributes[name]);
    let quoted = |name: &str| format!("{name}: \"{}\"\n", attributes[name]);
    [
        plain("status"),
        quoted("paused"),
        quoted("vus"),
        quoted("vus-max"),
        plain("stopped"),
        plain("running"),
        plain("tainted"),
    ]
    .concat()
}

/// The metrics of a run as YAML.
fn stats(document: &Value) -> String {
    let mut text = String::new();
    for metric in document["data"].as_array().into_iter().flatten() {
        let attributes = &metric["attributes"];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tainted = match &attributes["tainted"] {
            Value::Bool(is) => is.to_string(),
            _ => String::new(),
        };
        let _ = writeln!(text, "- name: {}", word(&metric["id"]));
        for name in ["type", "contains"] {
            let value = word(&attributes[name]);
            let _ = writeln!(text, "  {name}:\n    type: {value}\n    valid: true");
        }
        let _ = writeln!(text, "  tainted: \"{tainted}\"\n  sample:");
        for (name, value) in attributes["sample"].as_object().into_iter().flatten() {
            let _ = writeln!(text, "    {name}: {value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_become_yaml() {
        let attributes = json!({
            "status": 4, "paused": true, "vus": 0, "vus-max": 2, "stopped": false,
            "running": false, "tainted": false,
        });
        let want = "status: 4\npaused: \"true\"\nvus: \"0\"\nvus-max: \"2\"\nstopped: false\n\
                    running: false\ntainted: false\n";
        assert_eq!(status(&json!({ "data": { "attributes": attributes } })), want);
        let attributes = json!({
            "type": "gauge", "contains": "default", "tainted": null, "sample": { "value": 0 },
        });
        let metrics = json!({ "data": [{ "id": "vus", "attributes": attributes }] });
        let want = "- name: vus\n  type:\n    type: gauge\n    valid: true\n  contains:\n    \
                    type: default\n    valid: true\n  tainted: \"\"\n  sample:\n    value: 0\n";
        assert_eq!(stats(&metrics), want);
    }
}
