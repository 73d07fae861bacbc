//! fortio's REST interface: what requests ask for and what they are answered with, as pure
//! functions.
//!
//! The arguments of a run stand in the query, or in a JSON object whose values are texts. Switches
//! are `on`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use md5::{Digest as _, Md5};
use plimsoll_core::secret::form_decoded;
use serde::Serialize;
use serde_json::Value;

use super::arguments::{header, percentiles};
use super::command::{Call, Command, Payload};
use super::pace::Deal;
use crate::duration;

/// The largest JSON object that asks for a run, bytes.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Why a request is refused, with 400.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestError {
    error: bool,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<String>,
}

impl RestError {
    /// What could not be done, and why.
    #[must_use]
    pub fn new(message: &str, exception: Option<&str>) -> Self {
        let exception = exception.map(str::to_owned);
        Self { error: true, message: message.to_owned(), exception }
    }
}

/// The arguments of a request.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    query: Vec<(String, String)>,
    body: Value,
}

impl Arguments {
    /// Those of a target and of a body, whose object `jsonPath` may name. Without a body those of
    /// the target alone.
    ///
    /// # Errors
    /// A body that is not an object, or does not have what `jsonPath` names.
    pub fn read(target: &str, body: &[u8]) -> Result<Self, RestError> {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (form_decoded(name), form_decoded(value))
        };
        let mut arguments = Self { query: pairs.map(pair).collect(), body: Value::Null };
        if body.is_empty() {
            return Ok(arguments);
        }
        let wrong = |why: &str| RestError::new("body json deserialization error", Some(why));
        if body.len() > BODY_BYTES_MAX {
            return Err(wrong("it is longer than 1 MiB"));
        }
        let mut object: Value =
            serde_json::from_slice(body).map_err(|error| wrong(&error.to_string()))?;
        let path = arguments.text("jsonPath").to_owned();
        for name in path.split('.').filter(|name| !name.is_empty()) {
            object = match object.get_mut(name) {
                Some(inner) => inner.take(),
                None => return Err(wrong(&format!("{name:?} not found in json"))),
            };
        }
        if !object.is_object() {
            return Err(wrong("it is not an object"));
        }
        arguments.body = object;
        Ok(arguments)
    }

    /// The first value of a name; empty without one.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        let of_query = self.query.iter().find(|(known, _)| known == name);
        of_query
            .map(|(_, value)| value.as_str())
            .or_else(|| self.body.get(name)?.as_str())
            .unwrap_or_default()
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name) == "on"
    }

    /// All values of a name in the query, or of a list in the body.
    fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let of_query = self.query.iter().filter(move |(known, _)| known == name);
        of_query.map(|(_, value)| value.as_str())
    }

    fn listed(&self, name: &str) -> impl Iterator<Item = &str> {
        self.body
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }
}

/// A run that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct RestRun {
    /// The run.
    pub command: Command,
    /// Whether it is answered at once.
    pub is_async: bool,
    /// Whether the result goes to a file.
    pub saves: bool,
}

impl RestRun {
    /// Reads the arguments of a run that has this number.
    ///
    /// # Errors
    /// What is missing or cannot be read.
    pub fn read(arguments: &Arguments, run_id: i64) -> Result<Self, RestError> {
        let target = arguments.text("url");
        if target.is_empty() {
            return Err(RestError::new("URL is required", None));
        }
        let number = |name: &str| arguments.text(name).parse::<f64>().ok();
        let whole = |name: &str| arguments.text(name).parse::<i64>().unwrap_or(0);
        let text = |name: &str| Some(arguments.text(name).to_owned()).filter(|it| !it.is_empty());
        let mut command = Command::new();
        command.target = target.to_owned();
        command.run_id = run_id;
        command.labels = Some(arguments.text("labels").to_owned());
        command.qps = match number("qps").filter(|qps| qps.is_finite()) {
            None | Some(0.0) => 8.0,
            Some(qps) => qps.max(0.0),
        };
        command.threads = match u32::try_from(whole("c")) {
            Ok(0) | Err(_) => 4,
            Ok(threads) => threads.min(THREADS_MAX),
        };
        command.exactly = whole("n").max(0);
        command.duration_ns = match arguments.text("t") {
            "" => command.duration_ns,
            "on" => 0,
            text => duration_of(text)?.max(0),
        };
        let list = text("p").unwrap_or_else(|| "50,75,90,99,99.9".to_owned());
        command.percentiles =
            percentiles(&list).map_err(|why| RestError::new("parsing percentiles", Some(&why)))?;
        let resolution_s = number("r").filter(|r| r.is_finite() && *r > 0.0);
        command.resolution_s = resolution_s.unwrap_or(0.001);
        command.payload = text("payload").map_or(Payload::None, Payload::Text);
        command.method = text("X");
        command.jitter = arguments.is_on("jitter");
        command.uniform = arguments.is_on("uniform");
        command.no_catch_up = arguments.is_on("nocatchup");
        command.std_client = arguments.is_on("stdclient");
        command.h2 = arguments.is_on("h2");
        command.sequential_warmup = arguments.is_on("sequential-warmup");
        command.insecure = arguments.is_on("https-insecure");
        command.log_errors = arguments.is_on("log-errors");
        command.allow_initial_errors = true;
        command.resolve = arguments.text("resolve").to_owned();
        if let Some(text) = text("timeout") {
            command.timeout_ns = duration_of(&text)?;
            command.udp_timeout_ns = command.timeout_ns;
        }
        for line in arguments.texts("H").chain(arguments.listed("headers")) {
            if line.is_empty() {
                continue;
            }
            let why = format!("invalid extra header '{line}', expecting Key: Value");
            let read = header(line).ok_or_else(|| RestError::new("bad header", Some(&why)))?;
            command.headers.push(read);
        }
        if arguments.text("runner") == "grpc" {
            let delay = text("grpc-ping-delay");
            let delay_ns = delay.as_deref().map_or(Ok(0), duration_of)?;
            command.call = Some(match arguments.is_on("ping") {
                true => Call::Ping { delay_ns },
                false => Call::Health(arguments.text("healthservice").to_owned()),
            });
            if arguments.is_on("grpc-secure") && !command.target.contains("://") {
                command.target = format!("https://{}", command.target);
            }
        }
        let (is_async, saves) = (arguments.is_on("async"), arguments.is_on("save"));
        Ok(Self { command, is_async, saves })
    }
}

