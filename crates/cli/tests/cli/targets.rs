//! The exact bytes that a server gets from several targets, templates, forms and the like.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::peer::{Answer, OK, Peer};
use crate::support::{Finished, Report, measure, plimsoll, run};

/// A peer that answers everything, and a directory to run in.
struct World {
    peer: Peer,
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self { peer: Peer::answering(|_| Answer::Say(OK)), directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file, `{origin}` in it standing for the peer.
    fn file(&self, name: &str, text: &str) {
        let text = text.replace("{origin}", self.peer.url("").as_str());
        fs::write(self.path().join(name), text).expect("a file");
    }

    /// Runs in the directory, `{origin}` in an argument standing for the peer.
    fn run(&self, arguments: &[&str]) -> Finished {
        let origin = self.peer.url("");
        let arguments: Vec<String> =
            arguments.iter().map(|word| word.replace("{origin}", &origin)).collect();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(plimsoll(&words).args(["--format", "json"]).current_dir(self.path()))
    }

    /// The requests of a run, in the order in which they came, and its report.
    fn requests(&self, arguments: &[&str]) -> (Vec<String>, Report) {
        let before = self.peer.requests().len();
        let finished = self.run(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}: {finished:?}");
        (self.peer.requests().split_off(before), Report::read(&finished.stdout))
    }

    /// The start lines of one connection's requests.
    fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let (requests, _) = self.requests(&[&["-c", "1"], arguments].concat());
        requests.iter().map(|request| line(request)).collect()
    }
}

