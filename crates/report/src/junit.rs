//! The answer and the gates as JUnit XML, which continuous integration shows as tests.
//!
//! One suite has a case for each gate, one for the responses and one for the confidence. A
//! condition that ended the run early adds a case. The suite fails exactly when the exit code of
//! the run says that it failed: a gate that is not met is a failure, one that doubt leaves open is
//! an error, and so are doubt where the plan requires a valid result and a run without any
//! response. Failures that no gate judges are neither good nor bad: their case is skipped, so that
//! it isn't green. The exit code of a run that a signal ended is not a part of the result. JUnit
//! has no schema: the attributes are those that Jenkins, GitLab and GitHub's actions read.

use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::result::{self, Gate};

use crate::answer::{self, Answer, Look};
use crate::doubts::Reasons;
use crate::facts::{self, printable, subject};
use crate::failures;

/// A case and what is in it.
struct Case {
    class: &'static str,
    name: String,
    outcome: Outcome,
}

enum Outcome {
    Passed(String),
    Failed(String),
    /// Nothing judges it.
    Skipped(String),
    /// There was nothing to judge, or doubt leaves it open.
    Error(String),
}

/// Writes the suite.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let mut cases = Vec::new();
    cases.extend(result.aborted.iter().map(|condition| Case {
        class: "plimsoll.abort",
        name: condition.clone(),
        outcome: Outcome::Failed("it held, and ended the run".to_owned()),
    }));
    cases.extend(facts::gates(result).into_iter().map(gate));
    cases.extend([responses(result), confidence(result)]);
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let errors = count(|outcome| matches!(outcome, Outcome::Error(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.len());
    let time_s = format!("{:.3}", result.elapsed_ns as f64 / 1e9);
    let name = escaped(&format!("plimsoll: {}", subject(result)));
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites {counts} time=\"{time_s}\">")?;
    let started_at = escaped(result.started_at.trim_end_matches('Z'));
    let times = format!("time=\"{time_s}\" timestamp=\"{started_at}\"");
    writeln!(out, "  <testsuite name=\"{name}\" {counts} skipped=\"{skipped}\" {times}>")?;
    for case in &cases {
        write_case(case, out)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// What the server answered: an error if it did not at all.
fn responses(result: &RunResult) -> Case {
    let figures = answer::figures(result).unwrap_or_else(|| "no response".to_owned());
    let failed = answer::failed(result);
    let is_judged = result.gates.iter().any(is_about_failures);
    let outcome = match (failures::unanswered(result), failed) {
        (Some(text), _) => Outcome::Error(text),
        (None, Some((Look::Bad, text))) if !is_judged => {
            Outcome::Skipped(format!("{text}: no gate judges this, such as --gate 'errors<1%'"))
        }
        (None, Some((_, text))) => Outcome::Passed(format!("{text} · {figures}")),
        (None, None) => Outcome::Passed(figures),
    };
    Case { class: "plimsoll", name: "responses".to_owned(), outcome }
}

/// Whether a gate judges how many of all requests fail.
fn is_about_failures(gate: &Gate) -> bool {
    let subject = gate.expr.trim_start();
    let is_of = |name: &str| {
        let rest = subject.strip_prefix(name).map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(['<', '>', '=', '!']))
    };
    ["errors", "ok", "failed"].into_iter().any(is_of)
}

fn confidence(result: &RunResult) -> Case {
    let mut text = Answer::of(result).sureness();
    for (label, texts) in Reasons::of(&result.loader.causes).groups() {
        text += &format!("; {}: {}", label.to_lowercase(), texts.join("; "));
    }
    // Doubt is not a failure of the server.
    let outcome = match result.is_below_verdict() {
        true => Outcome::Error(text),
        false => Outcome::Passed(text),
    };
    Case { class: "plimsoll", name: "confidence".to_owned(), outcome }
}

fn gate(gate: &Gate) -> Case {
    let text = failures::measured(gate);
    let outcome = match gate.outcome() {
        result::Outcome::Pass => Outcome::Passed(text),
        result::Outcome::Fail => Outcome::Failed(text),
        result::Outcome::Undecided => Outcome::Error(text),
    };
    Case { class: "plimsoll.gates", name: gate.expr.clone(), outcome }
}

fn write_case(case: &Case, out: &mut dyn Write) -> io::Result<()> {
    let (class, name) = (case.class, escaped(&case.name));
    write!(out, "    <testcase classname=\"{class}\" name=\"{name}\">")?;
    match &case.outcome {
        Outcome::Passed(text) => write!(out, "<system-out>{}</system-out>", escaped(text)),
        Outcome::Skipped(text) => write!(out, "<skipped message=\"{}\"/>", escaped(text)),
        Outcome::Failed(text) => write_wrong("failure", class, text, out),
        Outcome::Error(text) => write_wrong("error", class, text, out),
    }?;
    writeln!(out, "</testcase>")
}

fn write_wrong(element: &str, class: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = escaped(text);
    write!(out, "<{element} type=\"{class}\" message=\"{text}\">{text}</{element}>")
}

/// Text as XML holds it, in attributes too. Line ends become spaces, as a reader of attributes
/// would make of them; other control characters are not allowed in XML at all.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(&text.replace('\n', " ")).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Allowed in Rust's strings, not in XML.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use plimsoll_core::verdict::Verdict;

    use super::*;
    use crate::samples;

    fn suite(result: &RunResult) -> String {
        let mut bytes = Vec::new();
        write(result, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn gates_verdicts_and_aborts_are_cases() {
        insta::assert_snapshot!(suite(&samples::stall()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites tests="4" failures="1" errors="0" time="10.000">
          <testsuite name="plimsoll: GET http://127.0.0.1:8080/" tests="4" failures="1" errors="0" skipped="0" time="10.000" timestamp="2026-11-21T10:20:30">
            <testcase classname="plimsoll.gates" name="p99&lt;250ms"><failure type="plimsoll.gates" message="measured 271.4 ms">measured 271.4 ms</failure></testcase>
            <testcase classname="plimsoll.gates" name="errors&lt;1%"><system-out>measured 0 %</system-out></testcase>
            <testcase classname="plimsoll" name="responses"><system-out>1 000 responses/s · response p50 40.4 µs, p99 200 ms · service p50 38.1 µs, p99 96.8 µs</system-out></testcase>
            <testcase classname="plimsoll" name="confidence"><system-out>valid · all figures hold: requests waited for a free connection, and response times include that wait</system-out></testcase>
          </testsuite>
        </testsuites>
        "#);
        insta::assert_snapshot!(suite(&samples::parts()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites tests="5" failures="2" errors="0" time="4.000">
          <testsuite name="plimsoll: GET https://127.0.0.1:8080/" tests="5" failures="2" errors="0" skipped="1" time="4.000" timestamp="2026-11-21T10:20:30">
            <testcase classname="plimsoll.abort" name="errors&gt;1% FOR 3s"><failure type="plimsoll.abort" message="it held, and ended the run">it held, and ended the run</failure></testcase>
            <testcase classname="plimsoll.gates" name="p99@endpoint:login&lt;1s"><failure type="plimsoll.gates" message="nothing to measure (no endpoint 'login'; there is: home, search)">nothing to measure (no endpoint 'login'; there is: home, search)</failure></testcase>
            <testcase classname="plimsoll.gates" name="service.p99&lt;5ms"><system-out>measured 3.217 ms</system-out></testcase>
            <testcase classname="plimsoll" name="responses"><skipped message="57 of 4 012 failed: 503 x 45, 12 shed: no gate judges this, such as --gate 'errors&lt;1%'"/></testcase>
            <testcase classname="plimsoll" name="confidence"><system-out>valid · all figures hold: the tester did not disturb them</system-out></testcase>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn doubt_is_an_error_where_a_valid_result_is_required_and_is_said_elsewhere() {
        let cases = |result: &RunResult| {
            let text = suite(result);
            let lines = text.lines().filter(|line| line.contains("name=\"confidence"));
            lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n")
        };
        let [mut suspect, mut invalid] = [samples::ramp(), samples::stall()];
        invalid.loader.verdict = Verdict::Invalid;
        invalid.loader.causes = samples::nothing().loader.causes;
        invalid.gates.clear();
        insta::assert_snapshot!(cases(&suspect), @r#"<testcase classname="plimsoll" name="confidence"><system-out>suspect · p95 and beyond in doubt: the tester's CPU was the limit, and the tester stood still for a time; p50, rate and counts hold; doubts: a worker used 97 % of its CPU, so the tester may have been the limit: give it more threads (-t) or a lower rate; the tester did not run for 420 ms from 21.3 s on (420 ms in all): what waited then looks slower than the server was</system-out></testcase>"#);
        insta::assert_snapshot!(cases(&invalid), @r#"<testcase classname="plimsoll" name="confidence"><system-out>invalid · times, the rate, counts in doubt, and the load was not the one asked for: no response arrived; doubts: not one response arrived</system-out></testcase>"#);
        for result in [&mut suspect, &mut invalid] {
            result.plan.require_valid = true;
            assert!(suite(result).contains("tests=\"2\" failures=\"0\" errors=\"1\""));
            assert!(cases(result).contains("<error type=\"plimsoll\" message="), "{result:?}");
        }
        let mut valid = samples::steady();
        valid.plan.require_valid = true;
        assert!(suite(&valid).contains("failures=\"0\" errors=\"0\""));
    }

    #[test]
    fn failures_that_no_gate_judges_are_not_green() {
        let mut result = samples::ramp();
        let text = suite(&result);
        assert!(text.contains("failures=\"0\" errors=\"0\" skipped=\"1\""), "{text}");
        assert!(text.contains("<skipped message=\"5 284 of 50 189 failed: 503 x 4 131"), "{text}");
        result.gates = samples::stall().gates;
        assert!(suite(&result).contains("failures=\"1\" errors=\"0\" skipped=\"0\""));
    }

    #[test]
    fn a_gate_that_doubt_leaves_open_is_an_error() {
        let mut result = samples::stall();
        result.gates[0].undecided = true;
        let text = suite(&result);
        assert!(text.contains("failures=\"0\" errors=\"1\" skipped=\"0\""), "{text}");
    }

    #[test]
    fn a_run_without_a_response_is_an_error_unless_it_was_stopped() {
        let mut nothing = samples::nothing();
        let text = suite(&nothing);
        assert!(text.contains("failures=\"0\" errors=\"1\""), "{text}");
        assert!(
            text.contains("name=\"responses\"><error type=\"plimsoll\" message=\"not one request")
        );
        nothing.interrupted = true;
        assert!(suite(&nothing).contains("errors=\"0\""));
        nothing.aborted = Some("errors>1%".to_owned());
        assert!(suite(&nothing).contains("failures=\"1\" errors=\"1\""));
    }

    #[test]
    fn what_comes_from_outside_stays_text() {
        let text = suite(&samples::hostile());
        assert!(!text.contains("<script>") && !text.contains('\x1b'));
        let tags = text.matches('<').count();
        assert_eq!(tags, text.matches('>').count());
        assert!(text.matches("<testcase").count() >= 3);
        assert_eq!(escaped("a\u{0}\u{ffff}\t'\"\n]]>"), "a\u{fffd}\u{fffd}\u{fffd}'&quot; ]]&gt;");
    }
}
