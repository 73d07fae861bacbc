//! The summary as text, to the byte as k6 prints it.
//!
//! A text is a list of lines, each begun by a line break, with empty lines between. Names and
//! values are padded to the longest of their block: a block is the whole, a scenario or a group.

use super::humanize::{self, TimeUnit};
use super::{Figures, Mode, Outcome, Part, Summary, Values, is_listed, parent};
use plimsoll_core::printable::printable;

use crate::k6::metrics::{Check, Contains, Kind, TrendStat};
use crate::k6::threshold::Aggregate;
use crate::numbers::javascript;

/// How a summary looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// How much it shows.
    pub mode: Mode,
    /// A fixed unit of times.
    pub time_unit: Option<TimeUnit>,
    /// Whether it has the colours of a terminal.
    pub has_colors: bool,
}

const GREEN: &str = "32";
const RED: &str = "31";
const WHITE: &str = "37";
const FAINT_WHITE: &str = "2;37";
const CYAN: &str = "36";
const FAINT_CYAN: &str = "2;36";
const BOLD: &str = "1";

/// Sections, in their order, with what the names of their metrics begin with. Web vitals come
/// before the browser's other metrics where a name could be either.
const SECTIONS: [(&str, &[&str]); 8] = [
    ("CUSTOM", &[]),
    ("HTTP", &HTTP),
    ("EXECUTION", &["vus", "iterations", "iteration_duration", "dropped_iterations"]),
    ("NETWORK", &["data_sent", "data_received"]),
    ("BROWSER", &["browser_"]),
    ("WEB_VITALS", &["browser_web_vital_"]),
    ("GRPC", &["grpc_"]),
    ("WEBSOCKET", &["ws_"]),
];

/// What the names of metrics about HTTP begin with.
const HTTP: [&str; 9] = [
    "http_reqs",
    "http_req_failed",
    "http_req_duration",
    "http_req_blocked",
    "http_req_connecting",
    "http_req_tls_handshaking",
    "http_req_sending",
    "http_req_waiting",
    "http_req_receiving",
];

/// The summary as it is printed: with the empty lines before and behind it.
#[must_use]
pub fn text(summary: &Summary, look: Look) -> String {
    if look.mode == Mode::Disabled {
        return String::new();
    }
    let mut out = Text { text: "\n".to_owned(), look };
    out.thresholds(summary);
    out.title("█", "TOTAL RESULTS", 0);
    out.part(summary, &summary.whole, 1);
    out.empty();
    if look.mode == Mode::Full {
        for (name, group) in &summary.whole.groups {
            out.title("█", &format!("GROUP: {name}"), 0);
            out.part(summary, group, 1);
            out.groups(summary, group, 1);
            out.empty();
        }
        for (name, scenario) in &summary.scenarios {
            out.title("█", &format!("SCENARIO: {name}"), 0);
            out.part(summary, scenario, 1);
            out.groups(summary, scenario, 1);
            out.empty();
        }
    }
    out.text.push_str("\n\n");
    out.text
}

struct Text {
    text: String,
    look: Look,
}

