//! Whether the tester names the limits of its own host: open files, local ports.

use super::Experiment;
use super::place::{Namespace, few_files};
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Outcome, Unit};
use crate::oracle::Mode;
use crate::tool::{Ask, Reading};

pub(super) const ALL: [Experiment; 2] = [
    Experiment {
        name: "ports",
        row: 19,
        title: "The tester's own lack of ports looks like the server's fault",
        method: "150 connections, closed loop, 1 s, in a network that has 100 local ports; then \
                 from two addresses",
        truth: "at most 100 connections can be opened from one address, all 150 from two",
        tolerance: "it has to name ports or addresses as what is missing; from two addresses all \
                    150 are opened, where the tester can",
        needs_quiet: false,
        run: ports,
    },
    Experiment {
        name: "open-files",
        row: 20,
        title: "Too few open files, and it runs all the same",
        method: "100 connections, closed loop, 1 s, with at most 64 open files",
        truth: "100 connections do not fit",
        tolerance: "it refuses before it sends anything, and names files",
        needs_quiet: false,
        run: open_files,
    },
];

const FILE_WORDS: [&str; 6] =
    ["open files", "file descriptor", "too many", "ulimit", "nofile", "rlimit"];
const PORT_WORDS: [&str; 5] =
    ["local port", "free port", "port range", "addrnotavail", "assign requested address"];

fn ports(bench: &Bench, subject: &Subject) -> Result<Outcome, Outcome> {
    let namespace = Namespace::new(None).map_err(Outcome::skipped)?;
    let range = "echo 40000 40099 > /proc/sys/net/ipv4/ip_local_port_range";
    namespace.run(&["sh", "-c", range]).map_err(Outcome::skipped)?;
    let ask = Ask { connections: 150, duration_s: Some(1.0), ..Ask::to("/") };
    let wrapper = namespace.wrapper();
    let one = Setup {
        wrapper: wrapper.clone(),
        oracle_wrapper: wrapper,
        ..Setup::new(ask, Mode::default())
    };
    let mut two = one.clone();
    two.ask.source_addresses =
        ["127.0.0.1", "127.0.0.2"].iter().filter_map(|text| text.parse().ok()).collect();
    let first = bench.run(subject, &one)?;
    let second = match bench.load(subject, &two) {
        Ok(run) => Some(run),
        Err(Outcome::CannotExpress { .. }) => None,
        Err(other) => return Err(other),
    };
    let opened = |run: &Run| run.log.connections.len() as u64;
    Ok(judge_ports(&words_of(subject, &first), opened(&first), second.as_ref().map(opened)))
}

/// All that a tester said, whether it can be read as a report or not.
fn words_of(subject: &Subject, run: &Run) -> Reading {
    subject.tool.read(&run.finished).unwrap_or_else(|_| Reading {
        text: format!("{}{}", run.finished.stdout, run.finished.stderr),
        ..Reading::default()
    })
}

fn judge_ports(reading: &Reading, opened: u64, from_two: Option<u64>) -> Outcome {
    let mut checks = Checks::default();
    match reading.says(&PORT_WORDS) {
        Some(word) => checks.note(format!("it says so ('{word}')")),
        None => checks.holds(false, "no word of ports", "ports named as the tester's own limit"),
    }
    checks.note(format!("{opened} connections opened"));
    match from_two {
        Some(opened) => {
            checks.between("from two", Unit::Count, opened as f64, 150.0, f64::INFINITY);
        }
        None => checks.note("no choice of addresses"),
    }
    checks.outcome()
}

fn open_files(bench: &Bench, subject: &Subject) -> Result<Outcome, Outcome> {
    let ask = Ask { connections: 100, duration_s: Some(1.0), ..Ask::to("/") };
    let setup = Setup { wrapper: few_files(64), ..Setup::new(ask, Mode::default()) };
    let run = bench.run(subject, &setup)?;
    let refused = run.finished.code != Some(0);
    Ok(judge_files(&words_of(subject, &run), refused, run.log.entries.len() as u64))
}

fn judge_files(reading: &Reading, refused: bool, sent: u64) -> Outcome {
    let mut checks = Checks::default();
    checks.holds(refused, if refused { "refused" } else { "ran" }, "refused");
    checks.exactly("sent", sent, 0);
    match reading.says(&FILE_WORDS) {
        Some(word) => checks.note(format!("'{word}'")),
        None => checks.holds(false, "no word of files", "open files named"),
    }
    checks.outcome()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Reading {
        Reading { text: text.to_owned(), ..Reading::default() }
    }

    fn passes(outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Pass { .. })
    }

    #[test]
    fn a_lack_of_ports_is_named() {
        let named = told("connect: Cannot assign requested address (os error 99)");
        assert!(passes(&judge_ports(&named, 99, Some(150))));
        assert!(passes(&judge_ports(&named, 99, None)));
        assert!(!passes(&judge_ports(&named, 99, Some(99))), "both addresses are not used");
        assert!(!passes(&judge_ports(&told("51 socket errors"), 99, None)));
    }

    #[test]
    fn too_few_files_are_refused() {
        let named = told("100 connections need 110 open files, 64 are allowed");
        assert!(passes(&judge_files(&named, true, 0)));
        assert!(!passes(&judge_files(&named, false, 5000)));
        assert!(!passes(&judge_files(&named, true, 3)), "it had begun");
        assert!(!passes(&judge_files(&told("bad"), true, 0)));
    }
}
