//! The verdict and the gates as JUnit XML, which continuous integration shows as tests.
//!
//! One suite has a case for the verdict and one for each gate. A condition that ended the run early
//! adds a case; so does a run without any response, as an error. The suite fails exactly when the
//! exit code of the run says that it failed. A verdict below valid fails it if the plan requires a
//! valid one; otherwise the case's output mentions it. The exit code of a run that a signal ended
//! is not a part of the result. JUnit has no schema: the attributes are those that Jenkins, GitLab
//! and GitHub's actions read.

use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::result::{self, Gate};
use plimsoll_core::verdict::Verdict;

use crate::facts::{printable, sentence, subject};
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
    /// There was nothing to judge, or doubt leaves it open.
    Error(String),
}

/// Writes the suite.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let mut cases = vec![verdict(result)];
    cases.extend(unanswered(result));
    cases.extend(result.aborted.iter().map(|condition| Case {
        class: "plimsoll.abort",
        name: condition.clone(),
        outcome: Outcome::Failed("it held, and ended the run".to_owned()),
    }));
    cases.extend(result.gates.iter().map(gate));
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let errors = count(|outcome| matches!(outcome, Outcome::Error(_)));
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.len());
    let time_s = format!("{:.3}", result.elapsed_ns as f64 / 1e9);
    let name = escaped(&format!("plimsoll: {}", subject(result)));
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites {counts} time=\"{time_s}\">")?;
    writeln!(
        out,
        "  <testsuite name=\"{name}\" {counts} skipped=\"0\" time=\"{time_s}\" timestamp=\"{}\">",
        escaped(result.started_at.trim_end_matches('Z'))
    )?;
    for case in &cases {
        write_case(case, out)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

fn verdict(result: &RunResult) -> Case {
    let loader = &result.loader;
    let causes: Vec<&str> = loader.causes.iter().map(|cause| cause.text.as_str()).collect();
    let text = match loader.verdict {
        Verdict::Valid => sentence(result),
        other => format!("{}: {}", other.name(), causes.join("; ")),
    };
    // Doubt is not a failure of the server.
    let outcome = match result.is_below_verdict() {
        true => Outcome::Error(text),
        false => Outcome::Passed(text),
    };
    Case { class: "plimsoll", name: "verdict".to_owned(), outcome }
}

fn unanswered(result: &RunResult) -> Option<Case> {
    let text = failures::unanswered(result)?;
    let name = "responses".to_owned();
    Some(Case { class: "plimsoll", name, outcome: Outcome::Error(text) })
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
        <testsuites tests="3" failures="1" errors="0" time="10.000">
          <testsuite name="plimsoll: GET http://127.0.0.1:8080/" tests="3" failures="1" errors="0" skipped="0" time="10.000" timestamp="2026-11-21T10:20:30">
            <testcase classname="plimsoll" name="verdict"><system-out>requests had to wait for a free connection · 1 000 responses/s</system-out></testcase>
            <testcase classname="plimsoll.gates" name="p99&lt;250ms"><failure type="plimsoll.gates" message="measured 271.4 ms">measured 271.4 ms</failure></testcase>
            <testcase classname="plimsoll.gates" name="errors&lt;1%"><system-out>measured 0 %</system-out></testcase>
          </testsuite>
        </testsuites>
        "#);
        insta::assert_snapshot!(suite(&samples::parts()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites tests="4" failures="2" errors="0" time="4.000">
          <testsuite name="plimsoll: GET https://127.0.0.1:8080/" tests="4" failures="2" errors="0" skipped="0" time="4.000" timestamp="2026-11-21T10:20:30">
            <testcase classname="plimsoll" name="verdict"><system-out>the schedule was kept · 1 000 responses/s</system-out></testcase>
            <testcase classname="plimsoll.abort" name="errors&gt;1% FOR 3s"><failure type="plimsoll.abort" message="it held, and ended the run">it held, and ended the run</failure></testcase>
            <testcase classname="plimsoll.gates" name="service.p99&lt;5ms"><system-out>measured 3.217 ms</system-out></testcase>
            <testcase classname="plimsoll.gates" name="p99@endpoint:login&lt;1s"><failure type="plimsoll.gates" message="nothing to measure (no endpoint 'login'; there is: home, search)">nothing to measure (no endpoint 'login'; there is: home, search)</failure></testcase>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn a_verdict_fails_where_a_valid_one_is_required_and_is_said_elsewhere() {
        let cases = |result: &RunResult| {
            let text = suite(result);
            let lines = text.lines().filter(|line| line.contains("<testcase"));
            lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n")
        };
        let [mut suspect, mut invalid] = [samples::ramp(), samples::stall()];
        invalid.loader.verdict = Verdict::Invalid;
        invalid.loader.causes = samples::nothing().loader.causes;
        invalid.gates.clear();
        assert!(suite(&suspect).contains("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\""));
        insta::assert_snapshot!(cases(&suspect), @r#"<testcase classname="plimsoll" name="verdict"><system-out>suspect: a worker used 97 % of its CPU, so the tester may have been the limit: give it more threads (-t) or a lower rate; the tester did not run for 420 ms from 21.3 s on (420 ms in all): what waited then looks slower than the server was</system-out></testcase>"#);
        insta::assert_snapshot!(cases(&invalid), @r#"<testcase classname="plimsoll" name="verdict"><system-out>invalid: not one response arrived</system-out></testcase>"#);
        for result in [&mut suspect, &mut invalid] {
            result.plan.require_valid = true;
            assert!(suite(result).contains("tests=\"1\" failures=\"1\" errors=\"0\""));
            assert!(cases(result).contains("<failure type=\"plimsoll\" message="), "{result:?}");
        }
        let mut valid = samples::steady();
        valid.plan.require_valid = true;
        assert!(!suite(&valid).contains("<failure"));
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
        assert_eq!(text.matches("<testcase").count(), 3);
        assert_eq!(escaped("a\u{0}\u{ffff}\t'\"\n]]>"), "a\u{fffd}\u{fffd}\u{fffd}'&quot; ]]&gt;");
    }
}
