//! The stages of a run and the states they run in: their order, `setup`, and the variables that
//! threads exchange.

use std::thread;

use super::*;

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
    let (mut main, mut threads) = load(&ScriptStart { threads: 2, system, ..plain(text) }).unwrap();
    main.done(&mut threads, &Summary::default(), &Histogram::new(), &Histogram::new()).unwrap();
    assert_eq!(
        fake.names.lock().unwrap().join(" "),
        "main file setup init1 request file setup init1 done"
    );
}

#[test]
fn each_api_has_its_own() {
    for (api, want) in [(Api::Wrk, "nil"), (Api::Wrk2, "1234567")] {
        let text = "t = wrk.time_us and wrk.time_us()";
        let (_, threads) = load(&ScriptStart { api, ..plain(text) }).unwrap();
        assert_eq!(variable(&threads[0].state, "t"), want);
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
    let (main, threads) = load(&ScriptStart { threads: 2, ..plain(text) }).unwrap();
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
    let (mut main, mut threads) = load(&ScriptStart { threads: 2, ..plain(text) }).unwrap();
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

/// Threads are made on one thread and work on others.
#[test]
fn threads_move_to_their_workers() {
    let text = "function request() return wrk.format(nil, '/' .. tostring(wrk.thread.addr)) end\n\
        function response(status) count = (count or 0) + 1 end\n\
        function setup(t) threads = threads or {} threads[#threads + 1] = t end\n\
        function done() sum = threads[1]:get('count') + threads[2]:get('count') end";
    let (mut main, threads) = load(&ScriptStart { threads: 2, ..plain(text) }).unwrap();
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
