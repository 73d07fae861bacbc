//! What requests are answered with, as data in fortio's order.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::fortio::command::Command;
use crate::fortio::of_run::run_type;
use crate::fortio::pace::Deal;

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
    /// Those that go on; `None` when a run was asked for that does not.
    pub statuses: Option<BTreeMap<String, RunStatus>>,
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
            run_type: run_type(command),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fortio::rest::{Arguments, RestRun};

    #[test]
    fn a_run_is_described_as_fortio_does() {
        let arguments = Arguments::read("/r?url=http://h/&n=4&qps=2&c=1", b"").expect("some");
        let command = RestRun::read(&arguments, 2).expect("a run").command;
        let options = RunOptions::of(&command, "2026-11-26-121159_2");
        let status = RunStatus { run_id: 2, state: 2, runner_options: Some(options) };
        let want = r#"{"RunID":2,"State":2,"RunnerOptions":{"RunType":"HTTP","QPS":2,"Duration":5000000000,"NumThreads":1,"Percentiles":[50,75,90,99,99.9],"Resolution":0.001,"Labels":"","Exactly":4,"Jitter":false,"Uniform":false,"RunID":2,"Offset":0,"NoCatchUp":false,"ID":"2026-11-26-121159_2"}}"#;
        assert_eq!(serde_json::to_string(&status).expect("plain data"), want);
        let nobody = serde_json::to_string(&Statuses::default()).expect("plain data");
        assert_eq!(nobody, r#"{"Statuses":null}"#);
        let answer = RunAnswer { message: "stopping", ..RunAnswer::default() };
        let want = r#"{"message":"stopping","RunID":0,"Count":0,"ResultID":"","ResultURL":""}"#;
        assert_eq!(serde_json::to_string(&answer).expect("plain data"), want);
    }
}
