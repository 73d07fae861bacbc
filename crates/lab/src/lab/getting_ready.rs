//! Everything before the first load: finds what servers need, builds them, and checks that each can
//! be measured. A server with something missing is left out; a server that does not work ends the
//! study.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_core::study::failure_kind;

use super::{Lab, LabError};
use crate::cast::Failure;
use crate::check::check;
use crate::order::PlannedRun;
use crate::prepare;
use crate::programs::Ports;
use crate::ready::{Ready, Unfit};
use crate::store::Store;
use crate::suite::{Load, Server};

impl<'a> Lab<'a> {
    /// Builds the servers, asks for versions, and tries each server that has runs which the store
    /// of an earlier go does not have. Says a line for each. What it gives is of no use once
    /// `stopped` says so.
    ///
    /// # Errors
    /// A name that stands for nothing, a folder that cannot be written, and servers that failed.
    pub fn prepare(&mut self, before: Option<&Store>) -> Result<Ready<'a>, LabError> {
        let slots = self.slots()?;
        let is_wanted = |server: &&Server| slots.iter().any(|slot| slot.server.name == server.name);
        let wanted = self.suite.servers.iter().filter(is_wanted);
        let wanted: Vec<&str> = wanted.map(|server| server.name.as_str()).collect();
        let servers = prepare::servers(
            self.suite,
            &self.places,
            &wanted,
            self.builds,
            self.stopped,
            self.say,
        );
        let testers: BTreeMap<_, _> = slots
            .iter()
            .map(|slot| (slot.load.tester, prepare::tester(slot.load.tester, &self.places)))
            .collect();
        let ready = Ready { slots, servers, testers };
        if (self.stopped)() {
            // A build that was stopped is no reason to leave a server out.
            return Ok(ready);
        }
        for (name, prepared) in &ready.servers {
            if let Some(reason) = &prepared.skipped {
                (self.say)(&format!("{name} is left out: {reason}"));
            }
        }
        let is_there = |slot: &PlannedRun<'_>| {
            let runs = before.map(|store| store.load(&slot.server.name, &slot.load.name));
            let mut runs = runs.into_iter().flatten();
            runs.any(|run| run.repeat == slot.repeat && run.failure.is_none())
        };
        let mut slots = ready.possible();
        slots.retain(|slot| !is_there(slot));
        self.check_all(&slots)?;
        Ok(ready)
    }

    /// Tries every server of some runs.
    fn check_all(&mut self, slots: &[PlannedRun<'a>]) -> Result<(), LabError> {
        let mut ports = Ports::new(std::process::id().wrapping_mul(7919));
        let mut failed: Vec<(&str, Failure)> = Vec::new();
        let mut good = Vec::new();
        for server in &self.suite.servers {
            let is_asked = |load: &&Load| {
                let mut slots = slots.iter().filter(|slot| slot.server.name == server.name);
                slots.any(|slot| slot.load.name == load.name)
            };
            let loads: Vec<&Load> = self.suite.loads.iter().filter(is_asked).collect();
            if loads.is_empty() {
                continue;
            }
            let scratch = self.check_folder(server);
            let outcome = check(server, &loads, &self.setting(&scratch)?, &mut ports);
            if (self.stopped)() {
                return Ok(());
            }
            match outcome {
                Ok(words) => {
                    (self.say)(&format!("check {}: {words}", server.name));
                    good.push(server.name.as_str());
                }
                Err(failure) => {
                    let kind = failure_kind(&failure.reason);
                    let alike = |(_, it): &&(&str, Failure)| failure_kind(&it.reason) == kind;
                    let why = match failed.iter().find(alike) {
                        Some((name, _)) => format!(" as {name}"),
                        None => format!(": {}", failure.reason),
                    };
                    (self.say)(&format!("check {}: FAILED{why}", server.name));
                    failed.push((&server.name, failure));
                }
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(self.unfit(&failed, &good).into()) }
    }

    /// Where the logs of a server are while it is tried. No server's own folder begins with a dot.
    fn check_folder(&self, server: &Server) -> PathBuf {
        self.places.work.join(".check").join(&server.name)
    }

    /// One line for all that failed, the reasons of which have been said.
    fn unfit(&self, failed: &[(&str, Failure)], good: &[&str]) -> Unfit {
        let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        let has_log = failed
            .iter()
            .any(|(_, failure)| failure.log.as_ref().is_some_and(|log| !log.trim().is_empty()));
        let logs = match has_log {
            true => format!(" (logs: {})", self.places.work.join(".check").display()),
            false => String::new(),
        };
        let others = match good {
            [] => String::new(),
            good => format!(", or go without (--only {})", good.join(",")),
        };
        Unfit(format!(
            "nothing was loaded, because servers failed their check: {names}{logs}: mend \
             that{others}"
        ))
    }
}
