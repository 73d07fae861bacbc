//! Scripts that are run as the engine runs them: a test plays the host.

mod apis;
mod basics;
mod bytes;
mod cancelled;
mod exports;
mod files;
mod grpc;
mod html;
mod json;
mod libraries;
mod limits;
mod modules;
mod names;
mod requests;
mod seeds;
mod sockets;
mod streams;
mod webcrypto;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;

use plimsoll_core::metric::Registry;

use super::*;

/// The time of a test's host, ns since 1970.
const START_NS: u64 = 1_700_000_000_000_000_000;

/// The path of the script.
const MAIN: &str = "/s/main.js";

/// What a host does with a request: gives its answer.
type Serve = dyn Fn(&Request) -> Reaction;

/// An answer that a test gives.
#[derive(Default, Clone)]
struct Reaction {
    status: u16,
    head: String,
    body: Vec<u8>,
    error: String,
    error_code: u16,
}

/// A host: it runs virtual users, and keeps what they ask for.
struct Host {
    program: Program,
    worker: Rc<Worker>,
    now_ns: u64,
    /// What was asked for, a line each.
    trace: Vec<String>,
    serve: Box<Serve>,
    /// Whether the trace has the cookies of requests.
    shows_cookies: bool,
    /// Whether answers tell what a flow has sent.
    sends_first: bool,
}

fn ok(body: &str) -> Reaction {
    Reaction { status: 200, body: body.as_bytes().to_vec(), ..Reaction::default() }
}

fn load_with(files: &[(&str, &str)], settings: Settings) -> Result<Program, Failure> {
    let all: HashMap<String, Vec<u8>> =
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    let text = all[MAIN].clone();
    let read = move |path: &str| all.get(path).cloned().ok_or_else(|| "no such file".to_owned());
    let source =
        Source { path: MAIN.to_owned(), text, read: Box::new(read), registry: Registry::default() };
    let (mut turns, mut now_ns) = (0, START_NS);
    Program::load(source, settings, START_NS, &mut |notice| {
        turns += 1;
        if let Notice::Idle(idle_ns) = notice {
            now_ns += idle_ns;
        }
        if turns > 10_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(now_ns) }
    })
}

fn load(text: &str) -> Result<Program, Failure> {
    load_with(&[(MAIN, text)], Settings::default())
}

impl Host {
    fn new(program: Program) -> Self {
        let serve = Box::new(|_: &Request| ok("hello"));
        let worker = Rc::new(Worker::new());
        let (now_ns, trace) = (START_NS, Vec::new());
        Self { program, worker, now_ns, trace, serve, shows_cookies: false, sends_first: false }
    }

    fn of(text: &str) -> Self {
        Self::new(load(text).unwrap_or_else(|failure| panic!("{failure}")))
    }

    /// A virtual user that has evaluated the script.
    fn vu(&mut self, number: u32) -> Vu {
        let mut vu = self.program.spawn(&self.worker, number).unwrap();
        let ending = self.run(&mut vu, Task::Evaluate);
        assert_eq!(ending, Ending::Complete, "{:?}", vu.error());
        vu
    }

    /// One iteration of the default function.
    fn iterate(&mut self, vu: &mut Vu) -> Ending {
        let function = self.program.function("default").expect("there is a default function");
        let ending = self.run(vu, Task::Iterate(function));
        vu.execution().iteration += 1;
        ending
    }

    fn run(&mut self, vu: &mut Vu, task: Task) -> Ending {
        let step = vu.begin(task, self.now_ns);
        self.go_on(vu, step)
    }

    /// Carries out steps until the task is done.
    fn go_on(&mut self, vu: &mut Vu, mut step: Step) -> Ending {
        let mut open: Vec<u32> = Vec::new();
        loop {
            step = match step {
                Step::Done(ending) => return ending,
                Step::Send(number) => {
                    self.trace.push(format!("send {}", describe(&vu.request(number))));
                    self.answer(vu, number)
                }
                Step::Begin(number) => {
                    self.trace.push(format!("begin {}", describe(&vu.request(number))));
                    open.push(number);
                    vu.resume(Reply::Taken, self.now_ns)
                }
                Step::Wait(_) if !open.is_empty() => {
                    let number = open.remove(0);
                    self.answer(vu, number)
                }
                Step::Sleep(sleep_ns) | Step::Wait(Some(sleep_ns)) => {
                    self.trace.push(format!("sleep {}", sleep_ns as f64 / 1e9));
                    self.now_ns += sleep_ns;
                    vu.resume(Reply::Woken, self.now_ns)
                }
                Step::Wait(None) => panic!("it waits for nothing"),
                step => {
                    self.note(vu, step);
                    vu.resume(Reply::Taken, self.now_ns)
                }
            };
        }
    }

