//! A comparison as Markdown, GitHub's kind: the decision, the limits, a table of the cases, and for
//! each case a table of every measure.

use std::io::{self, Write};

use plimsoll_core::comparison::{CaseContrast, Contrast, SideFacts};

use super::{
    case_name, case_sentence, case_word, cells, count_sentence, judged_change, legend, other_word,
    power_sentence,
};
use crate::facts::counted;
use crate::markdown::escape::{code, prose};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(contrast: &Contrast, out: &mut dyn Write) -> io::Result<()> {
    let mut blocks = vec![head(contrast), sides(contrast), limits(contrast)];
    if contrast.cases.len() > 1 {
        blocks.push(several(&contrast.cases));
    }
    for case in &contrast.cases {
        let name = case_name(&case.server, &case.load);
        if !name.is_empty() {
            blocks.push(vec![format!("### {}", prose(&name))]);
        }
        blocks.push(case.notes.iter().map(|note| format!("- {}", prose(note))).collect());
        blocks.push(one(case));
        blocks.push(power_sentence(case).iter().map(|text| prose(text)).collect());
    }
    blocks.push(legend(contrast).iter().map(|text| prose(text)).collect());
    let blocks: Vec<String> =
        blocks.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    writeln!(out, "{}", blocks.join("\n\n"))
}

fn head(contrast: &Contrast) -> Vec<String> {
    let text = match contrast.cases.as_slice() {
        [] => "**nothing**: no case stands on both sides".to_owned(),
        [case] => format!("**{}**: {}", case_word(case), prose(&case_sentence(case))),
        _ => format!("**{}**", prose(&count_sentence(contrast))),
    };
    vec![text]
}

fn sides(contrast: &Contrast) -> Vec<String> {
    let line = |word: &str, side: &SideFacts| {
        let begun = match side.first_started_at.as_str() {
            "" => String::new(),
            at => format!(", begun {}", prose(at)),
        };
        format!("- {word}: {}, {}{begun}", code(&side.name), counted(side.runs as u64, "run"))
    };
    let mut lines = vec![line("base", &contrast.base), line("new", &contrast.new)];
    lines.extend(contrast.differences.iter().map(|text| format!("- unlike: {}", prose(text))));
    lines.extend(contrast.notes.iter().map(|note| format!("- {}", prose(note))));
    lines
}

fn limits(contrast: &Contrast) -> Vec<String> {
    let rows = contrast.limits.iter().map(|judged| {
        format!(
            "| {} | {} | {} | {} | {} |",
            if judged.pass { "pass" } else { "**FAIL**" },
            code(&judged.expr),
            prose(&case_name(&judged.server, &judged.load)),
            judged_change(judged),
            judged.note.as_deref().map(prose).unwrap_or_default(),
        )
    });
    let head = ["| | limit | case | change | |", "|---|---|---|--:|---|"].map(str::to_owned);
    if contrast.limits.is_empty() { Vec::new() } else { head.into_iter().chain(rows).collect() }
}

fn several(cases: &[CaseContrast]) -> Vec<String> {
    let mut lines = vec![
        "| case | measure | base | new | ratio | from | to | shows | |".to_owned(),
        "|---|---|--:|--:|--:|--:|--:|--:|---|".to_owned(),
    ];
    lines.extend(cases.iter().map(|case| {
        format!(
            "| {} | {} | {} | **{}** |",
            prose(&case_name(&case.server, &case.load)),
            case.headline.measure,
            cells(&case.headline).join(" | "),
            case_word(case),
        )
    }));
    lines
}

fn one(case: &CaseContrast) -> Vec<String> {
    let mut lines = vec![
        "| measure | base | new | ratio | from | to | shows | |".to_owned(),
        "|---|--:|--:|--:|--:|--:|--:|---|".to_owned(),
    ];
    let headline = &case.headline;
    let first = format!("| **{}** | {} |", headline.measure, cells(headline).join(" | "));
    lines.push(format!("{first} **{}** |", case_word(case)));
    lines.extend(case.others.iter().map(|other| {
        format!("| {} | {} | {} |", other.measure, cells(other).join(" | "), other_word(other))
    }));
    lines
}
