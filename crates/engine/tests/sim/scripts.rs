//! Lua scripts under the engine: the engine sends what they write and tells them what came, and the
//! ledger balances whatever they do.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_core::plan::{Draft, Script};
use plimsoll_engine::Signals;
use plimsoll_io::sim::SimOptions;
use plimsoll_script::lua::{Api, Interrupter, Main, ScriptStart, Summary, System, Thread, load};

use crate::peer::Answer;
use crate::world::{MS, Ran, S, assert_quantile, at_rate, plan, run_scripted};

struct Nowhere;

impl System for Nowhere {
    fn lookup(&self, _: &str, _: &str) -> Result<Vec<SocketAddr>, String> {
        Err("no names here".to_owned())
    }
    fn connect(&self, _: SocketAddr) -> bool {
        false
    }
    fn time_us(&self) -> u64 {
        0
    }
}

fn loaded(plan: &Draft, text: &str) -> (Main, Vec<Thread>) {
    let endpoint = &plan.endpoint;
    load(&ScriptStart {
        api: Api::Wrk,
        path: "test.lua",
        text,
        scheme: &endpoint.scheme,
        host: &endpoint.host,
        port: None,
        target: endpoint.path.reveal(),
        headers: Vec::new(),
        arguments: Vec::new(),
        url: "http://192.0.2.1/",
        threads: plan.workers,
        addresses: vec!["192.0.2.1:80".parse().unwrap()],
        system: Arc::new(Nowhere),
        interrupter: Interrupter::new(),
    })
    .unwrap()
}

fn scripted(plan: Draft) -> Draft {
    let script = Script { path: "test.lua".to_owned(), text: "".into(), arguments: Vec::new() };
    Draft { script: Some(script), ..plan }
}

/// The run of a script over a network with these faults.
pub(crate) fn ran_on(plan: &Draft, text: &str, sim: &SimOptions, answer: Answer) -> Ran {
    let plan = scripted(plan.clone());
    let (_, threads) = loaded(&plan, text);
    let always = |_| move |_: u64, _: u64| answer;
    run_scripted(&plan, sim, always, &Signals::default(), threads)
}

fn ran(plan: &Draft, text: &str, answer: Answer) -> (Main, Ran) {
    let (main, threads) = loaded(plan, text);
    let signals = Signals::default();
    let always = |_| move |_: u64, _: u64| answer;
    (main, run_scripted(plan, &SimOptions::default(), always, &signals, threads))
}

fn lines(ran: &Ran) -> Vec<String> {
    let heads = ran.logs.iter().flat_map(|log| log.borrow().heads.clone());
    heads.map(|head| head.lines().next().unwrap_or_default().to_owned()).collect()
}

const COUNTER: &str = "
    local n = 0
    function request()
        n = n + 1
        return wrk.format('GET', '/' .. n)
    end
";

#[test]
fn what_it_writes_is_sent_in_order_and_counted() {
    let plan = scripted(Draft { requests: Some(20), ..plan() });
    let (_, ran) = ran(&plan, COUNTER, Answer::Status(200, MS));
    let sum = ran.sum();
    assert_eq!(sum.ledger.check(), Ok(()));
    assert_eq!((sum.ledger.scheduled, sum.ledger.ok), (20, 20));
    let mut want: Vec<String> = (2..22).map(|n| format!("GET /{n} HTTP/1.1")).collect();
    let mut seen = lines(&ran);
    // The first went to see how many requests it writes at once, as wrk does.
    want.sort();
    seen.sort();
    assert_eq!(seen, want);
}

