//! What a query asks of the echo: a status, a delay, a size, fields, a close, a coding; each of the
//! first four of them with chances, if wished.

use plimsoll_core::secret::form_decoded;
use plimsoll_core::units;

/// The most values of a list, and the most fields.
const VALUES_MAX: usize = 100;

/// What a client wants, with its chances in per cent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wishes {
    /// Statuses; `None` if they cannot be read.
    pub(crate) statuses: Option<Vec<(u16, f64)>>,
    pub(crate) delays_ns: Vec<(u64, f64)>,
    pub(crate) sizes: Vec<(u64, f64)>,
    pub(crate) close_percent: f64,
    pub(crate) gzip_percent: f64,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
}

impl Wishes {
    /// Reads a query. A value that cannot be read is ignored, except for that of the status.
    pub(crate) fn of(query: &str) -> Self {
        let mut wishes = Self { statuses: Some(Vec::new()), ..Self::default() };
        // The first value of a name counts.
        let mut seen: Vec<String> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (form_decoded(name), form_decoded(value));
            if name == "header" {
                wishes.fields.extend(field(&value).filter(|_| wishes.fields.len() < VALUES_MAX));
                continue;
            }
            if seen.contains(&name) || seen.len() >= VALUES_MAX {
                continue;
            }
            match name.as_str() {
                "status" => wishes.statuses = list(&value, status),
                "delay" => wishes.delays_ns = list(&value, delay_ns).unwrap_or_default(),
                "size" => wishes.sizes = list(&value, size).unwrap_or_default(),
                "close" => wishes.close_percent = chance(&value),
                "gzip" => wishes.gzip_percent = chance(&value),
                _ => {}
            }
            seen.push(name);
        }
        wishes
    }
}

/// One value, or several with their chances: `404:10,503:5.5%`. `None` if it cannot be read, or if
/// the chances add up to more than everything.
fn list<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<(T, f64)>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    if !text.contains([',', ':']) {
        return Some(vec![(read(text)?, 100.0)]);
    }
    let mut sum = 0.0;
    let mut values = Vec::new();
    for part in text.split(',') {
        let (value, chance) = part.split_once(':')?;
        let chance = percent(chance).filter(|chance| *chance >= 0.0)?;
        sum += chance;
        values.push((read(value.trim())?, chance));
    }
    (sum <= 100.0 && values.len() <= VALUES_MAX).then_some(values)
}

fn percent(text: &str) -> Option<f64> {
    text.trim().trim_end_matches('%').parse().ok()
}

/// Nothing and `false` are never, a number is a chance, and anything else is always.
fn chance(text: &str) -> f64 {
    match text.trim() {
        "" | "false" => 0.0,
        text => percent(text).filter(|chance| chance.is_finite()).unwrap_or(100.0),
    }
}

/// Final statuses only: the server answers once.
fn status(text: &str) -> Option<u16> {
    text.parse().ok().filter(|status| (200..=999).contains(status))
}

fn delay_ns(text: &str) -> Option<u64> {
    let total = text.strip_prefix('+').unwrap_or(text);
    // Go's durations may have several units.
    let mut rest = total;
    let mut sum_ns = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit() || c == '.');
        let end = unit.map_or(rest.len(), |unit| digits + unit);
        sum_ns = sum_ns.checked_add(units::parse_duration_ns(&rest[..end]).ok()?)?;
        rest = &rest[end..];
    }
    (!total.is_empty()).then_some(sum_ns)
}

fn size(text: &str) -> Option<u64> {
    text.parse::<i64>().ok().map(|size| size.max(0) as u64)
}

/// `Name:value`, of what can stand in a head.
fn field(text: &str) -> Option<(String, Vec<u8>)> {
    let (name, value) = text.split_once(':')?;
    let name = name.trim();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    // What the server says of the body's end is its own to say.
    let is_own = ["content-length", "transfer-encoding", "connection", "date"]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own));
    let is_good = !name.is_empty() && name.bytes().all(is_token) && !is_own;
    let value = value.trim().bytes().filter(|byte| *byte >= b' ' || *byte == b'\t').collect();
    is_good.then(|| (name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_chances_and_must_be_readable() {
        for (query, want) in [
            ("", Some(vec![])),
            ("status=503", Some(vec![(503, 100.0)])),
            ("status=404:10,503:5.5%25", Some(vec![(404, 10.0), (503, 5.5)])),
            ("status=404:10,503", None),
            ("status=404:60,503:50", None),
            ("status=404:-1", None),
            ("status=99", None),
            ("status=bad", None),
            ("status=503&status=404", Some(vec![(503, 100.0)])),
        ] {
            assert_eq!(Wishes::of(query).statuses, want, "{query}");
        }
    }

    #[test]
    fn what_cannot_be_read_otherwise_is_not_wished() {
        let wishes = Wishes::of(
            "delay=1m0.5s&size=-4&close=yes&gzip=42.7%25&header=A:b+c&header=bad&header=Date:x\
             &header=X-Y:%0d%0az&x=y&%",
        );
        assert_eq!(wishes.delays_ns, [(60_500_000_000, 100.0)]);
        assert_eq!(wishes.sizes, [(0, 100.0)]);
        assert_eq!((wishes.close_percent, wishes.gzip_percent), (100.0, 42.7));
        let want = [("A", "b c"), ("X-Y", "z")]
            .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        assert_eq!(wishes.fields, want);
        for (query, delays_ns) in [
            ("delay=150us:10,2ms:5", vec![(150_000, 10.0), (2_000_000, 5.0)]),
            ("delay=bad", vec![]),
            ("delay=", vec![]),
            ("delay=1s:60,2s:60", vec![]),
        ] {
            assert_eq!(Wishes::of(query).delays_ns, delays_ns, "{query}");
        }
        for (text, want) in
            [("", 0.0), ("false", 0.0), ("true", 100.0), ("5.3", 5.3), ("nan", 100.0)]
        {
            assert_eq!(chance(text), want, "{text:?}");
        }
    }
}
