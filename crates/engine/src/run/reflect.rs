//! Asks a server for the schema of the calls that a plan makes, before the run.
//!
//! Each question is a call of its own, on one connection: the server ends it with its answer. The
//! connection goes the plan's own way, with its name, tunnel, handshake and metadata.

use std::io;

use plimsoll_conn::grpc::{CODE_OF_UNIMPLEMENTED, Call, code_name, framed, messages};
use plimsoll_conn::{
    Connection, ExchangeId, Failure, Filling, Http2, Http2Request, Message, Progress, Scratch,
    Setup, State,
};
use plimsoll_core::plan::{Body, Draft, DriverPlan, GrpcPlan, HttpVersion, Request, Spin};
use plimsoll_core::{Phase, Plan};
use plimsoll_grpc::reflection::{Discovery, ReflectionError, Step, Version};
use plimsoll_io::select::{DriverChoice, Opened, open};
use plimsoll_io::{Close, Driver, Event, Route, SocketId};

use super::check;
use crate::control::Control;
use crate::error::RunError;
use crate::lookup::Lookup;
use crate::setup::setup;
use crate::spoken::Spoken;
use crate::worker::Assignment;

const SOCKET: SocketId = SocketId(0);
const EXCHANGE: ExchangeId = ExchangeId(0);
/// The longest answer. What a schema may have in all, `grpc` limits.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Questions about one schema at most: one for each file.
const QUESTIONS_MAX: usize = 5000;
/// How long to go without a look at whether the run was stopped.
const LOOK_NS: u64 = 100_000_000;

/// The plan with the schema of its calls, checked with it; `None`: it had it.
///
/// # Errors
/// When the server can't be reached, has no reflection, or no such method; and what a [`check`]
/// finds now that the schema is known.
pub(super) fn learned(
    plan: &Plan,
    lookup: &Lookup,
    routes: &[Route],
    control: &Control,
) -> Result<Option<Plan>, RunError> {
    let Some(grpc) = plan.grpc.as_ref().filter(|grpc| grpc.asks_server()) else {
        return Ok(None);
    };
    let descriptors = descriptors(plan, grpc, routes, control).map_err(|error| match error {
        AskError::Run(error) => error,
        AskError::Unreachable(phase, reason) => {
            RunError::Unreachable { address: lookup.place(), phase, reason }
        }
        AskError::Told(reason) => RunError::Reflection { address: lookup.place(), reason },
    })?;
    let plan = plan.with_descriptors(descriptors);
    check(&plan)?;
    Ok(Some(plan))
}

/// Why a question was not answered.
#[derive(Debug)]
enum AskError {
    /// The plan can't be carried out anyhow.
    Run(RunError),
    /// No connection could be opened.
    Unreachable(Phase, String),
    /// One line.
    Told(String),
}

impl From<RunError> for AskError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<ReflectionError> for AskError {
    fn from(error: ReflectionError) -> Self {
        Self::Told(error.to_string())
    }
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        Self::Run(RunError::Driver(error))
    }
}

fn descriptors(
    plan: &Plan,
    grpc: &GrpcPlan,
    routes: &[Route],
    control: &Control,
) -> Result<Vec<u8>, AskError> {
    for version in Version::ALL {
        let found = of_version(plan, grpc, version, routes, control)?;
        if let Some(descriptors) = found {
            return Ok(descriptors);
        }
    }
    Err(AskError::Told("it has no reflection service: give --proto FILE".to_owned()))
}