#[test]
fn several_requests_at_once_take_a_slot_each() {
    let text = "
        function request()
            return wrk.format('GET', '/a') .. wrk.format('POST', '/b')
                .. wrk.format('GET', '/c')
        end
    ";
    for (plan, count) in [
        (Draft { requests: Some(11), connections: 1, ..plan() }, 11),
        (Draft { connections: 1, ..at_rate(10_000_000, 3 * S) }, 30),
    ] {
        let plan = scripted(plan);
        let (_, ran) = ran(&plan, text, Answer::Status(200, MS));
        let sum = ran.sum();
        assert_eq!(sum.ledger.check(), Ok(()));
        assert_eq!((sum.ledger.scheduled, sum.ledger.ok), (count, count));
        let want = ["GET /a HTTP/1.1", "POST /b HTTP/1.1", "GET /c HTTP/1.1"];
        let want: Vec<_> = want.into_iter().cycle().take(count as usize).collect();
        assert_eq!(lines(&ran), want);
    }
}

/// One connection, three requests at once, answered after 500 ms: the requests of the second call
/// were due 200, 100 and 0 ms before. Those of the first go before they are due, and nobody has
/// waited for them.
#[test]
fn each_of_several_requests_has_its_own_slots_due_time() {
    let text = "function request() return wrk.format() .. wrk.format() .. wrk.format() end";
    let plan = Draft { connections: 1, ..at_rate(10_000_000, 3 * S) };
    let (_, ran) = ran(&scripted(plan), text, Answer::Status(200, 500 * MS));
    let sum = ran.sum();
    assert_eq!(sum.ledger.check(), Ok(()));
    // A call every half second, of slots that are 300 ms apart.
    let mut want_ms = vec![0; 3];
    for call in 1..6 {
        want_ms.extend((0..3).map(|slot| 500 * call - 100 * (3 * call + slot)));
    }
    assert_eq!(sum.ledger.sent, want_ms.len() as u64);
    let want_ns: u64 = want_ms.iter().map(|ms| ms * MS).sum();
    let off_ns = sum.delays.lag.sum_ns().abs_diff(want_ns);
    assert!(off_ns < 18 * MS, "{} ns in all, should be {want_ns}", sum.delays.lag.sum_ns());
    let sent_at_once = sum.delays.lag.count_at_most(MS);
    assert_eq!(sent_at_once, 3 + 1, "those of the first call, and one of the second");
}

#[test]
fn a_delay_is_no_latency() {
    let text = "function delay() return 40 end";
    let plan = scripted(Draft { connections: 2, ..plan() });
    let (_, ran) = ran(&plan, text, Answer::Status(200, 10 * MS));
    let sum = ran.sum();
    assert_eq!(sum.ledger.check(), Ok(()));
    // Every 50 ms on each of two connections, the first after the first delay.
    assert!((38..=40).contains(&sum.ledger.ok), "{}", sum.ledger.ok);
    assert_quantile(&sum.service, 0.5, 10 * MS, 200_000);
    assert_quantile(&sum.response(), 1.0, 10 * MS, 300_000);
}

#[test]
fn it_is_told_of_responses_and_tells_at_the_end() {
    let text = "
        local statuses, fields, bytes = 0, 0, 0
        function response(status, headers, body)
            statuses = statuses + status
            for _ in pairs(headers) do fields = fields + 1 end
            bytes = bytes + #body
        end
        function setup(thread) t = thread end
        function init() wrk.thread:set('seen', 0) end
        local told = response
        function response(status, headers, body)
            told(status, headers, body)
            seen = statuses
            if fields == 0 then error('no fields') end
        end
        function done(summary)
            if t:get('seen') ~= 200 * summary.requests then
                error('saw ' .. tostring(t:get('seen')))
            end
        end
    ";
    let plan = scripted(Draft { requests: Some(30), ..plan() });
    let (mut main, mut ran) = ran(&plan, text, Answer::Status(200, MS));
    assert_eq!(ran.script_errors, [""; 0]);
    let sum = ran.sum();
    let summary = Summary { requests: sum.ledger.completed, ..Summary::default() };
    main.done(&mut ran.scripts, &summary, &sum.service, &sum.service).unwrap();
}

/// A script that breaks when it is asked for its fifth request.
const BREAKS_AT_FIVE: &str = "
    local n = 0
    function request()
        n = n + 1
        if n == 5 then error('enough') end
        return wrk.format()
    end
";

