//! Scripts of a few lines, each with what the states, the requests and the errors have to be.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use super::*;

/// What a script gets of the system: two addresses of which the second cannot be reached, and a
/// clock that tells the test when it was looked at. Remembers what was looked up.
#[derive(Default)]
struct Fake {
    looked: Mutex<Option<Sender<()>>>,
    names: Mutex<Vec<String>>,
}

impl System for Fake {
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<SocketAddr>, String> {
        if host == "nowhere" {
            return Err(format!("unable to resolve {host}:{service}"));
        }
        self.names.lock().unwrap().push(host.to_owned());
        let port = service.parse().unwrap_or(80);
        Ok(vec![([127, 0, 0, 1], port).into(), ([127, 0, 0, 2], port).into()])
    }

    fn connect(&self, address: SocketAddr) -> bool {
        address.ip().to_string() != "127.0.0.2"
    }

    fn time_us(&self) -> u64 {
        if let Some(sender) = &*self.looked.lock().unwrap() {
            sender.send(()).unwrap();
        }
        1_234_567
    }
}

fn plain(text: &str) -> Load<'_> {
    Load {
        api: Api::Wrk,
        path: "s.lua",
        text,
        scheme: "http",
        host: "example.org",
        port: Some(8080),
        target: "/a?b=c",
        headers: Vec::new(),
        arguments: vec!["one".to_owned(), "two".to_owned()],
        url: "http://example.org:8080/a?b=c",
        threads: 1,
        addresses: vec!["127.0.0.1:8080".parse().unwrap(), "[::1]:8080".parse().unwrap()],
        system: Arc::new(Fake::default()),
        interrupter: Interrupter::new(),
    }
}

