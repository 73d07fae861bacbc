//! What the server's processes used, if they were watched: in words and over time.

use plimsoll_core::RunResult;
use plimsoll_core::units::{format_bytes, format_count, format_ns};
use plimsoll_core::usage::{Usage, UsageSample};

use crate::facts::counted;

/// CPU time for each response, ns; `None` without responses or without a watch.
fn cpu_per_response_ns(result: &RunResult) -> Option<u64> {
    let usage = result.target.as_ref()?;
    usage.known_cpu_ns()?.checked_div(result.ledger.completed)
}

/// The figures in a line or two: CPU, and what else was used at most.
pub(crate) fn words(result: &RunResult) -> Option<String> {
    let usage = result.target.as_ref()?;
    let peak = usage.cpu_percent_peak();
    let mut text = match &usage.cpu_unknown {
        None => format!("{:.0} % of a core (peak {peak:.0} %)", usage.cpu_percent_mean),
        Some(reason) => format!("CPU not known: {reason}"),
    };
    if let Some(ns) = cpu_per_response_ns(result) {
        text += &format!(", {} of CPU for each response", format_ns(ns));
    }
    text += &format!("; {} RSS", format_bytes(usage.rss_peak_bytes));
    text += &format!(
        ", {}, {}",
        processes(usage.processes_max),
        counted(usage.threads_max.into(), "thread")
    );
    if let Some(ended_ns) = usage.ended_ns {
        text += &format!("; it ended after {}", format_ns(ended_ns));
    }
    Some(text)
}

fn processes(count: u32) -> String {
    format!("{} process{}", format_count(count.into()), if count == 1 { "" } else { "es" })
}

/// All figures, by name.
pub(crate) fn rows(result: &RunResult) -> Vec<(&'static str, String)> {
    let Some(usage) = &result.target else { return Vec::new() };
    let mut rows = vec![("watched", watched(usage))];
    rows.extend(cpu_rows(usage));
    rows.extend(cpu_per_response_ns(result).map(|ns| ("CPU for each response", format_ns(ns))));
    rows.push(("resident memory (RSS)", format!("{} at most", format_bytes(usage.rss_peak_bytes))));
    rows.extend(
        usage
            .pss_peak_bytes
            .map(|b| ("proportional memory (PSS)", format!("{} at most", format_bytes(b)))),
    );
    rows.push((
        "processes, threads",
        format!(
            "{}, {} at most",
            processes(usage.processes_max),
            counted(usage.threads_max.into(), "thread")
        ),
    ));
    rows.extend(
        usage
            .open_files_max
            .map(|files| ("open files", format!("{} at most", format_count(files)))),
    );
    if let (Some(gave_up), Some(taken)) = (usage.voluntary_switches, usage.involuntary_switches) {
        let text = format!("{} to wait, {} taken off", format_count(gave_up), format_count(taken));
        rows.push(("context switches", text));
    }
    rows.extend(usage.network.map(|network| {
        let (sent, received) =
            (format_bytes(network.sent_bytes), format_bytes(network.received_bytes));
        ("network", format!("{sent} sent, {received} received"))
    }));
    rows.extend(groups(usage).into_iter().map(|text| ("control group", text)));
    rows.extend(usage.ended_ns.map(|ns| ("ended", format!("after {}", format_ns(ns)))));
    rows.extend(usage.notes.iter().map(|note| ("note", note.clone())));
    rows.push(("watching took", format!("{} of CPU", format_ns(usage.sampling_cpu_ns))));
    rows
}

fn cpu_rows(usage: &Usage) -> Vec<(&'static str, String)> {
    if let Some(reason) = &usage.cpu_unknown {
        return vec![("CPU", format!("not known: {reason}"))];
    }
    let (mean, peak) = (usage.cpu_percent_mean, usage.cpu_percent_peak());
    let times = [usage.cpu_ns, usage.cpu_user_ns, usage.cpu_system_ns].map(format_ns);
    let [all, user, system] = times;
    vec![
        ("CPU", format!("{mean:.1} % of a core, {peak:.1} % in its busiest second")),
        ("CPU time", format!("{all}: {user} user, {system} system")),
    ]
}

/// Roots that are named; of more, the number is.
const PIDS_SHOWN: usize = 8;

