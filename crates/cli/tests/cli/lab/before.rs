//! What the lab reports before its first load: mistakes in the suite, how long the study takes, and
//! servers that do not work.

use std::fs;

use serde_json::Value;

use super::{Suite, serve};
use crate::support::{plimsoll, run};

/// What cannot work is found before the first load, with a line for each server, and no folder is
/// taken for it.
#[test]
fn servers_that_do_not_work_end_the_study_before_the_first_load() {
    let good = serve("");
    let suite = Suite::of(
        "repeats = 1",
        &[
            ("good", &good),
            ("missing", "command = 'x'\nrequires = ['no-such-program-here']"),
            ("unbuilt", "command = 'x'\nbuild = ['echo first; echo no compiler; exit 3']"),
            ("absent", "command = 'no-such-program-here'"),
            ("shell", "command = 'cd /tmp && {plimsoll} serve --listen 127.0.0.1:{port}'"),
            ("ends", "command = \"sh -c 'echo cannot bind; exit 7'\""),
            ("silent", "command = 'sleep 1000'\nready = { port = true, timeout = '100ms' }"),
            ("wrong", &serve("expect = ['body*=goodbye']")),
            ("slow", &serve("ready = { http = '/status/503', timeout = '200ms' }")),
            ("file", &serve("files = { '{work}/x' = '{suite}/none' }")),
            ("tied", &serve("cpus = '8000'")),
        ],
    );
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let lines: Vec<&str> = finished.stderr.lines().collect();
    for (server, want) in [
        ("good", "check good: ready after "),
        ("missing", "missing is left out: not on this machine: no-such-program-here"),
        (
            "unbuilt",
            "unbuilt is left out: build: `echo first; echo no compiler; exit 3` failed: no ",
        ),
        ("absent", "check absent: FAILED: cannot start `no-such-program-here`: No such file"),
        ("shell", "check shell: FAILED: cannot start `cd`: No such file or directory: for "),
        ("ends", "check ends: FAILED: the server ended (exit status: 7): cannot bind"),
        ("silent", "check silent: FAILED: it was not ready within 100ms: port "),
        ("wrong", "check wrong: FAILED: a wrong answer to http://127.0.0.1:"),
        ("slow", "check slow: FAILED: it was not ready within 200ms: expect_status"),
        ("file", "check file: FAILED: files: /"),
        ("tied", "check tied: FAILED: cannot start `"),
    ] {
        let count = lines.iter().filter(|line| line.starts_with(want)).count();
        assert_eq!(count, 1, "{server}: {}", finished.stderr);
    }
    for part in [
        ": it cannot be tied to CPU 8000: Invalid argument: change server_cpus, ",
        ": it is to listen on {port}, which neither its command nor its env says",
    ] {
        assert!(finished.stderr.contains(part), "{part}: {}", finished.stderr);
    }
    let last = lines.last().expect("a last line");
    let want = "plimsoll: nothing was loaded, because servers failed their check: ";
    assert!(last.starts_with(want), "{last}");
    assert!(last.ends_with(": mend that, or go without (--only good)"), "{last}");
    assert!(last.contains("/.work/.check)"), "where the logs are: {last}");
    let names = "check: absent, shell, ends, silent, wrong, slow, file, tied (logs: ";
    assert!(last.contains(names), "the reasons have been said: {last}");
    assert!(!finished.stderr.contains("[1/"), "{}", finished.stderr);
    assert!(!suite.path().join("results").exists(), "the next try needs no other folder");
    let log = suite.path().join(".work/.check/ends/ends.log");
    assert_eq!(fs::read_to_string(log).expect("a log"), "cannot bind\n");
    let finished = suite.run(&["--only", "good/few,missing,unbuilt"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let study = suite.study();
    let skipped = |name: &str| {
        let mut servers = study["servers"].as_array().expect("servers").iter();
        servers.find(|server| server["name"] == name).expect("it")["skipped"].clone()
    };
    assert_eq!(skipped("good"), Value::Null);
    assert_eq!(skipped("missing"), "not on this machine: no-such-program-here");
    assert!(skipped("unbuilt").to_string().contains("failed: no compiler"));
}

/// The request of a load is tried too, and values that can only be read then.
#[test]
fn loads_that_do_not_work_end_the_study_before_the_first_load() {
    for (load, want) in [
        (
            "url = '{url}status/503'",
            "a wrong answer to its request: status 503; say `expect` in the load if",
        ),
        ("rate-file = 'times'", "rate-file: rate file 'times': No such file or directory"),
        ("script = '{suit}/x'", "script: cannot read the script '{suit}/x': No such file"),
        ("cpus = '8000'", "it cannot be tied to CPU 8000: Invalid argument"),
    ] {
        let text = format!(
            "name = 'test'\n[[servers]]\nname = 'a'\n{}\n[[loads]]\nname = 'odd'\n{load}\n",
            serve("")
        );
        let suite = Suite::new(&text);
        let finished = suite.run(&[]);
        assert_eq!(finished.code, Some(1), "{load}: {finished:?}");
        let line = finished.stderr.lines().find(|line| line.starts_with("check a: "));
        let want = format!("check a: FAILED: load 'odd': {want}");
        assert!(line.is_some_and(|line| line.starts_with(&want)), "{load}: {}", finished.stderr);
        let hint = ": paths in a load start from the run's own folder, {suite}/ is the suite's";
        let is_of_file = line.is_some_and(|line| line.contains("No such file"));
        assert_eq!(finished.stderr.contains(hint), is_of_file, "{load}: {}", finished.stderr);
        assert!(!suite.path().join("results").exists());
    }
}

/// A load that is wrong is wrong for every server. The lab reports it once.
#[test]
fn equal_failures_of_the_check_are_told_once() {
    let text = format!(
        "name = 'test'\n[[servers]]\nname = 'a'\n{0}\n[[servers]]\nname = 'b'\n{0}\n\
         [[loads]]\nname = 'odd'\nurl = '{{url}}status/503'\n",
        serve("")
    );
    let finished = Suite::new(&text).run(&[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let lines: Vec<&str> = finished.stderr.lines().collect();
    let [.., first, second, last] = lines[..] else { panic!("{finished:?}") };
    assert!(first.starts_with("check a: FAILED: load 'odd': a wrong answer"), "{first}");
    assert_eq!(second, "check b: FAILED as a");
    assert!(last.contains("failed their check: a, b"), "{last}");
    assert_eq!(finished.stderr.matches("status 503").count(), 1, "{}", finished.stderr);
}

/// One request of each of our loads is sent before the first: as many as there are, and no more.
#[test]
fn each_load_is_asked_once_before_the_first() {
    let text = format!(
        "name = 'test'\nrepeats = 1\n[[servers]]\nname = 'a'\n{}\n\
         [[loads]]\nname = 'slow'\nstages = '100ms@10'\nthreads = 2\nshed-after = '1s'\n\
         [[loads]]\nname = 'wide'\nrate = 20\nduration = '100ms'\nconnections = '2..9'\n\
         [[loads]]\nname = 'fails'\nrequests = 2\nconnections = 1\nurl = '{{url}}status/404'\n\
         expect = 'status=404'\n\
         [[loads]]\nname = 'words'\nargs = 'run -n 2 -c 1 {{url}}'\n",
        serve("")
    );
    let suite = Suite::new(&text);
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let line = finished.stderr.lines().find(|line| line.starts_with("check a: ready after "));
    let asked = ", answers, also to one request of slow, wide, fails";
    assert!(line.is_some_and(|line| line.ends_with(asked)), "{}", finished.stderr);
}

#[test]
fn what_would_be_run_is_shown_and_not_run() {
    let suite = Suite::of("repeats = 2", &[("a", &serve("")), ("b", "command = 'x'")]);
    let listed = suite.run(&["--list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stdout.contains("  more  ") && listed.stdout.contains("  b  "), "{listed:?}");
    let dry = suite.run(&["--dry-run", "--only", "/few"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    let places: Vec<&str> = dry.stdout.lines().take(4).map(|line| &line[4..8]).collect();
    assert!(places.iter().all(|place| ["  a ", "  b "].contains(place)), "{}", dry.stdout);
    assert!(dry.stdout.lines().nth(4).is_some_and(str::is_empty), "{}", dry.stdout);
    assert!(!suite.path().join("results").exists() && !suite.path().join(".work").exists());
}

/// How long a study takes and what it cannot show are printed before it begins.
#[test]
fn a_study_says_beforehand_how_long_it_takes() {
    let time = "; starting and stopping the servers comes on top\n";
    let warning = |repeats: &str| {
        format!(
            "\nwarning: {repeats} too few to tell servers apart, it takes 4 of each case: give \
             --repeats 4, or repeats = 4 in the suite\n"
        )
    };
    let long = "[[loads]]\nname = 'long'\nstages = '1m@10,30s@10..20'\n\
                [[loads]]\nname = 'wrk'\ntester = 'wrk'\nargs = '-c1 -d5s {url}'\n\
                [[loads]]\nname = 'own'\nargs = 'run -d 3s --warmup 1s {url}'\n";
    let ab = "[[loads]]\nname = 'ab'\ntester = 'ab'\nargs = '-n 100 {url}'\n";
    let head = "name = 'test'\nwarmup = '2s'\ncooldown = '500ms'\n";
    let servers =
        "[[servers]]\nname = 'a'\ncommand = 'x'\n[[servers]]\nname = 'b'\ncommand = 'x'\n";
    for (text, flags, want) in [
        (
            format!("{head}{servers}{long}"),
            &["--repeats", "4"][..],
            format!(
                "24 runs (2 servers, 3 loads, 4 repeats) take 13.9 min (warm-ups 40.0 s, loads \
                 13.1 min, pauses 12.0 s){time}"
            ),
        ),
        (
            format!("{head}{servers}{long}{ab}"),
            &["--only", "/ab,/wrk", "--repeats", "3"],
            format!(
                "12 runs (2 servers, 2 loads, 3 repeats) take at least 60.0 s (warm-ups 24.0 s, \
                 loads 30.0 s, pauses 6.00 s), and 6 of 'ab' until the requests are done\
                 {time}{}",
                warning("3 repeats are")
            ),
        ),
        (
            format!("name = 'test'\n{servers}{long}"),
            &["--only", "/wrk", "--repeats", "1"],
            format!(
                "2 runs (2 servers, 1 load, 1 repeat) take 10.0 s{time}{}",
                warning("1 repeat is")
            ),
        ),
        (
            format!("name = 'test'\n{servers}{long}"),
            &["--only", "a/wrk", "--repeats", "1"],
            format!("1 run (1 server, 1 load, 1 repeat) takes 5.00 s{time}"),
        ),
    ] {
        let finished = Suite::new(&text).run(&[&["--dry-run"], flags].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let (_, said) = finished.stdout.split_once("\n\n").expect("runs, then words");
        assert!(said.lines().all(|line| line.len() <= 110), "{said}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(said), words(&want));
    }
    let suite = Suite::of("repeats = 3", &[("a", &serve("")), ("b", &serve(""))]);
    let finished = suite.run(&["--only", "/few"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let (head, _) = finished.stderr.split_once("check a: ").expect("a check");
    let want = "6 runs (2 servers, 1 load, 3 repeats) take until the requests are done; starting \
                and stopping the servers comes on top";
    assert_eq!(head, format!("{want}{}", warning("3 repeats are")));
    assert_eq!(finished.stderr.matches("too few").count(), 1, "{}", finished.stderr);
    assert_eq!(finished.stdout.matches("too few").count(), 2, "{}", finished.stdout);
    assert!(!finished.stdout.contains("needs 4"), "{}", finished.stdout);
}

/// A study of servers and loads that speak something else than HTTP/1.
#[test]
fn loads_of_every_protocol_make_a_study() {
    let server = serve("http = '2'\n");
    let loads = [
        ("h2", "http = '2'\nstreams = 4"),
        ("calls", "grpc = 'fgrpc.PingServer/Ping'\nreflect = true"),
        (
            "streams",
            "grpc = 'grpc.testing.TestService/FullDuplexCall'\nreflect = true\n\
             grpc-stream = 'pingpong'\nbody = '{\"responseParameters\": [{\"size\": 1}]}'",
        ),
        ("socket", "url = 'ws://127.0.0.1:{port}/ws'\nws-message = ['hello']\nws-compress = true"),
    ];
    let loads = loads.map(|(name, lines)| {
        format!("[[loads]]\nname = '{name}'\nrequests = 200\nconnections = 2\n{lines}\n")
    });
    let head = "name = 'test'\ncolumns = ['rate', 'round_trip.p50']\n[[servers]]\nname = 'ours'\n";
    let suite = Suite::new(&format!("{head}{server}{}", loads.concat()));
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let study = suite.study();
    for case in study["cases"].as_array().expect("cases") {
        let figures = &case["runs"][0]["figures"];
        assert_eq!((&figures["completed"], &figures["errors"]), (&200.into(), &0.into()), "{case}");
        let is_stream = case["load"] == "streams";
        let round_trips = figures.pointer("/streams/round_trips").and_then(Value::as_array);
        assert_eq!(round_trips.is_some_and(|it| !it.is_empty()), is_stream, "{case}");
    }
}

/// The server knows no HTTP/1 upgrade, and over TLS offers what it was told.
#[test]
fn a_server_is_asked_in_the_version_that_its_suite_says() {
    let of = |http: &str| {
        let tls = "command = '{plimsoll} serve --listen 127.0.0.1:{port} --tls --alpn http/1.1'";
        let suite = Suite::of("", &[("old", &format!("{tls}\nscheme = 'https'\nhttp = '{http}'"))]);
        suite.run(&["--only", "old/few"])
    };
    let (fits, fails, wrong) = (of("1.1"), of("2"), of("3"));
    assert_eq!(fits.code, Some(0), "{fits:?}");
    assert!(fails.code == Some(1) && fails.stderr.contains("a wrong answer"), "{fails:?}");
    assert!(wrong.stderr.contains("http: '3' is not one of 1.0, 1.1, 2, auto"), "{wrong:?}");
}

#[test]
fn what_is_wrong_is_one_line() {
    let suite = Suite::of("repeats = 0", &[("a", &serve(""))]);
    let good = Suite::of("", &[("a", &serve(""))]);
    let misspelt = fs::read_to_string(good.path().join("suite.toml")).expect("a suite");
    let with = |line: &str| Suite::new(&format!("{misspelt}[[loads]]\nname = 'slow'\n{line}\n"));
    let (fast, few) = (with("rate = 'fast'"), with("threads = 9\nconnections = 2"));
    let braces = with("args = 'run {back.port} {url}'");
    let misspelt = with("rates = 10");
    for (suite, flags, want) in [
        (&suite, &[][..], "plimsoll: suite.toml:2: repeats: give 1 to 1000\n"),
        (
            &good,
            &["--only", "b"],
            "plimsoll: --only b: there is no such server; --list shows what there is\n",
        ),
        (
            &good,
            &["--only", "a/x"],
            "plimsoll: --only a/x: there is no such load; --list shows what there is\n",
        ),
        (&good, &["--repeats", "0"], "plimsoll: --repeats: give 1 to 1000\n"),
        (
            &misspelt,
            &["--list"],
            "plimsoll: suite.toml:17: load 'slow': 'rates' is not a key of a plan: did you mean \
             'rate'? `plimsoll run --help` lists them\n",
        ),
        (
            &fast,
            &[],
            "plimsoll: suite.toml:17: load 'slow': invalid value 'fast' for '--rate <R>': 'fast' \
             is not a rate in requests per second: write 0.5, 1000 or 10k (see --help)\n",
        ),
        (
            &few,
            &["--dry-run"],
            "plimsoll: suite.toml:17: load 'slow': 9 threads for 2 connections leaves threads \
             without work: give threads = 2 or fewer\n",
        ),
        (
            &braces,
            &["--only", "a/few"],
            "plimsoll: suite.toml:17: args: nothing is known as {back.port}: there are {dir}, \
             {plimsoll}, {port}, {port2}, {port3}, {port4}, {scratch}, {server}, {suite}, {url}, \
             {work}\n",
        ),
    ] {
        let finished = suite.run(flags);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(2), want));
        assert!(!suite.path().join("results").exists());
    }
    let finished = good.run(&["--continue"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("holds no study to go on with"), "{finished:?}");
    let finished = run(&mut plimsoll(&["lab", "no-such-suite.toml"]));
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("cannot read the suite 'no-such-suite.toml'"), "{finished:?}");
}
