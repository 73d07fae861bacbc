//! What was sampled, before it is cut to a stretch: the whole, or the measured part, which is known
//! only from the tester's document after the run.
//!
//! A part begins between two readings of CPU time, a tenth of a second apart where that is cheap,
//! and its start is interpolated on a straight line. So a part has to begin under load, as after a
//! warm-up; after idleness the line would miss what was used right after the start. CPU time after
//! its end was caused by it, and counts. Sizes are not cut: a peak of memory in the warm-up was
//! caused by the load.

use plimsoll_core::usage::{NetworkUsage, Usage, UsageSample};

use super::tree::Cpu;

/// CPU time so far, at a moment since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub t_ns: u64,
    pub cpu: Cpu,
}

/// What a sampler saw.
#[derive(Debug, Clone)]
pub struct UsageRecord {
    pub(super) usage: Usage,
    /// In order, the first and the last moment among them.
    pub(super) marks: Vec<Mark>,
    /// On the monotonic clock.
    pub(super) began_ns: u64,
    /// Stretches shorter than this are no measure of how busy the processes were.
    pub(super) stretch_ns_min: u64,
}

impl UsageRecord {
    /// What was used from the beginning to the end.
    #[must_use]
    pub fn whole(self) -> Usage {
        self.usage
    }

    /// What was used from a moment under load on, over the time to another after which nothing was
    /// asked of the processes, both of the monotonic clock. Where no time of it was watched, CPU
    /// time is not known.
    #[must_use]
    pub fn within(self, from_ns: u64, to_ns: u64) -> Usage {
        let window_ns = self.usage.window_ns;
        let since = |now_ns: u64| now_ns.saturating_sub(self.began_ns).min(window_ns);
        let (from_ns, to_ns) = (since(from_ns), since(to_ns));
        let mut usage = self.usage.clone();
        if from_ns >= to_ns {
            usage.forget_cpu("the measured part lies outside of what was watched");
            return usage;
        }
        let first = self.at(from_ns);
        let inside = |sample: &&UsageSample| from_ns < sample.t_ns && sample.t_ns < to_ns;
        let between = self.usage.samples.iter().filter(inside).copied();
        let last = self.usage.samples.last().copied().unwrap_or_default();
        let last = UsageSample { t_ns: to_ns, ..last };
        let samples = [first].into_iter().chain(between).chain([last]);
        usage.samples = samples.map(|sample| less(sample, &first)).collect();
        let last = usage.samples.last().copied().unwrap_or_default();
        usage.window_ns = to_ns - from_ns;
        usage.cpu_user_ns = last.cpu_user_ns;
        usage.cpu_system_ns = last.cpu_system_ns;
        usage.voluntary_switches = last.voluntary_switches;
        usage.involuntary_switches = last.involuntary_switches;
        usage.network = last
            .network_sent_bytes
            .zip(last.network_received_bytes)
            .map(|(sent_bytes, received_bytes)| NetworkUsage { sent_bytes, received_bytes });
        usage.ended_ns = usage.ended_ns.map(|ended_ns| ended_ns.saturating_sub(from_ns));
        usage.refresh();
        let stretches = usage.stretches(0);
        let long = stretches.filter(|it| it.to_ns - it.from_ns >= self.stretch_ns_min);
        let peak = long.map(|it| it.cores).fold(usage.cpu_percent_mean / 100.0, f64::max);
        usage.cpu_upercent_peak = (peak * 1e8) as u64;
        usage
    }

    /// A sample of a moment, made of its neighbours.
    fn at(&self, t_ns: u64) -> UsageSample {
        let samples = &self.usage.samples;
        let next = samples.partition_point(|sample| sample.t_ns <= t_ns);
        let before = samples[..next].last().copied().unwrap_or_default();
        let cpu = self.cpu_at(t_ns);
        let count = |of: fn(&UsageSample) -> Option<u64>| self.count_at(t_ns, of);
        UsageSample {
            t_ns,
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.total_ns - cpu.user_ns,
            pss_bytes: None,
            open_files: None,
            voluntary_switches: count(|sample| sample.voluntary_switches),
            involuntary_switches: count(|sample| sample.involuntary_switches),
            network_sent_bytes: count(|sample| sample.network_sent_bytes),
            network_received_bytes: count(|sample| sample.network_received_bytes),
            ..before
        }
    }

    fn cpu_at(&self, t_ns: u64) -> Cpu {
        let next = self.marks.partition_point(|mark| mark.t_ns <= t_ns);
        let Some(before) = self.marks[..next].last() else { return Cpu::default() };
        let Some(after) = self.marks.get(next) else { return before.cpu };
        let of = |before_ns, after_ns| line(t_ns, (before.t_ns, before_ns), (after.t_ns, after_ns));
        let total_ns = of(before.cpu.total_ns, after.cpu.total_ns);
        Cpu { total_ns, user_ns: of(before.cpu.user_ns, after.cpu.user_ns).min(total_ns) }
    }