fn line(request: &str) -> String {
    request.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned()
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

const HTTP: &str = "# three of them
GET {origin}/one?x=1
X-Own: 1

POST {origin}/two
@body.txt
DELETE {origin}/three
";

#[test]
fn targets_are_sent_in_their_order_in_every_format() {
    let world = World::new();
    world.file("body.txt", "from a file");
    world.file("http", HTTP);
    world.file(
        "lines.json",
        "{\"method\":\"GET\",\"url\":\"{origin}/one?x=1\",\"header\":{\"X-Own\":[\"1\"]}}\n\
         {\"method\":\"POST\",\"url\":\"{origin}/two\",\"body\":\"ZnJvbSBhIGZpbGU=\"}\n\
         {\"method\":\"DELETE\",\"url\":\"{origin}/three\"}\n",
    );
    world.file(
        "list.toml",
        "[[target]]\nurl = \"{origin}/one?x=1\"\nheaders = { X-Own = \"1\" }\n\
         [[target]]\npath = \"/two\"\nbody_file = \"body.txt\"\n\
         [[target]]\npath = \"/three\"\nmethod = \"DELETE\"\n",
    );
    fs::copy(world.path().join("http"), world.path().join("misnamed.json")).expect("a copy");
    for flags in [
        &["--targets", "http"][..],
        &["--targets", "lines.json"],
        &["--targets", "list.toml"],
        &["--targets", "misnamed.json", "--targets-format", "http"],
        &["--targets", "http", "{origin}/"],
    ] {
        let flags = [flags, &["-c", "1", "-n", "7", "-H", "X-Own: 2", "-H", "X-All: 3"]].concat();
        let (requests, report) = world.requests(&flags);
        let lines: Vec<String> = requests.iter().map(|request| line(request)).collect();
        let round = ["GET /one?x=1", "POST /two", "DELETE /three"];
        let want: Vec<&str> = round.iter().copied().cycle().take(7).collect();
        assert_eq!(lines, want, "{flags:?}");
        assert!(requests[0].contains("\r\nX-Own: 1\r\n") && !requests[0].contains("X-Own: 2"));
        assert!(requests[1].contains("\r\nX-Own: 2\r\n"), "{}", requests[1]);
        assert!(requests.iter().all(|request| request.contains("\r\nX-All: 3\r\n")));
        assert_eq!(body(&requests[1]), "from a file");
        let sent: usize = requests.iter().map(String::len).sum();
        assert_eq!(report.count("/bytes/sent"), sent as u64);
        let names = ["GET /one", "POST /two", "DELETE /three"];
        for (place, (name, count)) in names.into_iter().zip([3, 2, 2]).enumerate() {
            assert_eq!(report.text(&format!("/endpoints/{place}/name")), name);
            assert_eq!(report.count(&format!("/endpoints/{place}/ledger/completed")), count);
        }
    }
}

#[test]
fn targets_may_come_on_stdin_and_go_elsewhere() {
    // All repeats send what was read once.
    for repeat in ["1", "3"] {
        let world = World::new();
        world.file("list", "GET http://nobody.invalid/x\n");
        let shell = "exec \"$0\" --targets - -n 2 -c 1 -q \"$@\" < list";
        let mut command = Command::new("sh");
        command.args(["-c", shell, env!("CARGO_BIN_EXE_plimsoll"), &world.peer.url("")]);
        let finished = run(command.args(["--repeat", repeat]).current_dir(world.path()));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let host = format!("Host: {}\r\n", world.peer.address());
        let requests = world.peer.requests();
        assert_eq!(requests.len(), 2 * repeat.parse::<usize>().expect("a number"));
        assert!(requests.iter().all(|request| request.contains(&host)), "{requests:?}");
    }
}

#[test]
fn orders_follow_the_seed_and_not_the_workers() {
    let world = World::new();
    world.file(
        "list.toml",
        "[[target]]\npath = \"/a\"\nweight = 1\n[[target]]\npath = \"/b?{{uuid}}\"\nweight = 9\n",
    );
    let sorted = |flags: &[&str]| {
        let common = ["--targets", "list.toml", "{origin}", "-n", "1000"];
        let (requests, _) = world.requests(&[&common, flags].concat());
        let mut lines: Vec<String> = requests.iter().map(|request| line(request)).collect();
        lines.sort_unstable();
        lines
    };
    let of_a = |lines: &[String]| lines.iter().filter(|line| *line == "GET /a").count();
    for (order, expected, deviations) in [("random", 500, 64), ("weighted", 100, 38)] {
        let one = sorted(&["--order", order, "-c", "1", "-t", "1"]);
        let two = sorted(&["--order", order, "-c", "8", "-t", "2"]);
        assert_eq!(one, two, "{order}");
        assert!(of_a(&one).abs_diff(expected) < deviations, "{order}: {}", of_a(&one));
        let other = sorted(&["--order", order, "-c", "1", "--seed", "2"]);
        assert_ne!(one, other, "{order}");
    }
    let sequential = sorted(&["-c", "8", "-t", "2", "--order", "sequential"]);
    assert_eq!(of_a(&sequential), 500);
    let usual = sorted(&["-c", "8", "-t", "2"]);
    assert_eq!(usual, sorted(&["-c", "1", "--order", "weighted"]), "the file has weights");
}

#[test]
fn weights_count_unless_another_order_is_named() {
    let world = World::new();
    let weighted = "[[target]]\npath = \"/a\"\n[[target]]\npath = \"/b\"\nweight = 3\n";
    world.file("weights.toml", weighted);
    world.file("even.toml", &weighted.replace("3", "1"));
    world.file("one.txt", "GET {origin}/only\n");
    let note = "plimsoll: note: --order sequential takes every target as often, whatever its \
                weight: leave --order out to go by the weights\n";
    for (flags, head, said) in [
        (&["weights.toml"][..], "2 targets from weights.toml by weight, first GET {origin}/a", ""),
        (&["even.toml"], "2 targets from even.toml in turn, first GET {origin}/a", ""),
        (
            &["weights.toml", "--order", "sequential"],
            "2 targets from weights.toml in turn, first GET {origin}/a",
            note,
        ),
        (
            &["weights.toml", "--order", "random"],
            "2 targets from weights.toml at random, first GET {origin}/a",
            &note.replace("sequential", "random"),
        ),
        (&["even.toml", "--order", "random"], "2 targets from even.toml at random", ""),
        (&["one.txt"], "1 target from one.txt in turn, first GET {origin}/only", ""),
    ] {
        let origin = world.peer.url("");
        let mut command = plimsoll(&["-c", "1", "-n", "4", &origin, "--targets"]);
        let finished = run(command.args(flags).current_dir(world.path()));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), said), "{flags:?}");
        let head = head.replace("{origin}", &origin);
        let is_there = finished.stdout.lines().any(|line| line.starts_with(&head));
        assert!(is_there, "{flags:?}: no '{head}' in {}", finished.stdout);
    }
}

