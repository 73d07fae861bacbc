//! What processes used during a run: CPU time, memory, threads, files, context switches and, where
//! it is known, network traffic. The processes are the server's, or any others that were watched.
//!
//! Here are plain figures and the arithmetic between them; `plimsoll-lab` reads them. Processes are
//! watched as trees: a server is its master, its workers, and whatever they start and end
//! meanwhile.
//!
//! Absent on purpose: figures of single processes, because readers compare servers.

use serde::{Deserialize, Serialize};

/// A reading of all processes of one thing that is watched. Times and counts are since the start of
/// the measured part; sizes are of the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageSample {
    /// When, from the start of the measured part.
    #[serde(rename = "t_s", with = "crate::serde_units::from_ns")]
    pub t_ns: u64,
    /// Which of [`Usage::watched`], from 0.
    #[serde(default)]
    pub source: u32,
    /// CPU time in user mode so far, of processes that have ended too.
    #[serde(rename = "cpu_user_s", with = "crate::serde_units::from_ns")]
    pub cpu_user_ns: u64,
    /// CPU time in the kernel so far, of processes that have ended too.
    #[serde(rename = "cpu_system_s", with = "crate::serde_units::from_ns")]
    pub cpu_system_ns: u64,
    /// Resident memory, pages that processes share counted once for each.
    pub rss_bytes: u64,
    /// Resident memory, pages that processes share counted once in all; null in samples where it
    /// was not read.
    pub pss_bytes: Option<u64>,
    /// Processes.
    pub processes: u32,
    /// Threads of all processes.
    pub threads: u32,
    /// Open files of all processes; null in samples where they were not counted.
    pub open_files: Option<u64>,
    /// Times a thread gave up its CPU to wait; null in samples where they were not counted.
    pub voluntary_switches: Option<u64>,
    /// Times a thread had its CPU taken; null in samples where they were not counted.
    pub involuntary_switches: Option<u64>,
    /// Bytes sent, where the processes have a network namespace of their own.
    pub network_sent_bytes: Option<u64>,
    /// Bytes received, where the processes have a network namespace of their own.
    pub network_received_bytes: Option<u64>,
}

impl UsageSample {
    /// CPU time so far, user and system.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_user_ns.saturating_add(self.cpu_system_ns)
    }
}

/// One thing that was watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// The name of the program, as the kernel gives it.
    pub name: String,
    /// The processes that were found at the start; their descendants were watched too.
    pub pids: Vec<u32>,
}

/// Bytes through a network namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUsage {
    /// Sent on all of its interfaces.
    pub sent_bytes: u64,
    /// Received on all of its interfaces.
    pub received_bytes: u64,
}

/// What a control group counted over the measured part. It may hold more than the processes that
/// were watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupUsage {
    /// Its path in the hierarchy.
    pub path: String,
    /// CPU time; null where the group does not count it.
    #[serde(rename = "cpu_s", with = "crate::serde_units::optional_from_ns")]
    pub cpu_ns: Option<u64>,
    /// The highest memory charged to the group, of the samples or, where the group keeps it and it
    /// rose meanwhile, exactly.
    pub memory_peak_bytes: Option<u64>,
    /// Periods of its CPU quota in which it was stopped.
    pub throttled_periods: Option<u64>,
    /// How long it was stopped, summed over its CPUs.
    #[serde(rename = "throttled_s", with = "crate::serde_units::optional_from_ns")]
    pub throttled_ns: Option<u64>,
}

