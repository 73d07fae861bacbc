//! What k6 leaves out, beside its summary: how late iterations started, how long they and their
//! requests took from when they were due, what became of each, whether the tester was the limit,
//! and what kept it from its work.

use plimsoll_core::times::Times;
use plimsoll_core::verdict::{Cause, Verdict};
use plimsoll_runner::k6::Account;

/// A worker that is busier than this cannot be on time.
const BUSY_SHARE: f64 = 0.9;

/// The cause of workers that waited for a CPU.
const WAITED_FOR_CPU: &str = "cpu_shared";

/// How long workers waited until lines and samples were written, added up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waited {
    pub(super) log_ns: u64,
    pub(super) outputs_ns: u64,
}

/// The lines for stderr.
pub(super) fn lines(account: &Account, waited: &Waited) -> Vec<String> {
    let mut lines = vec![
        format!("iterations started late by {}", quantiles(&account.lateness)),
        format!("iterations took, from when they were due: {}", quantiles(&account.iterations)),
        format!("requests took, from when they were asked for: {}", quantiles(&account.requests)),
        iterations(account),
        requests(account),
    ];
    lines.push(limit(account));
    for (what, ns) in [("the log", waited.log_ns), ("outputs", waited.outputs_ns)] {
        if ns > 0 {
            let time = time(ns);
            lines.push(format!(
                "warning: the tester was the limit: workers waited for {what} for {time}; write \
                 less"
            ));
        }
    }
    lines.extend(account.causes.iter().map(|cause| match cause.verdict {
        Verdict::Valid => cause.text.clone(),
        Verdict::Suspect | Verdict::Invalid => format!("warning: {}", cause.text),
    }));
    lines
}

/// Whether the tester was the limit.
fn limit(account: &Account) -> String {
    let workers = account.workers;
    let own = format!(
        "its busiest worker of {workers} was busy for {:.0} % of the time",
        account.busiest_share * 100.0
    );
    let host = match account.host_share {
        Some(share) => format!("{own}, the CPUs of this host for {:.0} %", share * 100.0),
        None => own,
    };
    let advice = "take the times above as upper bounds, or give it more CPUs";
    // A busy host alone says nothing: other programs may leave a CPU whenever a worker wants it.
    let has_waited = account.causes.iter().any(|cause| cause.code == WAITED_FOR_CPU);
    let is_worst = |cause: &Cause| cause.verdict == Verdict::Invalid;
    if account.busiest_share > BUSY_SHARE || account.causes.iter().any(is_worst) {
        format!("warning: the tester was the limit: {host}; {advice}")
    } else if has_waited {
        format!("warning: the tester may have been the limit: {host}; {advice}")
    } else {
        format!("the tester was not the limit: {host}")
    }
}

fn iterations(account: &Account) -> String {
    let Account { started, completed, failed, interrupted, dropped, .. } = account;
    let sign = if account.balances() { "=" } else { "is not (a bug, please report it)" };
    let dropped = match dropped {
        0 => String::new(),
        dropped => format!("; {dropped} more were dropped and never started"),
    };
    format!(
        "{started} iterations {sign} {completed} completed + {failed} failed + {interrupted} \
         interrupted{dropped}"
    )
}

fn requests(account: &Account) -> String {
    let Account { responses, errors, cut_off, .. } = account;
    let all = responses + errors + cut_off;
    format!(
        "{all} requests = {responses} with a response + {errors} without + {cut_off} interrupted"
    )
}

fn quantiles(times: &Times) -> String {
    let at = |share| times.quantile_ns(share).map_or_else(|| "-".to_owned(), time);
    format!("p50 {}, p99 {}, max {}", at(0.5), at(0.99), at(1.0))
}

fn time(ns: u64) -> String {
    plimsoll_core::units::format_ns(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_told_in_six_lines() {
        let mut account = Account {
            started: 4,
            completed: 2,
            failed: 1,
            interrupted: 1,
            responses: 7,
            errors: 1,
            busiest_share: 0.25,
            workers: 2,
            ..Account::default()
        };
        account.lateness.record(1_500_000);
        let text = lines(&account, &Waited::default()).join("\n");
        for says in [
            "started late by p50 1.50 ms",
            "from when they were due: p50 -, p99 -, max -",
            "4 iterations = 2 completed + 1 failed + 1 interrupted\n",
            "8 requests = 7 with a response + 1 without + 0 interrupted",
            "the tester was not the limit: its busiest worker of 2 was busy for 25 %",
        ] {
            assert!(text.contains(says), "{text}");
        }
        (account.started, account.dropped, account.busiest_share) = (5, 3, 0.95);
        let text = lines(&account, &Waited::default()).join("\n");
        assert!(text.contains("5 iterations is not (a bug, please report it) 2"), "{text}");
        assert!(text.contains("interrupted; 3 more were dropped and never started"), "{text}");
        assert!(text.contains("the tester was the limit"), "{text}");
        (account.busiest_share, account.host_share) = (0.01, Some(0.99));
        let text = lines(&account, &Waited::default()).join("\n");
        assert!(
            text.contains("the tester was not the limit") && text.contains("for 99 %"),
            "{text}"
        );
        assert!(!text.contains("warning"), "others were busy, and took nothing from it: {text}");
        let text = "a worker waited for a CPU".to_owned();
        account.causes = vec![Cause::new(Verdict::Suspect, WAITED_FOR_CPU, text)];
        let text = lines(&account, &Waited::default()).join("\n");
        assert!(text.contains("warning: the tester may have been the limit"), "{text}");
        let text = "40 connects failed because this host had no free file descriptor".to_owned();
        account.causes = vec![Cause::new(Verdict::Invalid, "files", text)];
        let text = lines(&account, &Waited::default()).join("\n");
        assert!(text.contains("warning: the tester was the limit"), "{text}");
        assert!(text.contains("warning: 40 connects failed"), "{text}");
        account.causes.clear();
        let waited = Waited { outputs_ns: 2_500_000_000, ..Waited::default() };
        let text = lines(&account, &waited).join("\n");
        assert!(
            text.ends_with("limit: workers waited for outputs for 2.50 s; write less"),
            "{text}"
        );
        assert!(!text.contains("the log"), "{text}");
        assert!(!text.contains("kept"), "{text}");
        let cause = |verdict, text: &str| Cause {
            verdict,
            code: "code".to_owned(),
            text: text.to_owned(),
            touches: Vec::new(),
        };
        account.causes =
            vec![cause(Verdict::Invalid, "kept from it"), cause(Verdict::Valid, "note: kept")];
        let lines = lines(&account, &Waited::default());
        assert_eq!(lines[6..], ["warning: kept from it", "note: kept"]);
    }
}
