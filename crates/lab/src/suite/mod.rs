//! A suite: which servers, under which loads, how often, in the terms of a TOML file.
//!
//! Everything that can be wrong with the file is reported here, before anything starts.
//! `docs/lab.md` describes the grammar.

mod check;
mod cpus;
mod fill;
mod kept;
mod lines;
mod read;
mod searches;
mod shown;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_core::study::Column;

pub use cpus::Cpus;
pub use fill::{Names, Unfilled};
pub use lines::line_of_key;
pub use read::{LOAD_KEYS, REPEATS_MAX, SuiteError, read};
pub use searches::{SEARCH_KEYS, run_of_search};

pub(crate) use check::PORTS;
pub(crate) use kept::kept;
pub(crate) use shown::plan_shown;

use crate::testers::Tester;

/// Servers and loads, checked.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name; letters, digits, `-`, `_` and `.`, because it is part of file names.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What is measured and why.
    pub description: String,
    /// The folder of the suite's file.
    pub directory: PathBuf,
    /// How often each case is carried out; at least 1.
    pub repeats: u32,
    /// What the order of the cases is drawn from.
    pub seed: u64,
    /// Load of the same server before each measured one, ns; 0 for none.
    pub warmup_ns: u64,
    /// Pause after each case, ns.
    pub cooldown_ns: u64,
    /// The CPUs that testers are tied to.
    pub tester_cpus: Option<Cpus>,
    /// The server that the others are compared with.
    pub baseline: Option<String>,
    /// What tables show.
    pub columns: Vec<Column>,
    /// What is measured.
    pub servers: Vec<Server>,
    /// What runs beside servers that name it.
    pub services: Vec<Server>,
    /// What they are measured with.
    pub loads: Vec<Load>,
    /// Cases that are left out.
    pub excludes: Vec<Exclude>,
}

/// A program that serves, and how to start, check and stop it.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name; as the suite's.
    pub name: String,
    /// Programs that it and its build need.
    pub requires: Vec<String>,
    /// The command that prints its version, for a shell.
    pub version: Option<String>,
    /// The folder in which its commands are run.
    pub directory: PathBuf,
    /// Commands that make it, for a shell.
    pub build: Vec<String>,
    /// Files to make from templates before it is started: where to, and from which.
    pub files: BTreeMap<String, String>,
    /// The command that starts it: program and arguments.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// When it is ready.
    pub ready: Readiness,
    /// How long that may take, ns.
    pub ready_timeout_ns: u64,
    /// The signal that stops it.
    pub stop: Stop,
    /// How long it may take to stop before it is killed, ns.
    pub stop_timeout_ns: u64,
    /// `http` or `https`.
    pub scheme: String,
    /// Which version of HTTP it is asked in whether it answers, as `run --http` takes it.
    pub http: String,
    /// What loads ask for.
    pub path: String,
    /// What its answers have to be like, as `run --expect` takes it.
    pub expect: Vec<String>,
    /// Services that run beside it, started before it.
    pub with: Vec<String>,
    /// The CPUs it is tied to.
    pub cpus: Option<Cpus>,
}

/// How one learns that a server can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Its port takes connections.
    Port,
    /// It answers this path with this status.
    Http {
        /// The path.
        path: String,
        /// The status.
        status: u16,
    },
}

/// A signal to stop with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// SIGTERM.
    Term,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGKILL.
    Kill,
}

/// A way of loading servers.
#[derive(Debug, Clone)]
pub struct Load {
    /// Its name; as the suite's.
    pub name: String,
    /// The line of the suite that it begins in, from 1.
    pub line: usize,
    /// Who makes it.
    pub tester: Tester,
    /// What it is.
    pub kind: Kind,
    /// How it is called.
    pub call: LoadCall,
    /// How long a run may take before it is ended and counts as failed, ns.
    pub limit_ns: u64,
    /// The CPUs it is tied to.
    pub cpus: Option<Cpus>,
}

/// What a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A run.
    Run,
    /// A search for the load line, which only Plimsoll makes.
    Find,
}

impl Kind {
    /// Its name, which is also that of Plimsoll's command for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Find => "find",
        }
    }
}

/// How a tester is called.
#[derive(Debug, Clone)]
pub enum LoadCall {
    /// With these arguments, `{url}` in one of them.
    Arguments(Vec<String>),
    /// Plimsoll, with these keys of a plan file.
    Plan(toml::Table),
}

/// A case that is left out; an absent name stands for every one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exclude {
    /// The server.
    pub server: Option<String>,
    /// The load.
    pub load: Option<String>,
    /// Why.
    pub reason: String,
}

impl Suite {
    /// The server or service of a name.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().chain(&self.services).find(|server| server.name == name)
    }

    /// Why a case is left out, if it is.
    #[must_use]
    pub fn excluded(&self, server: &str, load: &str) -> Option<&str> {
        let is = |name: &Option<String>, it: &str| name.as_deref().is_none_or(|name| name == it);
        let mut excludes = self.excludes.iter();
        let found = excludes.find(|it| is(&it.server, server) && is(&it.load, load))?;
        Some(&found.reason)
    }
}