/// What was used over the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// What was watched.
    pub watched: Vec<Watched>,
    /// How long.
    #[serde(rename = "window_s", with = "crate::serde_units::from_ns")]
    pub window_ns: u64,
    /// CPU time, the sum of the two that follow.
    #[serde(rename = "cpu_s", with = "crate::serde_units::from_ns")]
    pub cpu_ns: u64,
    /// CPU time in user mode.
    #[serde(rename = "cpu_user_s", with = "crate::serde_units::from_ns")]
    pub cpu_user_ns: u64,
    /// CPU time in the kernel.
    #[serde(rename = "cpu_system_s", with = "crate::serde_units::from_ns")]
    pub cpu_system_ns: u64,
    /// CPU time over the window, per cent of one core.
    pub cpu_percent_mean: f64,
    /// The same of the busiest stretch between two samples.
    #[serde(with = "crate::serde_units::rps_from_uhz", rename = "cpu_percent_peak")]
    pub cpu_upercent_peak: u64,
    /// The most memory that was resident at once, as far as was seen.
    pub rss_peak_bytes: u64,
    /// The highest proportional memory of the samples that have it.
    pub pss_peak_bytes: Option<u64>,
    /// The most processes in a sample.
    pub processes_max: u32,
    /// The most threads in a sample.
    pub threads_max: u32,
    /// The most open files in a sample.
    pub open_files_max: Option<u64>,
    /// Times a thread gave up its CPU to wait.
    pub voluntary_switches: Option<u64>,
    /// Times a thread had its CPU taken.
    pub involuntary_switches: Option<u64>,
    /// Network traffic, where the processes have a network namespace of their own.
    pub network: Option<NetworkUsage>,
    /// Control groups other than the tester's own that the processes were in at the start.
    pub cgroups: Vec<CgroupUsage>,
    /// When the first of those watched had ended, all of its processes.
    #[serde(rename = "ended_at_s", with = "crate::serde_units::optional_from_ns")]
    pub ended_ns: Option<u64>,
    /// Why CPU time is not known, where it is not: its figures are too low then, and no view shows
    /// them.
    pub cpu_unknown: Option<String>,
    /// CPU time of the busiest thread over the time it was seen, at least half of the window, per
    /// cent of a core; null where no thread was seen for that long.
    pub thread_percent_max: Option<f64>,
    /// What could not be told, and why.
    pub notes: Vec<String>,
    /// CPU time that sampling itself took.
    #[serde(rename = "sampling_cpu_s", with = "crate::serde_units::from_ns")]
    pub sampling_cpu_ns: u64,
    /// Readings over time, in order.
    pub samples: Vec<UsageSample>,
}

/// What one source used in the stretch between two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// From here, since the start of the measured part.
    pub from_ns: u64,
    /// To here.
    pub to_ns: u64,
    /// CPU time over time: how many cores were busy with it.
    pub cores: f64,
    /// Resident memory at its end.
    pub rss_bytes: u64,
}

impl Usage {
    /// Makes the figures that follow from the others agree with them.
    pub fn refresh(&mut self) {
        self.cpu_ns = self.cpu_user_ns.saturating_add(self.cpu_system_ns);
        let window_ns = self.window_ns.max(1) as f64;
        self.cpu_percent_mean = self.cpu_ns as f64 * 100.0 / window_ns;
    }

    /// Says that the CPU time is not known; the first reason stays.
    pub fn forget_cpu(&mut self, reason: &str) {
        self.cpu_unknown.get_or_insert_with(|| reason.to_owned());
    }

    /// CPU time, where it is known, ns.
    #[must_use]
    pub fn known_cpu_ns(&self) -> Option<u64> {
        self.cpu_unknown.is_none().then_some(self.cpu_ns)
    }

    /// CPU time over the window, share of one core, where it is known.
    #[must_use]
    pub fn known_cores(&self) -> Option<f64> {
        self.cpu_unknown.is_none().then_some(self.cpu_percent_mean / 100.0)
    }

    /// CPU time of the busiest stretch, per cent of one core.
    #[must_use]
    pub fn cpu_percent_peak(&self) -> f64 {
        self.cpu_upercent_peak as f64 / 1e6
    }

