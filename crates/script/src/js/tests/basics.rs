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
            "Info done { a: [ 1 ] } 1 0",
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
    assert_eq!(data.as_deref(), Some(r#"{"token":"x","n":null}"#));
    let mut vu = host.vu(1);
    vu.set_data(data.map(Into::into));
    assert_eq!(host.iterate(&mut vu), Ending::Complete);
    assert_eq!(host.iterate(&mut vu), Ending::Complete);
    assert_eq!(host.trace, ["Info x", "Info x"]);
}

/// Arguments, and what k6 1.8 prints for them.
#[test]
fn values_are_logged_in_the_form_of_k6() {
    for (arguments, want) in [
        (
            "{ a: 1, b: 'x' }, [1, 'a', null, undefined, [2]], 's', 5, 1.5, null, undefined, true",
            "{ a: 1, b: \"x\" } [ 1, \"a\", null, null, [ 2 ] ] s 5 1.5 null undefined true",
        ),
        (
            "new Map([['a', 1]]), new Set([1]), /a/g, Promise.resolve(1), {}, []",
            "{} {} {} {} {} []",
        ),
        (
            "new Date(0), { d: new Date(0) }",
            "\"1970-01-01T00:00:00.000Z\" { d: \"1970-01-01T00:00:00.000Z\" }",
        ),
        (
            "function named(a) { return a; }, () => 1, class B {}",
            "[object Function] [object Function] [object Function]",
        ),
        (
            "{ x: 1, f: () => 1 }, [undefined, () => 1]",
            "{ x: 1, f: [object Function] } [ null, [object Function] ]",
        ),
        ("Symbol('q'), { s: Symbol('z') }", "q { s: \"z\" }"),
        ("new Error('boom'), { e: new TypeError('bang') }", "Error: boom { e: TypeError: bang }"),
        ("NaN, Infinity, -0, 10n, { n: NaN }", "NaN Infinity 0 10 { n: NaN }"),
        ("new Uint8Array([1, 2]), new Float64Array()", "Uint8Array(2) [ 1, 2 ] Float64Array(0) []"),
        (
            "new Uint8Array([0, 255]).buffer",
            "ArrayBuffer { [Uint8Contents]: <00 ff>, byteLength: 2 }",
        ),
        (
            "(() => { const o = { p: {} }; o.p.o = o; return [o, o]; })()",
            "[ { p: { o: [Circular] } }, { p: { o: [Circular] } } ]",
        ),
        ("{ toJSON() { return 'tj'; } }", "{ toJSON: [object Function] }"),
        (
            "'%s', 'multi\\nline', { 'k y': 1, '<': '>' }, Object.create(null)",
            "%s multi\nline { k y: 1, <: \">\" } {}",
        ),
        (
            "(() => { let o = 1; for (let i = 0; i < 100; i++) o = [o]; return o; })().length, ''",
            "1 ",
        ),
    ] {
        let (steps, ending) =
            trace(&format!("export default function () {{ console.log({arguments}); }}"));
        assert_eq!(
            (steps, ending),
            (vec![format!("Info {want}")], Ending::Complete),
            "{arguments}"
        );
    }
    let (steps, _) = trace(
        "export default function () {
             let o = 1; for (let i = 0; i < 100; i++) o = [o]; console.log(o);
             console.log(new Array(1e6).fill(1)); }",
    );
    assert_eq!(steps[0].matches('…').count(), 1, "{}", steps[0]);
    assert!(steps[1].len() < 70_000, "{}", steps[1].len());
}