fn watched(usage: &Usage) -> String {
    let one = |watched: &plimsoll_core::usage::Watched| {
        let pids: Vec<String> = watched.pids.iter().take(PIDS_SHOWN).map(u32::to_string).collect();
        let more = watched.pids.len().saturating_sub(PIDS_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{} ({}{more})", watched.name, pids.join(", "))
    };
    usage.watched.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn groups(usage: &Usage) -> Vec<String> {
    let group = |group: &plimsoll_core::usage::CgroupUsage| {
        let figures = [
            group.cpu_ns.map(|ns| format!("{} of CPU", format_ns(ns))),
            group.memory_peak_bytes.map(|bytes| format!("{} at most", format_bytes(bytes))),
            group.throttled_periods.map(|periods| {
                let length = format_ns(group.throttled_ns.unwrap_or(0));
                format!("stopped by its quota {}, {length}", counted(periods, "time"))
            }),
        ];
        let figures: Vec<String> = figures.into_iter().flatten().collect();
        format!("{}: {}", group.path, figures.join(", "))
    };
    usage.cgroups.iter().map(group).collect()
}

/// What was used up to a time, between samples by the straight line.
fn at(usage: &Usage, t_ns: u64, of: fn(&UsageSample) -> u64) -> f64 {
    let sources = usage.watched.len().max(1) as u32;
    (0..sources)
        .map(|source| {
            let mut before: Option<&UsageSample> = None;
            for sample in usage.samples.iter().filter(|sample| sample.source == source) {
                if sample.t_ns >= t_ns {
                    let Some(earlier) = before else { return of(sample) as f64 };
                    let span_ns = (sample.t_ns - earlier.t_ns).max(1) as f64;
                    let share = (t_ns - earlier.t_ns) as f64 / span_ns;
                    let (from, to) = (of(earlier) as f64, of(sample) as f64);
                    return from + share * (to - from);
                }
                before = Some(sample);
            }
            before.map_or(0.0, |last| of(last) as f64)
        })
        .sum()
}

/// How many cores were busy with the server in a stretch of the run.
pub(crate) fn cores(usage: &Usage, from_ns: u64, to_ns: u64) -> f64 {
    let cpu_ns = |t_ns| at(usage, t_ns, UsageSample::cpu_ns);
    (cpu_ns(to_ns) - cpu_ns(from_ns)).max(0.0) / to_ns.saturating_sub(from_ns).max(1) as f64
}

/// The server's resident memory at a time, MiB.
pub(crate) fn rss_mib(usage: &Usage, t_ns: u64) -> f64 {
    at(usage, t_ns, |sample| sample.rss_bytes) / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_figures_in_words() {
        let result = samples::watched();
        insta::assert_snapshot!(words(&result).unwrap(), @"97 % of a core (peak 108 %), 56.5 µs of CPU for each response; 6.50 MiB RSS, 5 processes, 5 threads; it ended after 9.00 s");
        let text: Vec<String> =
            rows(&result).iter().map(|(name, value)| format!("{name}: {value}")).collect();
        insta::assert_snapshot!(text.join("\n"), @"
        watched: nginx (1234)
        CPU: 97.2 % of a core, 108.0 % in its busiest second
        CPU time: 9.72 s: 2.97 s user, 6.75 s system
        CPU for each response: 56.5 µs
        resident memory (RSS): 6.50 MiB at most
        proportional memory (PSS): 5.00 MiB at most
        processes, threads: 5 processes, 5 threads at most
        open files: 71 at most
        context switches: 81 234 to wait, 12 taken off
        network: 7.00 MiB sent, 3.00 MiB received
        control group: /system.slice/nginx.service: 9.80 s of CPU, 9.00 MiB at most, stopped by its quota 3 times, 41.0 ms
        ended: after 9.00 s
        note: a note
        watching took: 7.00 ms of CPU
        ");
        assert_eq!(words(&samples::steady()), None);
        assert!(rows(&samples::steady()).is_empty());
    }

    #[test]
    fn between_samples_it_goes_straight_and_sources_are_added() {
        const SECOND: u64 = 1_000_000_000;
        let sample = |t_ns, source, cpu_user_ns, mib: u64| UsageSample {
            t_ns,
            source,
            cpu_user_ns,
            rss_bytes: mib << 20,
            ..UsageSample::default()
        };
        let usage = Usage {
            watched: vec![Default::default(); 2],
            samples: vec![
                sample(0, 0, 0, 10),
                sample(0, 1, 0, 1),
                sample(2 * SECOND, 0, SECOND, 30),
                sample(2 * SECOND, 1, 2 * SECOND, 1),
            ],
            ..Usage::default()
        };
        for (from, to, want) in [(0, 2, 1.5), (1, 2, 1.5), (0, 4, 0.75), (2, 4, 0.0)] {
            assert_eq!(cores(&usage, from * SECOND, to * SECOND), want, "{from} to {to}");
        }
        let at = [0, SECOND, 9 * SECOND].map(|t_ns| rss_mib(&usage, t_ns));
        assert_eq!(at, [11.0, 21.0, 31.0]);
        assert_eq!(cores(&Usage::default(), 0, 0), 0.0);
    }
}
