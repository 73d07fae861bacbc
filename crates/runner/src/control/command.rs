//! The language of a control socket: a command is an object with `command` and its arguments; an
//! answer is an object, with `error` if the command failed.

use plimsoll_core::nearest::did_you_mean;
use plimsoll_core::schedule::RATE_LIMIT_UHZ;
use plimsoll_core::units::{parse_count, parse_rate_uhz};
use serde_json::{Map, Value, json};

use super::Steer;
use super::status::status;

const COMMANDS: &str = "status, rate, connections and stop";

/// The answer to a line, with its end of line.
pub(super) fn answer(line: &[u8], steer: &dyn Steer) -> Vec<u8> {
    match obey(line, steer) {
        Ok(answer) => written(&answer),
        Err(text) => error_line(&text),
    }
}

/// An answer that says what is wrong.
pub(super) fn error_line(text: &str) -> Vec<u8> {
    written(&json!({ "error": text }))
}

fn written(answer: &Value) -> Vec<u8> {
    let mut line = answer.to_string().into_bytes();
    line.push(b'\n');
    line
}

fn obey(line: &[u8], steer: &dyn Steer) -> Result<Value, String> {
    let asked: Map<String, Value> = serde_json::from_slice(line)
        .map_err(|error| format!("not an object of JSON on one line: {error}"))?;
    let Some(command) = asked.get("command").and_then(Value::as_str) else {
        return Err(format!("say what to do: {{\"command\": …}}; there are {COMMANDS}"));
    };
    match command {
        "status" => {
            only(&asked, None)?;
            Ok(status(&steer.figures()))
        }
        "rate" => {
            let text = only(&asked, Some("rps"))?;
            let rate_uhz = parse_rate_uhz(&text).map_err(|error| error.to_string())?;
            if rate_uhz == 0 || rate_uhz > RATE_LIMIT_UHZ {
                return Err("a rate is above 0 and not above 1G/s: stop ends the run".to_owned());
            }
            steer.set_rate(rate_uhz)?;
            Ok(json!({ "rps": rate_uhz as f64 / 1e6 }))
        }
        "connections" => {
            let text = only(&asked, Some("count"))?;
            let count = parse_count(&text).map_err(|error| error.to_string())?;
            let count = u32::try_from(count).map_err(|_| format!("{count} is too many"))?;
            if count == 0 {
                return Err("0 connections cannot send anything: stop ends the run".to_owned());
            }
            steer.set_connections(count)?;
            Ok(json!({ "connections": count }))
        }
        "stop" => {
            only(&asked, None)?;
            steer.stop();
            Ok(json!({ "stopping": true }))
        }
        other => {
            let meant = did_you_mean(other, ["status", "rate", "connections", "stop"]);
            Err(format!("'{other}' is not a command{meant}; there are {COMMANDS}"))
        }
    }
}

/// The value of the one key there may be besides the command, as text.
fn only(asked: &Map<String, Value>, wanted: Option<&str>) -> Result<String, String> {
    let unknown = |key: &&String| *key != "command" && Some(key.as_str()) != wanted;
    if let Some(key) = asked.keys().find(unknown) {
        return Err(format!("'{key}' means nothing here"));
    }
    let Some(key) = wanted else {
        return Ok(String::new());
    };
    match asked.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        _ => Err(format!("'{key}' is missing: a number, or a text such as \"5k\"")),
    }
}
