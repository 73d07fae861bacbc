//! What is sent: every target is compiled before the run, so that a request needs no parsing and no
//! allocation, only appending bytes to a buffer.
//!
//! The target of request `number`, and its bytes, are functions of the plan and the number alone.
//! Every worker can compute them, and the number of workers changes nothing.

mod choice;
mod compile;
mod error;
mod target;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use plimsoll_core::Plan;
use plimsoll_core::part::Place;
use plimsoll_core::plan::Target;

use choice::Choice;
use compile::Writer;

pub use error::{Problem, SourceError};
pub use target::PreparedTarget;

/// Names beyond these are one part of the result, called [`OTHERS`].
const NAMES_MAX: usize = 100;

const OTHERS: &str = "others";

/// Everything that a run sends, ready to be sent.
#[derive(Debug)]
pub struct Prepared {
    targets: Vec<PreparedTarget>,
    endpoint_names: Vec<String>,
    choice: Choice,
}

impl Prepared {
    /// Compiles the plan's targets or, without any, its one request.
    ///
    /// # Errors
    /// The first target that cannot be sent as it was meant, and why.
    pub fn new(plan: &Plan) -> Result<Self, SourceError> {
        let mut writer = Writer::new(plan);
        if plan.targets.is_empty() {
            let target = writer
                .target(&plan.request, plan.endpoint.path.reveal(), Place::NONE)
                .map_err(SourceError::Request)?;
            let choice = Choice::Sequential(1);
            return Ok(Self { targets: vec![target], endpoint_names: Vec::new(), choice });
        }
        let (endpoint_names, endpoints) = endpoints(&plan.targets);
        let targets = plan.targets.iter().zip(endpoints).map(|(target, endpoint)| {
            writer.target(&target.request, target.path.reveal(), endpoint).map_err(|problem| {
                SourceError::Target { name: target.name.clone(), problem: Box::new(problem) }
            })
        });
        Ok(Self {
            targets: targets.collect::<Result<_, _>>()?,
            endpoint_names,
            choice: Choice::new(plan)?,
        })
    }

    /// The one request that the caller has written, sent as it is each time.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let targets = vec![PreparedTarget::of_bytes(bytes)];
        Self { targets, endpoint_names: Vec::new(), choice: Choice::Sequential(1) }
    }

    /// Which target request `number` takes.
    #[inline]
    #[must_use]
    pub fn choose(&self, number: u64) -> u32 {
        self.choice.choose(number)
    }

    /// A target by what [`choose`](Self::choose) said.
    ///
    /// # Panics
    /// When there is no such target.
    #[inline]
    #[must_use]
    pub fn target(&self, target: u32) -> &PreparedTarget {
        &self.targets[target as usize]
    }

    /// All targets, in the plan's order.
    #[must_use]
    pub fn targets(&self) -> &[PreparedTarget] {
        &self.targets
    }

    /// The names that [`PreparedTarget::endpoint`] numbers; none when the plan has no targets.
    #[must_use]
    pub fn endpoint_names(&self) -> &[String] {
        &self.endpoint_names
    }

    /// The most bytes a request takes, extra headers left out: what a buffer needs so that filling
    /// it never allocates.
    #[must_use]
    pub fn request_bytes_max(&self) -> usize {
        self.targets.iter().map(PreparedTarget::bytes_max).max().unwrap_or(0)
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
