//! Lines of `-o csv`.

use super::Sample;
use crate::WallTime;
use crate::k6::metrics::{SystemTags, TagSet};
use crate::numbers::go_shortest;

/// How times are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimeFormat {
    /// Seconds since 1970.
    #[default]
    Unix,
    /// Milliseconds since 1970.
    UnixMilli,
    /// Microseconds since 1970.
    UnixMicro,
    /// Nanoseconds since 1970.
    UnixNano,
    /// RFC 3339 to the second.
    Rfc3339,
    /// RFC 3339 to the ns.
    Rfc3339Nano,
}

impl TimeFormat {
    /// Reads the value of `timeFormat` or `K6_CSV_TIME_FORMAT`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "unix" => Self::Unix,
            "unix_milli" => Self::UnixMilli,
            "unix_micro" => Self::UnixMicro,
            "unix_nano" => Self::UnixNano,
            "rfc3339" => Self::Rfc3339,
            "rfc3339_nano" => Self::Rfc3339Nano,
            _ => return None,
        })
    }

    fn print(self, time: WallTime) -> String {
        let in_ns = |unit_ns| time.unix_ns.div_euclid(unit_ns).to_string();
        match self {
            Self::Unix => in_ns(1_000_000_000),
            Self::UnixMilli => in_ns(1_000_000),
            Self::UnixMicro => in_ns(1_000),
            Self::UnixNano => in_ns(1),
            Self::Rfc3339 => time.rfc3339(),
            Self::Rfc3339Nano => time.rfc3339_nano(),
        }
    }
}

/// The columns of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Tags that have a column each, by name.
    tags: Vec<&'static str>,
    /// How times are written.
    format: TimeFormat,
}

impl Columns {
    /// A column for each system tag that is set, unless it is metadata.
    #[must_use]
    pub fn new(system_tags: &SystemTags, format: TimeFormat) -> Self {
        let tags = system_tags.iter().filter(|tag| !tag.is_metadata());
        Self { tags: tags.map(|tag| tag.name()).collect(), format }
    }

    /// The first line. It ends with a line break.
    #[must_use]
    pub fn header(&self) -> String {
        let first = ["metric_name", "timestamp", "metric_value"];
        let names = first.into_iter().chain(self.tags.iter().copied());
        line(names.chain(["extra_tags", "metadata"]))
    }

    /// The line of a sample. It ends with a line break.
    #[must_use]
    pub fn row(&self, sample: &Sample<'_>) -> String {
        let time = self.format.print(sample.time);
        let value = match sample.value.is_finite() {
            true => format!("{:.6}", sample.value),
            false => go_shortest(sample.value),
        };
        let (extra, metadata) = (self.others(sample.tags), self.others(sample.metadata));
        let tags = self.tags.iter().map(|tag| sample.tags.get(tag).unwrap_or(""));
        let first = [sample.metric, &time, &value];
        line(first.into_iter().chain(tags).chain([&*extra, &*metadata]))
    }

    /// Tags without a column, in one.
    fn others(&self, tags: &TagSet) -> String {
        let other = tags.iter().filter(|(name, _)| self.tags.binary_search(name).is_err());
        other.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    }
}

fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let mut line = fields.map(field).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

/// In quotes where it needs them (RFC 4180, and blanks in front as Go does).
fn field(text: &str) -> String {
    let needs_quotes = text.starts_with(char::is_whitespace)
        || text.contains([',', '"', '\n', '\r'])
        || text == "\\.";
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
