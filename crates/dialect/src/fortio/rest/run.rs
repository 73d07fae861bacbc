//! A run as a request asks for it. Values that cannot be read count as not given, as fortio has it,
//! but for how long the run takes.

use super::{Arguments, RestError};
use crate::duration;
use crate::fortio::arguments::{header, percentiles, reuse};
use crate::fortio::command::{Call, Command, Payload, scheme};

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
        command.call_at(target);
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
        // fortio takes the percentiles before the first that it cannot read.
        let one = |text: &str| percentiles(text).ok();
        command.percentiles = list.split(',').map_while(one).flatten().collect();
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
        let timeout_ns = duration::parse_ns(arguments.text("timeout").trim());
        command.timeout_ns = timeout_ns.filter(|ns| *ns > 0).unwrap_or(command.timeout_ns);
        command.udp_timeout_ns = command.timeout_ns;
        command.connection_reuse = reuse(arguments.text("connection-reuse")).ok().flatten();
        let headers = arguments.texts("H").chain(arguments.listed("headers"));
        command.headers = headers.filter_map(header).collect();
        if arguments.text("runner") == "grpc" {
            let delay_ns = duration::parse_ns(arguments.text("grpc-ping-delay")).unwrap_or(0);
            command.call = Some(match arguments.is_on("ping") {
                true => Call::Ping { delay_ns },
                false => Call::Health(arguments.text("healthservice").to_owned()),
            });
            if arguments.is_on("grpc-secure") && scheme(&command.target).is_none() {
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
            ("/r?url=a&H=bad&H=a:b&timeout=x&qps=x&n=x&c=x&r=x", "", |it| {
                it.headers.len() == 1 && it.timeout_ns == 3_000_000_000 && it.qps == 8.0
            }),
            ("/r?url=a&p=101", "", |it| it.percentiles.is_empty()),
            ("/r?url=a&p=50,75,x,90", "", |it| it.percentiles == [50.0, 75.0]),
            ("/r?url=a&connection-reuse=9:2", "", |it| it.connection_reuse == Some([2, 9])),
            ("/r?url=a&connection-reuse=x", "", |it| it.connection_reuse.is_none()),
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
}
