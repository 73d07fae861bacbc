//! Interrupting a script: endless loops, compiled or not, and calls into this program.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use super::*;

/// Interrupts once, when the script has looked at the clock, and waits until what it does is over.
fn end(looked: &Receiver<()>, over: &Receiver<()>, interrupter: &Interrupter) {
    const LIMIT: Duration = Duration::from_secs(60);
    looked.recv_timeout(LIMIT).expect("the script gets to its loop");
    interrupter.interrupt();
    over.recv_timeout(LIMIT).expect("the script ends");
}

/// Loops that have been compiled when they look at the clock, but for the last two.
const LOOPS: [&str; 6] = [
    "local n = 0 while true do n = n + 1 if n == 1e6 then wrk.time_us() end end",
    "local n = 0 while true do n = n + 1 local s = ('x'):rep(n % 9):upper() if n == 1e5 then wrk.time_us() end end",
    "local t = { a = 1 } local n = 0 while true do for k in pairs(t) do n = n + 1 end if n == 1e5 then wrk.time_us() end end",
    "local function f(n) if n == 1e5 then wrk.time_us() end return f(n + 1) end f(1)",
    "wrk.time_us() while true do pcall(function() while true do end end) end",
    "wrk.time_us() coroutine.wrap(function() while true do end end)()",
];

#[test]
fn endless_loops_can_be_ended() {
    for looping in LOOPS {
        for place in ["file", "init", "request", "response"] {
            let text = match place {
                "file" => looping.to_owned(),
                "request" => format!(
                    "local n = 0 function request() n = n + 1 if n == 2 then {looping} end return wrk.format() end"
                ),
                function => format!("function {function}() {looping} end"),
            };
            let (sender, looked) = mpsc::channel();
            let interrupter = Interrupter::new();
            let system = Arc::new(Fake { looked: Mutex::new(Some(sender)), ..Fake::default() });
            let all = interrupter.clone();
            let (ended, over) = mpsc::channel();
            let runner = thread::spawn(move || {
                let load = ScriptStart { api: Api::Wrk2, system, interrupter: all, ..plain(&text) };
                let result = super::load(&load).and_then(|(_, mut threads)| {
                    threads[0].next(&mut Vec::new())?;
                    threads[0].response(200, no_headers(), b"")
                });
                ended.send(()).unwrap();
                result
            });
            end(&looked, &over, &interrupter);
            let path = "s.lua".to_owned();
            assert_eq!(runner.join().unwrap(), Err(ScriptError::Interrupted { path }), "{looping}");
        }
    }
}

/// Where a script is while it waits for us: our functions end as they would, the script does not go
/// on.
#[test]
fn a_script_is_ended_while_it_asks_for_something() {
    struct Interrupting(Interrupter);

    impl System for Interrupting {
        fn lookup(&self, _: &str, service: &str) -> Result<Vec<SocketAddr>, String> {
            self.0.interrupt();
            if service == "0" { Err("unknown".to_owned()) } else { Ok(vec![([1; 4], 1).into(); 9]) }
        }

        fn connect(&self, _: SocketAddr) -> bool {
            unreachable!("the script goes on")
        }

        fn time_us(&self) -> u64 {
            unreachable!("the script goes on")
        }
    }

    for text in [
        "wrk.connect(wrk.lookup('h', 1)[1])",
        "pcall(wrk.lookup, 'h') wrk.time_us()",
        "while true do pcall(wrk.lookup, 'h', 1) end",
    ] {
        let interrupter = Interrupter::new();
        let system = Arc::new(Interrupting(interrupter.clone()));
        let load = ScriptStart { api: Api::Wrk2, system, interrupter, ..plain(text) };
        let Err(error) = super::load(&load) else { panic!("{text} ends") };
        assert_eq!(error.to_string(), "s.lua: stopped while it was running");
    }
}

#[test]
fn an_interrupter_ends_its_own_thread_only() {
    let text = "function request() return wrk.format() end";
    let (_, mut threads) = load(&ScriptStart { threads: 2, ..plain(text) }).unwrap();
    threads[0].interrupter().interrupt();
    assert!(threads[0].next(&mut Vec::new()).is_err());
    assert!(threads[1].next(&mut Vec::new()).is_ok());
    let outlives = threads[1].interrupter();
    drop(threads);
    outlives.interrupt();
    assert!(outlives.is_interrupted());

    let interrupter = Interrupter::new();
    interrupter.interrupt();
    let path = "s.lua".to_owned();
    let early = load(&ScriptStart { interrupter, ..plain("") }).err();
    assert_eq!(early, Some(ScriptError::Interrupted { path }));
}
