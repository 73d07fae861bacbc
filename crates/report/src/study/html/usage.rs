//! CPU and memory over time: the same axes for each server of a load, a line for every run, and the
//! tester's CPU beside the server's.

use plimsoll_core::study::{Case, CaseRun, LoadFacts, Study};
use plimsoll_core::units::format_bytes;
use plimsoll_core::usage::{Stretch, Usage};

use crate::page::chart::{Chart, Line, steps};
use crate::page::escape::Escaped;
use crate::page::push;
use crate::page::scale::{Axis, percent_name};

/// Runs of a case that are drawn; more would be one blot.
const RUNS_DRAWN: usize = 5;

/// Stretches of a run that are drawn: with more, steps are too narrow to be told apart.
const STRETCHES_DRAWN: usize = 60;

/// What the processes of one thing used in one stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    from_ns: u64,
    to_ns: u64,
    cores: f64,
    rss_bytes: f64,
}

/// The lines of a case.
struct Drawn<'a> {
    server: &'a str,
    servers: Vec<Vec<Step>>,
    testers: Vec<Vec<Step>>,
}

/// Writes the charts of a load; nothing where nothing was sampled.
pub(super) fn write(study: &Study, load: &LoadFacts, number: usize, page: &mut String) {
    let under = study.cases.iter().filter(|case| case.load == load.name);
    let cases: Vec<Drawn<'_>> =
        under.map(drawn).filter(|case| case.servers.iter().any(|run| !run.is_empty())).collect();
    if cases.is_empty() {
        return;
    }
    let all = || cases.iter().flat_map(|case| case.servers.iter().chain(&case.testers)).flatten();
    let servers = || cases.iter().flat_map(|case| &case.servers).flatten();
    let axes = Axes {
        x: Axis::time(all().map(|step| step.to_ns).max().unwrap_or(0)),
        cores: Axis::from_zero(all().map(|step| step.cores).fold(0.0, f64::max), percent_name),
        bytes: Axis::bytes(servers().map(|step| step.rss_bytes).fold(0.0, f64::max)),
    };
    page.push_str("<h3>CPU and memory over time</h3>\n<div class=\"multiples\">\n");
    for (place, case) in cases.iter().enumerate() {
        cpu(case, &axes, &format!("cpu-{number}-{place}"), page);
        memory(case, &axes, &format!("memory-{number}-{place}"), page);
    }
    page.push_str("</div>\n");
    if number > 0 {
        return;
    }
    let has_more = study.repeats as usize > RUNS_DRAWN;
    let which =
        if has_more { format!(", the first {RUNS_DRAWN} are drawn") } else { String::new() };
    let how = format!(
        "Each line is a run{which}. CPU: 100 % is one core; the server's is drawn through, the \
         tester's dashed. Memory: the server's resident pages, those that its processes share \
         counted once for each. All servers have the same axes."
    );
    push(page, format_args!("<p class=\"how\">{}</p>\n", Escaped(&how)));
}

struct Axes {
    x: Axis,
    cores: Axis,
    bytes: Axis,
}

fn drawn(case: &Case) -> Drawn<'_> {
    let runs = || case.whole().take(RUNS_DRAWN);
    let of = |usage: fn(&CaseRun) -> Option<&Usage>| {
        runs().filter_map(usage).map(sum).map(thin).collect()
    };
    let servers = of(|run| run.server.as_ref());
    Drawn { server: &case.server, servers, testers: of(|run| run.tester.as_ref()) }
}

/// All that was watched together, in the stretches of the first of it.
fn sum(usage: &Usage) -> Vec<Step> {
    if usage.cpu_unknown.is_some() {
        // A line that is too low would mislead, so none is drawn.
        return Vec::new();
    }
    let step = |it: Stretch| Step {
        from_ns: it.from_ns,
        to_ns: it.to_ns,
        cores: it.cores,
        rss_bytes: it.rss_bytes as f64,
    };
    let mut steps: Vec<Step> = usage.stretches(0).map(step).collect();
    for source in 1..usage.watched.len() as u32 {
        let others: Vec<Stretch> = usage.stretches(source).collect();
        for step in &mut steps {
            let middle_ns = step.from_ns + (step.to_ns - step.from_ns) / 2;
            let place = others.partition_point(|other| other.to_ns <= middle_ns);
            if let Some(other) = others.get(place).filter(|other| other.from_ns <= middle_ns) {
                step.cores += other.cores;
                step.rss_bytes += other.rss_bytes as f64;
            }
        }
    }
    steps
}

