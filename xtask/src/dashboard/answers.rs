//! What Prometheus answers: the values of an expression over a time.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::panel::Window;

/// A Prometheus that answers over HTTP.
pub(crate) struct Prometheus {
    address: String,
}

/// The values of a series, by the time of each, s since 1970.
#[derive(Debug)]
pub(crate) struct Series {
    pub labels: Vec<(String, String)>,
    pub points: Vec<(f64, f64)>,
}

impl Prometheus {
    pub(crate) fn at(address: String) -> Self {
        Self { address }
    }

    /// The values of an expression, one a second.
    pub(crate) fn range(&self, expression: &str, window: Window) -> Result<Vec<Series>> {
        let Window { from_s, to_s } = window;
        let path = format!("/api/v1/query_range?start={from_s}&end={to_s}&step=1&query=");
        let answer = self.ask(&format!("{path}{}", encoded(expression)))?;
        let found = answer.pointer("/data/result").and_then(Value::as_array);
        let found = found.with_context(|| format!("{expression}: {answer}"))?;
        Ok(found.iter().map(|it| series(it, "values")).collect())
    }

    /// The value of an expression now.
    pub(crate) fn now(&self, expression: &str) -> Result<f64> {
        let answer = self.ask(&format!("/api/v1/query?query={}", encoded(expression)))?;
        let found = answer.pointer("/data/result/0/value").and_then(point);
        Ok(found.with_context(|| format!("{expression}: {answer}"))?.1)
    }

    fn ask(&self, path: &str) -> Result<Value> {
        let mut stream = TcpStream::connect(&self.address).context("prometheus")?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let Some((_, body)) = answer.split_once("\r\n\r\n") else { bail!("no answer: {path}") };
        serde_json::from_str(body).with_context(|| format!("the answer to {path}"))
    }
}

fn series(found: &Value, key: &str) -> Series {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = found["metric"].as_object().into_iter().flatten();
    let points = found[key].as_array().into_iter().flatten().filter_map(point);
    Series {
        labels: labels.map(|(name, value)| (name.clone(), text(value))).collect(),
        points: points.filter(|(_, value)| value.is_finite()).collect(),
    }
}

/// A time and a value, which JSON has as a text.
fn point(pair: &Value) -> Option<(f64, f64)> {
    Some((pair[0].as_f64()?, pair[1].as_str()?.parse().ok()?))
}

/// A text as a value of a query.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
