//! The commands of README.md and of the pages, run in a shell as a reader would run them. Each page
//! has a folder of its own, in which its commands follow each other. The ports of a page become
//! free ones. Pages are run in a fraction of the time they name; README.md is run as it is.
//!
//! What a command prints is for other tests. Here it has to work: no mistake in its flags or files,
//! and an exit code that its page speaks of.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::support::{Running, Stream, plimsoll, run};

#[path = "../../src/manual/blocks.rs"]
mod blocks;

use blocks::{Block, Page, blocks, calls, pages, root};

/// How many pages are run at once. Most of the time they wait for a run to end.
const PAGES_AT_ONCE: usize = 3;

/// Where a page's commands are run.
struct World {
    directory: tempfile::TempDir,
    /// The page's files, by name, as it shows them.
    files: BTreeMap<String, String>,
    /// The port that each port of the page stands for.
    ports: BTreeMap<u16, u16>,
    servers: Vec<Running>,
    is_short: bool,
}

impl World {
    fn new(page: &Page) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        symlink(root().join("examples"), path.join("examples")).expect("a link");
        fs::create_dir(path.join("bin")).expect("a folder");
        symlink(env!("CARGO_BIN_EXE_plimsoll"), path.join("bin/plimsoll")).expect("a link");
        let is_short = page.name != "README.md";
        let (files, ports) = (BTreeMap::new(), BTreeMap::new());
        Self { directory, files, ports, servers: Vec::new(), is_short }
    }

    /// Does what a block says: keeps a file that its first line names, or runs its commands.
    fn follow(&mut self, block: &Block<'_>) -> Result<(), String> {
        if let Some(name) = file_name(block) {
            self.files.insert(name.to_owned(), block.text.clone());
        }
        let commands = if block.is_sketch() { Vec::new() } else { block.commands() };
        // What has no call is for other programs, or for people.
        if commands.iter().all(|command| calls(&as_installed(command)).is_empty()) {
            return Ok(());
        }
        commands.iter().try_for_each(|command| self.carry_out(&as_installed(command)))
    }

    fn carry_out(&mut self, command: &str) -> Result<(), String> {
        if command == "cargo test --workspace" {
            // This is a part of it.
            return Ok(());
        }
        if let [call] = &*calls(command)
            && ["serve", "proxy"].contains(&call[0].as_str())
        {
            self.serve(&self.filled(command));
            return Ok(());
        }
        self.have_servers(command);
        for (name, text) in &self.files {
            fs::write(self.directory.path().join(name), self.filled(text)).expect("a file");
        }
        let path = env::var("PATH").unwrap_or_default();
        let bin = self.directory.path().join("bin");
        let finished = run(Command::new("sh")
            .args(["-c", &self.filled(command)])
            .current_dir(self.directory.path())
            .env("PATH", format!("{}:{path}", bin.display())));
        let judges = |flags: &[&str]| flags.iter().any(|flag| command.contains(flag));
        let is_right = match finished.code {
            Some(0) => true,
            // Whether a limit is met depends on the machine.
            Some(3) => judges(&["--gate", "--abort-when", "--fail-if"]),
            // A busy host leaves a gate undecided, or a study without a run that counts.
            Some(4) => judges(&["--require-valid", "--fail-if", "--gate", "plimsoll lab"]),
            _ => false,
        };
        if is_right { Ok(()) } else { Err(format!("{command}: {finished:?}")) }
    }

    /// Starts a server on a free port, and has its port stand for the one in the command.
    fn serve(&mut self, command: &str) {
        let mut arguments = calls(command).remove(0);
        let listen = arguments.iter().position(|word| word == "--listen").map(|index| index + 1);
        let address = listen.map_or("127.0.0.1:8080", |index| arguments[index].as_str());
        let shown: u16 = address.rsplit(':').next().expect("a part").parse().expect("a port");
        match listen {
            Some(index) => "127.0.0.1:0".clone_into(&mut arguments[index]),
            None => arguments.extend(["--listen".to_owned(), "127.0.0.1:0".to_owned()]),
        }
        let mut command = plimsoll(&[]);
        let mut server =
            Running::start(command.args(&arguments).current_dir(self.directory.path()));
        let line = server.next_line(Stream::Out);
        let port = line.split_once("127.0.0.1:").map(|(_, rest)| rest.split_whitespace().next());
        let port = port.flatten().and_then(|port| port.parse().ok());
        self.ports.insert(shown, port.unwrap_or_else(|| panic!("{line}")));
        self.servers.push(server);
    }

    /// Starts what a command or a file loads and the page does not start.
    fn have_servers(&mut self, command: &str) {
        let usual = [
            (8080, "plimsoll serve --listen 127.0.0.1:8080"),
            (8443, "plimsoll serve --listen 127.0.0.1:8443 --tls --tls-save server.pem"),
        ];
        for (port, server) in usual {
            let shown = format!(":{port}");
            let is_loaded = self.files.values().any(|text| text.contains(&shown));
            let is_missing = !self.ports.contains_key(&port);
            if is_missing && (is_loaded || command.contains(&shown)) {
                self.serve(server);
            }
        }
    }

    /// A text with this world's ports and, but for README.md, shorter times.
    fn filled(&self, text: &str) -> String {
        let text = self.ports.iter().fold(text.to_owned(), |text, (shown, real)| {
            text.replace(&format!(":{shown}"), &format!(":{real}"))
        });
        if self.is_short { shortened(&text) } else { text }
    }
}

