//! What is sent: every target is compiled before the run, so that a request needs no parsing and no
//! allocation, only appending bytes to a buffer.
//!
//! The target of request `number`, and its bytes, are functions of the plan and the number alone.
//! Every worker can compute them, and the number of workers changes nothing.

mod choice;
mod compile;
mod error;
mod framing;
mod script;
mod step;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use plimsoll_conn::Encoding;
use plimsoll_core::Plan;
use plimsoll_core::part::Place;
use plimsoll_core::plan::{self, Target};
use plimsoll_core::template::Template;

use choice::Choice;
use compile::Writer;

pub use error::{Problem, SourceError};
pub use script::Script;
pub use step::{Answer, Interest, Reply, Request, Sample, Source, Step, Targets, Written};

/// The largest request, so that a payload's length fits its type.
const REQUEST_BYTES_MAX: usize = 1 << 30;

/// Names beyond these are one part of the result, called [`OTHERS`].
const NAMES_MAX: usize = 100;

const OTHERS: &str = "others";

/// One of the requests of a run, in a protocol's form.
#[derive(Debug)]
pub struct PreparedTarget<E> {
    /// The number of its name among the run's endpoints; `Place::NONE` when they are not told
    /// apart.
    pub endpoint: u16,
    /// Its path and query.
    pub path: Template,
    /// Whether `100 Continue` is to be waited for between head and body.
    pub expects_continue: bool,
    /// The request itself.
    pub encoding: E,
}

/// Everything that a run sends, ready to be sent.
#[derive(Debug)]
pub struct Prepared<E: Encoding> {
    targets: Vec<PreparedTarget<E>>,
    endpoint_names: Vec<String>,
    choice: Arc<Choice>,
    shared: E::Shared,
    script: Option<Script>,
}

impl<E: Encoding> Prepared<E> {
    /// Compiles the plan's targets or, without any, its one request.
    ///
    /// # Errors
    /// The first target that cannot be sent as it was meant, and why.
    pub fn new(plan: &Plan) -> Result<Self, SourceError> {
        let mut writer = Writer::new(plan).map_err(SourceError::Request)?;
        let mut shared = E::Shared::default();
        if plan.targets.is_empty() {
            let path = plan.endpoint.path.reveal();
            let target = prepare(&mut writer, &mut shared, &plan.request, path)
                .map_err(SourceError::Request)?;
            let choice = Arc::new(Choice::Sequential(1));
            let (targets, endpoint_names) = (vec![target], Vec::new());
            let script = writer.script();
            return Ok(Self { targets, endpoint_names, choice, shared, script });
        }
        let (endpoint_names, endpoints) = endpoints(&plan.targets);
        let targets = plan.targets.iter().zip(endpoints).map(|(target, endpoint)| {
            let path = target.path.reveal();
            let prepared = prepare(&mut writer, &mut shared, &target.request, path);
            prepared.map(|prepared| PreparedTarget { endpoint, ..prepared }).map_err(|problem| {
                let (name, problem) = (target.name.clone(), Box::new(problem));
                SourceError::Target { name, problem }
            })
        });
        let targets = targets.collect::<Result<_, _>>()?;
        let choice = Arc::new(Choice::new(plan)?);
        Ok(Self { targets, endpoint_names, choice, shared, script: None })
    }

    /// The one request that the caller has written, sent as it is each time.
    #[must_use]
    pub fn of_written(bytes: &[u8]) -> Self {
        let target = PreparedTarget {
            endpoint: Place::NONE,
            path: Template::default(),
            expects_continue: false,
            encoding: E::of_written(bytes),
        };
        Self {
            targets: vec![target],
            endpoint_names: Vec::new(),
            choice: Arc::new(Choice::Sequential(1)),
            shared: E::Shared::default(),
            script: None,
        }
    }

    /// Which target request `number` takes.
    #[inline]
    #[must_use]
    pub fn choose(&self, number: u64) -> u32 {
        self.choice.choose(number)
    }

    /// What a plain run sends.
    #[must_use]
    pub fn source(&self) -> Targets {
        Targets::new(Arc::clone(&self.choice))
    }

    /// A target by what [`choose`](Self::choose) said.
    ///
    /// # Panics
    /// When there is no such target.
    #[inline]
    #[must_use]
    pub fn target(&self, target: u32) -> &PreparedTarget<E> {
        &self.targets[target as usize]
    }

    /// The parts of the result that a target's request belongs to, before it has a connection.
    #[inline]
    #[must_use]
    pub fn place(&self, target: u32, stage: u16) -> Place {
        Place { endpoint: self.target(target).endpoint, stage, ..Place::NOWHERE }
    }

    /// All targets, in the plan's order.
    #[must_use]
    pub fn targets(&self) -> &[PreparedTarget<E>] {
        &self.targets
    }

    /// How the messages of a call go, where gRPC is spoken.
    #[must_use]
    pub fn script(&self) -> Option<Script> {
        self.script
    }

    /// What the requests have in common.
    #[must_use]
    pub fn shared(&self) -> &E::Shared {
        &self.shared
    }

    /// The names that [`PreparedTarget::endpoint`] numbers; none when the plan has no targets.
    #[must_use]
    pub fn endpoint_names(&self) -> &[String] {
        &self.endpoint_names
    }

    /// The most bytes a request takes, cookies and redirects left out: what a buffer needs so that
    /// filling it never allocates.
    #[must_use]
    pub fn request_bytes_max(&self) -> usize {
        self.targets.iter().map(|target| target.encoding.bytes_max()).max().unwrap_or(0)
    }
}

/// Compiles a request for a path, and encodes it; it belongs to no endpoint yet.
fn prepare<E: Encoding>(
    writer: &mut Writer<'_>,
    shared: &mut E::Shared,
    request: &plan::Request,
    path: &str,
) -> Result<PreparedTarget<E>, Problem> {
    let compiled = writer.request(request, path)?;
    let path = compiled.path.clone();
    let encoding = E::of(compiled, shared)?;
    let expects_continue = request.expect_continue && request.body.is_some();
    match encoding.bytes_max() {
        bytes if bytes > REQUEST_BYTES_MAX => Err(Problem::TooLarge(bytes)),
        _ => {
            let endpoint = Place::NONE;
            Ok(PreparedTarget { endpoint, path, expects_continue, encoding })
        }
    }
}

/// The distinct names, and the number of each target's.
fn endpoints(targets: &[Target]) -> (Vec<String>, Vec<u16>) {
    let mut names: Vec<String> = Vec::new();
    let mut numbers: HashMap<&str, u16> = HashMap::new();
    let of = targets.iter().map(|target| {
        *numbers.entry(&target.name).or_insert_with(|| {
            if names.len() < NAMES_MAX {
                names.push(target.name.clone());
            } else if names.len() == NAMES_MAX {
                names.push(OTHERS.to_owned());
            }
            (names.len() - 1) as u16
        })
    });
    let of = of.collect();
    (names, of)
}