/// The most connections of a run.
const THREADS_MAX: u32 = 100_000;

fn duration_of(text: &str) -> Result<i64, RestError> {
    duration::parse_ns(text).ok_or_else(|| {
        let why = format!("time: invalid duration {text:?}");
        RestError::new("parsing duration", Some(&why))
    })
}

/// The answer to what starts or stops runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunAnswer {
    /// `started`, `stopping` or `stopped`.
    pub message: &'static str,
    /// Which run; 0: all.
    #[serde(rename = "RunID")]
    pub run_id: i64,
    /// How many runs.
    #[serde(rename = "Count")]
    pub count: usize,
    /// The name of the result, of one run.
    #[serde(rename = "ResultID")]
    pub result_id: String,
    /// Where it will be.
    #[serde(rename = "ResultURL")]
    pub result_url: String,
}

/// A run in the answer to `rest/status`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct RunStatus {
    /// Its number.
    #[serde(rename = "RunID")]
    pub run_id: i64,
    /// 1: it has not begun; 2: it goes on; 3: it was told to stop.
    pub state: u8,
    /// What it does; `None` before it has begun.
    pub runner_options: Option<RunOptions>,
}

/// The answer to `rest/status`: runs by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Statuses {
    /// Those that go on.
    pub statuses: BTreeMap<String, RunStatus>,
}

/// The answer to `rest/dns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The name.
    #[serde(rename = "Name")]
    pub name: String,
    /// Its addresses of IPv4.
    #[serde(rename = "IPv4")]
    pub ipv4: Vec<String>,
    /// Its addresses of IPv6.
    #[serde(rename = "IPv6")]
    pub ipv6: Vec<String>,
}

/// What a run does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct RunOptions {
    run_type: String,
    #[serde(rename = "QPS")]
    qps: Value,
    duration: i64,
    num_threads: u32,
    percentiles: Vec<Value>,
    resolution: Value,
    labels: String,
    exactly: i64,
    jitter: bool,
    uniform: bool,
    #[serde(rename = "RunID")]
    run_id: i64,
    offset: i64,
    no_catch_up: bool,
    #[serde(rename = "ID")]
    id: String,
}

impl RunOptions {
    /// Of a command whose result has this name.
    #[must_use]
    pub fn of(command: &Command, id: &str) -> Self {
        Self {
            run_type: super::of_run::run_type(command),
            qps: number(if command.has_rate() { command.qps } else { -1.0 }),
            duration: if command.duration_ns == 0 { -1 } else { command.duration_ns },
            num_threads: Deal::of(command).threads,
            percentiles: command.percentiles.iter().copied().map(number).collect(),
            resolution: number(command.resolution_s),
            labels: command.labels.clone().unwrap_or_default(),
            exactly: command.exactly,
            jitter: command.jitter,
            uniform: command.uniform,
            run_id: command.run_id,
            offset: command.offset_ns,
            no_catch_up: command.no_catch_up,
            id: id.to_owned(),
        }
    }
}

/// A number as Go writes it: whole ones without a point.
fn number(value: f64) -> Value {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => (value as i64).into(),
        false => value.into(),
    }
}

/// Whether a name is that of a result in the folder of results, and of nothing outside.
#[must_use]
pub fn is_result_name(name: &str) -> bool {
    let is_safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '+' | ',');
    name.ends_with(".json")
        && !name.starts_with('.')
        && name.len() <= 255
        && name.chars().all(is_safe)
}

/// The line of a result in `data/index.tsv`: where it is, its length, and its MD5 in base64, as the
/// transfer services of Google and Amazon take it.
#[must_use]
pub fn index_line(url: &str, document: &[u8]) -> String {
    let digest = BASE64.encode(Md5::digest(document));
    format!("{url}\t{}\t{digest}\n", document.len())
}

