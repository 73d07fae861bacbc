//! Plan files without a run: what is read, what is refused and in which line, and every flag's way
//! from arguments to a file and back.

mod scenarios;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_core::Plan;
use plimsoll_core::plan::Order;

use super::{Exit, Runs};
use crate::args::run_definition;
use crate::command_line::{Given, parse};
use crate::manual::examples::{EXAMPLES, FILES, filled};

/// A directory with a plan file in it.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("plan.toml"), text).unwrap();
        Self(directory)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("plan.toml")
    }

    fn read(&self, beside: &[&str]) -> Result<Runs, Exit> {
        let path = self.path();
        let words = ["plimsoll", "run", path.to_str().unwrap()];
        let words = words.iter().chain(beside).map(OsString::from);
        match parse(words)? {
            Given::Runs(runs) => Ok(runs),
            other => panic!("{other:?}"),
        }
    }

    /// Names and plans of all runs.
    fn plans(&self, beside: &[&str]) -> Result<Vec<(String, Plan)>, Exit> {
        let mut plans = Vec::new();
        let runs = self.read(beside)?;
        for run in &runs.runs {
            let prepared = run.prepare(&runs.beside, &run_definition())?;
            let plan = prepared.load.scenarios().plain().expect("one plan").clone();
            plans.push((prepared.name, plan));
        }
        Ok(plans)
    }

    /// The error, with the path of the file taken out.
    fn error(&self, beside: &[&str]) -> String {
        match self.plans(beside) {
            Err(Exit::Usage(text) | Exit::CouldNotRun(text)) => {
                assert!(!text.contains('\n'), "{text}");
                text.replace(self.path().to_str().unwrap(), "plan.toml")
            }
            other => panic!("{other:?}"),
        }
    }
}

const MANY: &str = r#"
url = "http://a.example/"
rate = "1k"
no_keepalive = true
header = ["A: b", "C: d"]
duration = "5s"

[[run]]
name = "as it is"

[[run]]
stages = "1s@10"
no-keepalive = false
header = []
repeat = 2

[[run]]
name = "last"
url = "http://b.example:81/x"
connections = 7
pin = [0, 1]
"#;

#[test]
fn a_file_has_defaults_and_runs() {
    let plans = Scratch::new(MANY).plans(&[]).unwrap();
    let names: Vec<&str> = plans.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["as it is", "run-2", "last"]);
    let [first, second, last] = [0, 1, 2].map(|i| &plans[i].1);
    assert_eq!(first.rate.as_ref().unwrap().peak_uhz(), 1_000_000_000);
    assert_eq!((first.requests_per_connection, first.request.headers.len()), (Some(1), 2));
    // What a run says takes the place of defaults that cannot stand beside it.
    assert_eq!((second.duration_ns, second.requests_per_connection), (Some(1_000_000_000), None));
    assert_eq!(second.rate.as_ref().unwrap().peak_uhz(), 10_000_000);
    assert_eq!(second.request.headers, []);
    assert_eq!((last.endpoint.host.as_str(), last.endpoint.port), ("b.example", 81));
    assert_eq!((last.connections, &last.pin[..]), (7, &[0, 1][..]));
}

#[test]
fn flags_beside_the_file_count_for_every_run() {
    let plans = Scratch::new(MANY).plans(&["-c", "3", "-d", "2s", "-r", "5"]).unwrap();
    assert_eq!(plans[0].1.requests_per_connection, Some(1), "what is not said beside it stays");
    assert_eq!((plans[0].1.request.headers.len(), plans[2].1.pin.len()), (2, 2));
    for (name, plan) in plans {
        assert_eq!((plan.connections, plan.duration_ns), (3, Some(2_000_000_000)), "{name}");
        assert_eq!(plan.rate.as_ref().unwrap().peak_uhz(), 5_000_000, "{name}");
    }
}

#[test]
fn what_is_said_in_the_file_and_beside_it_goes_together() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("list");
    fs::write(&list, "GET /\nGET /x\n").unwrap();
    let list = list.to_str().unwrap();
    let url = "url = 'http://a.example'\n";
    let of = |text: String, beside: &[&str]| Scratch::new(&text).plans(beside).unwrap().remove(0).1;
    for plan in [
        of(format!("{url}targets = '{list}'"), &["--order", "random"]),
        of(format!("{url}order = 'random'"), &["--targets", list]),
    ] {
        assert_eq!((plan.order, plan.targets.len()), (Order::Random, 2));
    }
}