    /// A count that only some samples have.
    fn count_at(&self, t_ns: u64, of: fn(&UsageSample) -> Option<u64>) -> Option<u64> {
        let known = || self.usage.samples.iter().filter_map(|s| Some((s.t_ns, of(s)?)));
        let before = known().take_while(|(at_ns, _)| *at_ns <= t_ns).last()?;
        match known().find(|(at_ns, _)| *at_ns > t_ns) {
            Some(after) => Some(line(t_ns, before, after)),
            None => Some(before.1),
        }
    }
}

/// The straight line between two points, whose first is not after `t_ns` and before the second.
fn line(t_ns: u64, before: (u64, u64), after: (u64, u64)) -> u64 {
    let rise = u128::from(after.1.saturating_sub(before.1)) * u128::from(t_ns - before.0);
    before.1 + u64::try_from(rise / u128::from(after.0 - before.0)).unwrap_or(0)
}

/// A sample on from another.
fn less(sample: UsageSample, first: &UsageSample) -> UsageSample {
    let of = |now: Option<u64>, then: Option<u64>| now.map(|n| n.saturating_sub(then.unwrap_or(0)));
    UsageSample {
        t_ns: sample.t_ns - first.t_ns,
        cpu_user_ns: sample.cpu_user_ns.saturating_sub(first.cpu_user_ns),
        cpu_system_ns: sample.cpu_system_ns.saturating_sub(first.cpu_system_ns),
        voluntary_switches: of(sample.voluntary_switches, first.voluntary_switches),
        involuntary_switches: of(sample.involuntary_switches, first.involuntary_switches),
        network_sent_bytes: of(sample.network_sent_bytes, first.network_sent_bytes),
        network_received_bytes: of(sample.network_received_bytes, first.network_received_bytes),
        ..sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Two seconds from 7 s on: a tenth of a core for 500 ms, then a whole one for a second, half
    /// of it user's, then none.
    fn record() -> UsageRecord {
        let cpu_at = |t_ms: u64| {
            let total_ns = (t_ms.min(500) / 10 + t_ms.clamp(500, 1500) - 500) * MS;
            Cpu { total_ns, user_ns: total_ns / 2 }
        };
        let sample = |t_ms: u64| UsageSample {
            t_ns: t_ms * MS,
            cpu_user_ns: cpu_at(t_ms).user_ns,
            cpu_system_ns: cpu_at(t_ms).total_ns - cpu_at(t_ms).user_ns,
            rss_bytes: 1000 + t_ms,
            processes: 1,
            voluntary_switches: (t_ms != 1000).then_some(t_ms),
            ..UsageSample::default()
        };
        let mut usage = Usage {
            window_ns: 2000 * MS,
            rss_peak_bytes: 3000,
            samples: [0, 1000, 2000].map(sample).to_vec(),
            ended_ns: Some(1900 * MS),
            ..Usage::default()
        };
        usage.refresh();
        let mark = |t_ms: u64| Mark { t_ns: t_ms * MS, cpu: cpu_at(t_ms) };
        let marks = (0..=20).map(|i| mark(i * 100)).collect();
        UsageRecord { usage, marks, began_ns: 7_000 * MS, stretch_ns_min: 500 * MS }
    }

    #[test]
    fn a_part_has_its_own_cpu_time() {
        for (from_ms, to_ms, cpu_ms, switches) in [
            (7_500, 8_500, 1000, 1500),
            (7_450, 8_600, 5 + 1000, 1550),
            // What it used when all was over counts.
            (7_500, 8_400, 1000, 1500),
            // What was not watched is in no part.
            (1_000, 8_500, 1050, 2000),
            (8_250, 20_000, 250, 750),
        ] {
            let usage = record().within(from_ms * MS, to_ms * MS);
            let name = format!("{from_ms} to {to_ms}");
            assert_eq!(usage.cpu_ns, cpu_ms * MS, "{name}");
            assert_eq!(usage.cpu_user_ns, cpu_ms * MS / 2, "{name}");
            assert_eq!(usage.voluntary_switches, Some(switches), "{name}");
            let (first, last) = (usage.samples[0], usage.samples[usage.samples.len() - 1]);
            assert_eq!((first.t_ns, first.cpu_ns()), (0, 0), "{name}");
            assert_eq!((last.t_ns, last.cpu_ns()), (usage.window_ns, usage.cpu_ns), "{name}");
            assert_eq!((usage.rss_peak_bytes, usage.cpu_unknown), (3000, None), "{name}");
        }
        let usage = record().within(7_500 * MS, 8_500 * MS);
        assert_eq!((usage.window_ns, usage.ended_ns), (1000 * MS, Some(1400 * MS)));
        assert!((usage.cpu_percent_mean - 100.0).abs() < 1e-6, "{}", usage.cpu_percent_mean);
        assert!((usage.cpu_percent_peak() - 100.0).abs() < 1e-3, "{}", usage.cpu_percent_peak());
    }

    #[test]
    fn a_part_that_was_not_watched_has_none() {
        for (from_ms, to_ms) in [(1_000, 2_000), (9_000, 9_500), (8_000, 8_000)] {
            let usage = record().within(from_ms * MS, to_ms * MS);
            assert!(usage.cpu_unknown.is_some(), "{from_ms} to {to_ms}");
        }
        assert_eq!(record().whole(), record().usage);
    }
}
