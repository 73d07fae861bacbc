//! `plimsoll compare` on documents of real runs and on ones made from them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Finished, Server, plimsoll, run};

fn finished(arguments: &[&str]) -> Finished {
    run(&mut plimsoll(arguments))
}

/// Documents of five runs on each side, made from one real run: those of the new side have `by`
/// times its rate. The sides took turns.
struct Sides {
    directory: TempDir,
}

impl Sides {
    fn new(by: f64) -> Self {
        let server = Server::start(&[]);
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("run.json");
        let path = path.to_str().expect("a readable path");
        let ended = finished(&[&server.url("/"), "-n", "200", "-c", "4", "-q", "--json", path]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = fs::read_to_string(path).expect("a document");
        let mut model: Value = serde_json::from_str(&text).expect("JSON");
        // However busy this machine was: a run that is not valid counts as no repeat.
        model["loader"]["verdict"] = json!("valid");
        model["loader"]["causes"] = json!([]);
        let sides = Self { directory };
        for (side, by, first) in [("base", 1.0, 10), ("new", by, 11)] {
            fs::create_dir(sides.directory.path().join(side)).expect("a directory");
            for (i, noise) in [0, 7, -9, 4, -2].into_iter().enumerate() {
                let mut document = model.clone();
                document["started_at"] = json!(format!("2026-11-21T12:00:{}Z", first + 2 * i));
                let rate_rps = 50_000.0 * by * (1.0 + f64::from(noise) / 1000.0);
                document["rate"]["achieved_rps"] = json!(rate_rps);
                document["rate"]["good_rps"] = json!(rate_rps);
                sides.write(&format!("{side}/{i}.json"), &document);
            }
        }
        sides
    }

    fn write(&self, name: &str, document: &Value) {
        fs::write(self.directory.path().join(name), document.to_string()).expect("a file");
    }

    fn read(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.directory.path().join(name)).expect("a file");
        serde_json::from_str(&text).expect("JSON")
    }

    fn compare(&self, base: &str, new: &str, flags: &[&str]) -> Finished {
        let mut command = plimsoll(&["compare", base, new]);
        let command = command.args(flags).env_remove("GITHUB_STEP_SUMMARY");
        run(command.current_dir(self.directory.path()))
    }

    fn document(&self, base: &str, new: &str, flags: &[&str]) -> Value {
        let ended = self.compare(base, new, &[&["--format", "json"], flags].concat());
        assert_eq!(ended.stderr, "");
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
    }
}

#[test]
fn a_slower_server_is_called_slower_and_breaks_its_limit() {
    let sides = Sides::new(0.9);
    let found = sides.document("base", "new", &[]);
    assert_eq!(found["schema"], "plimsoll/comparison/1");
    let case = &found["cases"][0];
    assert_eq!(
        (&case["decision"], &case["headline"]["measure"]),
        (&json!("worse"), &json!("rate"))
    );
    let ratio = case["headline"]["change"].as_f64().expect("a ratio");
    assert!((ratio - 0.9).abs() < 1e-9, "{ratio}");
    assert_eq!(found["notes"], json!([]));
    let text = sides.compare("base", "new", &[]);
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    let known = "SLOWER: rate -10.0 % (";
    assert!(text.stdout.starts_with(known), "{text:?}");
    let words = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("; p50, p90, p99 the same within 0.1 %"), "{text:?}");
    for (limits, code) in [
        (&["rate<-5%"][..], 3),
        (&["rate<-20%"], 0),
        (&["rate<-20%", "rate<-5%"], 3),
        (&["errors>+1%"], 0),
        // The noise is nearly a per cent.
        (&["rate<-9.9%"], 4),
        // Nobody watched the server.
        (&["rss>+10%"], 4),
        (&["rss>+10%", "rate<-5%"], 3),
    ] {
        let flags: Vec<&str> = limits.iter().flat_map(|limit| ["--fail-if", limit]).collect();
        let ended = sides.compare("base", "new", &flags);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""), "{limits:?}");
        let word = match code {
            0 => "passed",
            3 => "FAILED",
            _ => "UNDECIDED",
        };
        assert!(ended.stdout.starts_with(word), "{limits:?}: {}", ended.stdout);
    }
    let strict = sides.document("base", "new", &["--confidence", "99.9%"]);
    assert_eq!(strict["cases"][0]["headline"]["reason"], "too_few_repeats");
    assert_eq!(strict["cases"][0]["headline"]["repeats_needed"], 7);
    let coarse = sides.document("base", "new", &["--least-change", "15%"]);
    assert_eq!(coarse["cases"][0]["headline"]["reason"], "too_small");
}

