//! A comparison as a page: one file that needs nothing else. The banner has the answer, a chart the
//! intervals of all measures on one scale, and a table the figures.
//!
//! The charts are drawn in per cent of the base, so that times, rates and CPU stand side by side.
//! Absent: the distributions behind the figures, which the pages of the runs have.

use std::io::{self, Write};

use plimsoll_core::comparison::{
    CaseContrast, CaseDecision, Contrast, Decision, MeasureContrast, Outcome, Scale, SideFacts,
};

use super::answer::{Answer, Verdict, confidence, judged_change, outcome_word, unlike};
use super::words::{HEAD, cells, change_words, interval_words, row_word};
use super::{case_name, count_sentence, legend, side_words, title};
use crate::page::escape::Escaped;
use crate::page::push;
use crate::page::table::{Column, Figure, Table, Text, clipped};

const STYLE: &str = concat!(include_str!("../page/verdict.css"), include_str!("comparison.css"));

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(contrast: &Contrast, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(contrast).as_bytes())
}

pub(super) fn page(contrast: &Contrast) -> String {
    let mut page = String::with_capacity(64 << 10);
    let heading = title(contrast);
    crate::page::head(&heading, STYLE, &mut page);
    page.push_str("<body>\n<main>\n");
    push(&mut page, format_args!("<p class=\"title\">{}</p>\n", Escaped(&heading)));
    banner(contrast, &mut page);
    limits(contrast, &mut page);
    for case in &contrast.cases {
        of_case(case, contrast, &mut page);
    }
    sides(contrast, &mut page);
    let tool = format!("{} {}", contrast.tool.name, contrast.tool.version);
    let (tool, schema) = (Escaped(&tool), Escaped(&contrast.schema));
    push(&mut page, format_args!("</main>\n<footer>{tool} · {schema}</footer>\n"));
    page.push_str("</body>\n</html>\n");
    page
}

/// A line of a banner: a word with its look, and the sentence behind it.
struct Line<'a> {
    look: &'static str,
    word: &'a str,
    sentence: &'a str,
    /// How sure it is.
    sure: &'a str,
}

impl Line<'_> {
    fn write(&self, page: &mut String) {
        let (word, sentence) = (Escaped(self.word), Escaped(self.sentence));
        push(
            page,
            format_args!(
                "<header class=\"verdict {}\">\n<p class=\"mark\">{word}</p>\n<div>\
                 <h1>{sentence}</h1>\n",
                self.look
            ),
        );
        if !self.sure.is_empty() {
            push(page, format_args!("<p class=\"sure\">{}</p>\n", Escaped(self.sure)));
        }
        page.push_str("</div></header>\n");
    }
}

fn banner(contrast: &Contrast, page: &mut String) {
    if let Some(verdict) = Verdict::of(contrast) {
        let look = match verdict.outcome {
            Outcome::Passed => "valid",
            Outcome::Undecided => "suspect",
            Outcome::Failed => "invalid",
        };
        let (word, sentence) = (&verdict.word, &verdict.sentence);
        Line { look, word, sentence, sure: "" }.write(page);
    }
    match contrast.cases.as_slice() {
        [] => {
            let sentence = "no case stands on both sides";
            Line { look: "suspect", word: "NOTHING", sentence, sure: "" }.write(page);
        }
        [case] => of_answer(case, contrast, page),
        _ => {
            let sentence = count_sentence(contrast);
            push(page, format_args!("<h1 class=\"count\">{}</h1>\n", Escaped(&sentence)));
        }
    }
    for text in unlike(contrast) {
        push(page, format_args!("<p class=\"sure\">{}</p>\n", Escaped(&clipped(&text))));
    }
}

fn of_answer(case: &CaseContrast, contrast: &Contrast, page: &mut String) {
    let look = match case.decision {
        CaseDecision::Better => "valid",
        CaseDecision::Worse => "invalid",
        CaseDecision::Mixed | CaseDecision::CannotTell => "suspect",
        CaseDecision::Alike => "alike",
    };
    let answer = Answer::of(case);
    let sure = confidence(case, &contrast.settings);
    Line { look, word: &answer.word, sentence: &answer.sentence, sure: &sure }.write(page);
}

fn limits(contrast: &Contrast, page: &mut String) {
    if contrast.limits.len() < 2 {
        return;
    }
    let rows = contrast.limits.iter().map(|judged| {
        vec![
            judged.expr.clone(),
            outcome_word(judged.outcome).to_owned(),
            judged_change(judged),
            clipped(&case_name(&judged.server, &judged.load)),
            clipped(judged.note.as_deref().unwrap_or_default()),
        ]
    });
    let head = [("limit", Text), ("", Text), ("change", Figure), ("case", Text), ("", Text)];
    page.push_str("<section>\n<h2>Limits</h2>\n");
    Table { caption: "", head: &head, rows: rows.collect(), note: "" }.write(page);
    page.push_str("</section>\n");
}

