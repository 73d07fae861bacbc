//! Lines of fortio's log, which stand among those of its report: objects of JSON where stderr is no
//! terminal, text where it is.
//!
//! Absent on purpose: file, line and goroutine, which are of fortio's source.

use serde_json::{Map, Value};

use super::command::LogLevel;

/// How urgent a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// What goes on.
    Info,
    /// What may be wrong.
    Warning,
    /// What is wrong.
    Error,
}

impl Level {
    /// Whether lines of this level are shown.
    #[must_use]
    pub fn is_shown(self, least: LogLevel) -> bool {
        let own = match self {
            Self::Info => LogLevel::Info,
            Self::Warning => LogLevel::Warning,
            Self::Error => LogLevel::Error,
        };
        own >= least
    }
}

/// A name and a value that a line carries beside its text.
pub type Attribute<'a> = (&'a str, Value);

/// A line of the log, at a time of the wall clock, µs since the start of 1970.
#[must_use]
pub fn line(
    level: Level,
    unix_us: u64,
    text: &str,
    attributes: &[Attribute<'_>],
    is_terminal: bool,
) -> String {
    if is_terminal {
        let letter = match level {
            Level::Info => 'I',
            Level::Warning => 'W',
            Level::Error => 'E',
        };
        let mut line = format!("[{letter}] {text}");
        for (name, value) in attributes {
            line.push_str(&format!(", {name}={value}"));
        }
        return line + "\n";
    }
    let level = match level {
        Level::Info => "info",
        Level::Warning => "warn",
        Level::Error => "err",
    };
    let mut rest = Map::new();
    rest.insert("msg".to_owned(), text.into());
    for (name, value) in attributes {
        rest.insert((*name).to_owned(), value.clone());
    }
    let rest = Value::Object(rest).to_string();
    let (seconds, micros) = (unix_us / 1_000_000, unix_us % 1_000_000);
    format!("{{\"ts\":{seconds}.{micros:06},\"level\":\"{level}\",{}\n", &rest[1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_objects_or_text() {
        let attributes = [("code", 503.into()), ("status", "a\"b".into())];
        let json = line(Level::Warning, 1_795_331_238_000_392, "Non ok", &attributes, false);
        let head = "{\"ts\":1795331238.000392,\"level\":\"warn\",";
        assert!(json.starts_with(head) && json.ends_with("}\n"), "{json}");
        let read: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!((&read["msg"], &read["code"]), (&"Non ok".into(), &503.into()));
        let text = line(Level::Error, 0, "Non ok", &attributes, true);
        assert_eq!(text, "[E] Non ok, code=503, status=\"a\\\"b\"\n");
        for (level, least, is_shown) in [
            (Level::Info, LogLevel::Info, true),
            (Level::Info, LogLevel::Warning, false),
            (Level::Error, LogLevel::Error, true),
            (Level::Error, LogLevel::Critical, false),
        ] {
            assert_eq!(level.is_shown(least), is_shown, "{level:?} {least:?}");
        }
    }
}