/// What a server that answers nothing but 503 gives: 67 times the rate, and nothing good.
#[test]
fn a_side_that_only_fails_is_worse_however_fast() {
    let sides = Sides::new(67.0);
    for i in 0..5 {
        let name = format!("new/{i}.json");
        let mut document = sides.read(&name);
        let completed = document["ledger"]["completed"].clone();
        document["ledger"]["failed"] = completed;
        document["ledger"]["ok"] = json!(0);
        document["rate"]["good_rps"] = json!(0.0);
        sides.write(&name, &document);
    }
    let ended = sides.compare("base", "new", &[]);
    assert!(ended.stdout.starts_with("WORSE: errors +100.00 pt"), "{}", ended.stdout);
    let is_faster = |line: &str| line.ends_with("faster") || line.ends_with("faster?");
    assert!(!ended.stdout.lines().any(is_faster), "{}", ended.stdout);
    for limit in ["rate<-5%", "p99>+10%", "errors>+1%"] {
        let ended = sides.compare("base", "new", &["--fail-if", limit]);
        assert_eq!(ended.code, Some(3), "{limit}: {}", ended.stdout);
    }
}

/// Of a side whose runs are not whole nothing is told, and the line that says so is not cut.
#[test]
fn runs_that_are_not_whole_are_left_out_and_leave_limits_undecided() {
    let sides = Sides::new(1.0);
    for side in ["base", "new"] {
        for i in 1..5 {
            let name = format!("{side}/{i}.json");
            let mut document = sides.read(&name);
            document["loader"]["verdict"] = json!("invalid");
            sides.write(&name, &document);
        }
    }
    let ended = sides.compare("base", "new", &["--fail-if", "p99>+10%"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stdout);
    let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        "base: 4 of 5 runs do not count for rate, p50, p90, p99, service.p99: invalid by the \
         tester's verdict",
        "UNDECIDED: p99 +0.0 % may be more than +10 %: it takes 4 repeats on each side, and 1 of 5 \
         runs of the base count, 1 of 5 of the new side",
    ] {
        assert!(words.contains(says), "{says}: {}", ended.stdout);
    }
    assert!(!ended.stdout.contains('…'), "{}", ended.stdout);
}

