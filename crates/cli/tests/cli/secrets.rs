//! Secrets, wherever one can be given, are sent and appear in nothing that the program writes: a
//! canary in each place, every format, and a search through all bytes.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::peer::{Answer, Peer};
use crate::support::{Finished, Running, plimsoll, run};

/// What the peer says: a page and a field with secrets, which fails what is expected of it.
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 28\r\nX-Token: canary-answer-field\r\n\r\n\
                      canary-answer-body is secret";
/// The same of a redirect.
const ELSEWHERE: &str = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\
                         Location: http://other.invalid/?code=canary-location\r\n\r\n";

/// Everything that is looked for.
const CANARY: &str = "canary";

/// Credentials in base64, where `canary` can't be read.
fn hidden() -> [String; 2] {
    ["me:canary-basic", "me:canary-userinfo"].map(|text| BASE64_STANDARD.encode(text))
}

/// A way of giving secrets to a run.
struct Case {
    name: &'static str,
    flags: &'static [&'static str],
    /// What the peer gets of it, and `--show-secrets` shows.
    sent: &'static [&'static str],
    /// What the peer gets, and nothing ever shows.
    never_shown: &'static [&'static str],
}

const CASES: [Case; 6] = [
    Case {
        name: "headers, query, form, table, proxy",
        flags: &[
            "{origin}/x;jsessionid=canary-parameter?q=hull&token=canary-query",
            "-H",
            "Authorization: Bearer canary-bearer",
            "-H",
            "X-Auth-Token: canary-token",
            "-H",
            "X-Own: canary-unknown",
            "-H",
            "Cookie: id=canary-cookie",
            "--form-urlencoded",
            "password=canary-form",
            "--form-urlencoded",
            "row={{csv:users.csv:word}}",
            "--proxy",
            "me:canary-proxy@{address}",
            "--redirects",
            "1",
        ],
        sent: &[
            "canary-parameter",
            "canary-query",
            "canary-bearer",
            "canary-token",
            "canary-unknown",
            "canary-cookie",
            "canary-form",
        ],
        never_shown: &["canary-table"],
    },
    Case {
        name: "JSON and credentials",
        flags: &[
            "{origin}/",
            "--basic",
            "me:canary-basic",
            "-b",
            "{\"password\":\"canary-json\"}",
            "--expect",
            "body*=words",
        ],
        sent: &["canary-json"],
        never_shown: &[],
    },
    Case {
        name: "userinfo and a multipart form",
        flags: &["http://me:canary-userinfo@{address}/", "-F", "secret=canary-part"],
        sent: &["canary-part"],
        never_shown: &[],
    },
    Case {
        name: "a script",
        flags: &["{origin}/?sig=canary-query", "-s", "args.lua", "--", "canary-argument"],
        sent: &["canary-argument", "canary-query"],
        never_shown: &[],
    },
    Case {
        name: "targets",
        flags: &["--targets", "targets.toml"],
        sent: &["canary-target-query", "canary-target-header", "canary-target-body"],
        never_shown: &[],
    },
    Case {
        name: "a plan file",
        flags: &["plan.toml"],
        sent: &["canary-planned-header", "canary-planned-body"],
        never_shown: &[],
    },
];

/// A peer, and a directory with the files that runs read; what they write goes to `out`.
struct World {
    peer: Peer,
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let answer =
            |number: usize| Answer::Say(if number.is_multiple_of(2) { ANSWER } else { ELSEWHERE });
        let world = Self {
            peer: Peer::answering(answer),
            directory: tempfile::tempdir().expect("a directory"),
        };
        let origin = world.peer.url("");
        for (name, text) in [
            ("users.csv", "word\ncanary-table\n"),
            (
                "args.lua",
                "function init(args) wrk.headers['X-Own'] = args[1] end\n\
                 function request() return wrk.format('GET', wrk.path) end\n",
            ),
            (
                "targets.toml",
                "[[target]]\nurl = '{origin}/?api_key=canary-target-query'\n\
                 headers = { X-Api-Key = 'canary-target-header' }\nbody = 'canary-target-body'\n",
            ),
            (
                "plan.toml",
                "url = '{origin}/'\nheader = ['X-Own: canary-planned-header']\nbody = 'canary-planned-body'\n",
            ),
        ] {
            let text = text.replace("{origin}", &origin);
            fs::write(world.path().join(name), text).expect("a file");
        }
        fs::create_dir(world.path().join("out")).expect("a folder");
        world
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn filled(&self, flags: &[&str]) -> Vec<String> {
        let (origin, address) = (self.peer.url(""), self.peer.address().to_string());
        let fill = |word: &&str| word.replace("{origin}", &origin).replace("{address}", &address);
        flags.iter().map(fill).collect()
    }

