//! The report as a page: one file that needs nothing else, offline, on screen and on paper.
//!
//! Charts are SVG written here, not drawn by a script: they work without scripts, print sharp, and
//! can be compared with a snapshot. A script of a few lines adds a cursor that reads the values. A
//! vendored chart library would have brought zooming, fifty kilobytes, and a page that shows
//! nothing until it runs. The size of the page depends neither on the number of requests nor on the
//! length of the run: series are thinned to what a screen can show, histograms to a few hundred
//! points.
//!
//! Text from outside passes through `escape`, and a content security policy keeps the page from
//! loading anything, whatever the text contains.

mod breakdown;
mod figures;
mod intervals;
mod metrics;
mod scenarios;
mod story;
mod tables;

use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::doubt::Figure;
use plimsoll_core::units::{format_count, format_ns, format_rate};
use plimsoll_core::verdict::Cause;

use crate::Clock;
use crate::answer::{Answer, without_rate};
use crate::doubts::Reasons;
use crate::facts::{
    self, Tail, caveats, incomplete_words, load_words, percent, subject, tester_cores,
};
use crate::page::escape::Escaped;
use crate::page::push;
use crate::parts;
use crate::tail::{self, Times};
use figures::{OverTime, Readings};

pub use story::{Place, Story};

/// Intervals a chart draws: with more, steps are too narrow to be told apart.
const INTERVALS_DRAWN: usize = 360;

/// Intervals in the table.
const INTERVALS_LISTED: usize = 60;

const STYLE: &str = concat!(include_str!("../page/verdict.css"), include_str!("run.css"));
const SCRIPT: &str = include_str!("run.js");

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(result, None).as_bytes())
}

/// Writes the page with a story above the report.
///
/// # Errors
/// Those of `out`.
pub fn write_told(result: &RunResult, story: &Story, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(result, Some(story)).as_bytes())
}

fn page(result: &RunResult, story: Option<&Story>) -> String {
    let mut readings = Readings::default();
    let report = report(result, &mut readings);
    let mut page = String::with_capacity(128 << 10);
    head(result, &mut page);
    page.push_str("<body>\n<main>\n");
    if let Some(story) = story {
        story::write(story, &report, &mut page);
    }
    page.push_str(&report);
    let tool = format!("{} {}", result.tool.name, result.tool.version);
    let (tool, schema) = (Escaped(&tool), Escaped(&result.schema));
    push(&mut page, format_args!("</main>\n<footer>{tool} · {schema}</footer>\n"));
    figures::data_island(&readings, &mut page);
    push(&mut page, format_args!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    page
}

/// The verdict and all figures.
fn report(result: &RunResult, readings: &mut Readings) -> String {
    let mut page = String::with_capacity(128 << 10);
    banner(result, &mut page);
    breakdown::gates(result, &mut page);
    breakdown::stages(result, &mut page);
    tiles(result, &mut page);
    latency(result, &mut page, readings);
    over_time(result, &mut page, readings);
    section("Requests", &mut page, |page| {
        tables::ledger(result, page);
        tables::iterations(result, page);
        tables::statuses(result, page);
        tables::calls(result, page);
        tables::messages(result, page);
        tables::errors(result, page);
    });
    scenarios::scenarios(result, &mut page);
    let has_names = !result.endpoints.is_empty() || !result.groups.is_empty();
    if has_names || result.addresses.len() > 1 {
        page.push_str("<section>\n<h2>Each part</h2>\n");
        breakdown::parts("Endpoints", &parts::endpoints(result), &mut page);
        breakdown::parts("Addresses", &parts::addresses(result), &mut page);
        breakdown::parts("Groups", &parts::groups(result), &mut page);
        page.push_str("</section>\n");
    }
    metrics::metrics(result, &mut page);
    doubts(&result.loader.causes, &mut page);
    measured(result, &mut page);
    page
}

fn head(result: &RunResult, page: &mut String) {
    let title = format!("{} · {} · {}", Answer::of(result).lead, subject(result), result.tool.name);
    crate::page::head(&title, STYLE, page);
}

/// The answer with its figures and how sure they are, then what was run, when and by what.
fn banner(result: &RunResult, page: &mut String) {
    headline(&Answer::of(result), &caveats(result), page);
    let (request, load) = (subject(result), load_words(result).join(" · "));
    push(page, format_args!("<p class=\"plan\"><code>{}</code>", Escaped(&request)));
    push(page, format_args!("<span>{}</span>", Escaped(&load)));
    push(page, format_args!("<time>{}</time></p>\n", Escaped(&result.started_at)));
}

/// Numbers of ours held together: `1 638` and `553 ms` on one line.
fn unbroken(text: &str) -> String {
    let mut unbroken = String::with_capacity(text.len());
    let mut after_digit = false;
    for c in text.chars() {
        unbroken.push(if c == ' ' && after_digit { '\u{a0}' } else { c });
        after_digit = c.is_ascii_digit();
    }
    unbroken
}

/// The answer, the figures behind it, and how sure they are, with a mark of its own.
pub(crate) fn headline(answer: &Answer, caveats: &[String], page: &mut String) {
    let (look, sign) = (answer.look.class(), answer.look.sign());
    push(page, format_args!("<header class=\"verdict {look}\">\n<p class=\"mark\">"));
    push(page, format_args!("<span aria-hidden=\"true\">{sign}</span></p>\n"));
    push(page, format_args!("<div><h1>{}</h1>\n", Escaped(&unbroken(&answer.lead))));
    for line in &answer.behind {
        push(page, format_args!("<p class=\"figures\">{}</p>\n", Escaped(&unbroken(line))));
    }
    let class = answer.confidence.verdict.name();
    let sure = unbroken(&answer.sureness());
    push(
        page,
        format_args!("<p class=\"confidence {class}\"><b>Confidence</b> {}</p>\n", Escaped(&sure)),
    );
    list(caveats, page);
    page.push_str("</div></header>\n");
}

fn list(texts: &[String], page: &mut String) {
    if texts.is_empty() {
        return;
    }
    page.push_str("<ul>");
    for text in texts {
        push(page, format_args!("<li>{}</li>", Escaped(text)));
    }
    page.push_str("</ul>\n");
}

/// Each cause of doubt and each note once, and the command that says more.
pub(crate) fn doubts<'c>(causes: impl IntoIterator<Item = &'c Cause> + Clone, page: &mut String) {
    let Some(command) = facts::explain_command(causes.clone()) else { return };
    page.push_str("<section class=\"doubts\">\n<h2>How sure this is</h2>\n");
    for (label, texts) in Reasons::of(causes).groups() {
        push(page, format_args!("<h3>{label}</h3>\n"));
        list(&texts, page);
    }
    push(page, format_args!("<p>What this means: <code>{}</code></p>\n", Escaped(&command)));
    page.push_str("</section>\n");
}

