//! Views of a comparison: text, Markdown, a page, and the document itself.
//!
//! They share the wording: `answer` has the sentences, `words` the form of figures and changes.

mod answer;
mod html;
mod markdown;
#[cfg(test)]
mod tests;
mod text;
mod words;

use plimsoll_core::comparison::{CaseContrast, Contrast, SideFacts};

pub use crate::json::write as write_json;
pub(crate) use answer::Answer;
pub use html::write as write_html;
pub use markdown::{write as write_markdown, write_summary};
pub use text::write as write_text;
pub(crate) use words::value_words;

/// How many cases were decided which way, in a sentence.
fn count_sentence(contrast: &Contrast) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for case in &contrast.cases {
        let word = words::case_word(case);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let order = ["worse", "slower", "lower", "more CPU", "mixed", "better", "faster"];
    counts.sort_by_key(|(word, _)| order.iter().position(|it| it == word).unwrap_or(order.len()));
    let counts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("{} cases: {}", contrast.cases.len(), counts.join(", "))
}

/// A case's name where it has one.
fn case_name(server: &str, load: &str) -> String {
    match (server, load) {
        ("", "") => String::new(),
        (server, load) => format!("{server} under {load}"),
    }
}

/// `main against this branch`
fn title(contrast: &Contrast) -> String {
    format!("{} against {}", contrast.base.called(), contrast.new.called())
}

/// What a side is made of, in a few words each: its file where it has a name of its own, its runs,
/// and when they began.
fn side_words(side: &SideFacts) -> Vec<String> {
    let mut words = vec![side.called().to_owned()];
    words.extend(side.label.is_some().then(|| side.name.clone()));
    words.push(crate::facts::counted(side.runs as u64, "run"));
    if !side.first_started_at.is_empty() {
        words.push(format!("begun {}", side.first_started_at));
    }
    if side.last_started_at != side.first_started_at {
        words.push(format!("to {}", side.last_started_at));
    }
    words
}

/// The figures of a case before and after, by measure of its family.
fn figures_words(case: &CaseContrast) -> String {
    let figures = case.family().into_iter().map(|it| {
        let [base, new, ..] = words::cells(it);
        format!("{} {base} and {new}", words::name(it.measure.measure))
    });
    figures.collect::<Vec<_>>().join("; ")
}

/// What the columns mean, and how it was decided.
fn legend(contrast: &Contrast) -> Vec<String> {
    let [percent, least_change] = [contrast.settings.confidence, contrast.settings.least_change]
        .map(|share| (share * 1e6).round() / 1e4);
    let by_chance = (1e4 - percent * 100.0).round() / 100.0;
    let of_limits = (!contrast.limits.is_empty()).then(|| {
        format!(
            "A limit is one question, decided by itself with {percent} %, so its bound may be \
             closer than that of its measure among all measures together."
        )
    });
    let mut legend = vec![
        format!(
            "base, new: medians over the runs. change: the median over every new run against every \
             base run (Hodges-Lehmann), not that of the medians. from, to: where the true change \
             lies, {percent} % sure for all measures without a \"?\" together, with and without \
             the tester's own delay. reveals: the smallest \
             difference that as many runs, as noisy as these, reveal two times in three. The same: \
             no change of {least_change} % or more."
        ),
        format!(
            "A side that fails more often is the worse one. Otherwise rate, p50, p90, p99, p99.9 \
             and CPU per request are decided together (Holm): of cases without a difference, \
             chance calls any of them different in {by_chance} % at most. \"?\": decided by itself, \
             outside of these."
        ),
    ];
    legend.extend(of_limits);
    legend
}
