//! `plimsoll wrk`, `wrk2` and `ab`: what can be tested without the originals. `fortio` has a file
//! of its own.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::process::Signal;

use crate::closed::ClosedPort;
use crate::support::{Finished, Running, Server, measure, plimsoll, run};

fn ran(arguments: &[&str]) -> Finished {
    run(&mut plimsoll(arguments))
}

#[test]
fn the_name_of_the_program_says_whose_command_line_it_is() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    for (name, arguments, starts) in [
        ("wrk", &["-t1", "-c2", "-d200ms"][..], "invalid"),
        ("wrk", &["-t1", "-c2", "-d1s"], "Running 1s test @ http://"),
        ("wrk2", &["-t1", "-c2", "-d1s", "-R50"], "Running 1s test @ http://"),
        ("ab", &["-n", "10"], "This is ApacheBench"),
    ] {
        let link = directory.path().join(name);
        if !link.exists() {
            symlink(env!("CARGO_BIN_EXE_plimsoll"), &link).expect("a link");
        }
        let url = server.url("/");
        let finished = run(Command::new(&link).args(arguments).arg(&url));
        if starts == "invalid" {
            // wrk takes whole seconds, minutes and hours.
            assert_eq!(finished.code, Some(1), "{finished:?}");
            continue;
        }
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stdout.starts_with(starts), "{}", finished.stdout);
        assert!(!finished.stderr.is_empty(), "the verdict");
        let quiet = run(Command::new(&link).args(arguments).args(["--quiet", &url]));
        assert_eq!((quiet.code, quiet.stderr.lines().count() <= 1), (Some(0), true), "{quiet:?}");
    }
}

/// In the words of the command line that was given, or ours where it has none.
#[test]
fn what_cannot_be_carried_out_is_refused_in_the_words_of_the_original() {
    let url = "http://127.0.0.1:1/";
    let wrk: &[&str] = &["wrk", "-t1", "-c20M", "-d1s", url];
    let header: &[&str] = &["wrk", "-t1", "-c1", "-d1s", "-H", "na me: x", url];
    let script: &[&str] = &["wrk", "-t1", "-c1", "-d1s", "-s", "no/such.lua", url];
    for (arguments, code, says) in [
        (wrk, 2, "20 000 000 connections are too many: there may be 10 000 000 at once: lower -c"),
        (header, 2, "the request cannot be sent: header name is not a token"),
        (script, 1, "cannot read the script 'no/such.lua': No such file"),
    ] {
        let finished = ran(arguments);
        assert_eq!(finished.code, Some(code), "{arguments:?}: {finished:?}");
        assert!(finished.stderr.contains(says), "{arguments:?}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    }
}

#[test]
fn nobody_there_is_said_as_the_originals_say_it() {
    let closed = ClosedPort::new();
    let url = closed.url();
    let wrk = ran(&["wrk", "-d1s", &url]);
    assert_eq!((wrk.code, wrk.stdout.as_str()), (Some(1), ""));
    assert!(wrk.stderr.starts_with("unable to connect to 127.0.0.1:"), "{}", wrk.stderr);
    let ab = ran(&["ab", "-q", "-n", "10", &url]);
    assert_eq!(ab.code, Some(111), "{ab:?}");
    assert!(ab.stderr.contains("Connection refused (111)"), "{}", ab.stderr);
}

/// wrk's contract: the code is 0 after any run. Errors are reported anyway.
#[test]
fn no_response_is_said_beside_the_originals_report() {
    let server = Server::start(&["--tls"]);
    let url = server.url("/").replace("https", "http");
    let says = "malformed message head: it looks like TLS: use https:// (receiving)\n";
    for command in [&["wrk", "-t1", "-c2", "-d1s"][..], &["wrk2", "-t1", "-c2", "-d1s", "-R20"]] {
        let finished = ran(&[command, &[url.as_str()]].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stdout.contains("0 requests in"), "{finished:?}");
        assert!(finished.stderr.starts_with("no response to "), "{finished:?}");
        assert!(finished.stderr.ends_with(says), "{finished:?}");
        let quiet = ran(&[command, &["--quiet", &url]].concat());
        assert_eq!(quiet.code, Some(0), "{quiet:?}");
        assert!(!quiet.stderr.contains("no response"), "{quiet:?}");
    }
}

#[test]
fn a_script_speaks_in_order() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("speaks.lua");
    let text = "
        function setup(thread) print('setup') end
        function init(args) print('init ' .. args[1]) end
        function response()
            if not seen then print('response') end
            seen = true
        end
        function done(summary, latency, requests)
            print('done ' .. tostring(summary.requests > 0 and latency.max >= latency.min))
        end
    ";
    std::fs::write(&path, text).expect("a script");
    let script = path.display().to_string();
    let url = server.url("/");
    let wrk = ran(&["wrk", "-t1", "-c2", "-d1s", "-s", &script, &url, "--", "one"]);
    assert_eq!(wrk.code, Some(0), "{wrk:?}");
    let marks = ["setup", "init one", "Running 1s", "response", "requests in", "done true"];
    let places: Vec<_> = marks.iter().map(|mark| wrk.stdout.find(mark)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}", wrk.stdout);
    let own = ran(&["run", "-n", "100", "-s", &script, &url, "--", "two"]);
    assert_eq!(own.code, Some(0), "{own:?}");
    assert!(own.stdout.starts_with("setup\ninit two\nresponse\n"), "{}", own.stdout);
    assert!(own.stdout.ends_with("done true\n"), "{}", own.stdout);
}

#[test]
fn errors_in_scripts_are_one_line_with_file_and_line() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text, says) in [
        ("syntax.lua", "function request(", "syntax.lua:1:"),
        ("load.lua", "\n\nerror('no')", "load.lua:3: no"),
        ("init.lua", "function init()\n  nothing.there = 1\nend", "init.lua:2:"),
        (
            "request.lua",
            "n = 0\nfunction request()\n n = n + 1\n if n > 9 then error('no') end\n \
          return wrk.format()\nend",
            "request.lua:4: no",
        ),
        ("response.lua", "function response()\n error('no')\nend", "response.lua:2: no"),
    ] {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a script");
        let script = path.display().to_string();
        for command in [&["wrk", "-d5s"][..], &["run", "-d", "5s"]] {
            let url = server.url("/");
            let finished = ran(&[command, &["-s", &script, &url]].concat());
            assert_eq!(finished.code, Some(1), "{name}: {finished:?}");
            assert!(finished.stderr.contains(says), "{name}: {}", finished.stderr);
            assert_eq!(finished.stderr.lines().count(), 1, "{name}: {}", finished.stderr);
            assert!(!finished.stdout.contains("requests in"), "{name}: {}", finished.stdout);
        }
    }
}

