//! Lines of the log, in its three formats.

use plimsoll_core::printable::{is_harmful, printable_lines};
use serde_json::{Map, Value};

use crate::WallTime;

/// How urgent a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Shown with `--verbose`.
    Debug,
    /// What happens.
    Info,
    /// What is odd.
    Warning,
    /// What went wrong.
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Four letters, and the colour of a terminal.
    fn short(self) -> (&'static str, u8) {
        match self {
            Self::Debug => ("DEBU", 37),
            Self::Info => ("INFO", 36),
            Self::Warning => ("WARN", 33),
            Self::Error => ("ERRO", 31),
        }
    }
}

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `time="…" level=info msg="…"`, for files and pipes.
    Text,
    /// `INFO[0003] …`, in colours, for terminals.
    Terminal,
    /// A JSON object.
    Json,
    /// The message alone.
    Raw,
}

/// What a line says.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// When.
    pub time: WallTime,
    /// Whole seconds since the program started.
    pub elapsed_s: u64,
    /// How urgent.
    pub level: Level,
    /// The message.
    pub message: &'a str,
    /// Other fields, sorted by name: `source` is `console` for a script's own lines.
    pub fields: &'a [(&'a str, &'a str)],
}

/// A line of the log. It ends with a line break.
#[must_use]
pub fn log_line(record: &Record<'_>, format: Format) -> String {
    let mut line = match format {
        Format::Raw => record.message.to_owned(),
        Format::Text => text(record),
        Format::Terminal => terminal(record),
        Format::Json => json(record),
    };
    line.push('\n');
    line
}

fn text(record: &Record<'_>) -> String {
    let time = record.time.rfc3339();
    let mut line = format!("time={} level={}", go_value(&time), record.level.name());
    // Go's logger leaves an empty message out.
    let message = (!record.message.is_empty()).then_some(("msg", record.message));
    for (name, value) in message.into_iter().chain(record.fields.iter().copied()) {
        line.push_str(&format!(" {name}={}", go_value(value)));
    }
    line
}

fn terminal(record: &Record<'_>) -> String {
    let (level, color) = record.level.short();
    let message = record.message.strip_suffix('\n').unwrap_or(record.message);
    let message = printable_lines(message);
    let mut line = format!("\x1b[{color}m{level}\x1b[0m[{:04}] {message:<44} ", record.elapsed_s);
    for (name, value) in record.fields {
        line.push_str(&format!(" \x1b[{color}m{name}\x1b[0m={}", go_value(value)));
    }
    line
}

fn json(record: &Record<'_>) -> String {
    let own =
        [("level", record.level.name()), ("msg", record.message), ("time", &record.time.rfc3339())];
    let all = own.into_iter().chain(record.fields.iter().copied());
    let object: Map<String, Value> =
        all.map(|(name, value)| (name.to_owned(), value.into())).collect();
    Value::Object(object).to_string()
}

/// A value, quoted if it has more than letters, digits and `-._/@^+`.
fn go_value(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-._/@^+".contains(c);
    if text.chars().all(is_bare) { text.to_owned() } else { go_quoted(text) }
}

/// As Go's `strconv.Quote`.
fn go_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if is_harmful(c) || c.is_whitespace() && c != ' ' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
