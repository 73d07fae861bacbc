//! Bars for each measure of a load: the servers by their medians, with the interval of the median,
//! and every run as a dot.
//!
//! Bars start at zero. A rank is the range of ranks that a server may have. Servers that cannot be
//! told apart share theirs; their order, by median, means nothing.

use plimsoll_core::comparison::{self, Ranked};
use plimsoll_core::study::{Better, LoadFacts, Measure, Study};

use super::looks::Looks;
use crate::page::chart::percent;
use crate::page::escape::Escaped;
use crate::page::push;
use crate::study::facts::{name, rank_words, value_words};
use crate::study::standing::{Standing, unranked_words, verdict_words};

const HOW: &str = "Bars are medians, whiskers where the true median lies, dots the runs. A rank \
    such as ≈ 1–3 says that these servers cannot be told apart from others. Servers are sorted by \
    the middle of their ranks, then by median; figures in doubt are left out. Who fails more often \
    ranks behind. All pairs of a table are judged together (Holm): where all servers are the same, \
    one table of twenty at most tells any two of them apart.";

/// Runs that are drawn as dots.
const DOTS: usize = 40;

/// Writes the bars of a load.
pub(super) fn write(
    study: &Study,
    load: &LoadFacts,
    number: usize,
    looks: &Looks<'_>,
    page: &mut String,
) {
    page.push_str("<div class=\"rankings\">\n");
    for measure in study.measures() {
        let places = comparison::ranking(study, &load.name, measure);
        if places.iter().any(|place| place.middle.median != 0.0) {
            ranking(study, measure, &places, looks, page);
        }
    }
    page.push_str("</div>\n");
    if let Some(words) = unranked_words(study, &load.name) {
        push(page, format_args!("<p class=\"note unranked\">{}</p>\n", Escaped(&words)));
    }
    if number == 0 {
        push(page, format_args!("<p class=\"note\">{}</p>\n", Escaped(HOW)));
    }
}

fn ranking(
    study: &Study,
    measure: Measure,
    places: &[Ranked<'_>],
    looks: &Looks<'_>,
    page: &mut String,
) {
    let better = match measure.better() {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    };
    push(
        page,
        format_args!(
            "<table class=\"ranking\"><caption>{} <span>{better}</span></caption>\n\
             <thead class=\"unseen\"><tr><th scope=\"col\">rank</th><th scope=\"col\">server</th>\
             <th scope=\"col\">runs</th><th scope=\"col\">median</th></tr></thead>\n<tbody>\n",
            Escaped(&name(measure))
        ),
    );
    let values = places.iter().flat_map(|place| &place.middle.values);
    let highest = values.copied().fold(f64::MIN_POSITIVE, f64::max);
    for place in places {
        row(study, measure, place, highest, looks, page);
    }
    page.push_str("</tbody></table>\n");
}

fn row(
    study: &Study,
    measure: Measure,
    place: &Ranked<'_>,
    highest: f64,
    looks: &Looks<'_>,
    page: &mut String,
) {
    let look = looks.look(&place.case.server);
    let rank = rank_words(place.best, place.worst);
    push(page, format_args!("<tr><td class=\"rank\">{rank}</td><th scope=\"row\"><span>"));
    look.write("", "", page);
    push(page, format_args!("{}</span>", Escaped(&place.case.server)));
    if Standing::of_case(place.case) >= Standing::Suspect {
        let verdict = verdict_words(study, place.case);
        push(page, format_args!("<small>{}</small>", Escaped(&verdict)));
    }
    page.push_str("</th><td class=\"bar\">");
    bar(measure, place, highest, look.class, page);
    let median = value_words(measure, place.middle.median);
    push(page, format_args!("</td><td class=\"n\">{}</td></tr>\n", Escaped(&median)));
}

fn bar(measure: Measure, place: &Ranked<'_>, highest: f64, class: &str, page: &mut String) {
    let middle = &place.middle;
    let at = |value: f64| (value / highest).clamp(0.0, 1.0);
    let words = |value: f64| value_words(measure, value);
    let interval = middle.interval.as_ref().map_or_else(String::new, |interval| {
        let (low, high) = (words(interval.low), words(interval.high));
        format!(", the true median from {low} to {high} ({:.1} %)", interval.confidence * 100.0)
    });
    let runs: Vec<String> = middle.values.iter().take(DOTS).map(|value| words(*value)).collect();
    let label = format!(
        "{}: median {}{interval}; runs: {}",
        place.case.server,
        words(middle.median),
        runs.join(", ")
    );
    push(
        page,
        format_args!(
            "<svg class=\"{class}\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" \
             role=\"img\"><title>{}</title>\
             <rect width=\"{:.1}\" height=\"20\"/>",
            Escaped(&label),
            at(middle.median) * 1e3
        ),
    );
    if let Some(interval) = &middle.interval {
        let (low, high) = (at(interval.low) * 1e3, at(interval.high) * 1e3);
        push(
            page,
            format_args!(
                "<path class=\"interval\" \
                 d=\"M{low:.1} 10H{high:.1}M{low:.1} 4V16M{high:.1} 4V16\"/>"
            ),
        );
    }
    push(page, format_args!("</svg><div class=\"dots {class}\">"));
    for value in middle.values.iter().take(DOTS) {
        push(page, format_args!("<i style=\"left:{}\"></i>", percent(at(*value))));
    }
    page.push_str("</div>");
}
