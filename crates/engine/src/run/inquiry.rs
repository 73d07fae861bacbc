//! One connection that carries requests one after the other, each with its whole answer: for what
//! is asked of a server beside a load, such as its schema before one, or a page that a user wants
//! to see.
//!
//! The connection goes the plan's own way, with its name, tunnel, handshake and metadata. Nothing
//! is measured here but the time that an answer took, and answers have a limit.

use std::io;

use plimsoll_conn::grpc::{Call, code_name, messages};
use plimsoll_conn::{
    Connection, ExchangeId, Failure, Filling, Http1, Http2, Message, Progress, Scratch, Setup,
    State,
};
use plimsoll_core::plan::{DriverPlan, Spin};
use plimsoll_core::{Phase, Plan};
use plimsoll_io::select::{DriverChoice, Opened, open};
use plimsoll_io::{Close, Driver, Event, Route, SocketId};

use super::agreed;
use crate::control::Control;
use crate::error::RunError;
use crate::lookup::Lookup;
use crate::setup::setup;
use crate::spoken::{Spoken, Version};
use crate::worker::Assignment;

const SOCKET: SocketId = SocketId(0);
const EXCHANGE: ExchangeId = ExchangeId(0);
/// The longest answer.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// How long to go without a look at whether the run was stopped.
const LOOK_NS: u64 = 100_000_000;

/// Why a question was not answered.
#[derive(Debug)]
pub(super) enum AskError {
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

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        Self::Run(RunError::Driver(error))
    }
}

/// What came back.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status of the response.
    pub status: u16,
    /// Its head: the first line, if the protocol has one, and a line for each field.
    pub head: Vec<u8>,
    /// Its body, framing left out.
    pub body: Vec<u8>,
    /// What the connection received while it was waited for; encrypted where it is so.
    pub received: Vec<u8>,
    /// What it came to as a call of gRPC.
    pub call: Option<Call>,
    /// When it was sent and when it was whole, ns on the driver's clock.
    pub sent_ns: u64,
    /// ns on the driver's clock.
    pub whole_ns: u64,
    is_complete: bool,
    /// Why it will never be.
    given_up: Option<String>,
}

/// A connection to a plan's server that is asked one thing after the other.
pub struct Inquiry {
    line: Box<dyn AnyLine>,
    setup: Setup,
    lookup: Lookup,
    routes: Vec<Route>,
    timeout_ns: u64,
}

impl Inquiry {
    /// A connection of the plan, which is opened with the first question. The plan says that there
    /// is one worker.
    ///
    /// # Errors
    /// A name without an address, and whatever keeps the plan from being carried out.
    pub fn new(plan: &Plan, control: &Control) -> Result<Self, RunError> {
        let lookup = Lookup::of(plan);
        let addresses = lookup.addresses()?;
        let routes = lookup.routes(&addresses)?;
        let line: Box<dyn AnyLine> = match agreed(plan, &lookup, &routes, control)? {
            Version::Http2 => line::<Http2>(plan, &routes)?,
            Version::Http1 | Version::WebSocket | Version::Echo => line::<Http1>(plan, &routes)?,
        };
        Ok(Self { line, setup: setup(plan)?, lookup, routes, timeout_ns: plan.timeout_ns })
    }

    /// Asks with the request of a plan, whose server is that of the first one.
    ///
    /// # Errors
    /// Without a whole answer.
    pub fn ask(&mut self, plan: &Plan, control: &Control) -> Result<Answer, RunError> {
        let Self { line, setup, lookup, routes, timeout_ns } = self;
        let route = routes.first().expect("a lookup finds an address or fails");
        let asker = Asker { setup: setup.clone(), route, timeout_ns: *timeout_ns, control };
        line.ask_plan(&asker, plan, routes).map_err(|error| match error {
            AskError::Run(error) => error,
            AskError::Unreachable(phase, reason) => {
                RunError::Unreachable { address: lookup.place(), phase, reason }
            }
            AskError::Told(reason) => RunError::Unanswered { address: lookup.place(), reason },
        })
    }
}

/// A connection whose protocol is not known here.
pub(super) trait AnyLine {
    fn ask_plan(
        &mut self,
        asker: &Asker<'_>,
        plan: &Plan,
        routes: &[Route],
    ) -> Result<Answer, AskError>;
}

impl<D: Driver, P: Spoken> AnyLine for Way<D, P> {
    fn ask_plan(
        &mut self,
        asker: &Asker<'_>,
        plan: &Plan,
        routes: &[Route],
    ) -> Result<Answer, AskError> {
        let question =
            Assignment::<P::Encoding>::new(plan.clone().into(), routes.into(), false, Spin::Off)?;
        self.scratch = Scratch::new(question.prepared.request_bytes_max());
        self.ask(asker, &question.prepared.target(0).encoding)
    }
}