fn loaded(text: &str) -> (Main, Vec<Thread>) {
    load(&plain(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn one(text: &str) -> Thread {
    loaded(text).1.remove(0)
}

fn next(thread: &mut Thread) -> String {
    let mut bytes = Vec::new();
    thread.next(&mut bytes).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(bytes).unwrap()
}

/// The first line, and the others in order of the alphabet: Lua's tables have none.
fn sorted(request: &str) -> (String, BTreeSet<String>, String) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n").map(str::to_owned);
    (lines.next().unwrap(), lines.collect(), body.to_owned())
}

fn same(request: &str, line: &str, headers: &[&str], body: &str) {
    let headers = headers.iter().map(|&header| header.to_owned()).collect();
    assert_eq!(sorted(request), (line.to_owned(), headers, body.to_owned()));
}

/// A global variable of a state, as text.
fn variable(state: &State, name: &str) -> String {
    state.evaluate(&format!("return tostring({name})"))
}

fn no_headers() -> impl Iterator<Item = (&'static [u8], &'static [u8])> {
    std::iter::empty()
}

#[test]
fn the_default_request_is_wrks() {
    let thread = one("");
    assert_eq!(thread.fixed(), Some(&b"GET /a?b=c HTTP/1.1\r\nHost: example.org:8080\r\n\r\n"[..]));
    assert_eq!((thread.depth(), thread.wants(), thread.has_delay()), (1, Wants::default(), false));
    assert_eq!((thread.address(), thread.is_stopped()), (None, false));
}

#[test]
fn the_host_header_is_made_of_the_url() {
    for (host, port, want) in [
        ("example.org", None, "Host: example.org"),
        ("example.org", Some(80), "Host: example.org:80"),
        ("::1", None, "Host: [::1]"),
        ("::1", Some(81), "Host: [::1]:81"),
    ] {
        let (_, threads) = load(&Load { host, port, ..plain("") }).unwrap();
        let text = String::from_utf8(threads[0].fixed().unwrap().to_vec()).unwrap();
        same(&text, "GET /a?b=c HTTP/1.1", &[want], "");
    }
    let headers = vec![("Host".to_owned(), "other".to_owned()), ("A".to_owned(), "b".to_owned())];
    let (_, threads) = load(&Load { headers, ..plain("") }).unwrap();
    let text = String::from_utf8(threads[0].fixed().unwrap().to_vec()).unwrap();
    same(&text, "GET /a?b=c HTTP/1.1", &["Host: other", "A: b"], "");
}

#[test]
fn a_static_script_is_asked_once() {
    let thread =
        one("wrk.method = 'POST'\nwrk.body = 'foo=bar'\nwrk.headers['Content-Type'] = 'x/y'\n\
         function init(args) wrk.path = '/' .. args[0]:sub(1, 4) .. args[2] .. #args end");
    same(
        std::str::from_utf8(thread.fixed().unwrap()).unwrap(),
        "POST /httptwo2 HTTP/1.1",
        &["Host: example.org:8080", "Content-Type: x/y", "Content-Length: 7"],
        "foo=bar",
    );
}

#[test]
fn format_changes_the_headers_it_is_given() {
    let mut thread =
        one("local own = { ['X-One'] = 1.5, Ok = true, Big = 1e15, Less = -2, Count = 12 }\n\
         function request()\n\
           local text = wrk.format('PUT', '/p', own, 'body')\n\
           host, length = own.Host, own['Content-Length']\n\
           after = wrk.format(nil, nil, own)\n\
           return text\n\
         end");
    same(
        &next(&mut thread),
        "PUT /p HTTP/1.1",
        &[
            "Host: example.org:8080",
            "Content-Length: 4",
            "X-One: 1.5",
            "Ok: true",
            "Big: 1e+15",
            "Less: -2",
            "Count: 12",
        ],
        "body",
    );
    assert_eq!(variable(&thread.state, "host"), "example.org:8080");
    assert_eq!(variable(&thread.state, "length"), "4");
    assert!(!variable(&thread.state, "after").contains("Content-Length"));
}

#[test]
fn everything_runs_in_wrks_order() {
    let text = "function note(what) wrk.lookup(what) end\n\
        note(wrk.thread and 'file' or 'main')\n\
        function setup(thread) note('setup') thread:set('early', 1) end\n\
        function init() note('init' .. early) end\n\
        function request() note('request') return wrk.format() end\n\
        function done() note('done') end";
    let fake = Arc::new(Fake::default());
    let system = Arc::clone(&fake) as Arc<dyn System>;
    let (mut main, mut threads) = load(&Load { threads: 2, system, ..plain(text) }).unwrap();
    main.done(&mut threads, &Summary::default(), &Histogram::new(), &Histogram::new()).unwrap();
    assert_eq!(
        fake.names.lock().unwrap().join(" "),
        "main file setup init1 request file setup init1 done"
    );
}

#[test]
fn errors_say_file_and_line() {
    for (text, want) in [
        ("x = = 1", "s.lua:1: unexpected symbol near '='"),
        ("\nlocal x = nil\nx.y = 1", "s.lua:3: attempt to index local 'x' (a nil value)"),
        ("error('all\\nwrong', 0)", "s.lua: all wrong"),
        ("error({})", "s.lua: error object that is a table value: table: 0x"),
        ("error(nil)", "s.lua: error object that is a nil value: nil"),
        ("function setup(t)\n t:sit() end", "s.lua:2: attempt to call method 'sit' (a nil value)"),
        (
            "function setup(t)\n t.x = 1 end",
            "s.lua:2: cannot set 'x' on a thread: use thread:set()",
        ),
        (
            "function setup(t)\n t.get('x') end",
            "s.lua:2: thread:get() is a method: write it with a colon",
        ),
        (
            "function setup(t)\n t.addr = 'x' end",
            "s.lua:2: thread.addr takes an address from wrk.lookup, not a string",
        ),
        (
            "function setup(t)\n t:set('x', print) end",
            "s.lua:2: a function cannot be transferred between threads",
        ),
        (
            "function setup(t)\n local x = {} x.x = x\n t:set('x', x) end",
            "s.lua:3: a table nested 100 deep, or in itself, cannot be transferred",
        ),
        ("function init()\n\n foo() end", "s.lua:3: attempt to call global 'foo' (a nil value)"),
        ("function init()\n wrk.lookup('nowhere', 1) end", "s.lua:2: unable to resolve nowhere:1"),
        (
            "function init()\n wrk.connect('nowhere') end",
            "s.lua:2: wrk.connect takes an address from wrk.lookup, not a string",
        ),
        (
            "function request()\n return nil .. 'x' end",
            "s.lua:2: attempt to concatenate a nil value",
        ),
        (
            "function request()\n local r = wrk.format(nil, nil, nil, {})\n return r end",
            "s.lua:2: wrk.format: the body has to be a string, not a table",
        ),
        (
            "function request()\n local r = wrk.format(nil, nil, 5)\n return r end",
            "s.lua:2: attempt to index",
        ),
        (
            "function request() return '' end",
            "s.lua: request() has to return a request as a string, and returned an empty string",
        ),
        (
            "function request() end",
            "s.lua: request() has to return a request as a string, and returned nothing",
        ),
        (
            "function request() return {} end",
            "s.lua: request() has to return a request as a string, and returned a table",
        ),
        (
            "function request() return 'GET / HTTP/1.1\\r\\n' end",
            "s.lua: what request() returned is not a request: it ends within its head, at line 2, column 1 of it",
        ),
        (
            "wrk.headers.X = 'a\\r\\nb'",
            "s.lua: what request() returned is not a request: a header has no name or no colon, at line",
        ),
        ("#!/usr/bin/env wrk\nx()", "s.lua:2: attempt to call global 'x' (a nil value)"),
    ] {
        let Err(error) = load(&plain(text)) else { panic!("{text} loads") };
        let error = error.to_string();
        assert!(error.starts_with(want) && !error.contains('\n'), "{text}\n{error}\n{want}");
    }
}

#[test]
fn errors_during_the_run_say_file_and_line() {
    let mut thread = one("local n = 0\n\
         function request()\n\
           n = n + 1\n\
           if n == 2 then local x = nil + 1 end\n\
           return wrk.format()\n\
         end\n\
         function response(status) if status == 500 then\n\
           error('bad') end end\n\
         function delay() return {} .. '' end");
    let mut out = b"kept".to_vec();
    let error = thread.next(&mut out).unwrap_err();
    assert_eq!(error.to_string(), "s.lua:4: attempt to perform arithmetic on a nil value");
    assert_eq!(out, b"kept");
    thread.next(&mut out).unwrap();
    thread.response(200, no_headers(), b"").unwrap();
    let error = thread.response(500, no_headers(), b"").unwrap_err();
    assert_eq!(error.to_string(), "s.lua:8: bad");
    let error = thread.delay_ns().unwrap_err();
    assert_eq!(error.to_string(), "s.lua:9: attempt to concatenate a table value");
}

#[test]
fn requests_may_change_with_each_call() {
    let mut thread = one("counter = 0\n\
         request = function()\n\
           path = '/' .. counter\n\
           wrk.headers['X-Counter'] = counter\n\
           counter = counter + 1\n\
           if counter == 3 then request = function() return 12 end end\n\
           return wrk.format(nil, path)\n\
         end");
    assert_eq!(thread.fixed(), None);
    // The call with 0 was the first thread's check.
    for number in ["1", "2"] {
        let counter = format!("X-Counter: {number}");
        let line = format!("GET /{number} HTTP/1.1");
        same(&next(&mut thread), &line, &["Host: example.org:8080", &counter], "");
    }
    assert_eq!(next(&mut thread), "12");
}

#[test]
fn several_requests_at_once_are_counted() {
    let text = "function init()\n\
          local r = { wrk.format(nil, '/1'), wrk.format('POST', '/2', nil, 'xyz'), wrk.format() }\n\
          all = table.concat(r)\n\
        end\n\
        function request() return all end";
    let (_, threads) = load(&Load { threads: 2, ..plain(text) }).unwrap();
    assert_eq!(threads.iter().map(Thread::depth).collect::<Vec<_>>(), [3, 3]);
    // What a body holds is not a request.
    assert_eq!(one("wrk.body = 'GET / HTTP/1.1\\r\\n\\r\\n'").depth(), 1);
}

#[test]
fn an_init_for_the_older_wrk2_calls_wrks() {
    let mut thread = one("init = function(args)\n wrk.init(args)\n times = (times or 0) + 1\n\
         req = wrk.format(nil, '/x') end\n\
         request = function() return req end");
    same(&next(&mut thread), "GET /x HTTP/1.1", &["Host: example.org:8080"], "");
    assert_eq!(variable(&thread.state, "times"), "1");
}

#[test]
fn delays_are_milliseconds() {
    for (value, want) in
        [("10", 10_000_000), ("0.5", 500_000), ("-3", 0), ("nil", 0), ("'7'", 7_000_000)]
    {
        let mut thread = one(&format!("function delay() return {value} end"));
        assert!(thread.has_delay());
        assert_eq!(thread.delay_ns(), Ok(want), "{value}");
    }
    let text = "function delay() return 1 end";
    let (_, threads) = load(&Load { api: Api::Wrk2, ..plain(text) }).unwrap();
    assert!(!threads[0].has_delay());
}

#[test]
fn each_api_has_its_own() {
    for (api, want) in [(Api::Wrk, "nil"), (Api::Wrk2, "1234567")] {
        let text = "t = wrk.time_us and wrk.time_us()";
        let (_, threads) = load(&Load { api, ..plain(text) }).unwrap();
        assert_eq!(variable(&threads[0].state, "t"), want);
    }
}

#[test]
fn what_response_reads_is_seen() {
    const NONE: (bool, bool) = (false, false);
    const HEADERS: (bool, bool) = (true, false);
    const BODY: (bool, bool) = (false, true);
    const BOTH: (bool, bool) = (true, true);
    for (text, want) in [
        ("function response() n = 1 end", NONE),
        ("function response(status) n = status end", NONE),
        ("function response(status, headers, body) n = (n or 0) + 1 end", NONE),
        ("function response(status, headers, body) print(status) return end", NONE),
        ("function response(s, h, b) for i = 1, s do local x = i end end", NONE),
        ("function response(s, h, b) for k, v in pairs(wrk) do local x = v end end", NONE),
        ("function response(s, h, b) local x = 'a' .. s .. 'b' end", NONE),
        ("function response(status, headers, body) n = headers['X'] end", HEADERS),
        ("function response(status, headers) wrk.headers = headers end", HEADERS),
        ("function response(s, h, b) for k, v in pairs(h) do n = k end end", HEADERS),
        ("function response(s, h, b) if h then n = 1 end end", HEADERS),
        ("function response(s, h, b) n = h == 1 end", HEADERS),
        ("function response(s, h, b) h.x = 1 end", HEADERS),
        ("function response(s, h, b) n = { h } end", HEADERS),
        ("function response(status, headers, body) n = #body end", BODY),
        ("function response(s, h, b) n = 'x' .. b end", BODY),
        ("function response(s, h, b) n = b:find('x') end", BODY),
        ("function response(s, h, b) return s, b end", BODY),
        ("function response(s, h, b) return print(b) end", BODY),
        ("function response(s, h, b) n = h.x .. b end", BOTH),
        ("function response(s, h, b) return h end", BOTH),
        ("function response(...) local a = ... end", BOTH),
        ("function response(s, h, b) n = function() return b end end", BOTH),
        ("response = print", BOTH),
    ] {
        let wants = one(text).wants();
        assert!(wants.response, "{text}");
        assert_eq!((wants.headers, wants.body), want, "{text}");
    }
    assert_eq!(one("response = 1").wants(), Wants::default());
}

#[test]
fn responses_arrive_as_they_are() {
    let mut thread = one("function response(status, headers, body)\n\
           got = status .. ' ' .. tostring(headers.A) .. ' ' .. tostring(headers.a) .. ' ' .. body\n\
         end");
    let headers: [(&[u8], &[u8]); 3] = [(b"A", b"1"), (b"a", b"2"), (b"A", b"3")];
    thread.response(200, headers.into_iter(), b"bo\0dy\xff").unwrap();
    assert_eq!(variable(&thread.state, "got:gsub('[^%w ]', '?')"), "200 3 2 bo?dy?");
}

#[test]
fn response_can_be_replaced() {
    let mut thread =
        one("local function other(status, headers, body) second = headers.A .. body end\n\
         function response(status)\n first = status\n response = other\n end");
    assert_eq!(thread.wants(), Wants { response: true, headers: false, body: false });
    thread.response(201, no_headers(), b"").unwrap();
    assert_eq!(thread.wants(), Wants { response: true, headers: true, body: true });
    let headers: [(&[u8], &[u8]); 1] = [(b"A", b"1")];
    thread.response(202, headers.into_iter(), b"b").unwrap();
    assert_eq!(variable(&thread.state, "first .. second"), "2011b");
    thread.state.evaluate("response = nil return ''");
    thread.response(203, no_headers(), b"").unwrap();
    assert_eq!(thread.wants(), Wants::default());
}

#[test]
fn a_thread_can_stop_itself() {
    let mut thread = one("local n = 0\n\
         function init() wrk.thread:stop() end\n\
         function response() n = n + 1 if n == 2 then wrk.thread:stop() end end");
    // Before the run it has no effect, as in wrk.
    for stopped in [false, true, true] {
        thread.response(200, no_headers(), b"").unwrap();
        assert_eq!(thread.is_stopped(), stopped);
    }
}

#[test]
fn setup_points_threads_to_addresses() {
    let text = "function setup(thread)\n\
          before = tostring(thread.addr)\n\
          local found = wrk.lookup(wrk.host, wrk.port)\n\
          for i = #found, 1, -1 do\n\
            if not wrk.connect(found[i]) then table.remove(found, i) end\n\
          end\n\
          count = #found\n\
          number = (number or 0) + 1\n\
          thread.addr = number == 1 and found[1] or wrk.addrs[number]\n\
        end\n\
        function init() mine = tostring(wrk.thread.addr) end";
    let (main, threads) = load(&Load { threads: 2, ..plain(text) }).unwrap();
    assert_eq!(variable(&main.state, "before .. count"), "127.0.0.1:80801");
    assert_eq!(threads[0].address(), None);
    assert_eq!(threads[1].address(), Some("[::1]:8080".parse().unwrap()));
    assert_eq!(variable(&threads[1].state, "mine"), "::1:8080");
}

#[test]
fn variables_go_between_states() {
    let text = "threads = {}\n\
        function setup(thread)\n\
          threads[#threads + 1] = thread\n\
          thread:set('t', { 1, 'two', { yes = true, [2.5] = 'x\\0y' }, n = -0.5 })\n\
          thread:set('gone', nil)\n\
          threads[1]:set('count', #threads)\n\
        end\n\
        gone = 1\n\
        function init()\n\
          t[3].yes = not t[3].yes\n\
          own = wrk.thread:get('t')\n\
        end\n\
        function done()\n\
          local t = threads[2]:get('t')\n\
          seen = table.concat({ #t, t[1], t[2], tostring(t[3].yes), #t[3][2.5], t.n,\n\
            tostring(threads[2]:get('gone')), threads[1]:get('count'), threads[2]:get('own')[2] }, ' ')\n\
        end";
    let (mut main, mut threads) = load(&Load { threads: 2, ..plain(text) }).unwrap();
    assert!(main.has_done());
    main.done(&mut threads, &Summary::default(), &Histogram::new(), &Histogram::new()).unwrap();
    assert_eq!(variable(&main.state, "seen"), "3 1 two false 3 -0.5 nil 2 two");
    let error =
        main.done(&mut threads[..1], &Summary::default(), &Histogram::new(), &Histogram::new());
    assert_eq!(
        error.unwrap_err().to_string(),
        "s.lua:14: this thread's variables cannot be reached now"
    );
}

/// 1 µs to 100 µs, once each, and 100 µs once more.
fn hundred() -> Histogram {
    let mut histogram = Histogram::new();
    for us in 1..=100 {
        histogram.record(us * 1000);
    }
    histogram.record(100_000);
    histogram
}

#[test]
fn done_sees_statistics() {
    let summary = Summary {
        duration_us: 1_000_001,
        requests: 2,
        bytes: 3,
        connect: 4,
        read: 5,
        write: 6,
        status: 7,
        timeout: 8,
    };
    let text = "function done(summary, latency, requests)\n\
          local e = summary.errors\n\
          sum = table.concat({ summary.duration, summary.requests, summary.bytes, e.connect, e.read,\n\
            e.write, e.status, e.timeout }, ' ')\n\
          lat = string.format('%d %d %.2f %.3f %d %d %d %d', latency.min, latency.max, latency.mean,\n\
            latency.stdev, latency:percentile(50), latency:percentile(99.999), latency:percentile(0),\n\
            #latency)\n\
          none = tostring(latency.nothing) .. #requests .. requests.max .. requests:percentile(50)\n\
          if wrk.time_us then some = latency[1] .. ' ' .. latency[50] .. ' ' .. latency[101]\n\
          else some = table.concat({ latency(1) }, ' ') .. ' ' .. table.concat({ latency(100) }, ' ')\n\
            .. ' ' .. table.concat({ latency(101) }, ' ') end\n\
        end";
    for (api, lat, none, some) in [
        (Api::Wrk, "1 100 50.99 29.283 51 100 1 100", "nil000", "1 1 100 2 0 0"),
        (Api::Wrk2, "1 100 50.99 29.138 51 100 1 101", "nil000", "1 50 100"),
    ] {
        let (mut main, mut threads) = load(&Load { api, ..plain(text) }).unwrap();
        main.done(&mut threads, &summary, &hundred(), &Histogram::new()).unwrap();
        assert_eq!(variable(&main.state, "sum"), "1000001 2 3 4 5 6 7 8");
        assert_eq!(variable(&main.state, "lat"), lat, "{api:?}");
        assert_eq!(variable(&main.state, "none"), none, "{api:?}");
        assert_eq!(variable(&main.state, "some"), some, "{api:?}");
    }
    let (mut main, mut threads) =
        loaded("function done(s, l)\n return l:percentile('x') .. '' end");
    let error = main.done(&mut threads, &summary, &hundred(), &Histogram::new()).unwrap_err();
    assert_eq!(error.to_string(), "s.lua:2: percentile() takes a number, not a string");
}

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
                let load = Load { api: Api::Wrk2, system, interrupter: all, ..plain(&text) };
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
        let load = Load { api: Api::Wrk2, system, interrupter, ..plain(text) };
        let Err(error) = super::load(&load) else { panic!("{text} ends") };
        assert_eq!(error.to_string(), "s.lua: stopped while it was running");
    }
}