    fn program(&self, command: &[&str], flags: &[&str]) -> std::process::Command {
        let filled = self.filled(flags);
        let mut words: Vec<&str> = command.to_vec();
        words.extend(filled.iter().map(String::as_str));
        let mut program = plimsoll(&words);
        program.current_dir(self.path());
        program
    }

    /// Runs a case with every output there is, in text on stdout.
    fn load(&self, case: &Case, more: &[&str]) -> Finished {
        let outputs = [
            "run",
            "-n",
            "4",
            "-c",
            "1",
            "--json=out/result.json",
            "--html=out/page.html",
            "--hgrm=out/hgrm",
            "--hlog=out/hlog",
            "--junit=out/junit.xml",
            "--timeseries=out/series",
            "--github-summary=out/summary.md",
        ];
        run(&mut self.program(&[&outputs[..], more].concat(), case.flags))
    }
}

/// A suite with a secret wherever it takes one.
#[cfg(target_os = "linux")]
const SUITE: &str = "\
name = 'test'   # kept as it is
repeats = 1
warmup = '20ms'
[[servers]]
name = 'a'
command = \"sh -c 'exec $0 serve --listen 127.0.0.1:$1' {plimsoll} {port} --token canary-command\"
env = { ANY = 'canary-environment' }
path = '/?token=canary-path'
[[loads]]
name = 'l'
requests = 4
connections = 1
basic = 'me:canary-basic'
header = ['Accept: a/b', 'X-Own: canary-header']
form-urlencoded = ['password=canary-form']
expect = ['status=500']
[[loads]]
name = 'args'
tester = 'plimsoll'
args = \"run -n 4 -c 1 -H 'X-Own: canary-argument' {url}\"
[[loads]]
name = 'wrong'
rate = 'fast'
header = 'X-Own: canary-wrong'
";

/// Fails where a canary can be read.
fn check(place: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for needle in hidden().iter().map(String::as_str).chain([CANARY]) {
        if let Some(at) = text.find(needle) {
            let around: String = text[at..].chars().take(60).collect();
            panic!("{place}: …{around}…");
        }
    }
}

fn check_finished(place: &str, finished: &Finished) {
    check(&format!("{place}: stdout"), finished.stdout.as_bytes());
    check(&format!("{place}: stderr"), finished.stderr.as_bytes());
}

/// Looks through all files of a folder; returns how many there are.
fn check_folder(place: &str, folder: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let place = format!("{place}: {}", path.display());
        if path.is_dir() {
            count += check_folder(&place, &path);
        } else {
            check(&place, &fs::read(&path).expect("a file"));
            count += 1;
        }
    }
    count
}

#[test]
fn no_report_has_a_secret_that_was_sent() {
    for case in &CASES {
        let world = World::new();
        let finished = world.load(case, &[]);
        assert!(matches!(finished.code, Some(0)), "{}: {finished:?}", case.name);
        check_finished(case.name, &finished);
        assert_eq!(check_folder(case.name, &world.path().join("out")), 7, "{}", case.name);
        let sent = world.peer.requests().concat();
        for canary in case.sent.iter().chain(case.never_shown) {
            assert!(sent.contains(canary), "{}: {canary} was not sent: {sent}", case.name);
        }
        for format in ["text", "json", "html", "md", "csv", "hgrm", "hlog", "junit", "github"] {
            let shown =
                run(&mut world.program(&["report", "out/result.json", "--format", format], &[]));
            assert_eq!(shown.code, Some(0), "{shown:?}");
            check_finished(&format!("{} as {format}", case.name), &shown);
        }
    }
}

#[test]
fn secrets_that_were_asked_for_are_shown() {
    for case in &CASES {
        let world = World::new();
        let finished = world.load(case, &["--show-secrets"]);
        assert!(matches!(finished.code, Some(0)), "{}: {finished:?}", case.name);
        let document = fs::read_to_string(world.path().join("out/result.json")).expect("a result");
        for canary in case.sent {
            assert!(document.contains(canary), "{}: {canary} is not shown", case.name);
        }
    }
    for (case, peers) in [(&CASES[0], "code=canary-location"), (&CASES[1], "canary-answer-body")] {
        let world = World::new();
        world.load(case, &["--show-secrets"]);
        let document = fs::read_to_string(world.path().join("out/result.json")).expect("a result");
        assert!(document.contains(peers), "{}: {document}", case.name);
    }
}

