//! What must be the same on both sides of a comparison: where and how they were measured.
//!
//! Facts are strings by name. A plan contributes every field of its document, except those that
//! name the server or say nothing about the load. A field added to plans therefore becomes a fact
//! without further work.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::foreign::ForeignResult;
use crate::plan::Draft;
use crate::result::{Environment, RunResult, ScenarioResult, Tool};
use crate::study::{LoadFacts, Study};
use crate::units::{format_duration, format_rate};

pub(crate) type Facts = BTreeMap<String, String>;

/// Fields of a plan that may differ: where the server is, what is judged, and what has words of
/// its own here.
const NOT_ALIKE: [&str; 19] = [
    "endpoint.host",
    "endpoint.port",
    "transport.resolve",
    "transport.connect_to",
    "transport.bind",
    "tls.cacert",
    "tls.cert",
    "tls.key",
    "tls.sni",
    "seed",
    "gates",
    "abort_when",
    "require_valid",
    "target_file",
    "control",
    "driver",
    "rate",
    "workers",
    "vus.options",
];

/// Options of a k6 script that may differ, for the same reasons, or that its scenarios say already.
const OPTIONS_NOT_ALIKE: [&str; 7] =
    ["scenarios", "thresholds", "hosts", "tags", "tlsAuth", "ext", "cloud"];

/// Values longer than this are cut, so that a line stays one.
const SHOWN_CHARS: usize = 60;

/// Of a result: the host, the tester and the plan.
pub(super) fn of_result(result: &RunResult) -> Facts {
    let mut facts = of_environment(&result.environment);
    let tool = &result.tool;
    facts.insert("tester".to_owned(), format!("{} {}", tool.name, tool.version));
    facts.insert("driver".to_owned(), result.loader.driver.kind.clone());
    facts.insert("threads".to_owned(), result.loader.workers.to_string());
    facts.insert("rate".to_owned(), rate_words(&result.plan));
    let spoken: Vec<&str> = result.protocols.iter().map(|it| it.name.as_str()).collect();
    // Documents of earlier versions do not say.
    if !spoken.is_empty() {
        facts.insert("protocol".to_owned(), spoken.join(", "));
    }
    facts.extend(of_plan(&result.plan));
    facts.insert("scenarios".to_owned(), scenario_words(&result.scenarios));
    for scenario in &result.scenarios {
        let plan = &scenario.result.plan;
        let rate = ("rate".to_owned(), rate_words(plan));
        let own = of_plan(plan).into_iter().chain([rate]);
        facts.extend(own.map(|(name, text)| (format!("scenario {}: {name}", scenario.name), text)));
    }
    facts
}

/// Of a load at several rates: the host, the tester and what is sent.
pub(crate) fn of_load(plan: &Draft, environment: &Environment, tool: &Tool) -> Facts {
    let mut facts = of_environment(environment);
    facts.insert("tester".to_owned(), format!("{} {}", tool.name, tool.version));
    facts.extend(of_plan(plan));
    facts
}

/// Of a result of another tester: what its file says of tester and load.
pub(super) fn of_foreign(result: &ForeignResult) -> Facts {
    let tester = ("tester".to_owned(), result.tester.clone());
    result.facts.clone().into_iter().chain([tester]).collect()
}

/// Their names, and when they start.
fn scenario_words(scenarios: &[ScenarioResult]) -> String {
    let words = |it: &ScenarioResult| format!("{} at {}", it.name, format_duration(it.start_ns));
    match scenarios {
        [] => "none".to_owned(),
        _ => scenarios.iter().map(words).collect::<Vec<_>>().join(", "),
    }
}

/// Of a plan: what its document says.
fn of_plan(plan: &Draft) -> Facts {
    let mut facts = Facts::new();
    // A side that shows its secrets is like one that masks them, and a list of differences is no
    // place for them. Plans are plain data: they cannot fail to serialize.
    let record = serde_json::to_value(plan.record()).unwrap_or_default();
    for (name, value) in record.as_object().into_iter().flatten().chain(&left_out(plan)) {
        match value.as_object().filter(|_| name != "rate") {
            None => insert(&mut facts, name.clone(), value),
            Some(fields) => {
                for (field, value) in fields {
                    insert(&mut facts, format!("{name}.{field}"), value);
                }
            }
        }
    }
    let options = plan.vus.as_ref().and_then(|vus| vus.options.as_object());
    for (name, value) in options.into_iter().flatten() {
        if !OPTIONS_NOT_ALIKE.contains(&name.as_str()) {
            insert(&mut facts, format!("option {name}"), value);
        }
    }
    facts
}

/// What a plan's document leaves out where it is as usual, or has no value.
fn left_out(plan: &Draft) -> Map<String, Value> {
    let of = |value: serde_json::Result<Value>| value.unwrap_or_default();
    let mut fields = Map::new();
    fields.insert("http_version".to_owned(), of(serde_json::to_value(plan.http_version)));
    fields.insert("http2".to_owned(), of(serde_json::to_value(plan.http2)));
    let mut websocket = of(serde_json::to_value(&plan.websocket));
    if let Some(fields) = websocket.as_object_mut() {
        fields.entry("subprotocol").or_insert(Value::Null);
    }
    fields.insert("websocket".to_owned(), websocket);
    if let Some(grpc) = &plan.grpc {
        let stream = of(serde_json::to_value(grpc.stream));
        let messages = of(serde_json::to_value(grpc.messages));
        let grpc = [("stream", stream), ("messages", messages)];
        let grpc = grpc.map(|(name, value)| (name.to_owned(), value));
        fields.insert("grpc".to_owned(), Value::Object(grpc.into_iter().collect()));
    }
    fields
}