#[test]
fn a_script_that_never_ends_is_stopped_at_the_end_of_the_run() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("loops.lua");
    let text = "n = 0\nfunction request()\n n = n + 1\n while n > 20 do n = n + 1 end\n \
                return wrk.format()\nend";
    std::fs::write(&path, text).expect("a script");
    let script = path.display().to_string();
    let finished =
        ran(&["run", "-c", "2", "-d", "1s", "--drain", "100ms", "-s", &script, &server.url("/")]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("completed"), "{}", finished.stdout);
    assert!(finished.stdout.contains("confidence: invalid"), "{}", finished.stdout);
    assert!(finished.stdout.contains("the script did not end by itself"), "{}", finished.stdout);
}

#[test]
fn a_loop_before_the_load_ends_with_a_signal() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("loops.lua");
    let mark = directory.path().join("mark");
    let text = format!("io.open('{}', 'w'):close()\nwhile true do end", mark.display());
    std::fs::write(&path, text).expect("a script");
    let script = path.display().to_string();
    let server = Server::start(&[]);
    let running = Running::start(&mut plimsoll(&["wrk", "-s", &script, &server.url("/")]));
    while !mark.exists() {
        std::thread::yield_now();
    }
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("stopped while it was running"), "{}", finished.stderr);
}

#[test]
fn a_script_may_end_the_program_in_done() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("exits.lua");
    std::fs::write(&path, "function done() os.exit(7) end").expect("a script");
    let script = path.display().to_string();
    let document = directory.path().join("result.json").display().to_string();
    let finished = ran(&[
        "wrk",
        "-t1",
        "-c2",
        "-d1s",
        "-s",
        &script,
        "--json-result",
        &document,
        &server.url("/"),
    ]);
    assert_eq!(finished.code, Some(7), "{finished:?}");
    assert!(finished.stdout.contains("requests in"), "{finished:?}");
    assert!(!finished.stderr.is_empty(), "the verdict");
    assert!(std::fs::metadata(&document).is_ok_and(|file| file.len() > 0));
}

#[test]
fn what_a_script_decides_is_not_decided_twice() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("none.lua");
    std::fs::write(&path, "").expect("a script");
    let script = path.display().to_string();
    for (flags, says) in [
        (&["-X", "POST"][..], "-X"),
        (&["-b", "x"], "-b"),
        (&["-H", "A: {{seq}}"], "a template"),
        (&["--proxy", "http://127.0.0.1:9"], "--proxy"),
        (&["--resolve", "a:80:127.0.0.1"], "--resolve"),
    ] {
        let all = [&["run", "-s", &script, "-n", "1"], flags, &["http://127.0.0.1:9/"]].concat();
        let finished = ran(&all);
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(says), "{}", finished.stderr);
    }
}

/// Answers each request with six responses, each as long as what is received at once.
fn babbler() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 8000\r\nX-Fill: ";
            let fill = "x".repeat(8192 - 8000 - head.len() - 4);
            let response = format!("{head}{fill}\r\n\r\n{}", "y".repeat(8000));
            let all = response.repeat(6);
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|len| len > 0) {
                    if stream.write_all(all.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn responses_that_come_at_once_are_not_before_their_requests() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.lua");
    std::fs::write(&path, "function request() return wrk.format() end").expect("a script");
    let script = path.display().to_string();
    let url = format!("http://{}/", babbler());
    for driver in ["auto", "epoll"] {
        let report = measure(&[
            "run", "-c1", "-n", "60", "-d", "5s", "--driver", driver, "-s", &script, &url,
        ]);
        for phase in ["sending", "waiting", "receiving"] {
            let max_us = report.number(&format!("/phases/{phase}/max_us"));
            assert!(max_us < 10e6, "{driver}: {phase} {max_us} us");
        }
    }
}