#[test]
fn templates_are_filled_by_number() {
    let world = World::new();
    world.file("users.csv", "id,name\r\n1,ann\r\n2,\"b, ob\"\r\n3,zoë\r\n");
    let flags = ["-n", "6", "-H", "X: {{csv:users.csv:name}}", "-b", "[{{seq}}, \"{{{{\"]"];
    let url = "{origin}/{{csv:users.csv:id}}/{{random 5 5}}?{{seq}}";
    let (requests, report) = world.requests(&[&["-c", "1", url], &flags[..]].concat());
    for (number, request) in requests.iter().enumerate() {
        let (id, name) = [(1, "ann"), (2, "b, ob"), (3, "zoë")][number % 3];
        assert_eq!(line(request), format!("POST /{id}/5?{number}"));
        assert!(request.contains(&format!("\r\nX: {name}\r\n")), "{request}");
        assert!(request.contains("\r\nContent-Length: 9\r\n"), "{request}");
        assert_eq!(body(request), format!("[{number}, \"{{{{\"]"));
    }
    let sent: usize = requests.iter().map(String::len).sum();
    assert_eq!(report.count("/bytes/sent"), sent as u64);

    let url = "{origin}/{{seq}}";
    for workers in [&["-c", "1"][..], &["-c", "8", "-t", "2"]] {
        let (requests, _) = world.requests(&[&[url, "-n", "200"], workers].concat());
        let mut numbers: Vec<u32> = requests
            .iter()
            .map(|request| line(request)["GET /".len()..].parse().expect("a number"))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..200).collect::<Vec<_>>(), "{workers:?}");
    }
    assert_eq!(world.lines(&["{origin}/{{x}}", "-n", "1", "--no-templates"]), ["GET /{{x}}"]);
}

