//! Why flags make no plan, and the words in which each front says so.

use clap::{Arg, Command};
use plimsoll_core::plan::error::{Keys, Message};
use plimsoll_core::plan::{Field, PlanError, PlanErrors, Words};
use plimsoll_engine::RunError;

use crate::args::{key, run_definition};
use crate::exit::Exit;

/// Why flags make no plan.
#[derive(Debug)]
pub(crate) enum Fault {
    /// What they say cannot be carried out.
    Plan(PlanErrors),
    /// A file that one of them names cannot be read: one line.
    File(Field, String),
    /// The engine cannot make it ready.
    Engine(RunError),
}

impl From<PlanErrors> for Fault {
    fn from(errors: PlanErrors) -> Self {
        Self::Plan(errors)
    }
}

impl From<PlanError> for Fault {
    fn from(error: PlanError) -> Self {
        Self::Plan(error.into())
    }
}

impl From<RunError> for Fault {
    fn from(error: RunError) -> Self {
        Self::Engine(error)
    }
}

impl Fault {
    /// A fault of a field, in a line that says what to do as well.
    pub(crate) fn of(field: Field, line: impl Into<Message>) -> Self {
        PlanError::new(field, line, "").into()
    }

    /// The field that is wrong, and then those that have to do with it.
    pub(crate) fn fields(&self) -> Vec<Field> {
        match self {
            Self::Plan(errors) => errors.first().fields().collect(),
            Self::File(field, _) => vec![*field],
            Self::Engine(error) => error.field().into_iter().collect(),
        }
    }

    /// The same in the words of a front.
    pub(crate) fn told(self, words: &dyn Words) -> Exit {
        match self {
            Self::Plan(errors) => Exit::Usage(errors.first().told(words)),
            Self::File(_, text) => Exit::CouldNotRun(text),
            Self::Engine(error) => crate::run::explain(error.into()),
        }
    }
}

/// In the words of the command line.
impl From<Fault> for Exit {
    fn from(fault: Fault) -> Self {
        fault.told(&Flags::new(&run_definition()))
    }
}

/// Fields as flags: `-c 5`, `--pipeline 0`.
pub(crate) struct Flags<'d>(&'d Command);

impl<'d> Flags<'d> {
    /// As the definition of `run` writes them.
    pub(crate) fn new(definition: &'d Command) -> Self {
        Self(definition)
    }
}

impl Words for Flags<'_> {
    fn name(&self, field: Field) -> String {
        let arg = arg_of(field, self.0);
        match (arg.and_then(Arg::get_short), arg.and_then(Arg::get_long)) {
            (Some(short), _) => format!("-{short}"),
            (None, Some(long)) => format!("--{long}"),
            (None, None) => Keys.name(field),
        }
    }

    fn given(&self, field: Field, value: &str) -> String {
        format!("{} {value}", self.name(field))
    }
}

/// The flag that sets a field.
pub(crate) fn arg_of(field: Field, definition: &Command) -> Option<&Arg> {
    definition.get_arguments().find(|arg| key(arg) == field.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_a_flag_of_run() {
        let definition = run_definition();
        for field in Field::ALL {
            assert!(arg_of(*field, &definition).is_some(), "{field} is set by no flag");
        }
        let flags = Flags::new(&definition);
        assert_eq!(flags.given(Field::Connections, "5"), "-c 5");
        assert_eq!(flags.name(Field::ConnLifetime), "--conn-lifetime");
    }
}
