//! Turns, memory, depth: what a script may use, and that one virtual user never sees another.

use super::*;

#[test]
fn a_vu_never_sees_another() {
    let mut host = Host::of(
        "globalThis.mine = []; let own = 0; const cache = new Map();
         export default function () {
             globalThis.mine.push(__VU); own += __VU; cache.set(__VU, 1);
             Array.prototype.leak = (Array.prototype.leak || '') + __VU;
             console.log(JSON.stringify([globalThis.mine, own, [...cache.keys()], [].leak]));
         }",
    );
    let mut vus: Vec<Vu> = (1..4).map(|number| host.vu(number)).collect();
    for _ in 0..2 {
        for vu in &mut vus {
            host.iterate(vu);
        }
    }
    assert_eq!(
        host.trace,
        [
            "Info [[1],1,[1],\"1\"]",
            "Info [[2],2,[2],\"2\"]",
            "Info [[3],3,[3],\"3\"]",
            "Info [[1,1],2,[1],\"11\"]",
            "Info [[2,2],4,[2],\"22\"]",
            "Info [[3,3],6,[3],\"33\"]",
        ]
    );
}

#[test]
fn vus_take_turns_while_one_is_busy() {
    let mut host = Host::of(
        "import { sleep } from 'k6';
         export default function () {
             if (__VU === 1) { const start = Date.now(); while (Date.now() - start < 50) {} }
             else { for (let i = 0; i < 5; i++) sleep(0.001); }
             console.log('done');
         }",
    );
    let (mut busy, mut other) = (host.vu(1), host.vu(2));
    let function = host.program.function("default").unwrap();
    let mut a = busy.begin(Task::Iterate(function), host.now_ns);
    let mut b = other.begin(Task::Iterate(function), host.now_ns);
    let mut order = Vec::new();
    while !(matches!(a, Step::Done(_)) && matches!(b, Step::Done(_))) {
        host.now_ns += 1_000_000;
        for (name, vu, step) in [("busy", &mut busy, &mut a), ("other", &mut other, &mut b)] {
            if matches!(step, Step::Log(_) | Step::Note(_)) {
                order.push(name);
            }
            if !matches!(step, Step::Done(_)) {
                let reply =
                    if matches!(step, Step::Sleep(_)) { Reply::Woken } else { Reply::Taken };
                *step = vu.resume(reply, host.now_ns);
            }
        }
    }
    assert_eq!(order, ["other", "busy"]);
    assert!(host.now_ns - START_NS >= 50_000_000);
}

fn settings(memory_bytes_max: usize) -> Settings {
    Settings { memory_bytes_max, ..Settings::default() }
}

#[test]
fn one_that_needs_too_much_memory_fails_and_goes_on() {
    for body in [
        "const all = []; for (;;) all.push({ a: [1, 2, 3], b: 'x' + all.length });",
        "let s = 'x'; for (;;) s += s + s.length;",
        "const all = []; for (;;) all.push(new Uint8Array(1 << 16));",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, { i });",
        "try { const all = []; for (;;) all.push([{}]); } catch (e) {} finally { for (;;) {} }",
        "const all = []; const f = async () => { for (;;) { all.push({}); await null; } }; return f();",
        "const f = () => [f(), f()].length; const o = []; for (;;) o.push(new Error('x'));",
        "'x'.repeat(1 << 29) + 'y';",
        "new ArrayBuffer(1 << 30);",
        "JSON.parse('[' + '{\"a\":[1,2,3]},'.repeat(2e6) + '1]');",
        // The text is over the limit before all of the value is written: what comes behind may be
        // empty, and may be more than a lifetime has room for.
        "const x = 'x'.repeat(1 << 20); JSON.stringify([...Array(40).fill(x), '', '\\n', { '': 1 }]);",
        "let d = []; for (let n = 0; n < 30; n++) d = Array(9).fill(d); JSON.stringify(d);",
        "let d = { a: '' }; for (let n = 0; n < 30; n++) d = { d, e: d, f: d }; JSON.stringify(d);",
        "let d = []; for (let n = 0; n < 40; n++) d = Array(9).fill(d); JSON.stringify(d);",
        "let d = {}; for (let n = 0; n < 20; n++) d = { d, e: [d, d, d] }; JSON.stringify(d, null, 1);",
        "Array.from({ length: 1e9 }, () => ({}));",
    ] {
        let text = format!(
            "export default function () {{ if (__ITER === 0) {{ {body} }} console.log('fine'); }}"
        );
        let program = load_with(&[(MAIN, &text)], settings(16 << 20)).unwrap();
        let mut host = Host::new(program);
        let mut vu = host.vu(1);
        assert_eq!(host.iterate(&mut vu), Ending::Failed, "{body}");
        let failure = vu.error().unwrap();
        assert!(!failure.text.is_empty() && !failure.text.contains('\n'), "{failure}");
        assert_eq!(host.iterate(&mut vu), Ending::Complete, "{body}: {:?}", vu.error());
        assert!(vu.used_bytes() < 16 << 20, "{body}");
        assert_eq!(host.trace, ["Info fine"], "{body}");
    }
}

#[test]
fn one_that_keeps_too_much_fails_each_time() {
    let text = "const all = []; export default () => { for (;;) all.push({}); };";
    let program = load_with(&[(MAIN, text)], settings(8 << 20)).unwrap();
    let mut host = Host::new(program);
    let mut vu = host.vu(1);
    for _ in 0..3 {
        assert_eq!(host.iterate(&mut vu), Ending::Failed);
        assert_eq!(vu.error().unwrap().text, "/s/main.js: a VU needs more memory than 8 MiB");
    }
}