impl Text {
    fn line(&mut self, level: usize, content: &str) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("  ", level + 1));
        self.text.push_str(content);
    }

    fn empty(&mut self) {
        self.text.push('\n');
    }

    fn paint(&self, text: &str, style: &str) -> String {
        if self.look.has_colors { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn title(&mut self, mark: &str, title: &str, level: usize) {
        let title = self.paint(&printable(title), BOLD);
        self.line(level, &format!("{mark} {title} "));
        self.empty();
    }

    fn value(&self, value: f64, kind: Kind, contains: Contains) -> String {
        humanize::value(value, kind, contains, self.look.time_unit)
    }

    fn thresholds(&mut self, summary: &Summary) {
        let mut watched: Vec<&Figures> =
            summary.whole.metrics.iter().filter(|it| !it.thresholds.is_empty()).collect();
        if watched.is_empty() {
            return;
        }
        sort(&mut watched);
        self.title("█", "THRESHOLDS", 0);
        for figures in &watched {
            let parent = parent(&figures.name);
            let is_below = parent.len() < figures.name.len()
                && watched.iter().any(|other| other.name == parent);
            let (level, name) = match is_below {
                true => (2, &figures.name[parent.len()..]),
                false => (1, &figures.name[..]),
            };
            self.line(level, &printable(name));
            for outcome in &figures.thresholds {
                let line = self.threshold(figures, outcome);
                self.line(level, &line);
            }
            self.empty();
        }
        self.empty();
    }

    fn threshold(&self, figures: &Figures, outcome: &Outcome) -> String {
        let mark = if outcome.is_ok { self.paint("✓", GREEN) } else { self.paint("✗", RED) };
        let source = self.paint(&format!("'{}'", printable(outcome.source.trim())), WHITE);
        let name = self.paint(outcome.aggregate.name(), WHITE);
        let shown = self.value(outcome.value, figures.kind, figures.contains);
        let value = match (&outcome.aggregate, figures.kind) {
            (Aggregate::Rate, Kind::Counter) => format!("{shown}/s"),
            (Aggregate::Trend(TrendStat::Count), _) => javascript(outcome.value),
            _ => shown,
        };
        format!("{mark} {source} {name}={}", self.paint(&value, CYAN))
    }

    /// Checks and metrics of a part.
    fn part(&mut self, summary: &Summary, part: &Part, level: usize) {
        // A threshold on checks shows the block, even if nothing was checked.
        let is_checks = |figures: &Figures| figures.name == "checks";
        if !part.checks.is_empty() || part.metrics.iter().any(is_checks) {
            self.checks(summary, part, level);
        }
        let listed = part.metrics.iter().filter(|it| is_listed(&it.name, self.look.mode));
        let mut shown: Vec<&Figures> = listed.collect();
        sort(&mut shown);
        let rows: Vec<Row> = shown.iter().map(|figures| self.row(figures, summary)).collect();
        let widths = Widths::of(&rows, level);
        for (title, _) in SECTIONS {
            let own: Vec<&Row> = rows.iter().filter(|row| row.section == title).collect();
            if own.is_empty() {
                continue;
            }
            let title = self.paint(title, BOLD);
            self.line(level, &title);
            for row in own {
                let line = self.row_line(row, &widths, level);
                self.line(level, &line);
            }
            self.empty();
        }
    }

    fn groups(&mut self, summary: &Summary, part: &Part, level: usize) {
        for (name, group) in &part.groups {
            self.title("↳", &format!("GROUP: {name}"), level);
            self.part(summary, group, level + 1);
            self.groups(summary, group, level + 1);
        }
    }

    fn checks(&mut self, summary: &Summary, part: &Part, level: usize) {
        let (passes, fails) = part.check_counts();
        let total = passes + fails;
        let share = |count: u64| {
            let share = if total == 0 { 0.0 } else { count as f64 / total as f64 };
            vec![humanize::percent(share), format!("{count} out of {total}")]
        };
        let rate = self.value(summary.per_second(total), Kind::Counter, Contains::Default);
        let row = |name: &str, cells| Row { name: name.to_owned(), section: "", cells };
        let rows = [
            row("checks_total", Cells::Plain(vec![total.to_string(), format!("{rate}/s")])),
            row("checks_succeeded", Cells::Plain(share(passes))),
            row("checks_failed", Cells::Plain(share(fails))),
        ];
        let widths = Widths::of(&rows, level);
        for row in &rows {
            let line = self.row_line(row, &widths, level);
            self.line(level, &line);
        }
        self.empty();
        for check in &part.checks {
            self.check(check, level);
        }
        self.empty();
    }

    fn check(&mut self, check: &Check, level: usize) {
        let Check { name, passes, fails } = check;
        let name = printable(name);
        if *fails == 0 {
            let line = self.paint(&format!("✓ {name}"), GREEN);
            return self.line(level, &line);
        }
        let percent = 100 * u128::from(*passes) / (u128::from(*passes) + u128::from(*fails));
        let line = self.paint(&format!("✗ {name}"), RED);
        self.line(level, &line);
        let line = self.paint(&format!("↳  {percent}% — ✓ {passes} / ✗ {fails}"), RED);
        // k6 indents this line by its depth once more.
        self.line(2 * level, &line);
    }

    fn row(&self, figures: &Figures, summary: &Summary) -> Row {
        let shown = |value| self.value(value, figures.kind, figures.contains);
        let cells = match &figures.values {
            Values::Counter { count, rate } => {
                Cells::Plain(vec![shown(*count), format!("{}/s", shown(*rate))])
            }
            Values::Gauge { value, min, max } => Cells::Plain(vec![
                shown(*value),
                format!("min={}", shown(*min)),
                format!("max={}", shown(*max)),
            ]),
            Values::Rate { rate, passes, fails } => {
                Cells::Plain(vec![shown(*rate), format!("{passes} out of {}", passes + fails)])
            }
            Values::Trend(values) => {
                let cell = |((name, value), stat): (&(String, f64), &TrendStat)| {
                    let text = match stat {
                        TrendStat::Count => javascript(*value),
                        _ => shown(*value),
                    };
                    (name.clone(), text)
                };
                let stats = values.iter().zip(&summary.trend_stats);
                Cells::Trend(stats.map(cell).collect())
            }
        };
        let section = section(&figures.name);
        Row { name: printable(&display_name(&figures.name)), section, cells }
    }

    fn row_line(&self, row: &Row, widths: &Widths, level: usize) -> String {
        let own = width(&row.name) + indent(level);
        let dots = format!("{}:", ".".repeat(widths.name - own + 3));
        let mut line = format!("{}{} ", row.name, self.paint(&dots, FAINT_WHITE));
        match &row.cells {
            Cells::Trend(cells) => {
                let cell = |((name, text), column): (&(String, String), &usize)| {
                    let padding = " ".repeat(column - width(text));
                    format!("{name}={}{padding}", self.paint(text, CYAN))
                };
                let cells: Vec<String> = cells.iter().zip(&widths.trend).map(cell).collect();
                line.push_str(&cells.join(" "));
            }
            Cells::Plain(cells) => {
                let (value, extras) = cells.split_first().expect("each row has a value");
                line.push_str(&self.paint(value, CYAN));
                line.push_str(&" ".repeat(widths.value - width(value)));
                for (extra, column) in extras.iter().zip(&widths.extras) {
                    line.push(' ');
                    line.push_str(&self.paint(extra, FAINT_CYAN));
                    // A lone one is not padded.
                    let padding = if extras.len() > 1 { column - width(extra) } else { 0 };
                    line.push_str(&" ".repeat(padding));
                }
            }
        }
        line
    }
}

/// A line of figures.
struct Row {
    name: String,
    section: &'static str,
    cells: Cells,
}

enum Cells {
    /// Names of figures, and the figures.
    Trend(Vec<(String, String)>),
    /// A value, and what stands behind it.
    Plain(Vec<String>),
}

/// The longest of each column of a block.
#[derive(Default)]
struct Widths {
    /// Of names with the blanks before them.
    name: usize,
    trend: Vec<usize>,
    value: usize,
    extras: Vec<usize>,
}

impl Widths {
    fn of(rows: &[Row], level: usize) -> Self {
        let mut widths = Self::default();
        let widen = |columns: &mut Vec<usize>, at: usize, text: &str| {
            columns.resize(columns.len().max(at + 1), 0);
            columns[at] = columns[at].max(width(text));
        };
        for row in rows {
            widths.name = widths.name.max(width(&row.name) + indent(level));
            match &row.cells {
                Cells::Trend(cells) => {
                    for (at, (_, text)) in cells.iter().enumerate() {
                        widen(&mut widths.trend, at, text);
                    }
                }
                Cells::Plain(cells) => {
                    for (at, text) in cells.iter().enumerate() {
                        match at {
                            0 => widths.value = widths.value.max(width(text)),
                            _ => widen(&mut widths.extras, at - 1, text),
                        }
                    }
                }
            }
        }
        widths
    }
}

fn indent(level: usize) -> usize {
    2 * (level + 1)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn section(name: &str) -> &'static str {
    let begins =
        |(_, prefixes): &&(&str, &[&str])| prefixes.iter().any(|prefix| name.starts_with(prefix));
    // Of two sections that a name could belong to, the later one is the narrower.
    SECTIONS.iter().rev().find(begins).map_or("CUSTOM", |(title, _)| title)
}

/// A submetric stands below its metric, by its tags alone.
fn display_name(name: &str) -> String {
    let parent = parent(name);
    match name[parent.len()..].strip_prefix('{') {
        Some(tags) => format!("  {{ {} }}", tags.strip_suffix('}').unwrap_or(tags)),
        None => name.to_owned(),
    }
}

/// By metric, then by tags, in the order of a dictionary.
fn sort(figures: &mut [&Figures]) {
    figures.sort_by_cached_key(|figures| {
        let parent = parent(&figures.name);
        (collation(parent), collation(&figures.name[parent.len()..]))
    });
}

/// What a dictionary sorts by: punctuation, digits, letters whatever their case, and only between
/// equals small letters first.
fn collation(text: &str) -> (Vec<(u8, char)>, Vec<bool>) {
    let primary = |c: char| {
        let class = match c {
            _ if c.is_alphabetic() => 2,
            _ if c.is_numeric() => 1,
            _ => 0,
        };
        (class, c.to_lowercase().next().unwrap_or(c))
    };
    (text.chars().map(primary).collect(), text.chars().map(char::is_uppercase).collect())
}