#[test]
fn errors_say_the_line_and_the_key() {
    let cases = [
        ("url = ", "plan.toml:1: "),
        (
            "url = 'http://a/'\nconections = 1",
            "plan.toml:2: 'conections' is not a key of a plan: did you mean 'connections'?",
        ),
        (
            "url = 'http://a/'\n\nrate = 'fast'",
            "plan.toml:3: rate: invalid value 'fast' for '--rate <R>'",
        ),
        ("url = 'http://a/'\nduration = 10", "plan.toml:2: duration: invalid value '10'"),
        (
            "connections = 1",
            "plan.toml:1: run 'plan': say where to send the requests: give a URL or targets = 'FILE'",
        ),
        ("url = 'a'", "plan.toml:1: url: 'a' has no scheme: write http://a"),
        (
            "url = 'http://a/'\nheader = ['A: b', 'none']",
            "plan.toml:2: header: a header of 'header' has no colon",
        ),
        (
            "url = 'http://a/'\nconnections = 0",
            "plan.toml:2: connections: 0 connections cannot send anything: give connections = 1 or \
             more",
        ),
        (
            "url = 'http://a/'\nconnections = 5\nthreads = 9",
            "plan.toml:3: threads: 9 threads for 5 connections leaves threads without work: give \
             threads = 5 or fewer",
        ),
        (
            "url = 'http://a/'\nredirects = 3\npipeline = 2",
            "plan.toml:2: redirects: 'redirects' and 'pipeline' do not go together",
        ),
        (
            "url = 'http://a/'\nshed-after = '1s'",
            "plan.toml:2: shed-after: 'shed-after' needs a schedule: give 'rate', 'stages' or \
             'rate-file'",
        ),
        ("url = 'http://a/'\nstages = '1s@0'", "plan.toml:2: stages: a rate of 0 sends nothing"),
        ("url = 'http://a/'\nexpect = 'body~=('", "plan.toml:2: expect: expectation 'body~=('"),
        ("url = 'http://a/'\nmethod = 'G T'", "plan.toml:2: method: the request cannot be sent"),
        ("url = 'https://a/'\nsni = 'not a name'", "plan.toml:2: sni: "),
        ("url = 'http://a/'\nscript = 'no/such'", "plan.toml:2: script: cannot read the script"),
        ("url = 'http://a/'\ngate = 'p99'", "plan.toml:2: gate: condition 'p99': "),
        (
            "url = 'http://a/'\nheader = 'X: [masked:7f]'",
            "plan.toml:2: header: this plan was printed without its secrets",
        ),
        (
            "url = 'http://a/'\nkey = 'no/such'",
            "plan.toml:2: key: 'key' without 'cert': give the certificate",
        ),
        (
            "url = 'http://a/'\nrate = 5\n[[run]]\n[[run]]\nrate = 0",
            "plan.toml:5: rate: a rate of 0 sends nothing",
        ),
        (
            "url = 'http://a/'\nrate = 5\nstages = '1s@5'",
            "plan.toml:2: rate: the argument '--rate <R>' cannot be used with",
        ),
        ("url = ['http://a/']", "plan.toml:1: url is a text or number"),
        ("url = 'http://a/'\nquiet = 'yes'", "plan.toml:2: quiet is true or false"),
        ("url = 'http://a/'\nheader = [true]", "plan.toml:2: header is a list of texts"),
        (
            "url = 'http://a/'\nheader = {A = 'b'}",
            "plan.toml:2: header is a text or a list of texts",
        ),
        (
            "url = 'http://a/'\nheader = 'A: b'\nheaders = 'A: b'",
            "plan.toml:3: 'headers' is not a key",
        ),
        ("no-keepalive = true\nno_keepalive = true", "plan.toml:2: 'no_keepalive' is given twice"),
        ("url = 1\nurl = 2", "plan.toml:2: duplicate key"),
        ("plan = 'other.toml'", "plan.toml:1: 'plan' is not a key"),
        ("print-plan = true", "plan.toml:1: 'print-plan' is not a key"),
        ("help = true", "plan.toml:1: 'help' is not a key"),
        ("run = 1", "plan.toml:1: runs are tables: write [[run]]"),
        ("run = []", "plan.toml:1: runs are tables: write [[run]]"),
        ("[run]\nurl = 'http://a/'", "plan.toml:1: runs are tables: write [[run]]"),
        ("name = 'x'\n[[run]]", "plan.toml:1: a name for all runs names none"),
        ("[[run]]\nname = '../x'", "plan.toml:2: a name stands in names of files"),
        ("[[run]]\nname = ''", "plan.toml:2: a name stands in names of files"),
        (
            "url = 'http://a/'\nrepeat = 0",
            "plan.toml:2: repeat: invalid value '0' for '--repeat <N>': '0' is not a number from 1",
        ),
        (
            "url = 'http://a/'\nrepeat = 2\nhtml = 'x.html'",
            "plan.toml:3: html: --html is a report of one run: put {repeat} into the path, as in \
             --html 'x-{repeat}.html'",
        ),
        ("[[run]]\nname = 'x'\n[[run]]\nname = 'x'", "plan.toml:3: two runs are called 'x'"),
        ("[[run]]\nrun = 1", "plan.toml:2: 'run' is not a key"),
    ];
    for (text, says) in cases {
        let error = Scratch::new(text).error(&[]);
        assert!(error.starts_with(says), "{text}\n{error}\n{says}");
    }
}