#[test]
fn an_interrupter_ends_its_own_thread_only() {
    let text = "function request() return wrk.format() end";
    let (_, mut threads) = load(&Load { threads: 2, ..plain(text) }).unwrap();
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
    let early = load(&Load { interrupter, ..plain("") }).err();
    assert_eq!(early, Some(ScriptError::Interrupted { path }));
}

/// Threads are made on one thread and work on others.
#[test]
fn threads_move_to_their_workers() {
    let text = "function request() return wrk.format(nil, '/' .. tostring(wrk.thread.addr)) end\n\
        function response(status) count = (count or 0) + 1 end\n\
        function setup(t) threads = threads or {} threads[#threads + 1] = t end\n\
        function done() sum = threads[1]:get('count') + threads[2]:get('count') end";
    let (mut main, threads) = load(&Load { threads: 2, ..plain(text) }).unwrap();
    let workers = threads.into_iter().map(|mut worker| {
        thread::spawn(move || {
            for _ in 0..1000 {
                assert!(next(&mut worker).starts_with("GET /127.0.0.1:8080 HTTP/1.1\r\n"));
                worker.response(200, no_headers(), b"").unwrap();
            }
            worker
        })
    });
    let workers: Vec<_> = workers.collect();
    let mut threads: Vec<Thread> =
        workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    main.done(&mut threads, &Summary::default(), &Histogram::new(), &Histogram::new()).unwrap();
    assert_eq!(variable(&main.state, "sum"), "2000");
}