/// The command with an installed program in place of one that Cargo builds for it.
fn as_installed(command: &str) -> String {
    command.replace("cargo run --release -- ", "plimsoll ")
}

/// The name in a first line such as `# plan.toml`.
fn file_name<'a>(block: &'a Block<'_>) -> Option<&'a str> {
    let name = block.text.lines().next()?.strip_prefix("# ")?;
    let is_file = block.language() == "toml" && name.ends_with(".toml") && !name.contains(' ');
    is_file.then_some(name)
}

/// Durations of runs, warm-ups and stages become a fraction of a second; wrk knows whole seconds.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let digits = from.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(from.len());
        let (number, behind) = from.split_at(digits);
        short.push_str(before);
        let unit = behind.starts_with(['s', 'm', 'h']) && !behind.starts_with("ms");
        let ends = |words: &[&str]| words.iter().any(|word| short.ends_with(word));
        let instead = match () {
            () if unit && behind[1..].starts_with('@') => Some("200ms"),
            () if unit && ends(&["-d ", "--warmup ", "duration = \"", "warmup = \""]) => {
                Some("300ms")
            }
            () if unit && ends(&["-d"]) => Some("1s"),
            () => None,
        };
        match instead {
            Some(instead) => {
                short.push_str(instead);
                rest = &behind[1..];
            }
            None => {
                short.push_str(number);
                rest = behind;
            }
        }
    }
    short + rest
}

/// Runs the commands of a page to the first that does not work.
fn followed(page: &Page) -> Result<(), String> {
    let mut world = World::new(page);
    for block in blocks(&page.text) {
        world.follow(&block).map_err(|error| format!("{}:{}: {error}", page.name, block.line))?;
    }
    Ok(())
}

#[test]
fn times_are_shortened() {
    for (text, want) in [
        ("-r 2k -d 30s --warmup 5s u", "-r 2k -d 300ms --warmup 300ms u"),
        ("-d 8h --timeout 10s", "-d 300ms --timeout 10s"),
        ("-t2 -c100 -d30s", "-t2 -c100 -d1s"),
        (
            "'10s@100,1m@100..5k' 'p99@10s..20s<250ms'",
            "'200ms@100,200ms@100..5k' 'p99@10s..20s<250ms'",
        ),
        ("duration = \"20s\"\nwarmup = \"500ms\"", "duration = \"300ms\"\nwarmup = \"500ms\""),
        ("90%:1ms,10%:2s", "90%:1ms,10%:2s"),
    ] {
        assert_eq!(shortened(text), want, "{text}");
    }
}

#[test]
fn the_commands_of_the_readme_work_as_they_stand() {
    let pages = pages();
    let readme = pages.iter().find(|page| page.name == "README.md").expect("a README");
    for command in ["cargo run --release -- demo", "cargo test --workspace"] {
        assert!(readme.text.lines().any(|line| line == command), "{command}");
    }
    if let Err(error) = followed(readme) {
        panic!("{error}");
    }
}

#[test]
fn the_readme_leads_to_the_guide() {
    let pages = pages();
    let text = |name: &str| {
        let page = pages.iter().find(|page| page.name == name);
        page.unwrap_or_else(|| panic!("no {name}")).text.as_str()
    };
    assert!(text("README.md").contains("](docs/measuring-well.md)"));
    assert!(text("docs/start.md").contains("](measuring-well.md)"));
}

#[test]
fn the_commands_of_the_pages_work() {
    let pages: Vec<Page> = pages().into_iter().filter(|page| page.name != "README.md").collect();
    let next = Mutex::new(pages.iter());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..PAGES_AT_ONCE {
            scope.spawn(|| {
                loop {
                    let page = next.lock().expect("nobody panics with it").next();
                    let Some(page) = page else { return };
                    if let Err(error) = followed(page) {
                        wrong.lock().expect("nobody panics with it").push(error);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("nobody panicked with it");
    assert!(wrong.is_empty(), "{} pages:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_command_that_does_not_work_is_found() {
    for (text, is_right) in [
        ("```sh\nplimsoll run --print-plan http://127.0.0.1:8080/\n```\n", true),
        ("```sh\nplimsoll run --no-such-flag http://127.0.0.1:8080/\n```\n", false),
        ("```sh sketch\nplimsoll run --no-such-flag http://127.0.0.1:8080/\n```\n", true),
        ("```console\n$ plimsoll report no.json\nwhat it says\n```\n", false),
        ("```sh\nplimsoll run -q -n 5 --gate 'p99<1ns' http://127.0.0.1:8080/\n```\n", true),
    ] {
        let page = Page { name: "page.md".to_owned(), text: text.to_owned() };
        assert_eq!(followed(&page).is_ok(), is_right, "{text}");
    }
}
