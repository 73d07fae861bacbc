//! The table of results: a row for each case with the medians and where the true ones lie, and a
//! row for what was left out.

use plimsoll_core::study::{Case, Column, Study};

use super::looks::Looks;
use crate::page::escape::Escaped;
use crate::page::push;
use crate::page::table::clipped;
use crate::study::facts::{self, ALL, Row, cell, heading, interval_words, legend, remark};

/// Writes the section.
pub(super) fn write(study: &Study, looks: &Looks<'_>, page: &mut String) {
    let rows = facts::rows(study);
    if rows.is_empty() {
        page.push_str("<section>\n<h2>Results</h2>\n<p class=\"note\">None yet.</p>\n</section>\n");
        return;
    }
    page.push_str(
        "<section>\n<h2>Results</h2>\n<div class=\"table\"><table class=\"results sortable\">\n\
         <thead><tr>",
    );
    for name in ["#", "Load", "Tester", "Server"] {
        push(page, format_args!("<th scope=\"col\">{name}</th>"));
    }
    for column in &study.columns {
        push(
            page,
            format_args!("<th scope=\"col\" class=\"n\">{}</th>", Escaped(&heading(column))),
        );
    }
    page.push_str("<th scope=\"col\">Remarks</th></tr></thead>\n<tbody>\n");
    let mut load = "";
    for row in &rows {
        // A rule between loads, until the table is sorted otherwise.
        page.push_str(if row.load == load { "<tr>" } else { "<tr class=\"first\">" });
        load = row.load;
        write_row(study, row, looks, page);
    }
    page.push_str("</tbody></table>\n");
    note(study, page);
    page.push_str("</div>\n</section>\n");
}

fn write_row(study: &Study, row: &Row<'_>, looks: &Looks<'_>, page: &mut String) {
    let names = [row.load, row.tester].map(clipped);
    push(
        page,
        format_args!(
            "<td class=\"n\" data-v=\"{0}\">{0}</td><td>{1}</td><td>{2}</td>",
            row.number,
            Escaped(&names[0]),
            Escaped(&names[1])
        ),
    );
    page.push_str("<th scope=\"row\">");
    if row.content.is_ok() && row.server != ALL {
        looks.look(row.server).write("", "", page);
    }
    push(page, format_args!("{}</th>", Escaped(&clipped(row.server))));
    match &row.content {
        Ok(case) => {
            for column in &study.columns {
                value(case, column, page);
            }
            let remark = remark(study, case);
            push(page, format_args!("<td class=\"remark\">{}</td></tr>\n", Escaped(&remark)));
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
    let Some(middle) = case.middle(column) else {
        page.push_str("<td class=\"n\">–</td>");
        return;
    };
    let median = cell(column, middle.median);
    push(page, format_args!("<td class=\"n\" data-v=\"{}\">{}", middle.median, Escaped(&median)));
    if let Some(words) = interval_words(case, column) {
        push(page, format_args!("<small>{}</small>", Escaped(&words)));
    }
    page.push_str("</td>");
}

fn note(study: &Study, page: &mut String) {
    let mut words = format!("{}.", legend(&study.columns));
    if study.repeats > 1 {
        words = format!(
            "Medians over the repeats, and below each where the true median lies, whatever the \
             shape of the noise: with 95 % confidence where the repeats suffice for it, else from the \
             lowest to the highest run, which at 5 repeats is 94 %. {words}"
        );
    }
    push(page, format_args!("<p class=\"note\">{}</p>", Escaped(&words)));
}