#[test]
fn memory_may_run_out_anywhere() {
    // From too little to evaluate the script, to enough for all of it.
    let text = "import http from 'k6/http'; import { check, group } from 'k6';
                const table = Array.from({ length: 500 }, (_, i) => ({ i, name: 'n' + i }));
                export default async function () {
                    const all = await Promise.all(table.map(async (row) => ({ ...row })));
                    const res = http.get('http://x.test/', { headers: { a: 'b' } });
                    check(res, { ok: (r) => JSON.stringify(r).length > 0 });
                    group('g', () => all.sort((a, b) => b.i - a.i).map((row) => row.name).join());
                    try { all.map((row) => JSON.parse(JSON.stringify(row))); } finally { all.pop(); }
                }";
    let program = |bytes| load_with(&[(MAIN, text)], settings(bytes));
    for kib in (60..1200).step_by(11) {
        let Ok(program) = program(kib << 10) else { continue };
        let mut host = Host::new(program);
        let mut vu = host.program.spawn(&host.worker, 1).unwrap();
        if host.run(&mut vu, Task::Evaluate) == Ending::Complete {
            host.iterate(&mut vu);
            host.iterate(&mut vu);
        }
    }
    let mut host = Host::new(program(4 << 20).unwrap());
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
}

#[test]
fn calls_may_not_go_too_deep() {
    for body in [
        "const f = () => f() + 1; f();",
        "const f = async () => { await f(); }; await f();",
        "const f = (n) => [1].map(() => f(n + 1)); f(0);",
        "const o = { get a() { return JSON.stringify(this); } }; o.a;",
        "const o = {}; let p = o; for (let i = 0; i < 1e5; i++) p = p.x = {}; JSON.stringify(o);",
        "JSON.parse('['.repeat(1e6) + ']'.repeat(1e6));",
        "let r = /a/; new RegExp('('.repeat(1e5) + ')'.repeat(1e5));",
        "class A { constructor() { new A(); } } new A();",
        "const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x;",
        "'x'.replace(/x/, function f() { return 'x'.replace(/x/, f); });",
        "new Function('return ' + '('.repeat(1e5) + ')'.repeat(1e5))();",
        "eval('['.repeat(1e5));",
    ] {
        let mut host =
            Host::of(&format!("export default async function () {{ {body} console.log('on'); }}"));
        let mut vu = host.vu(1);
        assert_eq!(host.iterate(&mut vu), Ending::Failed, "{body}: {:?}", host.trace);
        let failure = vu.error().unwrap();
        assert!(!failure.text.contains('\n'), "{failure}");
        assert_eq!(host.iterate(&mut vu), Ending::Failed, "{body}");
    }
}

#[test]
fn depth_is_hundreds_of_calls() {
    let depth: u32 = value_of(
        "(() => { let n = 0; const f = () => { n++; f(); };
        try { f(); } catch (e) {} return n; })()",
    )
    .parse()
    .unwrap();
    assert!(depth > 500, "{depth}");
    let nesting = value_of("JSON.parse('['.repeat(500) + ']'.repeat(500)).length");
    assert_eq!(nesting, "1");
}

#[test]
fn random_numbers_follow_from_the_seed() {
    let drawn = |seed, number| {
        let settings = Settings { seed, ..Settings::default() };
        let text = "export default () => console.log(Math.random(), Math.random());";
        let mut host = Host::new(load_with(&[(MAIN, text)], settings).unwrap());
        let mut vu = host.vu(number);
        host.iterate(&mut vu);
        host.trace.remove(0)
    };
    assert_eq!(drawn(7, 1), drawn(7, 1));
    assert_ne!(drawn(7, 1), drawn(7, 2));
    assert_ne!(drawn(7, 1), drawn(8, 1));
    let seeded = "(k6.randomSeed(5), Math.random()) === (k6.randomSeed(5), Math.random())";
    assert_eq!(value_of(seeded), "true");
}

#[test]
fn time_is_what_the_host_says() {
    assert_eq!(value_of("Date.now()"), "1700000000000");
    assert_eq!(value_of("(k6.sleep(1.5), Date.now())"), "1700000001500");
    assert_eq!(value_of("new Date(0).toISOString()"), "1970-01-01T00:00:00.000Z");
}

#[test]
fn the_collector_runs_wherever_it_may_if_asked() {
    let text = "const make = () => { const a = {}; a.self = a; return new WeakRef(a); };
                export default () => { const weak = make(); [{}];
                                       console.log(weak.deref() === undefined); };";
    for collects_always in [false, true] {
        let settings = Settings { collects_always, ..Settings::default() };
        let mut host = Host::new(load_with(&[(MAIN, text)], settings).unwrap());
        let mut vu = host.vu(1);
        host.iterate(&mut vu);
        assert_eq!(host.trace, [format!("Info {collects_always}")]);
    }
}

#[test]
fn the_collector_finds_cycles() {
    let text = "export default () => {
        const a = { big: 'x'.repeat(10_000) + __ITER }, b = { a }; a.b = b;
        const f = async () => { await new Promise(() => {}); a; }; f(); };";
    let mut host = Host::new(load_with(&[(MAIN, text)], settings(4 << 20)).unwrap());
    let mut vu = host.vu(1);
    for _ in 0..2_000 {
        assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    }
}
