//! The views of findings made by hand.

use super::*;
use crate::experiments;
use crate::findings::{Omitted, Participant, Row, SCHEMA};

fn findings() -> Findings {
    let cell = |tool: &str, repeats: &[Judgement], others_share| Cell {
        tool: tool.to_owned(),
        repeats: repeats.to_vec(),
        others_share,
    };
    let row = |name: &str, mistake, title: &str, cells| Row {
        name: name.to_owned(),
        mistake,
        title: title.to_owned(),
        cells,
    };
    let (pass, fail) = (Judgement::pass("p99 901 ms"), Judgement::fail("p99 2.1 ms", "p99 873 ms"));
    let participant = |name: &str, version: &str| Participant {
        name: name.to_owned(),
        version: version.to_owned(),
    };
    Findings {
        schema: SCHEMA.to_owned(),
        tools: vec![participant("plimsoll", "plimsoll 0.1.0"), participant("wrk", "wrk | 4.2.0")],
        experiments: vec![
            row(
                "stalled-server",
                1,
                "Coordinated omission",
                vec![
                    cell("plimsoll", &[pass.clone(), pass.clone(), fail.clone()], None),
                    cell(
                        "wrk",
                        &[Judgement::CannotExpress { why: "no fixed rate".to_owned() }],
                        None,
                    ),
                ],
            ),
            row(
                "little",
                14,
                "Rate and latency do not fit",
                vec![
                    cell(
                        "plimsoll",
                        &[Judgement::skipped("needs two CPUs and | other things")],
                        None,
                    ),
                    cell("wrk", &[fail], Some(0.314)),
                ],
            ),
            row(
                "ports",
                19,
                "Ports",
                vec![
                    cell(
                        "plimsoll",
                        &[Judgement::unmeasured("it does not say so ".repeat(8))],
                        None,
                    ),
                    cell("wrk", &[Judgement::broken("the oracle did not end")], None),
                ],
            ),
        ],
        left_out: vec![Omitted {
            mistake: 32,
            title: "Windows".to_owned(),
            why: "the oracle speaks HTTP/1 only".to_owned(),
        }],
    }
}

fn view(view: View) -> String {
    wide(view, WIDTH_MAX)
}

fn wide(view: View, width: usize) -> String {
    let mut bytes = Vec::new();
    write(&findings(), view, width, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn text_is_as_wide_as_the_terminal() {
    for (width, most) in [(0, WIDTH_MIN), (80, 80), (200, WIDTH_MAX)] {
        let text = wide(View::Text, width);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= most && widest > most - 10), "{text}");
    }
}

#[test]
fn text() {
    insta::assert_snapshot!(view(View::Text), @r"
    plimsoll     plimsoll 0.1.0
    wrk          wrk | 4.2.0

    stalled-server (mistake 1): Coordinated omission
      plimsoll     pass 2/3       p99 901 ms
      wrk          can't express  no fixed rate

    little (mistake 14): Rate and latency do not fit
      plimsoll     skipped        needs two CPUs and | other things
      wrk          FAIL           p99 2.1 ms; expected p99 873 ms (others used 31 % of the machine)

    ports (mistake 19): Ports
      plimsoll     unmeasured     it does not say so it does not say so it does not say so it does not
                                  say so it does not say so it does not say so it does not say so it
                                  does not say so
      wrk          BROKEN         the oracle did not end

    plimsoll     1 pass, 1 skipped, 1 unmeasured
    wrk          1 can't express, 1 FAIL, 1 BROKEN
    left out: mistake 32, Windows: the oracle speaks HTTP/1 only
    ");
}

#[test]
fn markdown() {
    insta::assert_snapshot!(view(View::Markdown), @r"
    | mistake | experiment | plimsoll | wrk |
    |---|---|---|---|
    | 1 | `stalled-server` | pass 2/3 | – |
    | 14 | `little` | skipped | **FAIL** |
    | 19 | `ports` | unmeasured | **BROKEN** |

    Versions: plimsoll: plimsoll 0.1.0, wrk: wrk | 4.2.0.

    - `little`
      - plimsoll: skipped: needs two CPUs and | other things
      - wrk: FAIL: p99 2.1 ms; expected p99 873 ms (others used 31 % of the machine)
    - `ports`
      - plimsoll: unmeasured: it does not say so it does not say so it does not say so it does not say
        so it does not say so it does not say so it does not say so it does not say so
      - wrk: BROKEN: the oracle did not end
    ");
}

#[test]
fn json_holds_every_repeat() {
    let document: serde_json::Value = serde_json::from_str(&view(View::Json)).unwrap();
    assert_eq!(document["schema"], SCHEMA);
    let repeats = &document["experiments"][0]["cells"][0]["repeats"];
    assert_eq!(repeats.as_array().unwrap().len(), 3);
    assert_eq!(repeats[2]["outcome"], "fail");
    assert_eq!(repeats[2]["expected"], "p99 873 ms");
    assert_eq!(document["left_out"][0]["mistake"], 32);
}

#[test]
fn all_experiments_and_testers_are_listed() {
    let names: Vec<&str> = experiments::all().iter().map(|experiment| experiment.name).collect();
    let mut bytes = Vec::new();
    list(&experiments::all(), &names, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (listed, testers) = text.split_once("\n\ntesters: ").unwrap();
    let first_lines = listed.lines().filter(|line| !line.starts_with(' '));
    assert_eq!(first_lines.count(), names.len());
    assert_eq!(testers.split(',').map(str::trim).collect::<Vec<_>>(), names);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_document_says_of_the_experiments_what_they_say_of_themselves() {
    let document = include_str!("../../../../docs/conformance.md");
    let mut bytes = Vec::new();
    describe(&experiments::all(), &mut bytes).unwrap();
    for section in String::from_utf8(bytes).unwrap().split_inclusive("\n\n") {
        let hint = "take it from `plimsoll conformance --list --format md`";
        assert!(document.contains(section.trim()), "missing: {section}{hint}");
    }
}