    /// Adds what was used of another thing that was watched. Counts and peaks are summed, so a
    /// peak of the sum is at most what is told; what one does not know, the sum does not. Samples
    /// keep their source. Associative.
    pub fn merge(&mut self, other: &Self) {
        let first = self.watched.len() as u32;
        self.watched.extend_from_slice(&other.watched);
        self.window_ns = self.window_ns.max(other.window_ns);
        self.cpu_user_ns += other.cpu_user_ns;
        self.cpu_system_ns += other.cpu_system_ns;
        self.cpu_upercent_peak += other.cpu_upercent_peak;
        self.rss_peak_bytes += other.rss_peak_bytes;
        self.pss_peak_bytes = sum(self.pss_peak_bytes, other.pss_peak_bytes);
        self.processes_max += other.processes_max;
        self.threads_max += other.threads_max;
        self.open_files_max = sum(self.open_files_max, other.open_files_max);
        self.voluntary_switches = sum(self.voluntary_switches, other.voluntary_switches);
        self.involuntary_switches = sum(self.involuntary_switches, other.involuntary_switches);
        self.network = self.network.zip(other.network).map(|(a, b)| NetworkUsage {
            sent_bytes: a.sent_bytes + b.sent_bytes,
            received_bytes: a.received_bytes + b.received_bytes,
        });
        self.cgroups.extend_from_slice(&other.cgroups);
        self.ended_ns = self.ended_ns.into_iter().chain(other.ended_ns).min();
        self.cpu_unknown = self.cpu_unknown.take().or_else(|| other.cpu_unknown.clone());
        let threads = self.thread_percent_max.into_iter().chain(other.thread_percent_max);
        self.thread_percent_max = threads.max_by(f64::total_cmp);
        self.notes.extend_from_slice(&other.notes);
        self.notes.sort_unstable();
        self.notes.dedup();
        self.sampling_cpu_ns += other.sampling_cpu_ns;
        let theirs = other.samples.iter();
        self.samples.extend(theirs.map(|s| UsageSample { source: s.source + first, ..*s }));
        self.samples.sort_by_key(|sample| (sample.t_ns, sample.source));
        self.refresh();
    }

    /// The stretches between the samples of one source.
    pub fn stretches(&self, source: u32) -> impl Iterator<Item = Stretch> + '_ {
        let mut before: Option<UsageSample> = None;
        let of_source = self.samples.iter().filter(move |sample| sample.source == source);
        of_source.filter_map(move |now| {
            let earlier = before.replace(*now)?;
            let length_ns = now.t_ns.checked_sub(earlier.t_ns).filter(|ns| *ns > 0)?;
            let used_ns = now.cpu_ns().saturating_sub(earlier.cpu_ns());
            Some(Stretch {
                from_ns: earlier.t_ns,
                to_ns: now.t_ns,
                cores: used_ns as f64 / length_ns as f64,
                rss_bytes: now.rss_bytes,
            })
        })
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn of(seed: u64) -> Usage {
        let sample = |t_ns: u64, cpu_user_ns: u64| UsageSample {
            t_ns,
            cpu_user_ns,
            rss_bytes: seed + t_ns,
            pss_bytes: (!seed.is_multiple_of(3)).then_some(seed),
            processes: 1,
            threads: 2,
            ..UsageSample::default()
        };
        let mut usage = Usage {
            watched: vec![Watched { name: format!("server {seed}"), pids: vec![seed as u32] }],
            window_ns: (2 + seed % 2) * SECOND,
            cpu_user_ns: seed * SECOND / 10,
            cpu_system_ns: SECOND / 4,
            cpu_upercent_peak: seed * 1_000_000,
            rss_peak_bytes: seed + 2 * SECOND,
            pss_peak_bytes: (!seed.is_multiple_of(3)).then_some(seed),
            network: (!seed.is_multiple_of(4))
                .then_some(NetworkUsage { sent_bytes: seed, received_bytes: 1 }),
            cgroups: vec![CgroupUsage { path: format!("/{seed}"), ..CgroupUsage::default() }],
            ended_ns: seed.is_multiple_of(2).then_some(seed),
            cpu_unknown: seed.is_multiple_of(5).then(|| format!("lost {seed}")),
            thread_percent_max: (!seed.is_multiple_of(2)).then_some(seed as f64),
            notes: vec![format!("note {}", seed % 2)],
            samples: vec![
                sample(0, 0),
                sample(SECOND + seed, seed * 10_000_000),
                sample(2 * SECOND, seed * SECOND / 10),
            ],
            ..Usage::default()
        };
        usage.refresh();
        usage
    }

