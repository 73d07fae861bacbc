//! What a script says of its samples: `exec.vu.metrics.metadata`, as files have it. Each sample has
//! what was said when the thing that it is about began, as in k6 2.2.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::World;

const SCRIPT: &str = r#"
import exec from 'k6/execution';
import http from 'k6/http';
import { check, group } from 'k6';
import { Counter } from 'k6/metrics';
import { WebSocket } from 'k6/websockets';

const own = new Counter('own');
const once = { executor: 'per-vu-iterations', vus: 1, iterations: 1 };
export const options = { scenarios: {
  one: once, two: { ...once, exec: 'two', startTime: '1s' },
  calls: { ...once, exec: 'calls' },
} };
const url = `${__ENV.BASE}/status/`;
const named = (name) => ({ tags: { name } });

export function setup() {
  const { metadata } = exec.vu.metrics;
  metadata.of = 'setup';
  own.add(1, { name: 'in setup' });
}
export default async function () {
  const { metadata } = exec.vu.metrics;
  own.add(1, { name: 'nothing' });
  metadata.trace = 'abc';
  metadata.n = 5;
  metadata.is = true;
  own.add(1, { name: 'three' });
  http.get(url + 200, named('get'));
  check(1, { ok: () => true }, { name: 'check' });
  delete metadata.n;
  metadata.trace = 'x=y&"z",';
  own.add(1, { name: 'two' });
  delete metadata.is;
  group('g', () => { metadata.trace = 'within'; });
  http.batch([['GET', url + 201, null, named('batch')]]);
  const all = [];
  for (const trace of ['a', 'b']) {
    metadata.trace = trace;
    all.push(http.asyncRequest('GET', url + 200, null, named(`async ${trace}`)));
    delete metadata.trace;
  }
  await Promise.all(all);
  http.get(url + 200, named('none'));
  exec.vu.metrics.tags.mine = 'left';
  metadata.at = 'end';
}
export function two() { own.add(1, { name: 'two scenarios' }); }
export function calls() {
  const { metadata } = exec.vu.metrics;
  metadata.socket = 's';
  const socket = new WebSocket(`${__ENV.BASE.replace('http', 'ws')}/ws`, null, named('socket'));
  delete metadata.socket;
  socket.onopen = () => socket.send('x');
  socket.onmessage = () => socket.close();
}
export function teardown() { own.add(1, { name: 'in teardown' }); }
"#;

#[test]
fn metadata_go_with_what_they_were_said_of() {
    let world = World::new(SCRIPT);
    let finished = world.run(&["-q", "-o", "json=o.json", "-o", "csv=o.csv"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(!finished.stderr.contains("metadata"), "{finished:?}");
    let lines = world.read("o.json");
    let points: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let found = |metric: &str, tag: &str, value: &str| -> Vec<Value> {
        let is_it =
            |point: &&Value| point["metric"] == metric && point["data"]["tags"][tag] == value;
        points.iter().filter(is_it).map(|point| point["data"]["metadata"].clone()).collect()
    };
    for (metric, tag, value, want) in [
        ("own", "name", "in setup", json!({ "of": "setup" })),
        ("data_sent", "group", "::setup", json!({ "of": "setup" })),
        ("own", "name", "nothing", Value::Null),
        ("own", "name", "three", json!({ "trace": "abc", "n": "5", "is": "true" })),
        ("http_reqs", "name", "get", json!({ "trace": "abc", "n": "5", "is": "true" })),
        ("http_req_waiting", "name", "get", json!({ "trace": "abc", "n": "5", "is": "true" })),
        ("checks", "name", "check", json!({ "trace": "abc", "n": "5", "is": "true" })),
        ("own", "name", "two", json!({ "trace": "x=y&\"z\",", "is": "true" })),
        ("group_duration", "group", "::g", json!({ "trace": "within" })),
        ("http_reqs", "name", "batch", json!({ "trace": "within" })),
        ("http_reqs", "name", "async a", json!({ "trace": "a" })),
        ("http_reqs", "name", "async b", json!({ "trace": "b" })),
        ("http_reqs", "name", "none", Value::Null),
        ("iterations", "scenario", "one", json!({ "at": "end" })),
        ("data_received", "mine", "left", json!({ "at": "end" })),
        ("own", "name", "two scenarios", Value::Null),
        ("iterations", "scenario", "two", Value::Null),
        ("ws_sessions", "name", "socket", json!({ "socket": "s" })),
        ("ws_msgs_sent", "name", "socket", json!({ "socket": "s" })),
        ("ws_msgs_received", "name", "socket", json!({ "socket": "s" })),
        ("ws_session_duration", "name", "socket", json!({ "socket": "s" })),
        ("own", "name", "in teardown", Value::Null),
    ] {
        let found = found(metric, tag, value);
        assert!(!found.is_empty(), "{metric} with {tag} {value}: {lines}");
        assert!(found.iter().all(|it| *it == want), "{metric} with {tag} {value}: {found:?}");
    }
    let rows = world.read("o.csv");
    let ends: BTreeSet<&str> = rows
        .lines()
        .filter(|line| line.starts_with("own,") || line.starts_with("metric_name,"))
        .filter_map(|line| line.split_once(",name=").map_or(Some(line), |(_, end)| Some(end)))
        .collect();
    for want in ["is=true&n=5&trace=abc", "of=setup", "is=true&trace=x=y&\"\"z\"\",\""] {
        assert!(ends.iter().any(|end| end.ends_with(want)), "{want}: {rows}");
    }
}

/// The VU is the same in both scenarios.
#[test]
fn what_a_vu_has_set_ends_with_its_scenario() {
    let world = World::new(
        "import exec from 'k6/execution';
         const once = { executor: 'per-vu-iterations', vus: 1, iterations: 1, maxDuration: '1s',
                        gracefulStop: '0s' };
         export const options = { scenarios: { a: once, b: { ...once, startTime: '1s' } } };
         export default function () {
             const { tags, metadata } = exec.vu.metrics;
             console.log(exec.vu.idInTest, tags.mine, metadata.mine);
             tags.mine = metadata.mine = exec.scenario.name;
         }",
    );
    let finished = world.run(&["-q", "--log-format", "raw", "-o", "json=o.json"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let lines: Vec<&str> = finished.stderr.lines().take(2).collect();
    assert_eq!(lines, ["1 undefined undefined"; 2], "{finished:?}");
    let samples = world.read("o.json");
    let points = samples.lines().filter(|line| line.starts_with(r#"{"metric":"iterations""#));
    let labels = points.map(|line| {
        let point: Value = serde_json::from_str(line).expect("JSON");
        [&point["data"]["tags"]["mine"], &point["data"]["metadata"]["mine"]].map(Clone::clone)
    });
    let labels: Vec<[Value; 2]> = labels.filter(|[tag, _]| !tag.is_null()).collect();
    assert_eq!(labels, ["a", "b"].map(|name| [json!(name), json!(name)]));
}
