//! What the lab says before a study begins: how long it takes, and what it cannot show.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::comparison::repeats_to_compare;
use plimsoll_core::study::Case;
use plimsoll_core::units::format_ns;
use plimsoll_lab::Store;
use plimsoll_lab::order::PlannedRun;
use plimsoll_lab::suite::{Kind, Suite};

use super::loads::Length;

/// How many runs there are and how long they take, and what they are too few for; a line each.
pub(super) fn words(
    slots: &[PlannedRun<'_>],
    suite: &Suite,
    lengths: &BTreeMap<String, Length>,
) -> Vec<String> {
    let servers: BTreeSet<&str> = slots.iter().map(|slot| slot.server.name.as_str()).collect();
    let mut lines = vec![time_words(slots, suite, lengths)];
    let needed = repeats_to_compare();
    if servers.len() > 1 && suite.repeats < needed {
        lines.push(format!(
            "warning: {} too few to tell servers apart, it takes {needed} of each case: give \
             --repeats {needed}, or repeats = {needed} in the suite",
            match suite.repeats {
                1 => "1 repeat is".to_owned(),
                repeats => format!("{repeats} repeats are"),
            }
        ));
    }
    lines
}

fn time_words(
    slots: &[PlannedRun<'_>],
    suite: &Suite,
    lengths: &BTreeMap<String, Length>,
) -> String {
    let (mut warmup_ns, mut load_ns) = (0_u64, 0_u64);
    let mut open: BTreeMap<&str, (u32, Kind)> = BTreeMap::new();
    for slot in slots {
        let length = lengths.get(&slot.load.name).copied().unwrap_or_default();
        warmup_ns += length.warmup_ns.unwrap_or(suite.warmup_ns);
        match length.load_ns {
            Some(ns) => load_ns = load_ns.saturating_add(ns),
            None => open.entry(&slot.load.name).or_insert((0, slot.load.kind)).0 += 1,
        }
    }
    let pause_ns = suite.cooldown_ns.saturating_mul(slots.len() as u64);
    let all_ns = warmup_ns.saturating_add(load_ns).saturating_add(pause_ns);
    let parts = [("warm-ups", warmup_ns), ("loads", load_ns), ("pauses", pause_ns)];
    let parts = parts.iter().filter(|(_, ns)| *ns > 0);
    let parts: Vec<String> = parts.map(|(name, ns)| format!("{name} {}", format_ns(*ns))).collect();
    let take = if slots.len() == 1 { "takes" } else { "take" };
    let mut words = format!("{} {take}", counted(slots, suite));
    match (all_ns, open.is_empty()) {
        (0, _) => {
            let ends: BTreeSet<&str> = open.values().map(|(_, kind)| end_words(*kind)).collect();
            let ends: Vec<&str> = ends.into_iter().collect();
            words += &format!(" until {}", ends.join(" and "));
        }
        (_, true) => words += &format!(" {}", format_ns(all_ns)),
        (_, false) => words += &format!(" at least {}", format_ns(all_ns)),
    }
    if parts.len() > 1 {
        words += &format!(" ({})", parts.join(", "));
    }
    for (name, (runs, kind)) in open.iter().filter(|_| all_ns > 0) {
        words += &format!(", and {runs} of '{name}' until {}", end_words(*kind));
    }
    words + "; starting and stopping the servers comes on top"
}

/// What ends a load that has no length.
fn end_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Run => "the requests are done",
        Kind::Find => "the load lines are found",
    }
}

/// `20 runs (2 servers, 2 loads, 5 repeats)`
fn counted(slots: &[PlannedRun<'_>], suite: &Suite) -> String {
    let number = |count: usize, noun: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {noun}{plural}")
    };
    let servers: BTreeSet<&str> = slots.iter().map(|slot| slot.server.name.as_str()).collect();
    let loads: BTreeSet<&str> = slots.iter().map(|slot| slot.load.name.as_str()).collect();
    format!(
        "{} ({}, {}, {})",
        number(slots.len(), "run"),
        number(servers.len(), "server"),
        number(loads.len(), "load"),
        number(suite.repeats as usize, "repeat")
    )
}

/// What a study that is taken up again says first: how much of it is there, and which repeats were
/// begun in an earlier go.
pub(super) fn taken_up(slots: &[PlannedRun<'_>], store: &Store) -> Option<String> {
    let study = store.study()?;
    let done: BTreeSet<u32> =
        study.cases.iter().flat_map(Case::whole).map(|run| run.repeat).collect();
    let is_open = |slot: &&PlannedRun<'_>| {
        let case = study.case(&slot.server.name, &slot.load.name);
        let runs = case.into_iter().flat_map(|case| &case.runs);
        !runs.into_iter().any(|run| run.repeat == slot.repeat && run.failure.is_none())
    };
    let open: Vec<&PlannedRun<'_>> = slots.iter().filter(is_open).collect();
    let begun: BTreeSet<u32> =
        open.iter().map(|slot| slot.repeat).filter(|repeat| done.contains(repeat)).collect();
    let there = format!("{} of {} runs are there", slots.len() - open.len(), slots.len());
    if begun.is_empty() {
        return Some(there);
    }
    let (plural, which) = if begun.len() == 1 { ("", "it") } else { ("s", "them") };
    let begun: Vec<String> = begun.iter().map(u32::to_string).collect();
    Some(format!(
        "{there}\nwarning: in repeat{plural} {} the cases no longer take turns, because a part of \
         {which} was measured in an earlier go; the report says so",
        begun.join(", ")
    ))
}
