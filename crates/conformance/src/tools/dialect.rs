//! Plimsoll under another tester's command line: `plimsoll k6` and `plimsoll fortio`.
//!
//! Each is called with what the other tester is called with, behind the command that says whose
//! line it is, and its output is read as the other's. So the two columns of a table differ in the
//! program alone. Where Plimsoll prints its verdict behind that, it is read as well: a tester that
//! judges its own figures is taken by its verdict, and not by words in its text.
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
        let mut reading = self.other.read(run)?;
        if let Some(Verdict { name, causes }) = Verdict::printed(&run.stderr) {
            reading.verdict = Some(name);
            reading.causes.extend(causes);
        }
        Ok(reading)
    }

    fn further(&self, run: &Finished, reading: &Reading) -> Further {
        self.other.further(run, reading)
    }
}

/// What Plimsoll thinks of its figures.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    /// `valid`, `suspect` or `invalid`.
    name: String,
    /// Why, without notes.
    causes: Vec<String>,
}

impl Verdict {
    /// The last one in a text: a line that begins with its name, and a list of causes.
    fn printed(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let name = |line: &str| {
            let word = line.split([' ', ',']).next().unwrap_or_default();
            ["VALID", "SUSPECT", "INVALID"].into_iter().find(|name| *name == word)
        };
        let (at, name) =
            lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, name(line)?)))?;
        let mut causes: Vec<String> = Vec::new();
        for line in &lines[at + 1..] {
            match (line.strip_prefix("- "), line.strip_prefix("  "), causes.last_mut()) {
                (Some(item), ..) => causes.push(item.to_owned()),
                (None, Some(rest), _) if rest.starts_with("what this means:") => break,
                (None, Some(rest), Some(item)) => *item += &format!(" {rest}"),
                _ => break,
            }
        }
        causes.retain(|cause| !cause.starts_with("note:"));
        Some(Self { name: name.to_lowercase(), causes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_with_its_causes() {
        for (text, name, causes) in [
            ("All done\nVALID · the schedule was kept\n", "valid", &[][..]),
            ("VALID · kept\n- note: the CPU is slow\n  today\n", "valid", &[]),
            (
                "INVALID · not the server's\n- sent late; give\n  it a CPU\n- no CPU\n  what this means: x\n- x\n",
                "invalid",
                &["sent late; give it a CPU", "no CPU"],
            ),
            ("SUSPECT, 1 OF 2 GATES FAILED\n- a\n", "suspect", &["a"]),
            ("VALID · before\nSUSPECT · after\n- b\n", "suspect", &["b"]),
        ] {
            let causes = causes.iter().map(|cause| (*cause).to_owned()).collect();
            let want = Verdict { name: name.to_owned(), causes };
            assert_eq!(Verdict::printed(text), Some(want), "{text}");
        }
        for text in ["", "VALIDATED · x", "a VALID · x", "INFO INVALID"] {
            assert_eq!(Verdict::printed(text), None, "{text}");
        }
    }
}