#[test]
fn what_cannot_be_told_is_said_with_the_reason() {
    let sides = Sides::new(1.001);
    let found = sides.document("base", "new", &[]);
    assert_eq!(found["cases"][0]["decision"], "cannot_tell");
    assert_eq!(found["cases"][0]["headline"]["reason"], "within_noise");
    let few = sides.document("base/0.json,base/1.json", "new/0.json,new/1.json,new/2.json", &[]);
    assert_eq!(few["cases"][0]["headline"]["reason"], "too_few_repeats");
    assert_eq!(few["base"]["runs"], 2);
    let ended = sides.compare("base/0.json", "new/0.json", &["--fail-if", "p99>+10%"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.stdout.contains("one run each does not say"), "{}", ended.stdout);
    let same = sides.document("base/0.json", "base/0.json", &[]);
    assert_eq!(same["notes"], json!(["both sides are the same runs: there is nothing to compare"]));
    let zero = |name: &str| {
        let mut document = sides.read("base/0.json");
        document["rate"]["achieved_rps"] = json!(0.0);
        document["rate"]["good_rps"] = json!(0.0);
        sides.write(name, &document);
    };
    zero("zero.json");
    assert_eq!(sides.compare("zero.json", "new", &[]).code, Some(0));
    assert_eq!(sides.compare("new", "zero.json", &["--format", "md"]).code, Some(0));
}

#[test]
fn unlike_sides_are_refused_in_one_line() {
    let sides = Sides::new(1.0);
    let mut other = sides.read("new/0.json");
    other["environment"]["kernel"] = json!("1.0");
    other["plan"]["connections"] = json!(9);
    sides.write("other.json", &other);
    let ended = sides.compare("base", "other.json", &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("connections 4 and 9; kernel "), "{}", ended.stderr);
    assert!(ended.stderr.contains("--allow-different"), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1);
    let ended = sides.compare("base", "other.json", &["--allow-different"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("unlike: connections 4 and 9"), "{}", ended.stdout);
    let ended = sides.compare("base/0.json,other.json", "new", &[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("not repeats of one load"), "{}", ended.stderr);
}

#[test]
fn studies_are_compared_and_reports_go_where_they_are_sent() {
    let sides = Sides::new(1.0);
    let study = |name: &str, by: f64| {
        let run = |repeat: u32| {
            json!({"repeat": repeat, "position": repeat, "started_at": "", "command": "",
                "failure": null, "verdict": null, "causes": [], "server": null, "tester": null,
                "output": "", "log": null, "result": null,
                "figures": {"rate_rps": (1000.0 + f64::from(repeat)) * by, "latency": [],
                    "service": [], "duration_s": null, "completed": null, "failed": null,
                    "errors": null, "mean_s": null, "max_s": null}})
        };
        let runs: Vec<Value> = (1..=5).map(run).collect();
        let case = |load: &str| json!({"server": "a", "load": load, "skipped": null, "runs": runs});
        let environment = sides.read("base/0.json")["environment"].clone();
        let document = json!({"schema": "plimsoll/study/1", "tool": null, "name": "x", "title": "",
            "description": "", "environment": environment, "started_at": "", "repeats": 5,
            "seed": 1, "baseline": null, "columns": [], "servers": [], "loads": [],
            "cases": [case("few"), case("many")]});
        sides.write(name, &document);
    };
    study("before.json", 1.0);
    study("after.json", 1.2);
    let out = ["--format", "md", "-o", "out.md"];
    let ended = sides.compare("before.json", "after.json", &out);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
    let text = fs::read_to_string(sides.directory.path().join("out.md")).expect("a report");
    assert!(text.starts_with("**2 cases: 2 faster**"), "{text}");
    let ended = sides.compare("before.json", "new", &["--allow-different"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("give two studies"), "{}", ended.stderr);
}

/// In a workflow: the summary of the step grows, the page is a file, and both call the sides what
/// people do.
#[test]
fn a_step_has_its_summary_and_a_page_to_keep() {
    let sides = Sides::new(0.9);
    let summary = sides.directory.path().join("summary.md");
    fs::write(&summary, "# Steps before\n").expect("a file");
    let names = ["--names", "main,this branch", "--fail-if", "rate<-5%"];
    let flags = [&names[..], &["--github-summary", "--html", "page.html"]].concat();
    let mut command = plimsoll(&["compare", "base", "new"]);
    let command = command.args(&flags).env("GITHUB_STEP_SUMMARY", &summary);
    let ended = run(command.current_dir(sides.directory.path()));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(3), ""), "{ended:?}");
    let text = fs::read_to_string(&summary).expect("a summary");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("# Steps before"));
    assert_eq!(lines.next(), Some("### main against this branch"), "{text}");
    assert!(text.contains("❌ **FAILED**: rate -10.0 % (at most"), "{text}");
    let page = fs::read_to_string(sides.directory.path().join("page.html")).expect("a page");
    for part in ["<title>main against this branch</title>", "is below -5 %", "</html>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let alone = sides.compare("base", "new", &["--format", "html"]);
    assert!(alone.stdout.contains("<title>base against new</title>"), "{alone:?}");
    let found = sides.document("base", "new", &["--names", "main,this branch"]);
    assert_eq!((&found["base"]["name"], &found["base"]["label"]), (&json!("base"), &json!("main")));
}

#[test]
fn what_is_no_side_is_refused_in_one_line() {
    let sides = Sides::new(1.0);
    sides.write("list.json", &json!([1, 2]));
    sides.write("other.json", &json!({"schema": "other/1"}));
    sides.write("broken.json", &json!({"schema": "plimsoll/result/1"}));
    fs::create_dir(sides.directory.path().join("empty")).expect("a directory");
    fs::write(sides.directory.path().join("text.json"), "no").expect("a file");
    for (base, flags, code, says) in [
        ("missing.json", &[][..], 1, "cannot read 'missing.json'"),
        ("base/0.json,missing.json", &[], 1, "cannot read 'missing.json'"),
        ("text.json", &[], 1, "is not JSON"),
        ("list.json", &[], 1, "is not a result"),
        ("other.json", &[], 1, "is of schema 'other/1'"),
        ("broken.json", &[], 1, "is not what a plimsoll/result/1 has to be"),
        ("empty", &[], 1, "'empty' holds no result"),
        ("base", &["--fail-if", "p99"], 2, "p99>+10%"),
        ("base", &["--confidence", "20%"], 2, "write 95%"),
        ("base", &["--least-change", "1"], 2, "write 1%"),
        ("base", &["-o", "no/such/file"], 1, "cannot write"),
        ("base", &["--names", "main"], 2, "write main,branch"),
        ("base", &["--names", "main,"], 2, "write main,branch"),
        ("base", &["--html", "-"], 2, "would both go to stdout"),
        ("base", &["--html", "x", "-o", "x"], 2, "two reports would go to 'x'"),
        ("base", &["--github-summary"], 2, "GITHUB_STEP_SUMMARY is not set"),
    ] {
        let ended = sides.compare(base, "new", flags);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{base} {flags:?}");
        assert!(ended.stderr.contains(says), "{base} {flags:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    assert!(!Path::new("no").exists());
}
