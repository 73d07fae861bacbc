//! Every flag of every foreign command line, started once: `dialect_flags.txt` says with what, and
//! what shows that it was heard. A flag that the help lists and the table does not fails the test.
//!
//! Absent: how far a flag does what the original does. The tests of each dialect say that.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::support::{Server, plimsoll, run, without_options_of_k6};

const TABLE: &str = include_str!("dialect_flags.txt");

const DIALECTS: [&str; 5] = ["ab", "wrk", "wrk2", "fortio", "k6"];

/// Most runs wait for their time to be over.
const AT_A_TIME: usize = 12;

const SCRIPT: &str = "import http from 'k6/http';
    export default function () {
        console.log('here');
        if (__ENV.ODD) console.log('env ' + __ENV.ODD);
        http.get(__ENV.BASE);
    }";

struct Row {
    dialect: &'static str,
    words: &'static str,
    code: i32,
    shows: Vec<String>,
}

fn rows() -> Vec<Row> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut fields = line.splitn(4, '|').map(str::trim);
            let mut next = || fields.next().unwrap_or_else(|| panic!("four fields: {line}"));
            let (dialect, words, code, shows) = (next(), next(), next(), next());
            let shows = shows.split(" & ").filter(|text| !text.is_empty());
            let shows = shows.map(str::to_lowercase).collect();
            let code = code.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
            Row { dialect, words, code, shows }
        })
        .collect()
}

/// A flag without its value; `None` for what is no flag.
fn flag(word: &str) -> Option<&str> {
    let end = word.find(['=', '[', ',', '<']).unwrap_or(word.len());
    let is_flag = word.starts_with('-') && word[..end].len() > 1;
    is_flag.then(|| &word[..end])
}

/// The flags that a help lists: each line of one begins with it, and goes on with its longer name.
fn listed(help: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for line in help.lines().map(str::trim_start) {
        let only_flags = line.split_whitespace().all(|word| flag(word) == Some(word));
        let flags = line.split_whitespace().map_while(flag);
        found.extend(flags.take(if only_flags { usize::MAX } else { 2 }));
    }
    found
}

#[test]
fn each_flag_of_a_help_is_in_the_table() {
    for dialect in DIALECTS {
        let arguments: &[&str] = match dialect {
            "ab" => &["ab", "-h"],
            "fortio" => &["fortio", "help"],
            "k6" => &["k6", "run", "--help"],
            dialect => &[dialect, "--help"],
        };
        let helped = run(&mut plimsoll(arguments));
        let help = helped.stdout + &helped.stderr;
        let listed = listed(&help);
        let started: BTreeSet<&str> = rows()
            .iter()
            .filter(|row| row.dialect == dialect)
            .flat_map(|row| row.words.split_whitespace().filter_map(flag))
            .collect();
        assert!(listed.len() > 12, "{dialect}: {listed:?}");
        let missing: Vec<_> = listed.difference(&started).collect();
        assert!(missing.is_empty(), "{dialect}: {missing:?}");
    }
}

/// What is the same for all rows: `HOST:PORT` of a server that also speaks gRPC, the URL of one
/// over TLS, and the certificate of that.
struct World {
    grpc: String,
    secure: String,
    certificate: Vec<u8>,
}

