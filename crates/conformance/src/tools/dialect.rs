//! Plimsoll under another tester's command line: `plimsoll k6` and `plimsoll fortio`.
//!
//! Each is called with what the other tester is called with, behind the command that says whose
//! line it is, and its output is read as the other's. So the two columns of a table differ in the
//! program alone. What Plimsoll prints beyond the other tester's output is text like any other: it
//! counts where the one rule for words ([`crate::doubts`]) reads it.
//!
//! Absent on purpose: wrk, wrk2 and ab. Their commands run what `plimsoll run` runs, whose adapter
//! judges the whole result.

use super::{fortio::Fortio, k6::K6};
use crate::tool::{Ask, Call, Finished, Further, Http2Over, Reading, TesterAdapter};

/// Plimsoll as a tester that has another's command line and output.
pub(super) struct Dialect<T> {
    other: T,
    name: &'static str,
}

/// `plimsoll k6`.
pub(super) const PLIMSOLL_K6: Dialect<K6> = Dialect { other: K6, name: "plimsoll-k6" };

/// `plimsoll fortio`.
pub(super) const PLIMSOLL_FORTIO: Dialect<Fortio> =
    Dialect { other: Fortio, name: "plimsoll-fortio" };

impl<T: TesterAdapter> TesterAdapter for Dialect<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn program(&self) -> &'static str {
        "plimsoll"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn http2(&self) -> Option<Http2Over> {
        self.other.http2()
    }

    fn call(&self, ask: &Ask) -> Call {
        match self.other.call(ask) {
            Call::Command { mut arguments, files } => {
                arguments.insert(0, self.other.name().to_owned());
                Call::Command { arguments, files }
            }
            refusal @ Call::CannotExpress(_) => refusal,
        }
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        self.other.read(run)
    }

    fn further(&self, run: &Finished, reading: &Reading) -> Further {
        self.other.further(run, reading)
    }
}