    fn note(&mut self, vu: &Vu, step: Step) {
        let line = match step {
            Step::Record(Sample { metric, tags, value }) => {
                let registry = self.program.registry();
                let declared = registry.declared();
                let name = declared.iter().find(|declared| {
                    registry.find(declared.name.as_str()).map(|(id, _)| id) == Some(metric)
                });
                let tags = tags.map(|tags| self.worker.tags(tags).to_string());
                let name = name.map_or("?", |declared| declared.name.as_str());
                format!("record {name} {value}{}", tags.unwrap_or_default())
            }
            Step::Enter(number) => format!("enter {}", self.worker.group(number)),
            Step::Log(level) => format!("{level:?} {}", &*vu.line()),
            Step::Note(level) => format!("note {level:?} {}", &*vu.line()),
            Step::Pause => return,
            step => format!("{step:?}"),
        };
        self.trace.push(line);
    }

    fn answer(&mut self, vu: &mut Vu, number: u32) -> Step {
        let reaction = {
            let request = vu.request(number);
            let cookies = request.cookie_field(&request.url, self.now_ns);
            let reaction = (self.serve)(&request);
            request.take_cookies(&request.url, reaction.head.as_bytes(), self.now_ns);
            if self.shows_cookies {
                self.trace.push(format!("cookies {cookies}"));
            }
            reaction
        };
        let mut flow = http::Flow::new();
        if self.sends_first {
            let _ = flow.begin(&vu.request(number), &http::HttpOptions::default(), self.now_ns);
        }
        let sent = flow.answer(number, &http::Via::default(), Timings::default());
        let timings = Timings {
            sending_ns: 1_000_000,
            waiting_ns: 20_000_000,
            receiving_ns: 500_000,
            ..Timings::default()
        };
        self.now_ns += timings.duration_ns();
        let answer = Answer {
            request: number,
            status: reaction.status,
            status_text: if reaction.status == 200 { "200 OK" } else { "" },
            protocol: "HTTP/1.1",
            remote_ip: "127.0.0.1",
            remote_port: 80,
            head: reaction.head.as_bytes(),
            cookies: sent.cookies,
            body: &reaction.body,
            timings,
            error: &reaction.error,
            error_code: reaction.error_code,
            ..Answer::default()
        };
        vu.resume(Reply::Ended(answer), self.now_ns)
    }
}

fn describe(request: &Request) -> String {
    let body = if request.has_body {
        format!(" {:?}", String::from_utf8_lossy(&request.body))
    } else {
        String::new()
    };
    format!("{} {}{body}", request.method, request.url)
}

/// What one iteration of a script asks for, and how it ends.
fn trace(text: &str) -> (Vec<String>, Ending) {
    let mut host = Host::of(text);
    let mut vu = host.vu(1);
    host.trace.clear();
    let ending = host.iterate(&mut vu);
    let mut trace = host.trace;
    if let Some(failure) = vu.error() {
        trace.push(failure.text);
    }
    (trace, ending)
}

/// What an expression is in an iteration, as text.
fn value_of(expression: &str) -> String {
    let imports = "import * as k6 from 'k6'; import http from 'k6/http'; import encoding from \
                   'k6/encoding'; import crypto from 'k6/crypto'; import exec from 'k6/execution';";
    value_with(imports, expression)
}

/// The same, with these imports.
fn value_with(imports: &str, expression: &str) -> String {
    let (trace, _) = trace(&format!(
        "{imports}
         const text = (value) => typeof value === 'string' ? value : JSON.stringify(value);
         export default async function () {{ console.log(String(text({expression}))); }}"
    ));
    trace.last().map_or(String::new(), |line| line.strip_prefix("Info ").unwrap_or(line).to_owned())
}