/// The first line of `data/index.tsv`.
pub const INDEX_HEAD: &str = "TsvHttpData-1.0\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn run(target: &str, body: &str) -> Result<RestRun, String> {
        let read = Arguments::read(target, body.as_bytes());
        let read = read.and_then(|arguments| RestRun::read(&arguments, 3));
        read.map_err(|error| serde_json::to_string(&error).expect("plain data"))
    }

    #[test]
    fn arguments_stand_in_the_query_or_in_an_object_of_texts() {
        for (target, body, is_as_wanted) in [
            (
                "/r?url=http://a/",
                "",
                (|it: &Command| it.qps == 8.0 && it.threads == 4 && it.duration_ns == 5_000_000_000)
                    as fn(&Command) -> bool,
            ),
            ("/r?url=a&qps=-1&n=7", "", |it| !it.has_rate() && it.exactly == 7),
            ("/r?url=a&t=on&jitter=on&uniform=true", "", |it| {
                it.duration_ns == 0 && it.jitter && !it.uniform
            }),
            ("/r", r#"{"url":"a","qps":5,"n":"2"}"#, |it| it.qps == 8.0 && it.exactly == 2),
            ("/r?qps=3", r#"{"url":"a","qps":"5"}"#, |it| it.qps == 3.0),
            ("/r?jsonPath=.metadata", r#"{"metadata":{"url":"a","c":"9"}}"#, |it| it.threads == 9),
            ("/r?url=a&H=x:y&H=b:%20c", r#"{"headers":["d:e"]}"#, |it| it.headers.len() == 3),
            ("/r?url=a&runner=grpc&ping=on", "", |it| it.call == Some(Call::Ping { delay_ns: 0 })),
            ("/r?url=a&log-errors=on&timeout=1s&r=0.01&p=50", "", |it| {
                it.log_errors && it.timeout_ns == 1_000_000_000 && it.percentiles == [50.0]
            }),
        ] {
            let read = run(target, body).unwrap_or_else(|error| panic!("{target} {body}: {error}"));
            assert!(is_as_wanted(&read.command), "{target} {body}: {read:?}");
            assert!(read.command.allow_initial_errors && read.command.run_id == 3);
        }
    }

    /// What fortio 1.66 answers, but for the words of Go's parser of JSON.
    #[test]
    fn what_is_wrong_is_told_in_fortios_form() {
        for (target, body, want) in [
            ("/r", "", r#"{"error":true,"message":"URL is required"}"#),
            (
                "/r?url=a&t=bad",
                "",
                r#"{"error":true,"message":"parsing duration","exception":"time: invalid duration \"bad\""}"#,
            ),
            (
                "/r?jsonPath=.metadata",
                r#"{"url":"a"}"#,
                r#"{"error":true,"message":"body json deserialization error","exception":"\"metadata\" not found in json"}"#,
            ),
            (
                "/r?url=x",
                "[]",
                r#"{"error":true,"message":"body json deserialization error","exception":"it is not an object"}"#,
            ),
        ] {
            assert_eq!(run(target, body), Err(want.to_owned()), "{target} {body}");
        }
        let not_json = run("/r?url=x", "not json").expect_err("no JSON");
        assert!(not_json.contains("body json deserialization error"), "{not_json}");
    }

    #[test]
    fn a_run_is_described_as_fortio_does() {
        let mut command = run("/r?url=http://h/&n=4&qps=2&c=1", "").expect("a run").command;
        command.run_id = 2;
        let options = RunOptions::of(&command, "2026-11-26-121159_2");
        let status = RunStatus { run_id: 2, state: 2, runner_options: Some(options) };
        let want = r#"{"RunID":2,"State":2,"RunnerOptions":{"RunType":"HTTP","QPS":2,"Duration":5000000000,"NumThreads":1,"Percentiles":[50,75,90,99,99.9],"Resolution":0.001,"Labels":"","Exactly":4,"Jitter":false,"Uniform":false,"RunID":2,"Offset":0,"NoCatchUp":false,"ID":"2026-11-26-121159_2"}}"#;
        assert_eq!(serde_json::to_string(&status).expect("plain data"), want);
        let answer = RunAnswer { message: "stopping", ..RunAnswer::default() };
        let want = r#"{"message":"stopping","RunID":0,"Count":0,"ResultID":"","ResultURL":""}"#;
        assert_eq!(serde_json::to_string(&answer).expect("plain data"), want);
    }

    #[test]
    fn results_are_listed_with_their_digests() {
        let line = index_line("http://h/data/a.json", b"hello");
        assert_eq!(line, "http://h/data/a.json\t5\tXUFAKrxLKna5cZ2REBfFkg==\n");
    }

    #[test]
    fn names_lead_nowhere_else() {
        for (name, want) in [
            ("2026-11-26-121159_2.json", true),
            ("a b,c+d.json", true),
            ("../x.json", false),
            ("a/b.json", false),
            (".json", false),
            ("..json", false),
            ("a\\b.json", false),
            ("x.txt", false),
            ("a\0.json", false),
        ] {
            assert_eq!(is_result_name(name), want, "{name:?}");
        }
    }
}
