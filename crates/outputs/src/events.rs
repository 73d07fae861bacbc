//! Events of a run, for annotations: when its warm-up, its measured part and each of its stages
//! began, and how it ended.
//!
//! No two events of a run have the same time: a receiver that keeps events by their time would keep
//! one of them. What begins at the same time is one event.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What begins when in a run, as planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timetable {
    /// How long the warm-up before the measured part lasts, ns.
    warmup_ns: u64,
    /// By when it begins, ns after the start of the measured part.
    stages: Vec<(u64, String)>,
}

impl Timetable {
    /// A warm-up of this length, 0 for none, and then these stages: when each begins, ns after the
    /// start of the measured part, and what it is in words.
    #[must_use]
    pub fn new(warmup_ns: u64, stages: impl IntoIterator<Item = (u64, String)>) -> Self {
        let mut by_start: BTreeMap<u64, String> = BTreeMap::new();
        for (start_ns, words) in stages {
            let together = by_start.entry(start_ns).or_default();
            if !together.is_empty() {
                together.push_str("; ");
            }
            together.push_str(&words);
        }
        Self { warmup_ns, stages: by_start.into_iter().collect() }
    }

    /// What a stage is in words, with its number if there are several.
    fn title(&self, index: usize) -> String {
        let words = &self.stages[index].1;
        match self.stages.len() {
            1 => words.clone(),
            count => format!("stage {} of {count}, {words}", index + 1),
        }
    }
}

/// What an event says of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Neutral,
    Good,
    Doubtful,
    Bad,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// ns since 1970.
    pub time_ns: u64,
    pub title: String,
    pub tone: Tone,
}

impl Event {
    fn neutral(time_ns: u64, title: String) -> Self {
        Self { time_ns, title, tone: Tone::Neutral }
    }

    /// A run ended, or was aborted or interrupted, in a word; with this verdict, by its name, and
    /// these gates and whether each was met.
    pub(crate) fn ended(time_ns: u64, word: &str, verdict: &str, gates: &[(String, bool)]) -> Self {
        let failed = gates.iter().filter(|(_, pass)| !pass).count();
        let tone = match verdict {
            _ if failed > 0 => Tone::Bad,
            "valid" => Tone::Good,
            "suspect" => Tone::Doubtful,
            _ => Tone::Bad,
        };
        let gates = match failed {
            0 => String::new(),
            failed => format!(", {failed} of {} gates failed", gates.len()),
        };
        Self { time_ns, title: format!("run {word}, {verdict}{gates}"), tone }
    }
}

/// The timetable of the run that goes on, and how far it has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agenda {
    /// When the measured part began, ns since 1970.
    began_ns: u64,
    timetable: Arc<Timetable>,
    /// How many stages have begun.
    begun: usize,
}

impl Agenda {
    /// The measured part begins. Gives what has happened by then.
    pub(crate) fn begin(timetable: &Arc<Timetable>, began_ns: u64) -> (Self, Vec<Event>) {
        let mut events = Vec::new();
        if timetable.warmup_ns > 0 {
            let time_ns = began_ns.saturating_sub(timetable.warmup_ns);
            events.push(Event::neutral(time_ns, "warm-up started".to_owned()));
        }
        let has_stage = timetable.stages.first().is_some_and(|(start_ns, _)| *start_ns == 0);
        let stage = if has_stage { format!(": {}", timetable.title(0)) } else { String::new() };
        events.push(Event::neutral(began_ns, format!("run started{stage}")));
        let begun = usize::from(has_stage);
        (Self { began_ns, timetable: Arc::clone(timetable), begun }, events)
    }

    /// The stages that began since the last time, up to this one.
    pub(crate) fn until(&mut self, time_ns: u64) -> Vec<Event> {
        let elapsed_ns = time_ns.saturating_sub(self.began_ns);
        let due =
            self.timetable.stages.iter().filter(|(start_ns, _)| *start_ns <= elapsed_ns).count();
        let new = self.begun..due.max(self.begun);
        self.begun = new.end;
        let event = |index: usize| {
            let time_ns = self.began_ns + self.timetable.stages[index].0;
            Event::neutral(time_ns, format!("{} started", self.timetable.title(index)))
        };
        new.map(event).collect()
    }

    /// When the stage that goes on began, or else the measured part, ns since 1970.
    pub(crate) fn stage_began_ns(&self) -> u64 {
        let last = self.begun.checked_sub(1).and_then(|index| self.timetable.stages.get(index));
        self.began_ns + last.map_or(0, |(start_ns, _)| *start_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(events: &[Event]) -> Vec<(u64, &str)> {
        events.iter().map(|event| (event.time_ns, event.title.as_str())).collect()
    }

    #[test]
    fn each_stage_is_an_event_when_it_begins() {
        let stages = [(0, "10/s"), (20, "20/s"), (20, "b: 5/s"), (50, "30/s")];
        let timetable =
            Timetable::new(7, stages.map(|(start_ns, words)| (start_ns, words.to_owned())));
        let (mut agenda, events) = Agenda::begin(&Arc::new(timetable), 1000);
        let want = [(993, "warm-up started"), (1000, "run started: stage 1 of 3, 10/s")];
        assert_eq!(told(&events), want);
        for (time_ns, want, stage_began_ns) in [
            (1019, &[][..], 1000),
            (1020, &[(1020, "stage 2 of 3, 20/s; b: 5/s started")], 1020),
            (1040, &[], 1020),
            (1100, &[(1050, "stage 3 of 3, 30/s started")], 1050),
            (1200, &[], 1050),
        ] {
            assert_eq!(told(&agenda.until(time_ns)), want, "{time_ns}");
            assert_eq!(agenda.stage_began_ns(), stage_began_ns);
        }
    }

    #[test]
    fn a_run_without_stages_just_starts() {
        for (stages, want) in [
            (vec![], "run started"),
            (vec![(0, "10/s for 5s".to_owned())], "run started: 10/s for 5s"),
        ] {
            let timetable = Arc::new(Timetable::new(0, stages));
            let (mut agenda, events) = Agenda::begin(&timetable, 1000);
            assert_eq!(told(&events), [(1000, want)]);
            assert!(agenda.until(5000).is_empty());
            assert_eq!(agenda.stage_began_ns(), 1000);
        }
    }

    #[test]
    fn the_end_has_the_verdict_and_the_gates() {
        let gate = |pass| ("p99<1s".to_owned(), pass);
        for (word, verdict, gates, title, tone) in [
            ("ended", "valid", vec![], "run ended, valid", Tone::Good),
            ("ended", "suspect", vec![gate(true)], "run ended, suspect", Tone::Doubtful),
            ("aborted", "suspect", vec![], "run aborted, suspect", Tone::Doubtful),
            ("ended", "invalid", vec![], "run ended, invalid", Tone::Bad),
            (
                "interrupted",
                "valid",
                vec![gate(true), gate(false)],
                "run interrupted, valid, 1 of 2 gates failed",
                Tone::Bad,
            ),
        ] {
            let event = Event::ended(5, word, verdict, &gates);
            assert_eq!((event.title.as_str(), event.tone), (title, tone));
        }
    }
}