/// What a version of the service says; `None`: the server has not that one.
fn of_version(
    plan: &Plan,
    grpc: &GrpcPlan,
    version: Version,
    routes: &[Route],
    control: &Control,
) -> Result<Option<Vec<u8>>, AskError> {
    let mut discovery = Discovery::new(&grpc.method)?;
    let question = assignment(plan, version, &discovery, routes)?;
    let choice = match plan.driver {
        DriverPlan::Auto => DriverChoice::Auto,
        DriverPlan::Uring => DriverChoice::Uring,
        DriverPlan::Epoll => DriverChoice::Epoll,
    };
    let (opened, _) = open(choice, &question.driver_options())?;
    let setup = setup(plan)?;
    let route = routes.first().expect("a lookup finds an address or fails");
    let settings = Http2::settings(&question);
    let asker = Asker { setup, route, timeout_ns: plan.timeout_ns, control };
    let ask = |discovery: &mut Discovery, line: &mut dyn Line| {
        for _ in 0..QUESTIONS_MAX {
            let question = assignment(plan, version, discovery, routes)?;
            let answer = line.ask(&asker, &question.prepared.target(0).encoding)?;
            if answer.code() == CODE_OF_UNIMPLEMENTED {
                return Ok(false);
            }
            if discovery.response(answer.message()?)? == Step::Whole {
                return Ok(true);
            }
        }
        Err(AskError::Told("it takes too many questions".to_owned()))
    };
    let connection = Connection::new(SOCKET, &settings);
    let scratch = Scratch::new(question.prepared.request_bytes_max());
    let is_whole = match opened {
        Opened::Uring(driver) => ask(&mut discovery, &mut Way { driver, connection, scratch }),
        Opened::Epoll(driver) => ask(&mut discovery, &mut Way { driver, connection, scratch }),
    }?;
    if !is_whole {
        return Ok(None);
    }
    Ok(Some(discovery.into_schema()?.descriptors()))
}

/// A run of the next question alone. All of them differ in their bodies only, so that the fields
/// that they share with the server's table are the same.
fn assignment(
    plan: &Plan,
    version: Version,
    discovery: &Discovery,
    routes: &[Route],
) -> Result<Assignment<Http2Request>, AskError> {
    let mut message = Vec::new();
    discovery.write_request(&mut message);
    let own = [("TE", "trailers"), ("Content-Type", "application/grpc"), ("Content-Length", "")];
    let own = own.map(|(name, value)| (name.to_owned(), value.into()));
    let is_own = |name: &str| own.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let metadata = plan.request.headers.iter().filter(|(name, _)| !is_own(name)).cloned();
    let headers = own.iter().cloned().chain(metadata).collect();
    let mut endpoint = plan.endpoint.clone();
    endpoint.path = version.path().into();
    let body = Some(Body::new(framed(&message)));
    let draft = Draft {
        request: Request { method: "POST".to_owned(), headers, body, ..Request::get() },
        transport: plan.transport.clone(),
        tls: plan.tls.clone(),
        http_version: HttpVersion::Http2,
        connections: 1,
        workers: 1,
        templates: false,
        ..Draft::new(endpoint)
    };
    let plan = draft.check().expect("it has less than a plan that was checked");
    Ok(Assignment::new(plan.into(), routes.into(), false, Spin::Off)?)
}

/// What is the same for all questions.
struct Asker<'a> {
    setup: Setup,
    route: &'a Route,
    timeout_ns: u64,
    control: &'a Control,
}

/// A connection on whichever driver there is.
trait Line {
    fn ask(&mut self, asker: &Asker<'_>, question: &Http2Request) -> Result<Answer, AskError>;
}

/// A connection and its driver.
struct Way<D> {
    driver: D,
    connection: Connection<Http2>,
    scratch: Scratch,
}

/// What came back.
#[derive(Debug, Default)]
struct Answer {
    call: Option<Call>,
    body: Vec<u8>,
    is_complete: bool,
    /// Why it will never be.
    given_up: Option<String>,
}

impl Answer {
    fn step(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Head(_, head) => self.call = Some(Call::of_head(head)),
            Progress::Body(_, piece) => {
                if let Some(call) = &mut self.call {
                    call.body(piece);
                }
                if self.body.len() + piece.len() <= ANSWER_BYTES_MAX {
                    self.body.extend_from_slice(piece);
                } else {
                    self.given_up = Some("an answer is too long: give --proto FILE".to_owned());
                }
            }
            Progress::Trailers(_, fields) => {
                if let Some(call) = &mut self.call {
                    call.trailers(fields);
                }
            }
            Progress::Complete(..) => self.is_complete = true,
            Progress::Refused(..) => self.given_up = Some("it refused the question".to_owned()),
            Progress::Reset(_, kind) => {
                self.given_up = Some(format!("it gave up the question ({kind})"));
            }
            Progress::Broken(_, error) => {
                self.given_up = Some(format!("its answer broke the rules of HTTP/2: {error}"));
            }
            _ => {}
        }
    }