#[test]
fn an_error_while_it_runs_ends_the_worker_and_is_kept() {
    let plan = scripted(plan());
    let (_, ran) = ran(&plan, BREAKS_AT_FIVE, Answer::Status(200, MS));
    assert_eq!(ran.script_errors.len(), 1);
    assert!(ran.script_errors[0].contains("test.lua:5: enough"), "{}", ran.script_errors[0]);
    assert_eq!(ran.sum().ledger.check(), Ok(()));
}

#[test]
fn stopping_one_thread_stops_no_other() {
    let text = "
        local n = 0
        function setup(thread)
            count = (count or 0) + 1
            thread:set('stops', count == 1)
        end
        function request()
            n = n + 1
            if stops and n == 10 then wrk.thread:stop() end
            return wrk.format()
        end
    ";
    let plan = scripted(Draft { workers: 2, ..plan() });
    let (_, ran) = ran(&plan, text, Answer::Status(200, MS));
    let completed: Vec<u64> =
        ran.records.iter().map(|record| record.measured.ledger.completed).collect();
    assert!(completed[0] == 9 || completed[0] == 10, "{completed:?}");
    assert!(completed[1] > 1500, "{completed:?}");
    assert_eq!(ran.sum().ledger.check(), Ok(()));
}

#[test]
fn empty_lines_are_no_requests() {
    let text = "function request() return '\\r\\n' .. wrk.format() .. '\\r\\n' end";
    let plan = scripted(Draft { requests: Some(10), ..plan() });
    let (_, ran) = ran(&plan, text, Answer::Status(200, MS));
    let sum = ran.sum();
    assert_eq!(sum.ledger.check(), Ok(()));
    assert_eq!((sum.ledger.scheduled, sum.ledger.ok), (10, 10));
}

#[test]
fn a_connection_carries_no_more_requests_than_it_may() {
    let text = "function request() return wrk.format() .. wrk.format() .. wrk.format() end";
    let requests_per_connection = Some(5);
    let plan =
        scripted(Draft { requests: Some(20), requests_per_connection, connections: 1, ..plan() });
    let (_, ran) = ran(&plan, text, Answer::Status(200, MS));
    let sum = ran.sum();
    assert_eq!((sum.ledger.ok, sum.ledger.reconnects), (20, 3));
    assert_eq!(sum.ledger.check(), Ok(()));
}

#[test]
fn a_script_that_stops_leaves_the_backlog() {
    let text = "
        local n = 0
        function request()
            n = n + 1
            if n == 6 then wrk.thread:stop() end
            return wrk.format()
        end
    ";
    let plan = scripted(Draft { connections: 50, ..at_rate(100_000_000_000, S) });
    let (_, ran) = ran(&plan, text, Answer::Status(200, 10 * MS));
    let sum = ran.sum();
    assert_eq!(sum.ledger.sent, 5, "one call was before the load");
    assert_eq!(sum.ledger.check(), Ok(()));
}

/// Nothing follows the last request, so there is nothing to pause for.
#[test]
fn no_delay_is_asked_for_after_the_last_request() {
    let text = "
        local pauses = 0
        function delay()
            pauses = pauses + 1
            if pauses > 10 then error('one too many') end
            return 1
        end
    ";
    let plan = scripted(Draft { requests: Some(10), connections: 1, ..plan() });
    let (_, ran) = ran(&plan, text, Answer::Status(200, MS));
    assert_eq!(ran.script_errors, [""; 0]);
    assert_eq!(ran.sum().ledger.ok, 10);
}

/// A slot whose request the script could not write is not forgotten.
#[test]
fn a_request_that_was_not_written_is_unsent() {
    // The first call is before the load.
    let plan = scripted(Draft { connections: 1, ..at_rate(10_000_000, S) });
    let (_, ran) = ran(&plan, BREAKS_AT_FIVE, Answer::Status(200, MS));
    let ledger = ran.sum().ledger;
    assert_eq!((ledger.scheduled, ledger.ok, ledger.unsent), (4, 3, 1));
}
