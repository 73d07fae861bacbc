//! Whether the tester names the limits of its own host: open files, local ports.

use super::Experiment;
use super::place::{Namespace, few_files};
use crate::doubts::{self, Told, Topic};
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit};
use crate::oracle::Mode;
use crate::tool::{Ask, Reading};

pub(super) const ALL: [Experiment; 2] = [
    Experiment {
        name: "ports",
        row: 19,
        title: "The tester's own lack of ports looks like the server's fault",
        method: "150 connections, closed loop, 1 s, in a network that has 100 local ports; then \
                 from two addresses; in the control 50 connections",
        truth: "at most 100 connections can be opened from one address, all 150 from two",
        tolerance: "it has to name ports or addresses as what is missing, and not in the control; \
                    from two addresses all 150 are opened, where the tester can",
        needs_quiet: false,
        run: ports,
    },
    Experiment {
        name: "open-files",
        row: 20,
        title: "Too few open files, and it runs anyway",
        method: "100 connections, closed loop, 1 s, with at most 64 open files; in the control 10 \
                 connections",
        truth: "100 connections do not fit, 10 do",
        tolerance: "it refuses before it sends anything, and names files; the control runs",
        needs_quiet: false,
        run: open_files,
    },
];

const FILES: Topic = Topic {
    expected: "open files named",
    tells: &["open files", "file descriptor", "too many", "ulimit", "nofile", "rlimit"],
    names: &[],
    // It is a refusal; there are no figures to doubt.
    figures: &[],
};
const PORTS: Topic = Topic {
    expected: "ports named as the tester's own limit",
    tells: &["local port", "free port", "port range", "addrnotavail", "assign requested address"],
    names: &[],
    figures: &[],
};

/// A network with 100 local ports.
fn few_ports() -> Result<Namespace, Judgement> {
    let namespace = Namespace::new(None).map_err(Judgement::skipped)?;
    let range = "echo 40000 40099 > /proc/sys/net/ipv4/ip_local_port_range";
    namespace.run(&["sh", "-c", range]).map_err(Judgement::skipped)?;
    Ok(namespace)
}

fn with_connections(connections: u32, wrapper: Vec<String>) -> Setup {
    let ask = Ask { connections, duration_s: Some(1.0), ..Ask::to("/") };
    let oracle_wrapper = wrapper.clone();
    Setup { wrapper, oracle_wrapper, ..Setup::new(ask, Mode::default()) }
}

fn ports(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    // What one run leaves behind takes ports from the next.
    let (namespace, other) = (few_ports()?, few_ports()?);
    let one = with_connections(150, namespace.wrapper());
    let control = bench.hear(subject, &with_connections(50, other.wrapper()))?;
    let mut two = one.clone();
    two.ask.source_addresses =
        ["127.0.0.1", "127.0.0.2"].iter().filter_map(|text| text.parse().ok()).collect();
    // One that sees what is coming sends nothing.
    let first = bench.hear(subject, &Setup { least: 0, ..one })?;
    let second = match bench.load(subject, &two) {
        Ok(run) => Some(run),
        Err(Judgement::CannotExpress { .. }) => None,
        Err(other) => return Err(other),
    };
    let opened = |run: &Run| run.log.connections.len() as u64;
    let readings = [&first.reading, &control.reading];
    Ok(judge_ports(readings, opened(&first), second.as_ref().map(opened)))
}

/// What it said without enough ports, and with.
fn judge_ports(readings: [&Reading; 2], opened: u64, from_two: Option<u64>) -> Judgement {
    let mut checks = Checks::default();
    check_told(&mut checks, &PORTS, readings);
    checks.note(format!("{opened} connections opened"));
    match from_two {
        Some(opened) => {
            checks.between("from two", Unit::Count, opened as f64, 150.0, f64::INFINITY);
        }
        None => checks.note("no choice of addresses"),
    }
    checks.outcome()
}

fn open_files(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let with = |connections, least| {
        let ask = Ask { connections, duration_s: Some(1.0), ..Ask::to("/") };
        let wrapper = few_files(64);
        bench.hear(subject, &Setup { wrapper, least, ..Setup::new(ask, Mode::default()) })
    };
    let (run, control) = (with(100, 0)?, with(10, 10)?);
    let refused = run.finished.code != Some(0);
    Ok(judge_files([&run.reading, &control.reading], refused, run.log.entries.len() as u64))
}

/// What it said with too few files, and with enough.
fn judge_files(readings: [&Reading; 2], refused: bool, sent: u64) -> Judgement {
    let mut checks = Checks::default();
    checks.holds(refused, if refused { "refused" } else { "ran" }, "refused");
    checks.exactly("sent", sent, 0);
    check_told(&mut checks, &FILES, readings);
    checks.outcome()
}

fn check_told(checks: &mut Checks, topic: &Topic, [reading, control]: [&Reading; 2]) {
    match doubts::told(topic, reading, control) {
        Told::Rightly(word) => checks.note(format!("it says so ('{word}')")),
        Told::CriedWolf(word) => checks.holds(
            false,
            format!("'{word}' also when it is not so"),
            "no word of it otherwise",
        ),
        Told::Nothing => checks.holds(false, "no word of it", topic.expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Reading {
        Reading { text: text.to_owned(), ..Reading::default() }
    }

    fn passes(outcome: &Judgement) -> bool {
        matches!(outcome, Judgement::Pass { .. })
    }

    #[test]
    fn a_lack_of_ports_is_named() {
        let named = told("connect: Cannot assign requested address (os error 99)");
        let fine = Reading::default();
        assert!(passes(&judge_ports([&named, &fine], 99, Some(150))));
        assert!(passes(&judge_ports([&named, &fine], 99, None)));
        assert!(!passes(&judge_ports([&named, &fine], 99, Some(99))), "one address is not used");
        assert!(!passes(&judge_ports([&told("51 socket errors"), &fine], 99, None)));
        assert!(!passes(&judge_ports([&named, &named], 99, None)), "it says so of any run");
    }

    #[test]
    fn too_few_files_are_refused() {
        let named = told("100 connections need 110 open files, 64 are allowed");
        let fine = Reading::default();
        assert!(passes(&judge_files([&named, &fine], true, 0)));
        assert!(!passes(&judge_files([&named, &fine], false, 5000)));
        assert!(!passes(&judge_files([&named, &fine], true, 3)), "it had begun");
        assert!(!passes(&judge_files([&told("bad"), &fine], true, 0)));
        assert!(!passes(&judge_files([&named, &named], true, 0)), "it says so of any run");
    }
}
