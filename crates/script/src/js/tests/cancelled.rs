//! Ending an iteration from without: nothing of the script runs any more, and the virtual user goes
//! on with the next one.

use super::*;

/// Ways to be suspended. `stop()` sleeps; `log` must never be called after that.
const SUSPENDED: [(&str, &str); 14] = [
    ("a call", "stop(); log();"),
    ("try", "try { stop(); } catch (e) { log(); } finally { log(); }"),
    ("recursion", "const f = (n) => { try { n ? f(n - 1) : stop(); } finally { log(); } }; f(50);"),
    (
        "a generator",
        "function* g() { try { yield 1; stop(); yield 2; } finally { log(); } }
         for (const x of g()) { if (x === 2) log(); }",
    ),
    (
        "an iterator that is closed",
        "const it = { [Symbol.iterator]: () => ({
             next: () => ({ value: 1, done: false }), return() { log(); return {}; } }) };
         for (const x of it) { stop(); }",
    ),
    (
        "async, before await",
        "const f = async () => { try { stop(); } finally { log(); } }; f().catch(log).finally(log);
         log();",
    ),
    (
        "async, after await",
        "const f = async () => { try { await null; stop(); } catch (e) { log(); } finally { log(); } };
         await f(); log();",
    ),
    (
        "an executor of a promise",
        "new Promise(() => stop()).catch(log); for (let i = 0; i < 3; i++) log();",
    ),
    ("a comparator", "[3, 1, 2].sort((a, b) => { stop(); return a - b; }); log();"),
    ("a check", "check(1, { a: () => { stop(); return true; }, b: () => { log(); } }); log();"),
    ("a group", "group('g', () => { try { stop(); } finally { log(); } }); log();"),
    ("a getter", "const o = { get a() { stop(); return 1; } }; JSON.stringify(o); log();"),
    ("a timer", "setTimeout(() => { stop(); log(); }, 1); setTimeout(log, 5_000);"),
    ("waiting for a timer", "setTimeout(log, 5_000); await new Promise(() => {}); log();"),
];

#[test]
fn nothing_runs_after_it() {
    for (name, body) in SUSPENDED {
        let mut host = Host::of(&format!(
            "import {{ sleep, check, group }} from 'k6';
             export let count = 0;
             const stop = () => sleep(1000);
             const log = () => {{ console.log('ran on'); }};
             export default async function () {{ count++; {body} }}
             export function after() {{ return count; }}"
        ));
        let mut vu = host.vu(1);
        let function = host.program.function("default").unwrap();
        for round in 1..=3 {
            let mut step = vu.begin(Task::Iterate(function), host.now_ns);
            // On to the sleep of `stop`, or to the wait for the last timer.
            while !matches!(step, Step::Sleep(_) | Step::Wait(Some(4_000_000_000..))) {
                let reply = if let Step::Wait(Some(wait_ns)) = step {
                    host.now_ns += wait_ns;
                    Reply::Woken
                } else {
                    assert!(
                        !matches!(step, Step::Log(_) | Step::Note(_) | Step::Done(_)),
                        "{name}: {step:?}"
                    );
                    Reply::Taken
                };
                step = vu.resume(reply, host.now_ns);
            }
            assert_eq!(vu.cancel(host.now_ns), Some(Ending::Cancelled), "{name}");
            assert!(!vu.is_busy());
            assert_eq!(vu.cancel(host.now_ns), None);
            let after = host.program.function("after").unwrap();
            assert_eq!(host.run(&mut vu, Task::Call(after)), Ending::Complete, "{name}");
            assert_eq!(vu.result(), Ok(Some(round.to_string())), "{name}");
        }
        assert_eq!(host.trace, [""; 0], "{name}");
    }
}

#[test]
fn one_that_is_suspended_can_be_dropped() {
    for (_, body) in SUSPENDED {
        let mut host = Host::of(&format!(
            "import {{ sleep, check, group }} from 'k6';
             const stop = () => sleep(1000), log = () => {{}};
             export default async function () {{ {body} }}"
        ));
        let mut vu = host.vu(1);
        let function = host.program.function("default").unwrap();
        vu.begin(Task::Iterate(function), host.now_ns);
        drop(vu);
        drop(host.program.spawn(&host.worker, 2).unwrap());
    }
}

#[test]
fn a_request_under_way_is_forgotten() {
    let mut host = Host::of(
        "import http from 'k6/http';
         export default async function () {
             http.asyncRequest('GET', 'http://a.test/').then(() => console.log('late'));
             http.get('http://b.test/');
         }",
    );
    let mut vu = host.vu(1);
    let function = host.program.function("default").unwrap();
    let step = vu.begin(Task::Iterate(function), host.now_ns);
    assert_eq!(step, Step::Begin(0));
    assert_eq!(vu.resume(Reply::Taken, host.now_ns), Step::Send(1));
    assert_eq!(vu.cancel(host.now_ns), Some(Ending::Cancelled));
    assert_eq!(host.iterate(&mut vu), Ending::Complete);
    assert_eq!(host.trace, ["begin GET http://a.test/", "send GET http://b.test/", "Info late"]);
}

#[test]
fn a_busy_script_can_be_ended() {
    for body in [
        "while (true) {}",
        "for (;;) { try { for (;;) {} } catch (e) {} finally { for (;;) {} } }",
        "const f = () => { f2(); }, f2 = () => {}; for (;;) f();",
        "/(a+)+b/.test('a'.repeat(40));",
        "new Promise(() => { while (true) {} }).catch(() => { while (true) {} });",
        "const it = { next: () => ({ done: false }) }; for (const x of { [Symbol.iterator]: () => it }) {}",
        "Array.from({ length: 1e15 });",
        "const p = () => Promise.resolve().then(p); p();",
    ] {
        let mut host = Host::of(&format!("export default function () {{ {body} }}"));
        let mut vu = host.vu(1);
        let function = host.program.function("default").unwrap();
        let mut step = vu.begin(Task::Iterate(function), host.now_ns);
        for _ in 0..3 {
            if matches!(step, Step::Done(_)) {
                break;
            }
            assert_eq!(step, Step::Pause, "{body}");
            step = vu.resume(Reply::Taken, host.now_ns);
        }
        let ending = vu.cancel(host.now_ns).unwrap_or(Ending::Cancelled);
        assert_eq!(ending, Ending::Cancelled, "{body}");
    }
}

#[test]
fn a_test_can_be_aborted() {
    let (steps, ending) = trace(
        "import exec from 'k6/execution';
         export default function () {
             try { exec.test.abort('enough'); } catch (e) { console.log('no'); }
             finally { console.log('no'); }
         }",
    );
    assert_eq!((steps, ending), (vec!["enough".to_owned()], Ending::Aborted));
}