/// Joins neighbours: CPU is averaged over them, memory is the highest.
fn thin(steps: Vec<Step>) -> Vec<Step> {
    let group = steps.len().div_ceil(STRETCHES_DRAWN).max(1);
    let join = |steps: &[Step]| {
        let (from_ns, to_ns) = (steps[0].from_ns, steps[steps.len() - 1].to_ns);
        let length_ns = |step: &Step| step.to_ns.saturating_sub(step.from_ns) as f64;
        let used: f64 = steps.iter().map(|step| step.cores * length_ns(step)).sum();
        let whole: f64 = steps.iter().map(length_ns).sum();
        let rss_bytes = steps.iter().map(|step| step.rss_bytes).fold(0.0, f64::max);
        Step { from_ns, to_ns, cores: used / whole.max(1.0), rss_bytes }
    };
    steps.chunks(group).map(join).collect()
}

fn path(run: &[Step], x: &Axis, y: &Axis, value: impl Fn(&Step) -> f64) -> String {
    let at = |ns: u64| x.at(ns as f64);
    steps(run.iter().map(|step| (at(step.from_ns), at(step.to_ns), Some(y.at(value(step))))))
}

/// A line for each run; only the first is in the legend.
fn lines<'a>(
    runs: &[Vec<Step>],
    class: &'static str,
    name: &'a str,
    place: impl Fn(&[Step]) -> String,
) -> Vec<Line<'a>> {
    let drawn = runs.iter().filter(|run| !run.is_empty());
    let line = |(i, run): (usize, &Vec<Step>)| {
        let name = if i == 0 { name } else { "" };
        Line { class, name, path: place(run) }
    };
    drawn.enumerate().map(line).collect()
}

fn cpu(case: &Drawn<'_>, axes: &Axes, id: &str, page: &mut String) {
    let place = |run: &[Step]| path(run, &axes.x, &axes.cores, |step| step.cores);
    let mut all = lines(&case.testers, "u-tester", "tester", place);
    all.extend(lines(&case.servers, "u-server", "server", place));
    let highest = case.servers.iter().flatten().map(|step| step.cores).fold(0.0, f64::max);
    let description = format!(
        "CPU of {} and of the tester over time; the server used {} of a core at most.",
        case.server,
        percent_name(highest)
    );
    chart(id, &format!("{}: CPU", case.server), description, all, (&axes.x, &axes.cores), page);
}

fn memory(case: &Drawn<'_>, axes: &Axes, id: &str, page: &mut String) {
    let place = |run: &[Step]| path(run, &axes.x, &axes.bytes, |step| step.rss_bytes);
    let all = lines(&case.servers, "u-memory", "", place);
    let highest = case.servers.iter().flatten().map(|step| step.rss_bytes).fold(0.0, f64::max);
    let description = format!(
        "Resident memory of {} over time, {} at most.",
        case.server,
        format_bytes(highest as u64)
    );
    chart(id, &format!("{}: memory", case.server), description, all, (&axes.x, &axes.bytes), page);
}

fn chart(
    id: &str,
    title: &str,
    description: String,
    lines: Vec<Line<'_>>,
    (x, y): (&Axis, &Axis),
    page: &mut String,
) {
    let chart = Chart {
        id,
        group: None,
        title,
        description,
        how: "",
        x,
        y,
        lines,
        marks: Vec::new(),
        band_name: "",
        bands: Vec::new(),
        low: true,
    };
    chart.write(page);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(from_ns: u64, to_ns: u64, cores: f64, rss_bytes: f64) -> Step {
        Step { from_ns, to_ns, cores, rss_bytes }
    }

    #[test]
    fn joined_stretches_keep_the_cpu_time_and_the_peak() {
        let steps: Vec<Step> =
            (0..200).map(|i| step(i * 10, i * 10 + 10, (i % 2) as f64, i as f64)).collect();
        let thinned = thin(steps);
        assert!(thinned.len() <= STRETCHES_DRAWN, "{}", thinned.len());
        let used: f64 = thinned.iter().map(|it| it.cores * (it.to_ns - it.from_ns) as f64).sum();
        assert!((used - 1_000.0).abs() < 1e-9, "{used}");
        assert_eq!(thinned.last().map(|it| (it.to_ns, it.rss_bytes)), Some((2_000, 199.0)));
        assert_eq!(thin(vec![step(5, 5, 1.0, 2.0)]), [step(5, 5, 0.0, 2.0)]);
    }

    #[test]
    fn what_was_watched_is_summed_by_time() {
        let mut a = crate::study::samples::echo().cases[1].runs[0].server.clone().unwrap();
        let alone = sum(&a);
        a.merge(&a.clone());
        let both = sum(&a);
        assert_eq!(both.len(), alone.len());
        for (one, two) in alone.iter().zip(&both) {
            assert!((two.cores - 2.0 * one.cores).abs() < 1e-9);
            assert_eq!(two.rss_bytes, 2.0 * one.rss_bytes);
        }
    }
}