    #[test]
    fn merge_is_associative_and_loses_no_sample() {
        for (a, b, c) in [(1, 2, 3), (4, 4, 5), (3, 1, 7)] {
            let (a, b, c) = (of(a), of(b), of(c));
            let mut left = a.clone();
            left.merge(&b);
            left.merge(&c);
            let mut tail = b;
            tail.merge(&c);
            let mut right = a;
            right.merge(&tail);
            assert_eq!(left, right);
            assert_eq!((left.samples.len(), left.watched.len()), (9, 3));
            for source in 0..3 {
                assert_eq!(left.stretches(source).count(), 2, "source {source}");
            }
        }
    }

    #[test]
    fn percents_are_of_one_core() {
        let mut usage = of(5);
        usage.merge(&of(10));
        assert_eq!((usage.cpu_ns, usage.window_ns), (2 * SECOND, 3 * SECOND));
        assert!((usage.cpu_percent_mean - 200.0 / 3.0).abs() < 1e-9, "{}", usage.cpu_percent_mean);
        assert_eq!(usage.cpu_percent_peak(), 15.0);
    }

    #[test]
    fn cpu_time_that_is_lost_is_not_known() {
        let (mut usage, lost) = (of(1), of(5));
        assert_eq!(usage.known_cpu_ns(), Some(usage.cpu_ns));
        assert_eq!(usage.known_cores(), Some(usage.cpu_percent_mean / 100.0));
        usage.merge(&lost);
        assert_eq!((usage.known_cpu_ns(), usage.known_cores()), (None, None));
        usage.forget_cpu("later");
        assert_eq!(usage.cpu_unknown.as_deref(), Some("lost 5"), "the first reason stays");
        assert_eq!(usage.thread_percent_max, Some(5.0));
    }

    #[test]
    fn stretches_are_what_was_used_between_samples() {
        let sample = |t_ns, source, cpu_user_ns| UsageSample {
            t_ns,
            source,
            cpu_user_ns,
            cpu_system_ns: cpu_user_ns,
            ..UsageSample::default()
        };
        let usage = Usage {
            samples: vec![
                sample(0, 0, 0),
                sample(0, 1, 0),
                sample(SECOND, 0, SECOND),
                sample(SECOND, 1, SECOND / 4),
                sample(3 * SECOND, 0, SECOND),
                // Two readings of one moment are no stretch.
                sample(3 * SECOND, 0, SECOND),
            ],
            ..Usage::default()
        };
        let cores = |source| usage.stretches(source).map(|s| s.cores).collect::<Vec<_>>();
        assert_eq!(cores(0), [2.0, 0.0]);
        assert_eq!(cores(1), [0.5]);
        assert!(cores(2).is_empty());
    }

    #[test]
    fn the_document_tells_seconds_and_takes_the_shortest_form() {
        let usage = of(2);
        let json = serde_json::to_value(&usage).unwrap();
        assert_eq!((&json["cpu_s"], &json["window_s"]), (&0.45.into(), &2.0.into()));
        assert_eq!(json["cpu_percent_peak"], 2.0);
        assert_eq!(json["samples"][2]["t_s"], 2.0);
        assert_eq!(serde_json::from_value::<Usage>(json).unwrap(), usage);
        let short = r#"{"cpu_s": 1.5, "rss_peak_bytes": 7, "samples": []}"#;
        let usage: Usage = serde_json::from_str(short).unwrap();
        assert_eq!((usage.cpu_ns, usage.rss_peak_bytes), (1_500_000_000, 7));
    }
}
