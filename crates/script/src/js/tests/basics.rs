//! Life of a virtual user: evaluating, iterating, logging, failing.

use super::*;

#[test]
fn an_iteration_asks_step_by_step() {
    let (steps, ending) = trace(
        "import http from 'k6/http';
         import { check, group, sleep } from 'k6';
         import { Counter, Trend } from 'k6/metrics';
         const hits = new Counter('hits');
         const waits = new Trend('waits', true);
         export const options = { vus: 3 };
         export default function () {
             const res = http.get('http://x.test/a', { tags: { page: 'a' } });
             check(res, { 'is 200': (r) => r.status === 200, 'has text': (r) => r.body === 'no' });
             group('outer', () => group('inner', () => hits.add(2, { step: 1 })));
             waits.add(res.timings.waiting);
             console.log('done', { a: [1] }, __VU, __ITER);
             sleep(0.5);
         }",
    );
    assert_eq!(ending, Ending::Complete, "{steps:?}");
    assert_eq!(
        steps,
        [
            "send GET http://x.test/a",
            "record checks 1{check:is 200}",
            "record checks 0{check:has text}",
            "enter ::outer",
            "enter ::outer::inner",
            "record hits 2{step:1}",
            "Leave",
            "Leave",
            "record waits 20000000",
            "Info done {\"a\":[1]} 1 0",
            "sleep 0.5",
        ]
    );
}

/// As in k6. JSON would make null of NaN, and leave a function out.
#[test]
fn options_that_json_cannot_hold_are_refused() {
    for (options, want) in [
        ("{ vus: NaN }", "'options.vus' is NaN, which options cannot be"),
        ("{ stages: [{ target: 1 / 0 }] }", "'options.stages.0.target' is infinite, which"),
        ("{ tags: { f: () => 1 } }", "'options.tags.f' is a function, which"),
    ] {
        let failure =
            load(&format!("export const options = {options}; export default () => {{}};"));
        let text = failure.err().map(|failure| failure.text).unwrap_or_default();
        assert!(text.contains(want), "{options}: {text}");
    }
}

#[test]
fn exports_are_known_after_loading() {
    let program = load(
        "export const options = { vus: 3, thresholds: { http_req_duration: ['p(95)<5'] } };
         export function setup() { return { token: 'x', n: undefined }; }
         export default (data) => { console.log(data.token); };
         export const answer = 42;",
    )
    .unwrap();
    assert_eq!(
        program.options(),
        Some(r#"{"vus":3,"thresholds":{"http_req_duration":["p(95)<5"]}}"#)
    );
    let mut functions = program.functions().to_vec();
    functions.sort();
    assert_eq!(functions, ["default", "setup"]);
    let mut host = Host::new(program);
    let mut vu = host.vu(0);
    let setup = host.program.function("setup").unwrap();
    assert_eq!(host.run(&mut vu, Task::Call(setup)), Ending::Complete);
    let data = vu.result().unwrap();
    assert_eq!(data.as_deref(), Some(r#"{"token":"x"}"#));
    let mut vu = host.vu(1);
    vu.set_data(data.map(Into::into));
    assert_eq!(host.iterate(&mut vu), Ending::Complete);
    assert_eq!(host.iterate(&mut vu), Ending::Complete);
    assert_eq!(host.trace, ["Info x", "Info x"]);
}
