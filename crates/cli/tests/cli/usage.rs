//! What is refused: one line on stderr, nothing on stdout, the right exit code, and no request to
//! any server.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use crate::closed::ClosedPort;
use crate::support::{Finished, plimsoll, run};

/// A listener that notices whether a client ever connected.
struct Untouched(TcpListener);

impl Untouched {
    fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket option");
        Self(listener)
    }

    fn url(&self) -> String {
        format!("http://{}/", self.0.local_addr().expect("a bound address"))
    }

    /// Runs the program with `URL` standing for this address, and sees it refuse to.
    fn refuses(&self, arguments: &[&str], code: i32, says: &str) {
        let url = self.url();
        let filled: Vec<&str> =
            arguments.iter().map(|word| if *word == "URL" { url.as_str() } else { word }).collect();
        assert_refused(&filled, run(&mut plimsoll(&filled)), code, says);
        let accepted = self.0.accept().map_err(|error| error.kind());
        assert_eq!(accepted.err(), Some(ErrorKind::WouldBlock), "{arguments:?} connected");
    }
}

fn assert_refused(arguments: &[&str], finished: Finished, code: i32, says: &str) {
    let Finished { stdout, stderr, code: got } = finished;
    assert_eq!(got, Some(code), "{arguments:?}: {stderr}");
    assert_eq!(stdout, "", "{arguments:?}");
    assert!(stderr.starts_with("plimsoll: ") && stderr.ends_with('\n'), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.contains(says), "{arguments:?} does not say '{says}': {stderr}");
}

#[test]
fn wrong_usage_is_refused_with_2() {
    let untouched = Untouched::new();
    let cases: [(&[&str], &str); 57] = [
        (&["run"], "URL"),
        (&["bogus"], "no command 'bogus': a URL starts with http:// or https:// (see --help)"),
        (&["rnu", "URL"], "no command 'rnu': did you mean 'run'? (see --help)"),
        (&["repotr", "URL"], "no command 'repotr': did you mean 'report'? (see --help)"),
        (&["hlep"], "no command 'hlep': did you mean 'help'? (see --help)"),
        (&["help", "doctr"], "no command 'doctr': did you mean 'doctor'? (see --help)"),
        (&["doctor", "rnu"], "no command 'rnu': did you mean 'run'? (see --help)"),
        (&["no.such/file"], "'no.such/file' has no scheme: write http://no.such/file"),
        (&["URL", "--bogus"], "--bogus"),
        (&["URL", "-R", "5"], "no flag '-R': did you mean '-r'? (see --help)"),
        (&["URL", "URL"], "unexpected argument"),
        (&[""], "not a URL"),
        (&["127.0.0.1:80"], "'127.0.0.1:80' has no scheme: write http://127.0.0.1:80"),
        (&["a:b:c"], "write http://HOST:PORT/PATH"),
        (&["URL", "--headers", "A: b"], "no flag '--headers': did you mean '--header'? (see"),
        (&["serve", "8080"], "'8080': an address to listen on is given with --listen (see --help)"),
        (&["proxy", "8080", "--to", "URL"], "listen on is given with --listen (see"),
        (&["serve", "--listen", "80000"], "'80000' is neither ADDR:PORT nor a port (0 to 65535)"),
        (&["URL", "-H", "A:", "b"], "unexpected argument beside the URL: quote values"),
        (&["http://"], "no host"),
        (&["http://127.0.0.1:99999/"], "port"),
        (&["http://127.0.0.1:0/"], "port"),
        (&["http://[::1/"], "not a URL"),
        (&["gopher://127.0.0.1/"], "'gopher'"),
        (&["URL", "-c", "0"], "-c"),
        (&["URL", "-c", "-1"], "-1"),
        (&["URL", "-c", "many"], "many"),
        (&["URL", "-t", "0"], "-t"),
        (&["URL", "-t", "9", "-c", "8"], "-t 8"),
        (&["URL", "-n", "0"], "-n"),
        (&["URL", "-n", "1.5"], "1.5"),
        (&["URL", "-d", "0s"], "-d"),
        (&["URL", "-d", "10"], "'10'"),
        (&["URL", "-r", "0"], "rate"),
        (&["URL", "-r", "fast"], "fast"),
        (&["URL", "-n", "1000", "-r", "10", "-d", "1s"], "-n, -d or -r"),
        (&["URL", "--stages", "10s"], "stage"),
        (&["URL", "--stages", "10s@5", "-r", "5"], "--rate"),
        (&["URL", "--timeout", "0s"], "--timeout"),
        (&["URL", "--pipeline", "0"], "--pipeline"),
        (&["URL", "--pipeline", "4294967295"], "are too many"),
        (&["URL", "--requests-per-conn", "0"], "--requests-per-conn"),
        (&["URL", "--http", "7"], "1.1"),
        (&["URL", "--format", "pdf"], "json"),
        (&["URL", "--format", "jsn"], "a similar value exists: 'json'"),
        (&["URL", "-c", "1", "-t", "2"], "2 threads for 1 connection leaves"),
        (&["URL", "--json", "no/such", "--html", "no/such"], "a file of its own"),
        (&["URL", "--driver", "kqueue"], "epoll"),
        (&["URL", "-H", "no colon"], "Name: value"),
        (&["URL", "-H", "na me: x"], "header name"),
        (&["URL", "-H", "name: a\u{1}b"], "header value"),
        (&["URL", "-X", "G T"], "method"),
        (&["serve", "--listen", "nowhere"], "nowhere"),
        (&["serve", "--stall", "now"], "300ms@5s"),
        (&["serve", "-t", "4294967295"], "too many: give fewer than"),
        (&["proxy", "--to", "URL", "-t", "4294967295"], "too many: give fewer than"),
        (&["serve", "--errors", "1%:200"], "1%:503"),
    ];
    for (arguments, says) in cases {
        untouched.refuses(arguments, 2, says);
    }
}

