//! The table of results: a row for each case with its medians and their intervals, and a row for
//! each case that was left out.

use plimsoll_core::study::{Case, Column, Study};

use super::looks::Looks;
use crate::page::escape::Escaped;
use crate::page::fit::{Fit, ROOM_EM, is_unbroken, of_figure, of_text, of_words};
use crate::page::push;
use crate::page::table::clipped;
use crate::study::facts::{
    self, ALL, NO_FIGURE, Row, heading, interval_words, legend, shown_words,
};
use crate::study::standing::{Standing, VERDICT, has_left_out, verdict_legend, verdict_words};

/// Writes the section.
pub(super) fn write(study: &Study, looks: &Looks<'_>, page: &mut String) {
    let rows = facts::rows(study);
    if rows.is_empty() {
        page.push_str("<section>\n<h2>Results</h2>\n<p class=\"note\">None yet.</p>\n</section>\n");
        return;
    }
    let attributes = fit(study, &rows).attributes("results sortable");
    push(
        page,
        format_args!(
            "<section>\n<h2>Results</h2>\n<div class=\"table\">\
             <table{attributes}>\n<thead><tr>"
        ),
    );
    for name in NAMES {
        push(page, format_args!("<th scope=\"col\">{name}</th>"));
    }
    for column in &study.columns {
        push(
            page,
            format_args!("<th scope=\"col\" class=\"n\">{}</th>", Escaped(&heading(column))),
        );
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    let mut load = "";
    for row in &rows {
        // A rule between loads, until the table is sorted otherwise.
        let rule = if row.load == load { "" } else { "first " };
        let class = row.content.as_ref().map_or("", |case| class(case));
        push(page, format_args!("<tr class=\"{rule}{class}\">"));
        load = row.load;
        write_row(study, row, looks, page);
    }
    page.push_str("</tbody></table>\n");
    note(study, page);
    page.push_str("</div>\n</section>\n");
}

/// The heads before those of the figures.
const NAMES: [&str; 5] = ["#", "Load", "Tester", "Server", VERDICT];

/// Letters of an interval, which is set smaller than its median.
const INTERVAL_SIZE: f64 = 0.79;

/// The width that the table needs.
fn fit(study: &Study, rows: &[Row<'_>]) -> Fit {
    let widest = |head: &str, of: &dyn Fn(&Row<'_>) -> f64| {
        rows.iter().map(of).fold(of_words(head) + SORTS_EM, f64::max)
    };
    let mut widths_em: Vec<f64> = vec![
        widest(NAMES[0], &|row| of_figure(&row.number.to_string())),
        widest(NAMES[1], &|row| of_text(row.load)),
        widest(NAMES[2], &|row| of_text(row.tester)),
        // A drawing stands before the name.
        widest(NAMES[3], &|row| of_text(row.server) + SORTS_EM),
        widest(NAMES[4], &|row| {
            row.content.as_ref().map_or(0.0, |case| of_text(&verdict_words(study, case)))
        }),
    ];
    for column in &study.columns {
        let of_case = |case: &Case| {
            let median = shown_words(case, column);
            let interval = interval_words(case, column).unwrap_or_default();
            let median_em = of_figure(&median.unwrap_or_default());
            median_em.max(of_figure(&interval) * INTERVAL_SIZE)
        };
        let of_row = |row: &Row<'_>| row.content.as_ref().map_or(0.0, |case| of_case(case));
        widths_em.push(widest(&heading(column), &of_row));
    }
    Fit::of(widths_em.into_iter().map(|em| [em, em.min(ROOM_EM)]))
}

/// The arrow of a head that sorts.
const SORTS_EM: f64 = 1.3;

/// How a row stands out.
fn class(case: &Case) -> &'static str {
    match Standing::of_case(case) {
        _ if has_left_out(case) => "invalid",
        Standing::Suspect | Standing::Invalid => "suspect",
        _ => "",
    }
}

fn write_row(study: &Study, row: &Row<'_>, looks: &Looks<'_>, page: &mut String) {
    push(page, format_args!("<td class=\"n\" data-l=\"#\" data-v=\"{0}\">{0}</td>", row.number));
    for (label, name) in NAMES.into_iter().skip(1).zip([row.load, row.tester]) {
        let class = if is_unbroken(name) { " class=\"t w\"" } else { "" };
        let name = clipped(name);
        push(page, format_args!("<td{class} data-l=\"{label}\">{}</td>", Escaped(&name)));
    }
    let class = if is_unbroken(row.server) { " class=\"w\"" } else { "" };
    push(page, format_args!("<th scope=\"row\"{class}>"));
    if row.content.is_ok() && row.server != ALL {
        looks.look(row.server).write("", "", page);
    }
    push(page, format_args!("{}</th>", Escaped(&clipped(row.server))));
    match &row.content {
        Ok(case) => {
            let verdict = verdict_words(study, case);
            push(
                page,
                format_args!(
                    "<td class=\"verdict\" data-l=\"{VERDICT}\">{}</td>",
                    Escaped(&verdict)
                ),
            );
            for column in &study.columns {
                value(case, column, page);
            }
            page.push_str("</tr>\n");
        }
        Err(reason) => {
            let span = study.columns.len() + 1;
            let reason = clipped(reason);
            push(
                page,
                format_args!(
                    "<td class=\"skipped\" colspan=\"{span}\">skipped: {}</td></tr>\n",
                    Escaped(&reason)
                ),
            );
        }
    }
}

fn value(case: &Case, column: &Column, page: &mut String) {
    let shown = case.shown(column).zip(shown_words(case, column));
    let label = Escaped(&heading(column));
    let Some((shown, words)) = shown else {
        push(page, format_args!("<td class=\"n\" data-l=\"{label}\">{NO_FIGURE}</td>"));
        return;
    };
    // What is in doubt takes no part in the order of a sorted table.
    let class = if shown.counts { "n" } else { "n doubt" };
    let median = shown.middle.median;
    push(page, format_args!("<td class=\"{class}\" data-l=\"{label}\" data-v=\"{median}\">"));
    push(page, format_args!("{}", Escaped(&words)));
    if let Some(mark) = shown.mark {
        push(page, format_args!("<span class=\"unseen\"> ({})</span>", mark.meaning()));
    }
    if let Some(words) = interval_words(case, column) {
        push(page, format_args!("<small>{}</small>", Escaped(&words)));
    }
    page.push_str("</td>");
}

fn note(study: &Study, page: &mut String) {
    let mut words: Vec<String> = vec![legend(&study.columns), verdict_legend(study)];
    words.extend(facts::marks(study));
    words.retain(|words| !words.is_empty());
    if let Some(confidence) = facts::confidence(study) {
        let medians = format!(
            "Medians over the repeats, and below each where the true median lies, with at least \
             {:.0} % confidence whatever the shape of the noise",
            (confidence * 100.0).floor()
        );
        words.insert(0, medians);
    }
    let words = format!("{}.", words.join(". "));
    push(page, format_args!("<p class=\"note\">{}</p>", Escaped(&words)));
}
