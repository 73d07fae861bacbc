//! Tables as Markdown: median, minimum and maximum of all rounds, and the ratio of the base's
//! figure to each, taken round by round.

use std::fmt::Write as _;

use super::build::Programs;
use super::contest::{Column, Contest, Outcome, Run};
use super::{Options, host};

/// What stands above all tables: the machine and the contenders.
pub(super) fn heading(options: &Options, programs: &Programs) -> String {
    let versions: Vec<String> = programs
        .iter()
        .filter(|(_, program)| !program.version.is_empty())
        .map(|(name, program)| format!("{name} {}", program.version))
        .collect();
    format!(
        "{}. Servers on CPU {}, clients on CPU {}. {} s a run; contenders take turns.\n\n\
         Figures are medians (smallest–largest). Ratios are plimsoll's figure divided by the \
         row's, the median over rounds.\n\n\
         Versions: {}.\n",
        host::describe(),
        options.server_cpu,
        options.client_cpu,
        options.seconds,
        versions.join(", "),
    )
}

/// A contest as a table.
pub(super) fn table(contest: &Contest, outcome: &Outcome) -> String {
    let mut text = format!("## {}\n\n{}\n\n", contest.title, contest.explanation);
    if contest.contenders.is_empty() {
        text.push_str("Left out: nobody to measure.\n");
        return text;
    }
    let mut head = vec![String::new()];
    for column in &contest.columns {
        head.push(column.title.to_owned());
        if column.ratio {
            head.push("plimsoll ÷ it".to_owned());
        }
    }
    push_row(&mut text, &head);
    push_row(&mut text, &vec!["---".to_owned(); head.len()]);
    for (contender, runs) in contest.contenders.iter().zip(&outcome.runs) {
        let base = contest.contenders.iter().position(|other| other.label == contender.base);
        let base = base.map(|base| outcome.runs[base].as_slice());
        let mut row = vec![contender.label.clone()];
        for column in &contest.columns {
            row.push(cell(column, runs));
            if column.ratio {
                row.push(ratio(column, base, runs));
            }
        }
        push_row(&mut text, &row);
    }
    let (rounds, load) = (contest.rounds, &outcome.load_average);
    let (stolen, others) = (outcome.stolen * 100.0, outcome.others * 100.0);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\nRounds: {rounds}. Load average at the start: {load}. CPU time that went elsewhere: \
         {others:.1} % to other processes, {stolen:.1} % to other machines."
    );
    text
}

fn push_row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn cell(column: &Column, runs: &[Option<Run>]) -> String {
    let mut values: Vec<f64> = runs.iter().flatten().filter_map(column.value).collect();
    if runs.iter().all(Option::is_none) {
        return "failed".to_owned();
    }
    let Some(middle) = median(&mut values) else { return "–".to_owned() };
    let shown = |value| number(value, column.digits);
    match values.as_slice() {
        [_] => shown(middle),
        [least, .., most] => format!("{} ({}–{})", shown(middle), shown(*least), shown(*most)),
        [] => "–".to_owned(),
    }
}

fn ratio(column: &Column, base: Option<&[Option<Run>]>, runs: &[Option<Run>]) -> String {
    let value = |run: &Option<Run>| run.as_ref().and_then(column.value);
    let rounds = base.unwrap_or_default().iter().zip(runs);
    let mut ratios: Vec<f64> =
        rounds.filter_map(|(base, run)| Some(value(base)? / value(run)?)).collect();
    median(&mut ratios).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// The median; sorts the values.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    Some(if values.len() % 2 == 1 { upper } else { (values[values.len() / 2 - 1] + upper) / 2.0 })
}

/// A number with thin gaps between thousands.
fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.char_indices() {
        if place > 0 && (whole.len() - place) % 3 == 0 && !grouped.ends_with('-') {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::contest::Contender;
    use crate::bench::parse::Measured;
    use crate::bench::{server, tool};

    fn run(requests_per_s: f64) -> Option<Run> {
        let measured = Measured { requests_per_s, ..Measured::default() };
        Some(Run { measured, ..Run::default() })
    }

    #[test]
    fn numbers() {
        assert_eq!(number(244_507.4, 0), "244\u{202f}507");
        assert_eq!(number(-1234.5, 1), "-1\u{202f}234.5");
        assert_eq!(number(999.0, 2), "999.00");
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn a_table() {
        let load = tool::Load {
            connections: 1,
            seconds: 1,
            rate: None,
            keep_alive: true,
            protocol: tool::Protocol::Http1,
            body: tool::Body::Short,
        };
        let contender = |label: &str| Contender {
            label: label.to_owned(),
            base: "us".to_owned(),
            tool: &tool::WRK,
            load,
            server: server::NGINX,
        };
        let contest = Contest {
            title: "race".to_owned(),
            explanation: "Who is first.".to_owned(),
            columns: vec![Column {
                title: "requests/s",
                value: |run| Some(run.measured.requests_per_s),
                digits: 0,
                ratio: true,
            }],
            contenders: ["us", "them", "gone"].map(contender).to_vec(),
            rounds: 3,
            sample_memory: false,
        };
        let outcome = Outcome {
            runs: vec![
                vec![run(10.0), run(30.0), run(40.0)],
                vec![run(10.0), None, run(20.0)],
                vec![None, None, None],
            ],
            load_average: "0.05".to_owned(),
            stolen: 0.012,
            others: 0.34,
        };
        let expected = "## race

Who is first.

|  | requests/s | plimsoll ÷ it |
| --- | --- | --- |
| us | 30 (10–40) | 1.00 |
| them | 15 (10–20) | 1.50 |
| gone | failed | – |

Rounds: 3. Load average at the start: 0.05. CPU time that went elsewhere: 34.0 % to other \
processes, 1.2 % to other machines.
";
        assert_eq!(table(&contest, &outcome), expected);
    }
}