#[test]
fn names_can_be_added() {
    let world = World::new();
    let flags = ["{origin}/?email=canary&q=hull", "-H", "Accept: canary", "-n", "1", "-c", "1"];
    let more = ["--redact", "E-Mail", "--redact", "accept", "--format", "json"];
    let finished = run(&mut world.program(&["run"], &[&flags[..], &more].concat()));
    check_finished("--redact", &finished);
    assert!(finished.stdout.contains("q=hull"), "{}", finished.stdout);
    assert!(world.peer.requests()[0].contains("GET /?email=canary&q=hull"));
}

#[test]
fn a_printed_plan_has_no_secrets_unless_asked_for_and_does_not_run_without() {
    for case in &CASES {
        let world = World::new();
        let printed = run(&mut world.program(&["run", "--print-plan"], case.flags));
        assert_eq!(printed.code, Some(0), "{}: {printed:?}", case.name);
        check_finished(case.name, &printed);
        if case.name == "targets" {
            continue;
        }
        assert!(printed.stdout.contains("--show-secrets"), "{}", printed.stdout);
        fs::write(world.path().join("printed.toml"), &printed.stdout).expect("a file");
        let refused = run(&mut world.program(&["run", "printed.toml", "-n", "1", "-c", "1"], &[]));
        assert_eq!(refused.code, Some(2), "{}: {refused:?}", case.name);
        assert!(refused.stderr.contains("printed without"), "{}", refused.stderr);
        let flags = &["run", "--print-plan", "--show-secrets"];
        let printed = run(&mut world.program(flags, case.flags));
        fs::write(world.path().join("printed.toml"), &printed.stdout).expect("a file");
        let ran = run(&mut world.program(&["run", "printed.toml", "-n", "1", "-c", "1"], &[]));
        assert_eq!(ran.code, Some(0), "{}: {ran:?}", case.name);
        check_finished(case.name, &ran);
        let sent = world.peer.requests().concat();
        for canary in case.sent {
            assert!(sent.contains(canary), "{}: {canary}", case.name);
        }
    }
}

#[test]
fn errors_do_not_repeat_secrets() {
    let world = World::new();
    fs::write(world.path().join("bad.http"), "GET http://h/\nX-Token Bearer canary\n")
        .expect("a file");
    fs::write(
        world.path().join("bad.json"),
        "{\"method\":\"GET\",\"url\":7,\"header\":\"canary\"}\n",
    )
    .expect("a file");
    fs::write(world.path().join("bad.toml"), "[[target]]\npath='/'\nheaders=['canary']\n")
        .expect("a file");
    fs::write(world.path().join("plan.toml"), "url='{origin}'\nproxy='me:canary@host'\n")
        .expect("a file");
    let url = "{origin}/";
    for flags in [
        &[url, "-H", "X-Token canary"][..],
        &["-H", "Authorization:", "Bearer", "canary"],
        &[url, "--basic", "canary"],
        &[url, "--proxy", "me:canary@host"],
        &[url, "--form-urlencoded", "=canary"],
        &[url, "-F", "=canary"],
        &[url, "-b", "{\"a\":{{\"password\":\"canary\"}}"],
        &[url, "-b", "{{\"password\":\"canary\""],
        &[url, "-H", "X-Token: canary\u{1}"],
        &["http://me:canary@/"],
        &["me:canary@host"],
        &["ftp://me:canary@host/?token=canary"],
        &["http://host/?token=canary b"],
        &["{origin}/?token=canary", "--targets", "bad.toml"],
        &["--targets", "bad.http"],
        &["--targets", "bad.json"],
        &["--targets", "bad.toml", url],
        &["plan.toml"],
        &[url, "--expect", "header:X-Token~=canary("],
        &[url, "--expect", "heder:X-Token=canary"],
    ] {
        let finished = run(&mut world.program(&["run", "-n", "1", "-c", "1"], flags));
        assert!(matches!(finished.code, Some(1 | 2)), "{flags:?}: {finished:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
        check_finished(&format!("{flags:?}"), &finished);
    }
}

#[test]
fn comparisons_and_the_control_socket_have_no_secrets() {
    let world = World::new();
    for (name, secret) in [("base", "canary-one"), ("same", "canary-one"), ("new", "canary-two")] {
        let header = format!("X-Token: {secret}");
        let json = format!("--json=out/{name}.json");
        let flags = ["{origin}/", "-n", "4", "-c", "1", "-q", "-H", &header, &json];
        assert_eq!(run(&mut world.program(&["run"], &flags)).code, Some(0));
    }
    let compare = |new: &str| {
        let files = ["compare", "out/base.json", new];
        let compared = run(&mut world.program(&files, &[]));
        check_finished("compare", &compared);
        compared.stdout + &compared.stderr
    };
    assert!(compare("out/new.json").contains("request.headers"), "another token is told");
    assert!(!compare("out/same.json").contains("request.headers"), "the same is alike");

    let socket = world.path().join("run.sock");
    let flags =
        ["{origin}/?token=canary", "-r", "50", "-d", "60s", "-c", "1", "--control", "run.sock"];
    let mut running = Running::start(&mut world.program(&["run"], &flags));
    let mut stream = loop {
        if let Ok(stream) = UnixStream::connect(&socket) {
            break stream;
        }
        assert!(running.ended().is_none(), "it ended without a socket");
        std::thread::yield_now();
    };
    for command in ["status", "stop"] {
        writeln!(stream, "{{\"command\":\"{command}\"}}").expect("a command sent");
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer).expect("an answer");
        assert!(answer.contains('{'), "{answer}");
        check("control", answer.as_bytes());
    }
    check_finished("control", &running.finish());
}