/// The key figures.
fn tiles(result: &RunResult, page: &mut String) {
    let lead = Clock::HEADLINE;
    let rate = &result.rate;
    let ledger = &result.ledger;
    let quantile = |clock: Clock, per_10k| {
        let is_empty = clock.histogram(result).is_empty();
        if is_empty { "–".to_owned() } else { Tail::of_run(clock, result, per_10k).words() }
    };
    let max = |clock| Times::of_run(clock, result).max().unwrap_or_else(|| "–".to_owned());
    let other = lead.other().word();
    let not_ok = ledger.scheduled.saturating_sub(ledger.ok);
    let mut reasons = incomplete_words(result);
    if ledger.failed > 0 {
        reasons.insert(0, format!("{} failed", format_count(ledger.failed)));
    }
    if reasons.is_empty() {
        reasons.push(format!("of {}", format_count(ledger.scheduled)));
    }
    let (work, spin) = tester_cores(result);
    let mut goal = rate.target_rps.map_or_else(
        || format!("in {}", format_ns(result.elapsed_ns)),
        |target_rps| format!("of {} asked for", format_rate(target_rps)),
    );
    if let Some(to_last_rps) = facts::rate_to_last(result) {
        goal += &format!(", {} to the last", format_rate(to_last_rps));
    }
    let achieved = match without_rate(result) {
        Some(words) => {
            goal = words;
            "–".to_owned()
        }
        None => tail::rate(Figure::Achieved, result, rate.achieved_rps),
    };
    let tiles = [
        (
            format!("{} p50", lead.name()),
            quantile(lead, 5000),
            format!("{other} {}", quantile(lead.other(), 5000)),
        ),
        (
            format!("{} p99", lead.name()),
            quantile(lead, 9900),
            format!("{other} {}", quantile(lead.other(), 9900)),
        ),
        (format!("{} max", lead.name()), max(lead), format!("{other} {}", max(lead.other()))),
        ("responses/s".to_owned(), achieved, goal),
        ("requests not ok".to_owned(), percent(not_ok, ledger.scheduled), reasons.join(", ")),
        ("tester's CPU".to_owned(), format!("{:.0} %", work * 100.0), spin_words(spin)),
    ];
    if let Some(over) = facts::averaged(result) {
        push(page, format_args!("<h2 class=\"whole\">The whole run, {over}</h2>\n"));
    }
    page.push_str("<dl class=\"tiles\">\n");
    for (name, value, more) in &tiles {
        let (name, value, more) = (Escaped(name), Escaped(value), Escaped(&unbroken(more)));
        push(page, format_args!("<div><dt>{name}</dt><dd>{value}</dd><dd>{more}</dd></div>\n"));
    }
    page.push_str("</dl>\n");
}

fn spin_words(spin: f64) -> String {
    if spin < 0.005 {
        "of a core".to_owned()
    } else {
        format!("of a core, and {:.0} % spinning", spin * 100.0)
    }
}

fn section(title: &str, page: &mut String, content: impl FnOnce(&mut String)) {
    push(page, format_args!("<section>\n<h2>{}</h2>\n<div class=\"tables\">\n", Escaped(title)));
    content(page);
    page.push_str("</div>\n</section>\n");
}

/// The plan, both sides, and the host below them.
fn measured(result: &RunResult, page: &mut String) {
    page.push_str("<section>\n<h2>How it was measured</h2>\n<div class=\"tables\">\n");
    tables::plan(result, page);
    breakdown::connections(result, page);
    tables::server(result, page);
    tables::tester(result, page);
    tables::warmup(result, page);
    page.push_str("</div>\n");
    crate::page::host(&result.environment, page);
    page.push_str("</section>\n");
}

fn latency(result: &RunResult, page: &mut String, readings: &mut Readings) {
    page.push_str("<section>\n<h2>Latency</h2>\n");
    figures::spectrum(result, page, readings);
    page.push_str("<div class=\"tables\">\n");
    tables::quantiles(result, page);
    tables::phases(result, page);
    tables::outcomes(result, page);
    page.push_str("</div>\n</section>\n");
}

fn over_time(result: &RunResult, page: &mut String, readings: &mut Readings) {
    let drawn = intervals::thin(result, INTERVALS_DRAWN);
    if drawn.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>Over time</h2>\n");
    OverTime::new(result, &drawn).write(page, readings);
    if drawn.len() <= INTERVALS_LISTED {
        tables::intervals(&drawn, page);
    } else {
        tables::intervals(&intervals::thin(result, INTERVALS_LISTED), page);
    }
    page.push_str("</section>\n");
}

#[cfg(test)]
mod tests;
