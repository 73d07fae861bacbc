//! What a study is made of once everything before the first load has gone well: the runs, and what
//! is known of their servers and testers.

use std::collections::BTreeMap;

use crate::order::PlannedRun;
use crate::prepare::Installed;
use crate::testers::Tester;

/// What a study is made of.
#[derive(Debug)]
pub struct Ready<'a> {
    /// The runs that are wanted, in their order.
    pub(crate) slots: Vec<PlannedRun<'a>>,
    /// What is known of each of their servers.
    pub(crate) servers: BTreeMap<String, Installed>,
    /// What is known of each of their testers.
    pub(crate) testers: BTreeMap<Tester, Installed>,
}

/// Servers that cannot be measured as the suite says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub(crate) String);

impl<'a> Ready<'a> {
    /// The runs whose server and tester are there.
    pub(crate) fn possible(&self) -> Vec<PlannedRun<'a>> {
        let here = |prepared: Option<&Installed>| prepared.is_some_and(|it| it.skipped.is_none());
        let is_possible = |slot: &&PlannedRun<'_>| {
            here(self.servers.get(&slot.server.name)) && here(self.testers.get(&slot.load.tester))
        };
        self.slots.iter().filter(is_possible).copied().collect()
    }
}