#[test]
fn forms_are_what_a_browser_sends() {
    let world = World::new();
    world.file("note.txt", "a note");
    let fields = ["--form-urlencoded", "a b=c&d", "--form-urlencoded", "f=@note.txt"];
    let (requests, _) =
        world.requests(&[&["{origin}/", "-n", "1", "-c", "1"], &fields[..]].concat());
    assert_eq!(line(&requests[0]), "POST /");
    assert!(requests[0].contains("\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
    assert_eq!(body(&requests[0]), "a+b=c%26d&f=a+note");

    let parts = ["-F", "a=b", "-F", "f=@note.txt;filename=x"];
    let flags = [&["{origin}/", "-n", "2", "-c", "1"], &parts[..]].concat();
    let (requests, _) = world.requests(&flags);
    let start = "\r\nContent-Type: multipart/form-data; boundary=";
    let (_, boundary) = requests[0].split_once(start).expect("a boundary");
    let boundary = boundary.lines().next().unwrap_or_default();
    let want = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\
         Content-Type: text/plain\r\n\r\na note\r\n--{boundary}--\r\n"
    );
    assert_eq!(body(&requests[0]), want);
    assert_eq!(requests[0], requests[1]);
    assert_eq!(world.requests(&flags).0, requests, "the same seed, the same boundary");
}

#[test]
fn values_of_tables_cannot_become_anything_else() {
    let world = World::new();
    world.file("t.csv", "v\n\"a&b=c #?%\r\nX: y\"\"\"\n");
    let encoded = "a%26b%3Dc+%23%3F%25%0D%0AX%3A+y%22";
    let form = ["{origin}/p/{{csv:t.csv:v}}?q={{csv:t.csv:v}}", "--form-urlencoded"];
    let (requests, _) =
        world.requests(&[&form[..], &["n={{csv:t.csv:v}}", "-n", "1", "-c", "1"]].concat());
    assert_eq!(body(&requests[0]), format!("n={encoded}"));
    let in_path = "a&b=c%20%23%3F%25%0D%0AX:%20y%22";
    let in_query = "a%26b%3Dc%20%23?%25%0D%0AX:%20y%22";
    assert_eq!(line(&requests[0]), format!("POST /p/{in_path}?q={in_query}"));
    let json = ["{origin}/", "-b", "{\"v\":\"{{csv:t.csv:v json}}\"}", "-n", "1", "-c", "1"];
    let (requests, _) = world.requests(&json);
    assert_eq!(body(&requests[0]), "{\"v\":\"a&b=c #?%\\r\\nX: y\\\"\"}");
    let finished = world.run(&["{origin}/", "-H", "A: {{csv:t.csv:v}}", "-n", "1"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("a line break"), "{finished:?}");
}

#[test]
fn credentials_come_from_the_flag_the_url_or_the_header() {
    let world = World::new();
    let address = world.peer.address();
    // Base64 of `u:p@` and of `x:y`.
    let (in_url, in_flag) = ("Authorization: Basic dTpwQA==", "Authorization: Basic eDp5");
    let url = format!("http://u:p%40@{address}/");
    for (flags, want) in [
        (&[url.as_str()][..], in_url),
        (&["{origin}/", "--basic", "x:y"], in_flag),
        (&[url.as_str(), "--basic", "x:y"], in_flag),
        (&[url.as_str(), "-H", "authorization: z"], "authorization: z"),
    ] {
        let (requests, report) = world.requests(&[flags, &["-n", "1", "-c", "1"]].concat());
        let sent: Vec<&str> = requests[0]
            .lines()
            .filter(|line| line.to_ascii_lowercase().starts_with("authorization:"))
            .collect();
        assert_eq!(sent, [want], "{flags:?}");
        let document = report.at("/plan").to_string();
        for secret in ["dTpwQA==", "eDp5", "p%40", "u:p"] {
            assert!(!document.contains(secret), "{secret} in {document}");
        }
    }
}

#[test]
fn chunked_bodies_are_exact() {
    let world = World::new();
    let flags = ["{origin}/", "-n", "3", "-c", "1", "--chunked", "-b", "number {{seq}}"];
    let (requests, report) = world.requests(&flags);
    for (number, request) in requests.iter().enumerate() {
        assert!(request.contains("\r\nTransfer-Encoding: chunked\r\n"), "{request}");
        assert!(!request.contains("Content-Length"), "{request}");
        assert_eq!(body(request), format!("8\r\nnumber {number}\r\n0\r\n\r\n"));
    }
    assert_eq!(report.ledger(["completed"]), [3]);
}

#[test]
fn a_body_waits_for_100_continue() {
    let (told, tells) = std::sync::mpsc::channel();
    let peer = Peer::accepting(move |mut stream| {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read_exact(&mut byte).is_err() {
                return;
            }
            bytes.push(byte[0]);
        }
        // Whatever of the body came without being asked for would be here by now or come first.
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").expect("a client");
        let mut body = [0; 4];
        stream.read_exact(&mut body).expect("a body");
        stream.write_all(OK.as_bytes()).expect("a client");
        let head = String::from_utf8(bytes).expect("text");
        told.send((head, body)).expect("a test that waits");
    });
    let url = peer.url("/");
    let report = measure(&[&url, "-n", "1", "-c", "1", "--expect-continue", "-b", "body"]);
    assert_eq!(report.ledger(["completed"]), [1]);
    let (head, body) = tells.recv().expect("a request");
    assert!(head.contains("\r\nExpect: 100-continue\r\n"), "{head}");
    assert_eq!(&body, b"body");
}

#[test]
fn what_cannot_be_sent_is_one_line() {
    let world = World::new();
    world.file("two.txt", "GET http://a/\nGET http://b/\n");
    world.file("paths.txt", "GET /x\n");
    world.file("bad.toml", "[[target]]\npath = \"/\"\nwieght = 1\n");
    world.file("zero.toml", "[[target]]\npath = \"/\"\nweight = 0\n");
    world.file("users.csv", "id\na b\n");
    world.file("ragged.csv", "a,b\n1\n");
    fs::write(world.path().join("binary"), b"\xff\xfe").expect("a file");
    let cases: [(&[&str], i32, &str); 29] = [
        (&["--targets", "no/such"], 1, "no/such"),
        (&["--targets", "two.txt"], 2, "two.txt, line 2: http://b is not the server of line 1"),
        (&["--targets", "paths.txt"], 2, "on the command line"),
        (&["--targets", "paths.txt", "{origin}/x"], 2, "leave '/x' out"),
        (
            &["--targets", "bad.toml", "{origin}"],
            2,
            "bad.toml, line 3: 'wieght' is not a key here: did you mean 'weight'?",
        ),
        (&["--targets", "zero.toml", "{origin}", "--order", "weighted"], 2, "weight"),
        (&["--targets", "zero.toml", "{origin}"], 2, "weight"),
        (&["{origin}/{{csv:users.csv:ids}}"], 2, "no column 'ids': did you mean 'id'?"),
        (&["--targets", "binary", "{origin}"], 2, "UTF-8"),
        (&["--targets", "paths.txt", "{origin}", "-b", "x"], 2, "--body"),
        (&["--targets", "paths.txt", "{origin}", "-X", "PUT"], 2, "--method"),
        (&["--targets", "paths.txt", "{origin}", "--targets-format", "xml"], 2, "toml"),
        (&["--order", "random", "{origin}"], 2, "--targets"),
        (&["--order", "sideways", "--targets", "paths.txt"], 2, "weighted"),
        (&["{origin}/{{sec}}"], 2, "--no-templates"),
        (&["{origin}/{{csv:no.csv:id}}"], 1, "no.csv"),
        (&["{origin}/{{csv:ragged.csv:a}}"], 2, "ragged.csv, line 2"),
        (&["{origin}/{{csv:users.csv:name}}"], 2, "no column 'name'"),
        (&["{origin}/{{csv:users.csv:id raw}}"], 2, "row 2 of users.csv"),
        (&["{origin}", "-F", "a{{seq}}=b"], 2, "hold no templates"),
        (&["{origin}", "-F", "x"], 2, "name=value"),
        (&["{origin}", "-F", "x=@no/such"], 1, "no/such"),
        (&["{origin}", "-F", "x={{seq}}", "-F", "y=@binary"], 2, "templates"),
        (&["{origin}", "-F", "x=y", "--form-urlencoded", "x=y"], 2, "--form"),
        (&["{origin}", "-F", "x=y", "-b", "z"], 2, "--body"),
        (&["{origin}", "--basic", "secret"], 2, "USER:PASS"),
        (&["{origin}", "--chunked"], 2, "--chunked is about a body"),
        (&["{origin}", "-X", "CONNECT"], 2, "CONNECT asks for a tunnel and is no request"),
        (&["{origin}", "--chunked", "-b", "x", "--http", "1.0"], 2, "HTTP/1.0 has no chunks"),
    ];
    for (arguments, code, says) in cases {
        let Finished { code: got, stdout, stderr } = world.run(&[arguments, &["-n", "1"]].concat());
        assert_eq!(got, Some(code), "{arguments:?}: {stderr}");
        assert_eq!(stdout, "", "{arguments:?}");
        assert!(stderr.starts_with("plimsoll: ") && stderr.lines().count() == 1, "{stderr}");
        assert!(stderr.contains(says), "{arguments:?} does not say '{says}': {stderr}");
    }
    assert!(world.peer.requests().is_empty(), "no server is bothered");
}

/// Counts of an expectation that only one target has.
#[test]
fn a_target_may_expect_something_of_its_own() {
    let world = World::new();
    world.file(
        "list.toml",
        "[[target]]\npath = \"/a\"\nexpect = [\"status=404\"]\n[[target]]\npath = \"/b\"\n",
    );
    let flags = ["--targets", "list.toml", "{origin}", "-n", "10", "-c", "1"];
    let (_, report) = world.requests(&flags);
    assert_eq!(report.ledger(["ok", "failed"]), [5, 5]);
    for (place, failed) in [(0, 5), (1, 0)] {
        assert_eq!(report.count(&format!("/endpoints/{place}/ledger/failed")), failed);
    }
}
