//! How a study ends: the last lines, and the exit code. Runs without figures come first (1),
//! then gates that failed (3), then what nobody can tell (4): a host that was unfit, loads of which
//! no run counts, gates that doubt leaves open.

use plimsoll_core::result::Outcome;
use plimsoll_core::study::Study;
use plimsoll_core::units::counted;

use crate::exit::{COULD_NOT_RUN, GATE, VERDICT};

/// The end of a study.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// The last lines.
    pub(super) lines: Vec<String>,
    pub(super) code: u8,
}

/// How a study ends of which `open` of `all` runs gave no figures. `unfit` is why the lab stopped
/// after the first round, if it did.
pub(super) fn of(study: &Study, unfit: Option<&str>, (open, all): (usize, usize)) -> Ending {
    let mut lines = Vec::new();
    let mut codes = Vec::new();
    if let Some(why) = unfit {
        lines.push(format!(
            "stopped, because this host is unfit: {why}: free it (plimsoll doctor names what is in \
             the way), or go on with --continue --keep-going"
        ));
        codes.push(VERDICT);
    } else {
        let nothing = study.cases.iter().all(|case| case.runs.is_empty());
        if open > 0 {
            lines.push(format!(
                "{open} of {all} runs gave no figures: --continue makes them (again)"
            ));
        }
        if open > 0 || nothing {
            codes.push(COULD_NOT_RUN);
        }
    }
    for (outcome, word, code) in
        [(Outcome::Fail, "FAILED", GATE), (Outcome::Undecided, "UNDECIDED", VERDICT)]
    {
        let gates = study.cases.iter().flat_map(|case| case.whole()).flat_map(|run| &run.gates);
        let (all, some) = gates.fold((0, 0), |(all, some), gate| {
            (all + 1, some + u64::from(gate.outcome() == outcome))
        });
        if some > 0 {
            lines.push(format!("{some} of {} {word}", counted(all, "gate")));
            codes.push(code);
        }
    }
    let uncounted = uncounted(study);
    if !uncounted.is_empty() && unfit.is_none() {
        let names = uncounted.join(", ");
        lines.push(format!(
            "no run counts under {names}: times and rates are in doubt in all of them"
        ));
        codes.push(VERDICT);
    }
    let first = [COULD_NOT_RUN, GATE, VERDICT].into_iter().find(|code| codes.contains(code));
    Ending { lines, code: first.unwrap_or(0) }
}

/// The loads whose runs gave figures of which none that leads a report counts, for any server.
fn uncounted(study: &Study) -> Vec<&str> {
    let is_uncounted = |load: &&str| {
        let under = study.cases.iter().filter(|case| case.load == **load);
        let mut runs = under.flat_map(|case| case.whole()).peekable();
        runs.peek().is_some() && !runs.any(|run| run.has_leading_figure())
    };
    study.loads.iter().map(|load| load.name.as_str()).filter(is_uncounted).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_core::result::Gate;
    use plimsoll_core::study::{Case, CaseRun, Figures, LoadFacts, Mark, Quantile};

    use super::*;

    fn run(doubt: Option<Mark>, gates: &[(bool, bool)]) -> CaseRun {
        let gate = |&(pass, undecided): &(bool, bool)| Gate { pass, undecided, ..Gate::default() };
        let latency = vec![Quantile { doubt, ..Quantile::known(0.5, 0.001) }];
        CaseRun {
            figures: Figures { latency, ..Figures::default() },
            gates: gates.iter().map(gate).collect(),
            ..CaseRun::default()
        }
    }

    #[test]
    fn failures_come_before_gates_and_gates_before_doubt() {
        let (met, failed, open) = ((true, false), (false, false), (false, true));
        let doubt = Some(Mark::AtMost);
        for (name, runs, unfit, missing, code, last) in [
            ("good", vec![run(None, &[met])], None, 0, 0, None),
            ("one counts", vec![run(doubt, &[]), run(None, &[])], None, 0, 0, None),
            ("none counts", vec![run(doubt, &[])], None, 0, 4, Some("no run counts under l: ")),
            ("a gate failed", vec![run(doubt, &[failed, met])], None, 0, 3, Some("no run")),
            ("one is open", vec![run(None, &[open, met])], None, 0, 4, Some("1 of 2 gates UND")),
            ("both", vec![run(None, &[open, failed])], None, 0, 3, Some("1 of 2 gates UND")),
            ("a run is missing", vec![run(None, &[failed])], None, 1, 1, Some("1 of 1 gate FA")),
            ("unfit", vec![run(doubt, &[])], Some("busy"), 1, 4, Some("stopped, because this")),
            ("nothing", vec![], None, 0, 1, None),
        ] {
            let case = Case { load: "l".to_owned(), runs, ..Case::default() };
            let load = LoadFacts { name: "l".to_owned(), ..LoadFacts::default() };
            let study = Study { loads: vec![load], cases: vec![case], ..Study::default() };
            let ending = of(&study, unfit, (missing, 2));
            assert_eq!(ending.code, code, "{name}: {:?}", ending.lines);
            let said = ending.lines.last();
            assert_eq!(said.is_some(), last.is_some(), "{name}: {said:?}");
            let is_it = said.is_none_or(|line| line.starts_with(last.unwrap_or_default()));
            assert!(is_it, "{name}: {said:?}");
        }
    }
}