    fn code(&self) -> u32 {
        self.call.as_ref().map_or(0, Call::code)
    }

    /// The one message of a call that succeeded.
    fn message(&self) -> Result<&[u8], AskError> {
        let told = |reason: String| Err(AskError::Told(reason));
        let fault = self.call.as_ref().and_then(|call| call.fault(plimsoll_grpc::Kind::Unary));
        match (fault, self.code(), messages(&self.body).next()) {
            (Some(fault), ..) => told(fault.to_string()),
            (None, 0, Some(message)) => Ok(message),
            (None, 0, None) => told("the answer cannot be read".to_owned()),
            (None, code, _) => told(format!("the status is {} ({code})", code_name(code))),
        }
    }
}

impl<D: Driver> Line for Way<D> {
    fn ask(&mut self, asker: &Asker<'_>, question: &Http2Request) -> Result<Answer, AskError> {
        let until_ns = self.driver.clock_ns().saturating_add(asker.timeout_ns);
        let mut answer = Answer::default();
        let mut is_asked = false;
        if self.connection.state() == State::Closed {
            self.connection.open(&mut self.driver, asker.route);
        }
        while !answer.is_complete {
            if !is_asked && self.connection.room() > 0 {
                self.send(question);
                is_asked = true;
            }
            let now_ns = self.driver.clock_ns();
            if now_ns >= until_ns {
                return Err(self.failed("it does not answer in time (--timeout)".to_owned()));
            }
            if asker.control.is_stopped() {
                return Err(AskError::Told("interrupted".to_owned()));
            }
            self.driver.wait(until_ns.min(now_ns.saturating_add(LOOK_NS)))?;
            while let Some((_, event)) = self.driver.next() {
                self.handle(event, asker, &mut answer)?;
            }
            if let Some(reason) = answer.given_up {
                return Err(AskError::Told(reason));
            }
        }
        Ok(answer)
    }
}

impl<D: Driver> Way<D> {
    fn send(&mut self, question: &Http2Request) {
        let message = Message::Compiled {
            encoding: question,
            payload: None,
            filling: Filling::default(),
            withholds_body: false,
        };
        let Self { driver, connection, scratch } = self;
        let sent = connection.send(driver, EXCHANGE, &message, scratch);
        sent.expect("a compiled request fits its protocol");
        connection.flush(driver, scratch);
    }

    fn handle(
        &mut self,
        event: Event,
        asker: &Asker<'_>,
        answer: &mut Answer,
    ) -> Result<(), AskError> {
        let Self { driver, connection, scratch } = self;
        let setup = &asker.setup;
        let taken: Result<(), Failure> = match event {
            Event::Connected(_) => {
                connection.connected(driver, setup, asker.route, false, scratch).map(drop)
            }
            Event::Received(received) => {
                let bytes = driver.bytes(&received);
                let taken = connection.receive(setup, false, scratch, bytes, |it| answer.step(it));
                driver.release(received);
                connection.flush(driver, scratch);
                taken
            }
            Event::Ended(_) => match connection.ended(|it| answer.step(it)) {
                Ok(()) if !answer.is_complete => Err(Failure::Closed),
                ended => ended,
            },
            Event::Failed { error, .. } => return Err(self.failed(error.to_string())),
            Event::Sent(_) | Event::SentPart(_) | Event::Woken | Event::Accepted { .. } => Ok(()),
        };
        taken.map_err(|failure| self.failed(failure.to_string()))
    }

    /// The connection is of no further use.
    fn failed(&mut self, reason: String) -> AskError {
        let phase = match self.connection.state() {
            State::Closed | State::Connecting => Some(Phase::Connect),
            State::Tunnelling | State::Handshaking => Some(Phase::Tls),
            State::Greeting => Some(Phase::Greeting),
            State::Open | State::Spent => None,
        };
        let _ = self.connection.close(&mut self.driver, Close::Reset).count();
        match phase {
            Some(phase) => AskError::Unreachable(phase, reason),
            None => AskError::Told(reason),
        }
    }
}
