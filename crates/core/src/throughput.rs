//! The rate of responses: which responses count, so that neither the tester's patience nor a single
//! slow answer decides the figure.
//!
//! A run has a window in which requests are started, and an end by which the last answer is in. Two
//! simple definitions fail. Dividing all responses by the time to the end measures the slowest
//! answer. Dividing the window's responses by the window loses, at a rate, whatever was in flight
//! when the window closed: a server that takes 200 ms seems to lose 200 ms of load.
//!
//! The window also starts empty: for those first 200 ms no answer can have arrived. So at a rate, a
//! late answer counts if an answer was missing as long after the start as this one came after the
//! window. It fills the place of an answer to a request from before the run. A server at its limit
//! answers from the start, so no place is empty, and the queue it still holds at the end adds
//! nothing, however long the tester waits for it.
//!
//! "Missing" is relative to what was due: a rising load has few answers at its start because it
//! sent few requests. Where the rate rises from one stage to the next, answers are missing as at
//! the start; where it falls, as many are left over.
//!
//! In a closed loop only the window's answers count. What is missing at its start is a part of one
//! round trip, and other testers compute the figure the same way.

/// How many bins the time is divided into in which answers are missing or come late.
const BINS: usize = 1024;

/// Most rounds of the iteration for the rate. Each shrinks the remaining distance to the share of
/// the window that the slowest answers took, so these suffice up to shares above 99 %.
const ROUNDS: usize = 2000;

/// Responses: all, and those as expected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub all: u64,
    /// Of these, as expected.
    pub ok: u64,
}

impl Count {
    fn add(&mut self, ok: bool) {
        self.all += 1;
        self.ok += u64::from(ok);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.all += other.all;
        self.ok += other.ok;
    }
}

/// What a schedule asked for: how many requests were due by when, and where the rate may jump.
pub struct Demand<'a> {
    /// How many requests are due within the given time after the start, ns.
    pub due: &'a dyn Fn(u64) -> f64,
    /// Where its stages begin, ns after the start; the first at 0.
    pub starts_ns: &'a [u64],
}

/// When the responses of the measured part came, in the detail that its rate needs. Memory is fixed
/// and allocated at the start.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Responses within the window.
    in_window: Count,
    /// Those that came after it.
    late: Count,
    /// How long a bin is, ns; 0 in a closed loop, which has none.
    bin_ns: u64,
    /// Responses by their time after the start.
    early_bins: Vec<u32>,
    /// Those after the window, by their time after its end.
    late_bins: Vec<u32>,
}

impl Answers {
    /// Of a closed loop.
    #[must_use]
    pub fn closed() -> Self {
        Self::default()
    }

    /// For a schedule with this planned window, ns; a shorter one is judged more
    /// coarsely.
    #[must_use]
    pub fn scheduled(window_ns: u64) -> Self {
        let bins = if window_ns == 0 { 0 } else { BINS };
        Self {
            bin_ns: window_ns.div_ceil(BINS as u64),
            early_bins: vec![0; bins],
            late_bins: vec![0; bins],
            ..Self::default()
        }
    }