#[test]
fn a_call_without_arguments_shows_what_to_try() {
    let Finished { stdout, stderr, code } = run(&mut plimsoll(&[]));
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    let want = "\
plimsoll: say what to do. Three things to try:

  plimsoll demo                             a tour of 12 seconds
  plimsoll http://127.0.0.1:8080/           how much can this server take?
  plimsoll -r 100 http://127.0.0.1:8080/    how long do users wait, at 100/s?

`plimsoll serve` starts a server to load. `plimsoll --help` lists all commands.
";
    assert_eq!(stderr, want);
}

#[test]
fn a_code_is_explained_in_the_words_of_the_documentation() {
    let Finished { stdout, stderr, code } = run(&mut plimsoll(&["explain", "timeout"]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let want = "\
timeout: a kind of error

The timeout of the plan passed first (`--timeout`).

- Figures: the request is `timed_out` and counts in the quantiles with the time
  it had waited. Its connection is closed and replaced, because the rest of the
  response could still arrive on it.
- What to do: the phase shows what was slow: connect, tls, waiting for the first
  byte, or receiving the body. If users would wait longer, raise `--timeout`. If
  not, this is the result.
";
    assert_eq!(stdout, want);
    let Finished { stdout, code, .. } = run(&mut plimsoll(&["explain"]));
    assert_eq!(code, Some(0));
    for line in ["Causes of the verdict", "Kinds of errors", "Metrics for gates"] {
        assert!(stdout.lines().any(|printed| printed == line), "{line}: {stdout}");
    }
    let unknown = ["explain", "late_tial"];
    assert_refused(&unknown, run(&mut plimsoll(&unknown)), 2, "did you mean 'late_tail'?");
}

#[test]
fn help_can_be_asked_for_in_any_way() {
    let cases: [(&[&str], &str); 6] = [
        (&["help"], "manual"),
        (&["--help"], "manual"),
        (&["help", "run"], "--connections"),
        (&["run", "--help"], "--connections"),
        (&["run", "--help"], "\n  3    a --gate failed"),
        (&["help", "serve"], "/delay/DURATION"),
    ];
    for (arguments, says) in cases {
        let Finished { stdout, stderr, code } = run(&mut plimsoll(arguments));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(stdout.contains(says), "{arguments:?} does not say '{says}': {stdout}");
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_1() {
    let untouched = Untouched::new();
    let closed = ClosedPort::new();
    let nobody = closed.url();
    let cases: [(&[&str], &str); 4] = [
        (&["http://nobody.invalid/"], "nobody.invalid"),
        (&[&nobody], "refused"),
        (&[&nobody, "--driver", "epoll", "-r", "10"], "refused"),
        (&["URL", "-b", "@no/such/body"], "no/such/body"),
    ];
    for (arguments, says) in cases {
        untouched.refuses(arguments, 1, says);
    }
    let address = untouched.0.local_addr().expect("a bound address").to_string();
    let taken =
        format!("{address}: Address already in use: end what listens there, or take another");
    untouched.refuses(&["serve", "--listen", &address], 1, &taken);
}

#[test]
fn outputs_that_cannot_be_written_are_found_before_the_load() {
    let directory = tempfile::tempdir().expect("a directory");
    let is_directory = directory.path().to_str().expect("a readable path");
    let nowhere = directory.path().join("missing/file");
    let untouched = Untouched::new();
    for flag in ["-o", "--json", "--html", "--hgrm", "--timeseries"] {
        for path in [nowhere.to_str().expect("a readable path"), is_directory] {
            untouched.refuses(&["URL", "-n", "1", flag, path], 1, path);
        }
    }
    assert!(fs::read_dir(directory.path()).expect("a directory").next().is_none());
}

/// Runs the program with `files` file descriptors at most; `None` where that may not be set.
pub(crate) fn with_open_files(files: u32, arguments: &[&str]) -> Option<Finished> {
    let shell = format!("ulimit -n {files} 2>/dev/null || exit 99; exec \"$0\" \"$@\"");
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let finished = run(Command::new("sh").args(["-c", &shell, program]).args(arguments));
    (finished.code != Some(99)).then_some(finished)
}

#[test]
fn more_connections_than_file_descriptors_or_ports_are_refused() {
    let untouched = Untouched::new();
    let url = untouched.url();
    let files = ["-c", "100", &url];
    let finished = with_open_files(64, &files).expect("limits may be lowered");
    assert_refused(&files, finished, 1, "136 file descriptors");
    // There are no more than 65 535 ports. A host that does not allow enough open files refuses
    // those first.
    let ports = ["-c", "70000", &url];
    let (finished, says) = match with_open_files(80_000, &ports) {
        Some(finished) => (finished, "local ports"),
        None => (run(&mut plimsoll(&ports)), "file descriptors"),
    };
    assert_refused(&ports, finished, 1, says);
    let accepted = untouched.0.accept().map_err(|error| error.kind());
    assert_eq!(accepted.err(), Some(ErrorKind::WouldBlock));
}

#[test]
fn help_and_version_go_to_stdout() {
    let version = concat!("plimsoll ", env!("CARGO_PKG_VERSION"), "\n");
    let flags = "--connections --rate --stages --requests --duration --timeseries --require-valid";
    for (arguments, holds) in [
        (&["--version"][..], version),
        (&["-V"], version),
        (&["--help"], "run serve demo doctor"),
        (&["run", "--help"], flags),
        (&["serve", "--help"], "--listen --stall --latency --errors --reset --close-every"),
        (&["demo", "--help"], "--html"),
        (&["doctor", "--help"], "--quick --json --strict run"),
    ] {
        let finished = run(&mut plimsoll(arguments));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        if holds == version {
            assert_eq!(finished.stdout, version);
            continue;
        }
        for word in holds.split(' ') {
            assert!(finished.stdout.contains(word), "{arguments:?} without {word}");
        }
    }
}

#[test]
fn more_clients_than_there_is_memory_for_are_refused() {
    let clients = ["proxy", "--listen", "0", "--to", "URL", "--clients", "4294967295"];
    Untouched::new().refuses(&clients, 1, "1048576 clients");
}

#[test]
fn without_a_thread_to_be_had_one_line_says_so() {
    let untouched = Untouched::new();
    let url = untouched.url();
    let commands: [&[&str]; 3] =
        [&["run", &url], &["serve", "--listen", "0"], &["proxy", "--listen", "0", "--to", &url]];
    for arguments in commands {
        // No system has room for a stack of this size.
        let mut command = plimsoll(arguments);
        let finished = run(command.env("RUST_MIN_STACK", (1_u64 << 60).to_string()));
        assert_refused(arguments, finished, 1, "cannot start a thread");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_was_asked_for_and_cannot_be_written_is_an_error() {
    let cases: [&[&str]; 3] =
        [&["--help"], &["--version"], &["run", "http://127.0.0.1:1/", "--print-plan"]];
    for arguments in cases {
        let full = fs::File::options().write(true).open("/dev/full").expect("a device");
        let mut command = plimsoll(arguments);
        let output = command.stdout(full).output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("plimsoll: stdout: "), "{arguments:?}: {stderr}");
    }
}