pub(super) fn line<P: Spoken>(plan: &Plan, routes: &[Route]) -> Result<Box<dyn AnyLine>, RunError> {
    let question =
        Assignment::<P::Encoding>::new(plan.clone().into(), routes.into(), false, Spin::Off)?;
    let (opened, _) =
        open(choice(plan.driver), &question.driver_options()).map_err(RunError::Driver)?;
    Ok(match opened {
        Opened::Uring(driver) => Box::new(Way::<_, P>::new(driver, &question)),
        Opened::Epoll(driver) => Box::new(Way::<_, P>::new(driver, &question)),
    })
}

/// The driver that a plan asks for.
pub(super) fn choice(driver: DriverPlan) -> DriverChoice {
    match driver {
        DriverPlan::Auto => DriverChoice::Auto,
        DriverPlan::Uring => DriverChoice::Uring,
        DriverPlan::Epoll => DriverChoice::Epoll,
    }
}

/// What is the same for all questions.
pub(super) struct Asker<'a> {
    pub(super) setup: Setup,
    pub(super) route: &'a Route,
    pub(super) timeout_ns: u64,
    pub(super) control: &'a Control,
}

/// A connection and its driver.
struct Way<D, P: Spoken> {
    driver: D,
    connection: Connection<P>,
    scratch: Scratch,
}

impl Answer {
    fn step(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Head(_, head) => {
                self.status = head.status;
                self.head = head.lines().to_vec();
                self.call = Some(Call::of_head(head));
            }
            Progress::Body(_, piece) => {
                if let Some(call) = &mut self.call {
                    call.body(piece);
                }
                if self.body.len() + piece.len() <= ANSWER_BYTES_MAX {
                    self.body.extend_from_slice(piece);
                } else {
                    self.given_up = Some("its answer is longer than 64 MiB".to_owned());
                }
            }
            Progress::Trailers(_, fields) => {
                if let Some(call) = &mut self.call {
                    call.trailers(fields);
                }
            }
            Progress::Complete(..) => self.is_complete = true,
            Progress::Refused(..) => self.given_up = Some("it refused the request".to_owned()),
            Progress::Reset(_, kind) => {
                self.given_up = Some(format!("it gave up the request ({kind})"));
            }
            Progress::Broken(_, error) => {
                self.given_up = Some(format!("its answer broke the rules of HTTP/2: {error}"));
            }
            _ => {}
        }
    }

    /// The code of a call of gRPC.
    pub(super) fn code(&self) -> u32 {
        self.call.as_ref().map_or(0, Call::code)
    }

    /// The one message of a call of gRPC that succeeded.
    ///
    /// # Errors
    /// Why no answer came, in one line.
    pub fn message(&self) -> Result<&[u8], String> {
        let fault = self.call.as_ref().and_then(|call| call.fault(plimsoll_grpc::Kind::Unary));
        match (fault, self.code(), messages(&self.body).next()) {
            (Some(fault), ..) => Err(fault.to_string()),
            (None, 0, Some(message)) => Ok(message),
            (None, 0, None) => Err("the answer cannot be read".to_owned()),
            (None, code, _) => Err(format!("the status is {} ({code})", code_name(code))),
        }
    }
}

impl<D: Driver, P: Spoken> Way<D, P> {
    fn new(driver: D, question: &Assignment<P::Encoding>) -> Self {
        Self {
            driver,
            connection: Connection::new(SOCKET, &P::settings(question)),
            scratch: Scratch::new(question.prepared.request_bytes_max()),
        }
    }

    fn ask(&mut self, asker: &Asker<'_>, question: &P::Encoding) -> Result<Answer, AskError> {
        let until_ns = self.driver.clock_ns().saturating_add(asker.timeout_ns);
        let mut answer = Answer::default();
        let mut is_asked = false;
        if self.connection.state() == State::Closed {
            self.connection.open(&mut self.driver, asker.route);
        }
        while !answer.is_complete {
            if !is_asked && self.connection.room() > 0 {
                answer.sent_ns = self.driver.clock_ns();
                self.send(question);
                is_asked = true;
            }
            let now_ns = self.driver.clock_ns();
            if now_ns >= until_ns {
                return Err(self.failed("it does not answer in time".to_owned()));
            }
            if asker.control.is_stopped() {
                return Err(AskError::Told("interrupted".to_owned()));
            }
            self.driver.wait(until_ns.min(now_ns.saturating_add(LOOK_NS)))?;
            while let Some((at_ns, event)) = self.driver.next() {
                self.handle(event, asker, &mut answer)?;
                answer.whole_ns = at_ns;
            }
            if let Some(reason) = answer.given_up {
                return Err(AskError::Told(reason));
            }
        }
        Ok(answer)
    }

    fn send(&mut self, question: &P::Encoding) {
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
                if answer.received.len() + bytes.len() <= ANSWER_BYTES_MAX {
                    answer.received.extend_from_slice(bytes);
                }
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
        match taken {
            // The answer is there, whatever becomes of the connection behind it.
            Err(_) if answer.is_complete => {
                let _ = self.connection.close(&mut self.driver, Close::Reset).count();
                Ok(())
            }
            taken => taken.map_err(|failure| self.failed(failure.to_string())),
        }
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