#[test]
fn what_is_wrong_beside_the_file_is_not_the_files_fault() {
    let scratch = Scratch::new("url = 'http://a/'\nconnections = 5");
    for (beside, says) in [
        (&["-t", "9"][..], "9 threads for 5 connections"),
        (&["-c", "0"], "0 connections"),
        (&["--bogus"], "no flag '--bogus'"),
        (&["--pipeline", "0"], "--pipeline 0 cannot send anything: give 1 or more"),
        (&["-t", "9", "-c", "5"], "give -t 5 or fewer"),
        (&["--order", "random"], "--order is about several requests: give them with 'targets'"),
    ] {
        let error = scratch.error(beside);
        assert!(error.contains(says), "{error}");
        assert!(!error.contains("plan.toml"), "{error}");
    }
}

#[test]
fn a_file_that_is_none_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.toml");
    let read = || super::read::read(&path, &run_definition());
    assert!(matches!(read(), Err(Exit::CouldNotRun(text)) if text.contains("x.toml")));
    fs::write(&path, [0xff]).unwrap();
    assert!(matches!(read(), Err(Exit::Usage(text)) if text.contains("UTF-8")));
    fs::write(&path, vec![b'\n'; (1 << 20) + 1]).unwrap();
    assert!(matches!(read(), Err(Exit::Usage(text)) if text.contains("1 MiB")));
}

#[test]
fn no_flag_has_the_name_of_a_key_that_is_none() {
    for arg in run_definition().get_arguments() {
        let key = crate::args::key(arg);
        let own = [super::read::RUN, super::read::NAME];
        assert!(!own.contains(&key.as_str()), "--{key} has no place in a plan file");
        let values = arg.get_num_args().map_or(1, |range| range.max_values());
        // What stands behind `--` is a list of its own.
        let is_known = values <= 1 || arg.is_last_set();
        assert!(is_known, "--{key} takes several values, which plan files do not know");
    }
}

const SHOW: &str = "--show-secrets";
const URL: &str = "http://127.0.0.1:8080";
const HTTPS: &str = "https://127.0.0.1:8443";
const PEER: &str = "127.0.0.1:3128";
const GRPC: &str = "http://127.0.0.1:50051";

/// Arguments with their files in a directory.
fn placed(arguments: &[&str], directory: &Path) -> Vec<String> {
    let fill = |word: &&str| {
        let text = filled(word, URL, HTTPS, PEER, GRPC);
        let mut names = FILES.iter().map(|(name, _)| *name).chain(["client.pem", "server.pem"]);
        match names.find(|name| text == *name || text.ends_with(&format!("@{name}"))) {
            Some(name) => text.replace(name, directory.join(name).to_str().unwrap()),
            None => text,
        }
    };
    arguments.iter().map(fill).collect()
}

