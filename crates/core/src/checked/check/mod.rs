//! What is refused: numbers that contradict each other, fields that mean nothing together,
//! conditions that cannot be measured, and lengths without an end.
//!
//! Each rule is a function that says what is wrong. All of them are asked, so that a form can show
//! every mistake at once; a command line shows the first. What needs a parser of the protocol, of
//! certificates or of regular expressions is checked where those are, by the engine.

mod echo;
mod grpc;
mod http2;
mod limits;
mod load;
mod request;
#[cfg(test)]
mod tests;
mod websocket;

use crate::gate::{Condition, GateError};
use crate::metric::Declared;
use crate::plan::error::given;
use crate::plan::places::Held;
use crate::plan::{Draft, Field, PlanError, PlanErrors};
use crate::secret::holds_mask;

pub(super) use limits::THREADS_MAX;
pub use request::key_without_cert;

/// Rules about a draft, the first to be told first.
const RULES: [fn(&Draft, &mut Vec<PlanError>); 9] = [
    limits::check,
    load::check,
    request::check,
    request::check_script,
    request::check_files,
    http2::check,
    grpc::check,
    websocket::check,
    echo::check,
];

/// Checks a draft, and reads its conditions to end the run. They may name the metrics that its
/// source of work has declared.
pub(super) fn check(
    mut draft: Draft,
    declared: &[Declared],
) -> Result<(Draft, Vec<Condition>), PlanErrors> {
    let mut errors = Vec::new();
    load::part_connections(&mut draft);
    for rule in RULES {
        rule(&draft, &mut errors);
    }
    // What is about other fields is measured on fields that are right.
    let conditions =
        if errors.is_empty() { conditions(&draft, declared, &mut errors) } else { Vec::new() };
    check_masks(&mut draft, &mut errors);
    match PlanErrors::of(errors) {
        Some(errors) => Err(errors),
        None => Ok((draft, conditions)),
    }
}

/// Reads the conditions to end the run, and checks those on the result.
fn conditions(draft: &Draft, declared: &[Declared], errors: &mut Vec<PlanError>) -> Vec<Condition> {
    let fault = |field, error: GateError| PlanError::new(field, error.to_string(), "");
    for text in &draft.gates {
        let read = Condition::parse(text, declared).and_then(|condition| condition.check(draft));
        errors.extend(read.err().map(|error| fault(Field::Gate, error)));
    }
    let mut conditions = Vec::new();
    for text in &draft.abort_when {
        let read = Condition::parse_abort(text, declared);
        match read.and_then(|condition| condition.check(draft).map(|()| condition)) {
            Ok(condition) => conditions.push(condition),
            Err(error) => errors.push(fault(Field::AbortWhen, error)),
        }
    }
    conditions
}

/// Refuses masks where there were secrets: they would be sent.
fn check_masks(draft: &mut Draft, errors: &mut Vec<PlanError>) {
    let mut masked = None;
    draft.each_place(&mut |place, held| {
        let Held::Text(text) = held else { return };
        if masked.is_none() && holds_mask(text.reveal()) {
            masked = Some(place.field());
        }
    });
    errors.extend(masked.map(|field| {
        let problem = "this plan was printed without its secrets";
        let advice = "put them in place of [masked:..], or print it with --show-secrets";
        PlanError::new(field, problem, advice)
    }));
}

/// A field whose value is 0, which leaves nothing to do.
fn zero(field: Field, means: &str, advice: &str) -> PlanError {
    PlanError::new(field, given(field, 0) + " " + means, advice)
}
