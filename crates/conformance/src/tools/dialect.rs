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
    /// The last one in a text: a line of confidence and, behind it, a list of doubts.
    fn printed(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let name = |line: &str| {
            let word = line.strip_prefix("confidence: ")?.split(' ').next()?;
            ["valid", "suspect", "invalid"].into_iter().find(|name| *name == word)
        };
        let (at, name) =
            lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, name(line)?)))?;
        let mut causes: Vec<String> = Vec::new();
        let mut behind = lines[at + 1..].iter().skip_while(|line| !line.starts_with(DOUBTS));
        let first = behind.next().and_then(|line| line.strip_prefix(DOUBTS));
        let rest = behind.map_while(|line| line.strip_prefix(ROOM));
        for line in first.map(str::trim_start).into_iter().chain(rest) {
            match (line.strip_prefix("- "), line.strip_prefix("  "), causes.last_mut()) {
                (Some(item), ..) => causes.push(item.to_owned()),
                (None, Some(rest), Some(item)) => *item += &format!(" {rest}"),
                _ => break,
            }
        }
        Some(Self { name: name.to_owned(), causes })
    }
}

/// What stands before the list of doubts, and before each further line of it.
const DOUBTS: &str = "Doubts";
const ROOM: &str = "          ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_with_its_causes() {
        for (text, name, causes) in [
            ("All done\n1 000 responses/s\nconfidence: valid · all hold\n", "valid", &[][..]),
            ("confidence: valid · x\n  y\nNotes     - the CPU is slow\n", "valid", &[]),
            (
                "confidence: invalid · x\nDoubts    - sent late; give\n            it a CPU\n          \
                 - no CPU\n          what this means: x\n- x\n",
                "invalid",
                &["sent late; give it a CPU", "no CPU"],
            ),
            (
                "confidence: suspect · x\nDoubts    - a\nNotes     - b\n          what this means\n",
                "suspect",
                &["a"],
            ),
            ("confidence: valid · x\nconfidence: suspect · y\nDoubts    - b\n", "suspect", &["b"]),
        ] {
            let causes = causes.iter().map(|cause| (*cause).to_owned()).collect();
            let want = Verdict { name: name.to_owned(), causes };
            assert_eq!(Verdict::printed(text), Some(want), "{text}");
        }
        for text in ["", "confidence: validated · x", "a confidence: valid", "valid"] {
            assert_eq!(Verdict::printed(text), None, "{text}");
        }
    }
}
