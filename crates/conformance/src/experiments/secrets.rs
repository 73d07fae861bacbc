//! Whether the tester keeps secrets of a request out of what it prints and writes.

use super::Experiment;
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement};
use crate::oracle::{Log, Mode};
use crate::tool::{Ask, Need};

pub(super) const ALL: [Experiment; 1] = [Experiment {
    name: "secrets",
    row: 42,
    title: "Secrets of the requests are in the report",
    method: "20 requests over 2 connections with a token in a header, another in the address's \
             query, and a password in a form, where the tester can send one",
    truth: "none of them is anyone's to read but the server's",
    tolerance: "none in what it prints or writes; the oracle has to have seen them",
    needs_quiet: false,
    run: secrets,
}];

/// Where a secret is, and what: words that stand nowhere else.
const IN_HEADER: (&str, &str) = ("header", "hdr5ecretq7x2");
const IN_QUERY: (&str, &str) = ("query", "qry5ecretm4k9");
const IN_FORM: (&str, &str) = ("form", "frm5ecretw8z3");

fn secrets(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let path = format!("/a?page=2&token={}", IN_QUERY.1);
    let plain = Ask {
        connections: 2,
        requests: Some(20),
        headers: vec![("X-Auth-Token".to_owned(), IN_HEADER.1.to_owned())],
        ..Ask::to(&path)
    };
    let form = Need::Form(format!("user=me&password={}", IN_FORM.1));
    let with_form = Ask { extra: vec![form], ..plain.clone() };
    match few(bench, subject, with_form) {
        Ok(run) => Ok(judge_secrets(&run, &path, &[IN_HEADER, IN_QUERY, IN_FORM])),
        Err(Judgement::CannotExpress { .. }) => {
            let run = few(bench, subject, plain)?;
            Ok(judge_secrets(&run, &path, &[IN_HEADER, IN_QUERY]))
        }
        Err(other) => Err(other),
    }
}

/// As many as it asks for, or a second of them with a tester that cannot count. It may end as it
/// likes: what it says is what counts.
fn few(bench: &Bench, subject: &Subject, ask: Ask) -> Result<Run, Judgement> {
    let by_time = Ask { requests: None, duration_s: Some(1.0), ..ask.clone() };
    match bench.hear(subject, &Setup::new(ask, Mode::default())) {
        Err(Judgement::CannotExpress { .. }) => {
            bench.hear(subject, &Setup::new(by_time, Mode::default()))
        }
        other => other,
    }
}

fn judge_secrets(run: &Run, path: &str, secrets: &[(&str, &str)]) -> Judgement {
    let mut checks = Checks::default();
    let sent = sent_whole(&run.log, path, secrets);
    checks.holds(sent, if sent { "sent" } else { "not sent" }, "sent");
    for (place, secret) in secrets {
        let is_told = run.reading.text.contains(secret);
        let figure = format!("{place} {}", if is_told { "shown" } else { "kept" });
        checks.holds(!is_told, figure, &format!("{place} kept"));
    }
    if secrets.len() < 3 {
        checks.note("no form");
    }
    checks.outcome()
}

/// Whether each request was for that path and long enough to have the other secrets in it.
fn sent_whole(log: &Log, path: &str, secrets: &[(&str, &str)]) -> bool {
    let others: usize = secrets.iter().filter(|at| **at != IN_QUERY).map(|at| at.1.len()).sum();
    let least = (path.len() + others) as u32;
    let hash = crate::oracle::hash(path.as_bytes());
    let is_whole = |entry: &crate::oracle::Entry| entry.path == hash && entry.bytes_in > least;
    !log.entries.is_empty() && log.entries.iter().all(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{Entry, hash};
    use crate::tool::Reading;

    #[test]
    fn what_is_secret_is_not_told() {
        let all = [IN_HEADER, IN_QUERY, IN_FORM];
        let judged = |text: &str, entry: Entry| {
            let run = Run {
                reading: Reading { text: text.to_owned(), ..Reading::default() },
                log: Log { entries: vec![entry; 20], ..Log::default() },
                ..Run::default()
            };
            matches!(judge_secrets(&run, "/a", &all), Judgement::Pass { .. })
        };
        let sent = Entry { path: hash(b"/a"), bytes_in: 200, ..Entry::default() };
        assert!(judged("Running 1s test @ http://h/a?token=***", sent));
        for (place, secret) in all {
            assert!(!judged(&format!("{{\"a\":\"x{secret}y\"}}"), sent), "{place}");
        }
        assert!(!judged("", Entry { path: 1, ..sent }), "another path");
        assert!(!judged("", Entry { bytes_in: 20, ..sent }), "no header and no form");
    }
}