fn of_case(case: &CaseContrast, contrast: &Contrast, page: &mut String) {
    page.push_str("<section class=\"case\">\n");
    if contrast.cases.len() > 1 {
        let name = clipped(&case_name(&case.server, &case.load));
        push(page, format_args!("<h2>{}</h2>\n", Escaped(&name)));
        of_answer(case, contrast, page);
    }
    notes(&case.notes, page);
    chart(case, page);
    let decisive = case.failures().map(|it| it.measure);
    let rows = case.measures().into_iter().map(|it| {
        let mut row = vec![it.measure.to_string()];
        row.extend(cells(it));
        row.push(row_word(it, decisive == Some(it.measure)));
        row
    });
    let mut head: Vec<(&str, Column)> = vec![("measure", Text)];
    head.extend(HEAD.map(|name| (name, Figure)));
    head.push(("", Text));
    Table { caption: "Every measure", head: &head, rows: rows.collect(), note: "" }.write(page);
    page.push_str("</section>\n");
}

fn notes(notes: &[String], page: &mut String) {
    if notes.is_empty() {
        return;
    }
    page.push_str("<ul class=\"remarks\">");
    for note in notes {
        push(page, format_args!("<li>{}</li>", Escaped(&clipped(note))));
    }
    page.push_str("</ul>\n");
}

/// The least and the most that a chart shows to either side, as a share.
const SHOWN: [f64; 2] = [0.02, 1.0];

/// A change as a share of the base, none where it is a difference of shares or has no bounds.
fn share(contrast: &MeasureContrast) -> Option<[f64; 3]> {
    let found = &contrast.comparison;
    let interval = found.interval.filter(|_| found.scale == Scale::Ratio)?;
    Some([interval.low, found.change?, interval.high].map(|ratio| ratio - 1.0))
}

/// The intervals of the family on one scale around no change.
fn chart(case: &CaseContrast, page: &mut String) {
    let family = case.family();
    let known: Vec<(&MeasureContrast, [f64; 3])> =
        family.into_iter().filter_map(|it| Some((it, share(it)?))).collect();
    if known.is_empty() {
        return;
    }
    let widest = known.iter().flat_map(|(_, ends)| ends).fold(0.0, |a: f64, b| a.max(b.abs()));
    let widest = (widest * 1.05).clamp(SHOWN[0], SHOWN[1]);
    page.push_str("<div class=\"table\"><table class=\"intervals\"><caption>");
    page.push_str("Where the true changes lie</caption>\n<tbody>\n");
    for (contrast, ends) in known {
        let found = &contrast.comparison;
        let [low, middle, high] =
            ends.map(|share| 500.0 + (share / widest).clamp(-1.0, 1.0) * 490.0);
        let class = match found.decision {
            Decision::Better => "better",
            Decision::Worse => "worse",
            Decision::CannotTell => "open",
        };
        let interval = interval_words(found).unwrap_or_default();
        let change = change_words(found.scale, found.change);
        let name = contrast.measure.to_string();
        push(
            page,
            format_args!(
                "<tr><th scope=\"row\">{}</th><td class=\"bar\"><svg class=\"{class}\" \
                 viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" role=\"img\">\
                 <title>{}</title><path class=\"zero\" d=\"M500 0V20\"/>\
                 <path d=\"M{low:.1} 10H{high:.1}M{low:.1} 5V15M{high:.1} 5V15M{middle:.1} 2V18\"/>\
                 </svg></td><td class=\"n\">{}</td></tr>\n",
                Escaped(&name),
                Escaped(&format!("{name}: {change}, from {interval}")),
                Escaped(&interval)
            ),
        );
    }
    let ends = format!("{:.0} %", widest * 100.0);
    push(
        page,
        format_args!(
            "</tbody></table><p class=\"note\">The line in the middle is no change; the ends are \
             {ends} less and {ends} more than the base.</p></div>\n"
        ),
    );
}

fn sides(contrast: &Contrast, page: &mut String) {
    page.push_str("<section>\n<h2>How it was compared</h2>\n");
    notes(&contrast.notes, page);
    let row = |word: &str, side: &SideFacts| {
        let words: Vec<String> = side_words(side).iter().map(|it| clipped(it)).collect();
        vec![word.to_owned(), words.join(" · ")]
    };
    let rows = vec![row("base", &contrast.base), row("new", &contrast.new)];
    Table { caption: "", head: &[("", Text), ("", Text)], rows, note: "" }.write(page);
    for text in legend(contrast) {
        push(page, format_args!("<p class=\"note\">{}</p>\n", Escaped(&text)));
    }
    page.push_str("</section>\n");
}