#[test]
fn each_flag_is_heard_or_refused_by_name() {
    let certificate = tempfile::tempdir().expect("a folder");
    let path = certificate.path().join("server.pem");
    let path = path.to_str().expect("a readable path");
    let (plain, secure) = (Server::start(&[]), Server::start(&["--tls", "--tls-save", path]));
    let world = World {
        grpc: plain.url("").trim_start_matches("http://").to_owned(),
        secure: secure.url("/").replace("127.0.0.1", "localhost"),
        certificate: std::fs::read(path).expect("a certificate"),
    };
    let (rows, next, wrong) = (rows(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = world.start(row) {
                        wrong.lock().expect("no panic").push(why);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

impl World {
    /// Starts the flags of a row. Gives what is not as the table says.
    fn start(&self, row: &Row) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let fixed = self.fill(folder);
        let requests = Arc::new(Mutex::new(String::new()));
        let host = record(&folder.join("web.sock"), &requests);
        let url = format!("http://{host}/");
        let is_whole = ["{server}", "{tls}", "{grpc}"].iter().any(|it| row.words.contains(it));
        let filled = |word: &str| {
            let word = word.replace("{host}", &host).replace("{server}", &url);
            word.replace("{tls}", &self.secure).replace("{grpc}", &self.grpc).replace('~', " ")
        };
        let words: Vec<String> = row.words.split_whitespace().map(filled).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (before, after): (&[&str], &[&str]) = match row.dialect {
            _ if is_whole => (&[], &[]),
            "ab" => (&["-n", "4"], &[&url]),
            "wrk" => (&["-t1", "-c1", "-d1s"], &[&url]),
            "wrk2" => (&["-t1", "-c1", "-d1s", "-R20"], &[&url]),
            "fortio" => (&["load", "-n", "4", "-c", "2", "-qps", "0"], &[&url]),
            _ => (&["run"], &["script.js"]),
        };
        let mut command = plimsoll(&[&[row.dialect], before, &words, after].concat());
        without_options_of_k6(&mut command);
        command.current_dir(folder).env("HOME", folder).env("BASE", &url);
        let finished = run(&mut command);
        let mut told = format!("{}{}", finished.stdout, finished.stderr);
        for path in files(folder).difference(&fixed) {
            told += &String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default());
        }
        told += &requests.lock().expect("no panic");
        let told = told.to_lowercase();
        let missing: Vec<_> = row.shows.iter().filter(|text| !told.contains(*text)).collect();
        let lines = finished.stderr.trim().lines().count();
        // ab's help has an exit code of its own.
        let is_refused = row.code != 0 && row.words != "-h";
        if finished.code == Some(row.code)
            && missing.is_empty()
            && !told.contains("panicked")
            && (!is_refused || lines == 1)
        {
            return Ok(());
        }
        let end: String = told.chars().take(600).collect();
        let code = finished.code;
        Err(format!("{} {}: {code:?}, without {missing:?}: {end}", row.dialect, row.words))
    }

    /// Writes the files that the flags read. Returns the paths of all files in the folder.
    fn fill(&self, folder: &Path) -> BTreeSet<std::path::PathBuf> {
        for (name, text) in [
            ("body.txt", "the body"),
            ("script.lua", "print('the script ran')"),
            ("script.js", SCRIPT),
            ("config.json", r#"{"vus": 3, "iterations": 3}"#),
            ("client.pem", include_str!("support/client.pem")),
        ] {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        std::fs::write(folder.join("server.pem"), &self.certificate).expect("a file");
        files(folder)
    }
}

fn files(folder: &Path) -> BTreeSet<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

/// Writes down requests that come over TCP, where they get 200, and over a Unix socket, where they
/// get 204. The address of the first.
fn record(path: &Path, requests: &Arc<Mutex<String>>) -> String {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let host = tcp.local_addr().expect("a bound address").to_string();
    let unix = UnixListener::bind(path).expect("a socket");
    let of_tcp = Arc::clone(requests);
    thread::spawn(move || {
        for stream in tcp.incoming().flatten() {
            let requests = Arc::clone(&of_tcp);
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
            thread::spawn(move || answer_all(&stream, &stream, answer, &requests));
        }
    });
    let of_unix = Arc::clone(requests);
    thread::spawn(move || {
        for stream in unix.incoming().flatten() {
            let requests = Arc::clone(&of_unix);
            let answer = "HTTP/1.1 204 No Content\r\n\r\n";
            thread::spawn(move || answer_all(&stream, &stream, answer, &requests));
        }
    });
    host
}

/// Answers until a connection is not to be kept.
fn answer_all(input: impl Read, mut output: impl Write, answer: &str, requests: &Mutex<String>) {
    let mut input = BufReader::new(input);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(input.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let low = head.to_lowercase();
        let length = low.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        if input.read_exact(&mut body).is_err() {
            return;
        }
        {
            let mut requests = requests.lock().expect("no panic");
            // A program that sends as fast as it can says the same each time.
            if requests.len() < 1 << 16 {
                *requests += &head;
                *requests += &String::from_utf8_lossy(&body);
            }
        }
        let content = if low.starts_with("head") || !answer.contains("Length") { "" } else { "ok" };
        if output.write_all(format!("{answer}{content}").as_bytes()).is_err() {
            return;
        }
        let is_old = low.contains("http/1.0") && !low.contains("keep-alive");
        if is_old || low.contains("connection: close") {
            return;
        }
    }
}