    /// A response was complete `at_ns` after the start of the measured part, whose window ends at
    /// `window_ns`; `u64::MAX` while nobody knows. Whether it came within the window.
    #[inline]
    pub fn answered(&mut self, at_ns: u64, window_ns: u64, ok: bool) -> bool {
        let bin = |since_ns: u64| since_ns.checked_div(self.bin_ns).unwrap_or(u64::MAX) as usize;
        let late_ns = at_ns.saturating_sub(window_ns);
        let (early, late) = (bin(at_ns), bin(late_ns));
        if let Some(count) = self.early_bins.get_mut(early) {
            *count += 1;
        }
        if late_ns == 0 {
            self.in_window.add(ok);
            return true;
        }
        self.late.add(ok);
        if let Some(count) = self.late_bins.get_mut(late) {
            *count += 1;
        }
        false
    }

    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        self.in_window.merge(other.in_window);
        self.late.merge(other.late);
        let lists =
            [(&mut self.early_bins, &other.early_bins), (&mut self.late_bins, &other.late_bins)];
        for (mine, theirs) in lists {
            for (count, more) in mine.iter_mut().zip(theirs) {
                *count += more;
            }
        }
    }

    /// The responses that the rate of a window of `window_ns` is made of.
    #[must_use]
    pub fn counted(&self, window_ns: u64, demand: &Demand<'_>) -> Count {
        let late = self.late_counted(window_ns, demand);
        let share = |ok: u64| (late * ok as f64 / self.late.all.max(1) as f64).round() as u64;
        Count {
            all: self.in_window.all + share(self.late.all),
            ok: self.in_window.ok + share(self.late.ok),
        }
    }

    /// Of `late` responses of a part of the requests, as many as count where `counted` do of all.
    #[must_use]
    pub fn late_share(&self, late: u64, counted: u64) -> u64 {
        let counted = counted.saturating_sub(self.in_window.all);
        (counted as f64 * late as f64 / self.late.all.max(1) as f64).round() as u64
    }

    /// All responses, whenever they came.
    #[must_use]
    pub fn total(&self) -> Count {
        let mut total = self.in_window;
        total.merge(self.late);
        total
    }

    /// How many responses after the window stand for ones that are missing at the start. How many
    /// are missing depends on the rate, and the rate on how many count: from below the two settle
    /// at the least rate that explains what was seen.
    fn late_counted(&self, window_ns: u64, demand: &Demand<'_>) -> f64 {
        if window_ns == 0 || self.late.all == 0 || self.bin_ns == 0 {
            return 0.0;
        }
        let bins = usize::try_from(window_ns / self.bin_ns).unwrap_or(BINS).clamp(1, BINS);
        let mut stages = self.stages(window_ns, demand);
        let Some(last) = stages.pop() else { return 0.0 };
        let before = |bin: usize| stages.iter().map(|stage| stage.missing(bin, 0.0)).sum::<f64>();
        let before: Vec<f64> = (0..bins).map(before).collect();
        let mut counted = 0.0;
        for _ in 0..ROUNDS {
            let next = self.filled(&before, &last, counted);
            if next - counted < 1e-3 {
                break;
            }
            counted = next;
        }
        counted
    }

    /// How many late responses fill the place of a missing one, if `counted` of them count for the
    /// rate. Missing are those of the last stage and, in each bin, those of the stages `before`.
    fn filled(&self, before: &[f64], last: &Stage, counted: f64) -> f64 {
        let mut filled = 0.0_f64;
        for (bin, (late, before)) in self.late_bins.iter().zip(before).enumerate() {
            let missing = before + last.missing(bin, counted);
            filled = (filled + f64::from(*late)).min(filled.max(missing));
        }
        filled
    }

    /// The stages that a window of `window_ns` has seen. Responses after it belong to the last.
    fn stages(&self, window_ns: u64, demand: &Demand<'_>) -> Vec<Stage> {
        let bin = |at_ns: u64| usize::try_from(at_ns / self.bin_ns).unwrap_or(BINS).min(BINS);
        let starts_ns = demand.starts_ns.iter().copied().filter(|start_ns| *start_ns < window_ns);
        let starts_ns: Vec<u64> = starts_ns.collect();
        let ends_ns = starts_ns.iter().skip(1).copied().chain([window_ns]);
        let due_by = |at_ns: u64| (demand.due)(at_ns);
        let sum = |bins: &[u32]| bins.iter().map(|count| f64::from(*count)).sum::<f64>();
        let placed = starts_ns.iter().zip(ends_ns).enumerate().map(|(number, (from_ns, to_ns))| {
            let (first, end) = (bin(*from_ns), bin(to_ns).max(bin(*from_ns)));
            let is_last = number + 1 == starts_ns.len();
            let all = match is_last {
                true => self.in_window.all as f64 - sum(&self.early_bins[..first]),
                false => sum(&self.early_bins[first..end]),
            };
            let mut done = 0.0;
            let by_bin = self.early_bins[first..end].iter().enumerate().map(|(bin, count)| {
                done += f64::from(*count);
                let middle_ns = from_ns + bin as u64 * self.bin_ns + self.bin_ns / 2;
                (due_by(middle_ns) - due_by(*from_ns), done)
            });
            let by_bin = by_bin.collect();
            Stage { by_bin, done: all, due: due_by(to_ns) - due_by(*from_ns) }
        });
        placed.collect()
    }
}

/// A stage of a schedule, and what came while it lasted.
struct Stage {
    /// How many were due, and how many came, from its start to each bin.
    by_bin: Vec<(f64, f64)>,
    /// How many came in all.
    done: f64,
    /// How many were due in all.
    due: f64,
}