/// The examples that the documents point to do what they say.
#[test]
fn the_examples_run() {
    let mut post = one(include_str!("../../../../examples/lua/post.lua"));
    assert!(post.fixed().is_some_and(|request| request.starts_with(b"POST /a?b=c HTTP/1.1")));
    assert!(next(&mut post).ends_with("\r\n\r\n{\"name\": \"plimsoll\", \"lines\": 6}"));

    let mut counter = one(include_str!("../../../../examples/lua/counter.lua"));
    let headers = ["Host: example.org:8080", "X-Counter: 2"];
    same(&next(&mut counter), "GET /item/2 HTTP/1.1", &headers, "");

    let mut token = one(include_str!("../../../../examples/lua/token.lua"));
    assert!(next(&mut token).starts_with("POST /login HTTP/1.1\r\n"));
    let headers: [(&[u8], &[u8]); 1] = [(b"X-Token", b"secret")];
    token.response(200, headers.into_iter(), b"").unwrap();
    let headers = ["Host: example.org:8080", "Authorization: Bearer secret"];
    same(&next(&mut token), "GET /account HTTP/1.1", &headers, "");
    assert_eq!(token.wants(), Wants { response: true, headers: true, body: false });

    let arguments = vec!["3".to_owned()];
    let pipeline = include_str!("../../../../examples/lua/pipeline.lua");
    let (_, threads) = load(&Load { arguments, ..plain(pipeline) }).unwrap();
    assert_eq!(threads[0].depth(), 3);

    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lua/");
    let arguments = vec![format!("{folder}paths.txt")];
    let paths = include_str!("../../../../examples/lua/paths.lua");
    let (_, mut threads) = load(&Load { arguments, ..plain(paths) }).unwrap();
    let drawn: BTreeSet<String> = (0..100).map(|_| sorted(&next(&mut threads[0])).0).collect();
    let want = ["/ ", "/cart ", "/products/17 ", "/products?page=2 "];
    let want = want.map(|path| format!("GET {path}HTTP/1.1"));
    assert_eq!(drawn, BTreeSet::from(want));

    let (main, mut threads) = loaded(include_str!("../../../../examples/lua/report.lua"));
    for status in [200, 404, 200] {
        threads[0].response(status, no_headers(), b"").unwrap();
    }
    assert_eq!(variable(&threads[0].state, "statuses[200] .. statuses[404] .. number"), "211");
    assert!(main.has_done());

    let stop = include_str!("../../../../examples/lua/stop.lua");
    let (_, mut threads) = load(&Load { arguments: vec!["1".to_owned()], ..plain(stop) }).unwrap();
    let delay_ns = threads[0].delay_ns().unwrap();
    assert!((5_000_000..=15_000_000).contains(&delay_ns), "{delay_ns} ns");
    threads[0].response(200, no_headers(), b"").unwrap();
    assert!(threads[0].is_stopped());
}