#[cfg(target_os = "linux")]
#[test]
fn a_study_has_no_secrets_in_its_folder() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("suite.toml"), SUITE).expect("a file");
    let lab = |more: &[&str]| {
        let flags = [&["lab", "suite.toml", "-o", "study", "--work", "work"][..], more].concat();
        run(plimsoll(&flags).current_dir(directory.path()))
    };
    let write = |text: &str| fs::write(directory.path().join("suite.toml"), text).expect("a file");
    let finished = lab(&[]);
    assert_eq!(finished.code, Some(2), "one load is wrong: {finished:?}");
    check_finished("lab", &finished);
    let (good, _) = SUITE.split_once("[[loads]]\nname = 'wrong'").expect("the last load");
    write(good);
    let finished = lab(&[]);
    assert_eq!(finished.code, Some(1), "one load is answered otherwise: {finished:?}");
    check_finished("lab", &finished);
    assert!(check_folder("work", &directory.path().join("work/.check")) > 2, "{finished:?}");
    let good = good.replace("status=500", "status=200");
    write(&good);
    let finished = lab(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    check_finished("lab", &finished);
    check_folder("work", &directory.path().join("work/.check"));
    let study = directory.path().join("study");
    assert!(check_folder("study", &study) > 15, "{finished:?}");
    let read = |name: &str| fs::read_to_string(study.join(name)).expect(name);
    assert!(read("suite.toml").contains("# kept as it is"), "{}", read("suite.toml"));
    assert!(!read("study.json").contains("/dev/stdin"));
    for case in ["l-1", "args-1"] {
        let result = read(&format!("runs/a/{case}/result.json"));
        let result: serde_json::Value = serde_json::from_str(&result).expect("JSON");
        assert_eq!(result["ledger"]["completed"], 4, "the plan was carried out");
    }
    for more in [&["--list"][..], &["--dry-run"], &["--continue"]] {
        check_finished("lab", &lab(more));
    }
    check_folder("study", &study);
    write(&good.replace("canary-header", "canary-another"));
    let refused = lab(&["--continue"]);
    assert!(refused.stderr.contains("another suite"), "{refused:?}");
}

#[test]
fn other_testers_words_have_no_secrets_either() {
    let world = World::new();
    let url = "{origin}/?token=canary-query";
    let ab = ["-n", "4", "-c", "1", "-v", "2", "-H", "X-Own: canary", "-A", "me:canary-basic", url];
    for (command, flags) in [
        ("ab", &ab[..]),
        ("ab", &["-n", "1", "-w", url]),
        ("wrk", &["-t1", "-c1", "-d1s", "-H", "X-Own: canary", url]),
    ] {
        let finished = run(&mut world.program(&[command], flags));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        check_finished(command, &finished);
    }
    assert!(world.peer.requests().concat().contains("canary-query"));
}