impl Stage {
    /// How many responses are missing by `bin` bins after its start, at the rate it would have with
    /// `late` more responses. Responses missing at its end stay missing.
    fn missing(&self, bin: usize, late: f64) -> f64 {
        let Some((due, done)) = self.by_bin.get(bin).or_else(|| self.by_bin.last()) else {
            return 0.0;
        };
        let share = if self.due > 0.0 { (self.done + late) / self.due } else { 0.0 };
        share * due - done
    }
}

/// A count over a time as a rate per second, to a millionth, so that documents are read as they
/// were written; 0 if the time is 0.
#[must_use]
pub fn per_second(count: u64, time_ns: u64) -> f64 {
    if time_ns == 0 { 0.0 } else { (count as f64 * 1e15 / time_ns as f64).round() / 1e6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;

    /// A constant rate; which one makes no difference.
    const STEADY: Demand<'static> = Demand { due: &|at_ns| at_ns as f64, starts_ns: &[0] };

    /// The rate of responses complete at these times.
    fn rate(times_ns: impl IntoIterator<Item = u64>, window_ns: u64, drain_ns: u64) -> f64 {
        rate_of(times_ns, window_ns, drain_ns, &STEADY)
    }

    fn rate_of(
        times_ns: impl IntoIterator<Item = u64>,
        window_ns: u64,
        drain_ns: u64,
        demand: &Demand<'_>,
    ) -> f64 {
        let mut answers = Answers::scheduled(window_ns);
        let all = times_ns.into_iter().filter(|at_ns| *at_ns <= window_ns + drain_ns);
        for at_ns in all {
            answers.answered(at_ns, window_ns, true);
        }
        per_second(answers.counted(window_ns, demand).all, window_ns)
    }

    /// When a server answers the requests of a schedule of `rps`. It works on `places` requests at
    /// once, for `service_ns` each. At most `connections` requests are open at a time; a request
    /// that has no connection when the window ends is never sent.
    fn server(
        rps: u64,
        service_ns: u64,
        places: usize,
        connections: usize,
        window_ns: u64,
    ) -> Vec<u64> {
        let mut done_ns: Vec<u64> = Vec::new();
        for slot in 0_usize.. {
            let due_ns = slot as u64 * S / rps;
            let free_ns = slot.checked_sub(connections).map_or(0, |before| done_ns[before]);
            let sent_ns = due_ns.max(free_ns);
            if due_ns >= window_ns || sent_ns >= window_ns {
                return done_ns;
            }
            let place_ns = slot.checked_sub(places).map_or(0, |before| done_ns[before]);
            done_ns.push(sent_ns.max(place_ns) + service_ns);
        }
        unreachable!("the window ends")
    }

    #[track_caller]
    fn assert_within_a_percent(found: f64, want: f64, what: &str) {
        assert!((found / want - 1.0).abs() <= 0.01, "{what}: {found}, should be {want}");
    }

    #[test]
    fn a_server_of_constant_latency_keeps_the_rate() {
        for (rps, window_ns) in [(100, 4 * S), (1000, S), (10_000, 10 * S), (3, 60 * S)] {
            for latency_ms in [1, 10, 200, 500, 790, 1600, 3200, 8000, 48_000] {
                let latency_ns = latency_ms * MS;
                if latency_ns * 10 > window_ns * 8 {
                    continue;
                }
                let done_ns = server(rps, latency_ns, usize::MAX, usize::MAX, window_ns);
                let found = rate(done_ns, window_ns, 60 * S);
                let what = format!("{rps}/s for {window_ns} ns, {latency_ms} ms");
                assert_within_a_percent(found, rps as f64, &what);
            }
        }
    }

    #[test]
    fn latency_that_varies_takes_nothing_from_the_rate() {
        let latency_ns = |slot: u64| (slot * 7919 % 391 + 10) * MS;
        let done_ns = (0..1000).map(|slot| slot * 10 * MS + latency_ns(slot));
        assert_within_a_percent(rate(done_ns, 10 * S, 10 * S), 100.0, "10 to 400 ms");
    }

    #[test]
    fn a_server_at_its_limit_has_its_own_rate_whatever_the_drain() {
        for (service_ms, places) in [(10, 1), (1, 1), (200, 20), (50, 5), (100, 10)] {
            for (rps, connections) in [(2000, 64), (2000, 200), (5000, 50)] {
                let capacity = places as f64 * 1e3 / service_ms as f64;
                let window_ns = 20 * S;
                let done_ns = server(rps, service_ms * MS, places, connections, window_ns);
                for drain_ns in [0, S, 30 * S] {
                    let what = format!("{service_ms} ms x {places}, {connections}, {drain_ns}");
                    let found = rate(done_ns.iter().copied(), window_ns, drain_ns);
                    // Without a drain, what no answer was waited for is no answer.
                    let lost = if drain_ns == 0 { service_ms as f64 / 20e3 } else { 0.0 };
                    assert_within_a_percent(found, capacity * (1.0 - lost), &what);
                }
            }
        }
    }

    #[test]
    fn stragglers_and_stalls_are_not_made_up_for() {
        // Three answers of a thousand come half a minute late.
        let straggler = |slot: u64| if slot % 300 == 200 { 30 * S } else { MS };
        let done_ns = (0..1000).map(|slot| slot * 2 * MS + straggler(slot));
        assert_within_a_percent(rate(done_ns, 2 * S, 60 * S), 500.0, "stragglers");
        // Nothing for a second in the middle, and a queue at the end that is never caught up.
        let stalled = (0..1000).map(|slot| slot * 10 * MS + if slot < 400 { 0 } else { S });
        assert_within_a_percent(rate(stalled, 10 * S, 30 * S), 90.0, "stall");
    }

    /// Two rates, five seconds each, at a server of 200/s and at one that takes its time.
    #[test]
    fn a_rate_that_rises_or_falls_is_what_the_server_did() {
        let (half_ns, window_ns) = (5 * S, 10 * S);
        for (first, then) in [(10, 300), (300, 10), (100, 300), (400, 300), (10, 100), (100, 10)] {
            let due = |at_ns: u64| {
                (first * at_ns.min(half_ns) + then * at_ns.saturating_sub(half_ns)) as f64 / 1e9
            };
            let demand = Demand { due: &due, starts_ns: &[0, half_ns] };
            let slots = (0..first * 5).map(|slot| slot * S / first);
            let slots = slots.chain((0..then * 5).map(|slot| half_ns + slot * S / then));
            let slots: Vec<u64> = slots.collect();
            for latency_ms in [2, 50, 200, 1000] {
                let done_ns = slots.iter().map(|due_ns| due_ns + latency_ms * MS);
                let want = slots.len() as f64 / 10.0;
                let found = rate_of(done_ns, window_ns, 60 * S, &demand);
                let what = format!("{first} then {then}, {latency_ms} ms");
                let off = (found / want - 1.0).abs();
                assert!(off <= 0.01 + latency_ms as f64 / 20e3, "{what}: {found}, {want}");
            }
            // One after the other, and all that is left over in the drain.
            let mut free_ns = 0;
            let done_ns: Vec<u64> = slots
                .iter()
                .map(|due_ns| {
                    free_ns = free_ns.max(*due_ns) + 5 * MS;
                    free_ns
                })
                .collect();
            let within = done_ns.iter().filter(|at_ns| **at_ns <= window_ns).count();
            let found = rate_of(done_ns, window_ns, 60 * S, &demand);
            let what = format!("{first} then {then} of 200");
            assert_within_a_percent(found, within as f64 / 10.0, &what);
        }
    }

    #[test]
    fn in_a_closed_loop_the_window_alone_counts() {
        let mut answers = Answers::closed();
        let times_ms = [1, 2, 3, 1000, 1001, 9000];
        let within: Vec<bool> =
            times_ms.iter().map(|at_ms| answers.answered(at_ms * MS, S, at_ms % 2 == 0)).collect();
        assert_eq!(within, [true, true, true, true, false, false]);
        assert_eq!(answers.counted(S, &STEADY), Count { all: 4, ok: 2 });
        assert_eq!(answers.total(), Count { all: 6, ok: 3 });
        assert_eq!((answers.late_share(2, 4), answers.late_share(1, 6)), (0, 1));
    }

    #[test]
    fn workers_add_up() {
        let done_ns = server(1000, 300 * MS, usize::MAX, usize::MAX, S);
        let mut parts = [Answers::scheduled(S), Answers::scheduled(S)];
        let mut whole = Answers::scheduled(S);
        for (slot, at_ns) in done_ns.into_iter().enumerate() {
            parts[slot % 2].answered(at_ns, S, slot % 4 > 0);
            whole.answered(at_ns, S, slot % 4 > 0);
        }
        let [mut sum, other] = parts;
        sum.merge(&other);
        assert_eq!(sum.counted(S, &STEADY), whole.counted(S, &STEADY));
        let counted = whole.counted(S, &STEADY).all;
        let Answers { in_window, late, .. } = whole;
        assert_eq!(in_window.all + whole.late_share(late.all, counted), counted);
    }
}
