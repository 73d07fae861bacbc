//! Load testers as programs: how each is called, by its own command line, and how its output is
//! read.
//!
//! Users write the command lines. The lab adds only what makes the figures readable, such as a file
//! for the JSON. A figure that a tester does not print is `None`.
//!
//! Plimsoll is one of the testers: it is called, pinned and watched like the others. Under k6's
//! command line (`plimsoll k6`) it is one more, whose output is read as k6's.

pub mod ab;
pub mod fortio;
pub mod hey;
mod k6;
mod length;
pub mod oha;
mod plimsoll;
mod reading;
pub mod sense;
#[cfg(test)]
mod sense_tests;
#[cfg(test)]
mod tests;
pub mod text;
mod wrk;

use std::fmt;
use std::str::FromStr;

pub(crate) use plimsoll::RESULT;
pub use reading::{Finished, Reading};

/// A load tester whose output can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tester {
    /// This program.
    Plimsoll,
    /// wrk 4.
    Wrk,
    /// wrk2 4.
    Wrk2,
    /// ApacheBench 2.3.
    Ab,
    /// fortio 1.x.
    Fortio,
    /// hey 0.1.
    Hey,
    /// oha 1.x.
    Oha,
    /// k6 1.x and 2.x.
    K6,
    /// This program, by k6's command line.
    PlimsollK6,
}

impl Tester {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Plimsoll,
        Self::Wrk,
        Self::Wrk2,
        Self::Ab,
        Self::Fortio,
        Self::Hey,
        Self::Oha,
        Self::K6,
        Self::PlimsollK6,
    ];

    /// Its name, by which suites call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll",
            Self::Wrk => "wrk",
            Self::Wrk2 => "wrk2",
            Self::Ab => "ab",
            Self::Fortio => "fortio",
            Self::Hey => "hey",
            Self::Oha => "oha",
            Self::K6 => "k6",
            Self::PlimsollK6 => "plimsoll-k6",
        }
    }

    /// Its program.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::PlimsollK6 => "plimsoll",
            other => other.name(),
        }
    }

    /// What stands before the arguments of the user.
    pub(crate) fn dialect(self) -> Option<&'static str> {
        (self == Self::PlimsollK6).then_some("k6")
    }

    /// Arguments that make it print its version; empty where it has none.
    #[must_use]
    pub fn version_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Plimsoll | Self::PlimsollK6 | Self::Oha => &["--version"],
            Self::Wrk | Self::Wrk2 => &["-v"],
            Self::Ab => &["-V"],
            Self::Fortio | Self::K6 => &["version"],
            Self::Hey => &[],
        }
    }

    /// The arguments it is called with for those of the user, so that its figures can be read out
    /// of what it prints and of its files in `{scratch}`.
    #[must_use]
    pub fn arguments(self, given: &[String]) -> Vec<String> {
        let has = |names: &[&str]| given.iter().any(|it| names.contains(&it.as_str()));
        let mut added: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| added.extend(words.iter().map(|&word| word.to_owned()));
        match self {
            Self::Plimsoll => add(plimsoll::ADDED),
            Self::Wrk | Self::Wrk2 if !has(&["--latency", "-L"]) => add(&["--latency"]),
            Self::Ab => add(&["-e", &format!("{{scratch}}/{}", ab::TABLE)]),
            Self::Fortio => {
                add(&["-quiet", "-json", "-"]);
                if !has(&["-p", "--p"]) {
                    add(&["-p", "50,75,90,95,99,99.9,99.99"]);
                }
            }
            Self::Oha => add(&["--no-tui", "--output-format", "json"]),
            Self::K6 | Self::PlimsollK6 => {
                add(&["--no-color", "--quiet", "--summary-export", k6::EXPORT]);
                if !given.iter().any(|it| it.starts_with("--summary-trend-stats")) {
                    add(&["--summary-trend-stats", "avg,min,med,max,p(90),p(95),p(99),p(99.9)"]);
                }
            }
            Self::Wrk | Self::Wrk2 | Self::Hey => {}
        }
        // After the subcommand where there is one: options behind the address are not taken by all.
        let subcommands = usize::from(self.has_subcommand()).min(given.len());
        let mut all = given.to_vec();
        all.splice(subcommands..subcommands, added);
        all.splice(0..0, self.dialect().map(str::to_owned));
        all
    }

    fn has_subcommand(self) -> bool {
        matches!(self, Self::Plimsoll | Self::Fortio | Self::K6 | Self::PlimsollK6)
    }

    /// What it said, without what cannot be. `lived_s` is how long its process was there, seconds.
    ///
    /// # Errors
    /// One line, when what it printed cannot be understood.
    pub fn read(self, run: &Finished, lived_s: f64) -> Result<Reading, String> {
        self.parse(run).map(|reading| sense::checked(reading, lived_s))
    }

    fn parse(self, run: &Finished) -> Result<Reading, String> {
        match self {
            Self::Plimsoll => plimsoll::read(run),
            Self::Wrk => wrk::read(run),
            Self::Wrk2 => wrk::read_wrk2(run),
            Self::Ab => ab::read(run),
            Self::Fortio => fortio::read(run),
            Self::Hey => hey::read(run),
            Self::Oha => oha::read(run),
            Self::K6 | Self::PlimsollK6 => k6::read(run),
        }
    }
}

impl fmt::Display for Tester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tester {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|tester| tester.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("tester: '{text}' is not one of {names}")
        })
    }
}