/// What is printed of arguments says the same when it is read again, for every flag.
#[test]
fn a_plan_survives_being_printed() {
    let definition = run_definition();
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        // Paths in a target file start where the program was started.
        let order = format!("@{}", directory.path().join("order.json").display());
        let text = filled(text, URL, HTTPS, PEER, GRPC).replace("@order.json", &order);
        fs::write(directory.path().join(name), text).unwrap();
    }
    // Any certificate does where nobody is connected to.
    for name in ["client.pem", "server.pem"] {
        let pem = include_str!("../../tests/cli/support/client.pem");
        fs::write(directory.path().join(name), pem).unwrap();
    }
    for example in EXAMPLES {
        let arguments = placed(example.arguments, directory.path());
        let flags = ["--print-plan", SHOW];
        let words = ["plimsoll", "run"].into_iter().chain(flags).map(str::to_owned);
        let rest = arguments.iter().filter(|word| !flags.contains(&word.as_str()));
        let words = words.chain(rest.cloned());
        let runs = match parse(words.map(OsString::from)).unwrap() {
            Given::Runs(runs) => runs,
            // What a script does stands in the script.
            Given::Script(..) => continue,
            other => panic!("{other:?}"),
        };
        let printed = super::print::print(&runs.runs, &definition).unwrap();
        let prepared = |runs: &Runs| -> Vec<_> {
            runs.runs.iter().map(|run| run.prepare(&runs.beside, &definition).unwrap()).collect()
        };
        let want = prepared(&runs);
        let scratch = Scratch::new(&printed);
        // That it shows secrets is not of the plan that was printed with them.
        let got = prepared(&scratch.read(&[SHOW]).unwrap());
        assert_eq!(want.len(), got.len(), "{printed}");
        for (want, got) in want.iter().zip(&got) {
            // What does not reach the plan, such as files of reports, stands in the flags.
            assert_eq!(format!("{:?}", want.flags), format!("{:?}", got.flags), "{printed}");
            assert_eq!(want.load.scenarios(), got.load.scenarios(), "{printed}");
        }
    }
}

#[test]
fn a_flag_whose_value_may_be_left_out_is_printed_with_and_without() {
    for (word, line) in [
        ("--github-summary", "github-summary = true"),
        ("--github-summary=s.md", "github-summary = \"s.md\""),
    ] {
        let words = ["plimsoll", "--print-plan", word, "http://a/"];
        let Given::Runs(runs) = parse(words.iter().map(OsString::from)).unwrap() else {
            panic!("not a plan");
        };
        let definition = run_definition();
        let printed = super::print::print(&runs.runs, &definition).unwrap();
        assert!(printed.lines().any(|printed| printed == line), "{printed}");
        let again = Scratch::new(&printed).read(&[]).unwrap();
        let arguments = again.runs[0].settings.arguments_of_file(&definition);
        assert!(arguments.contains(&word.into()), "{arguments:?}");
    }
}

#[test]
fn values_are_printed_as_toml() {
    let words = [
        "plimsoll",
        "--print-plan",
        "-c",
        "9",
        "-r",
        "1k",
        "-q",
        "-H",
        "Accept: \"b\"",
        "-H",
        "C:",
        "--pin",
        "1,2",
        "-b",
        "a\n'b\\",
        "--http",
        "1.0",
        "http://a/",
    ];
    let Given::Runs(runs) = parse(words.iter().map(OsString::from)).unwrap() else {
        panic!("not a plan");
    };
    let printed = super::print::print(&runs.runs, &run_definition()).unwrap();
    for line in [
        "url = \"http://a/\"",
        "connections = 9",
        "rate = \"1k\"",
        "header = ['Accept: \"b\"', \"C:\"]",
        "body = \"5 bytes [masked:78]\"",
        "pin = [1, 2]",
        "http = \"1.0\"",
        "quiet = true",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
    assert!(printed.contains("--show-secrets"), "{printed}");
    assert!(!printed.contains("duration"), "{printed}");
}
