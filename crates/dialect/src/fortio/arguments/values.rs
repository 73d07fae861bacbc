//! Values of flags that are more than a number or a text.

use crate::fortio::command::LogLevel;
use crate::numbers::go_shortest;

/// The most percentiles.
const PERCENTILES_MAX: usize = 1000;

/// `Name: value` with the name as Go spells it. Nothing after the colon leaves the header out.
pub(in crate::fortio) fn header(text: &str) -> Option<(String, Option<String>)> {
    let (name, value) = text.split_once(':')?;
    let value = (!value.is_empty()).then(|| value.trim().to_owned());
    Some((canonical(name.trim()), value))
}

/// A field's name as Go's `CanonicalMIMEHeaderKey` spells it: capitals at the start and after
/// dashes.
#[must_use]
pub fn canonical(name: &str) -> String {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.bytes().all(is_token) {
        return name.to_owned();
    }
    let mut upper = true;
    let spell = |letter: char| {
        let spelt = if upper { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        upper = letter == '-';
        spelt
    };
    name.chars().map(spell).collect()
}

/// A level of the log by its name, in any case.
pub(super) fn level(name: &str) -> Option<LogLevel> {
    let levels = [
        ("debug", LogLevel::Debug),
        ("verbose", LogLevel::Verbose),
        ("info", LogLevel::Info),
        ("warning", LogLevel::Warning),
        ("error", LogLevel::Error),
        ("critical", LogLevel::Critical),
        ("fatal", LogLevel::Fatal),
    ];
    let lower = name.to_ascii_lowercase();
    levels.iter().find(|(known, _)| *known == lower).map(|(_, level)| *level)
}

/// How many calls a connection may carry, `min:max` in either order or one number; 0 and nothing
/// say nothing.
///
/// # Errors
/// The part that is not a number.
pub(in crate::fortio) fn reuse(text: &str) -> Result<Option<[u32; 2]>, &str> {
    if text.is_empty() {
        return Ok(None);
    }
    let (min, max) = text.split_once(':').unwrap_or((text, text));
    let mut ends = [0_u32; 2];
    for (end, text_of_end) in ends.iter_mut().zip([min, max]) {
        *end = text_of_end.parse().map_err(|_| text_of_end)?;
    }
    ends.sort_unstable();
    let [min, max] = ends;
    Ok((max > 0).then_some([min.max(1), max]))
}

/// The percentiles of a list such as `50,99.9`.
///
/// # Errors
/// What is wrong with it, in fortio's words.
pub(in crate::fortio) fn percentiles(list: &str) -> Result<Vec<f64>, String> {
    if list.trim().is_empty() {
        return Err("list can't be empty".to_owned());
    }
    let all: Vec<&str> = list.split(',').map(str::trim).collect();
    if all.len() > PERCENTILES_MAX {
        return Err(format!("{} are too many: give {PERCENTILES_MAX} or fewer", all.len()));
    }
    let one = |text: &str| {
        let number: f64 = text
            .parse()
            .map_err(|_| format!("strconv.ParseFloat: parsing {text:?}: invalid syntax"))?;
        let is_inside = number > 0.0 && number < 100.0;
        let why = || format!("percentile {} must be > 0 and < 100", go_shortest(number));
        is_inside.then_some(number).ok_or_else(why)
    };
    all.into_iter().map(one).collect()
}