fn insert(facts: &mut Facts, name: String, value: &Value) {
    if !NOT_ALIKE.contains(&name.as_str()) {
        let text = match value {
            Value::Null => "none".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        facts.insert(name, text);
    }
}

fn rate_words(plan: &Draft) -> String {
    let Some(profile) = &plan.rate else { return "none".to_owned() };
    let stage = |stage: &crate::schedule::Stage| {
        let rate = |uhz: u64| format_rate(uhz as f64 / 1e6);
        let (from, to) = (rate(stage.from_uhz), rate(stage.to_uhz));
        let rates = if from == to { from } else { format!("{from}..{to}") };
        let time = stage.duration_ns.map(|ns| format!("{}@", format_duration(ns)));
        format!("{}{rates}/s", time.unwrap_or_default())
    };
    let stages: Vec<String> = profile.stages.iter().map(stage).collect();
    format!("{} {:?}", stages.join(","), profile.arrival).to_lowercase()
}

fn of_environment(environment: &Environment) -> Facts {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    [
        ("os", environment.os.clone()),
        ("kernel", environment.kernel.clone()),
        ("cpu", environment.cpu.clone()),
        ("cores", environment.cores.to_string()),
        ("cores allowed", environment.cores_allowed.to_string()),
        ("governor", or_none(&environment.governor)),
        ("hypervisor", or_none(&environment.hypervisor)),
        ("SMT", environment.smt.map_or_else(|| "unknown".to_owned(), |smt| smt.to_string())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Of a study: the host, how the loads were made, and which CPUs the servers had.
pub(super) fn of_study(study: &Study) -> Facts {
    let mut facts = of_environment(&study.environment);
    let or_all = |cpus: &Option<String>| cpus.clone().unwrap_or_else(|| "all".to_owned());
    for load in &study.loads {
        let name = |what: &str| format!("{what} of load {}", load.name);
        let version = load.version.as_deref().unwrap_or("of no known version");
        facts.insert(name("tester"), format!("{} {version}", load.tester));
        facts.insert(name("command"), load.command.clone());
        facts.insert(name("CPUs"), or_all(&load.cpus));
    }
    for server in &study.servers {
        facts.insert(format!("CPUs of server {}", server.name), or_all(&server.cpus));
    }
    facts
}

/// The facts that both have and that differ. What one side alone has is no difference: a study may
/// have a load more.
pub(crate) fn differences(base: &Facts, new: &Facts) -> Vec<String> {
    let differs = |(name, mine): (&String, &String)| {
        let theirs = new.get(name).filter(|theirs| *theirs != mine)?;
        Some(format!("{name} {} and {}", shown(mine), shown(theirs)))
    };
    base.iter().filter_map(differs).collect()
}

fn shown(text: &str) -> String {
    let text = if text.is_empty() { "unknown" } else { text };
    if text.chars().count() <= SHOWN_CHARS {
        return text.to_owned();
    }
    let kept: String = text.chars().take(SHOWN_CHARS - 1).collect();
    format!("{kept}…")
}

/// Whether a tester of another make was told a rate, by the flags of those that take one.
pub(super) fn is_paced(load: &LoadFacts) -> bool {
    let words: Vec<&str> = load.command.split_whitespace().collect();
    // `-q 5`, `-q=5` and `-q5`.
    let has = |flag: &str| words.iter().any(|word| word.starts_with(flag));
    let value = |flag: &str| {
        let named = |word: &&str| word.trim_start_matches('-').split('=').next() == Some(flag);
        let at = words.iter().position(named)?;
        let glued = words[at].split_once('=').map(|(_, value)| value);
        glued.or_else(|| words.get(at + 1).copied())
    };
    match load.tester.as_str() {
        "wrk2" => true,
        // Without the flag fortio sends eight requests a second; 0 and less is as fast as it goes.
        "fortio" => value("qps").is_none_or(|qps| qps.parse().is_ok_and(|qps: f64| qps > 0.0)),
        "hey" | "oha" => has("-q"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn testers_are_paced_by_their_flags_in_every_form() {
        for (tester, command, want) in [
            ("wrk2", "wrk2 -R5 {url}", true),
            ("wrk", "wrk -c5 {url}", false),
            ("fortio", "fortio load {url}", true),
            ("fortio", "fortio load -qps 0 {url}", false),
            ("fortio", "fortio load -qps=0 {url}", false),
            ("fortio", "fortio load --qps=100 {url}", true),
            ("hey", "hey -q 5 {url}", true),
            ("oha", "oha -q5 {url}", true),
            ("oha", "oha -z 5s {url}", false),
        ] {
            let facts = LoadFacts {
                tester: tester.to_owned(),
                command: command.to_owned(),
                ..LoadFacts::default()
            };
            assert_eq!(is_paced(&facts), want, "{command}");
        }
    }
}
