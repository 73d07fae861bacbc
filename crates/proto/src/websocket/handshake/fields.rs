//! Finding fields, and the elements of those that are lists (RFC 9110 5.6.1).

use crate::http1::Headers;

/// The values of all fields of a name.
pub(super) fn values<'a>(
    headers: Headers<'a>,
    name: &'static str,
) -> impl Iterator<Item = &'a [u8]> {
    headers.filter(move |(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// The value of a field that is there exactly once.
pub(super) fn only<'a>(headers: Headers<'a>, name: &'static str) -> Option<&'a [u8]> {
    let mut values = values(headers, name);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// The elements of a list, over all fields of its name. Those that are not text are left out.
pub(super) fn elements<'a>(
    headers: Headers<'a>,
    name: &'static str,
) -> impl Iterator<Item = &'a str> {
    values(headers, name)
        .filter_map(|value| std::str::from_utf8(value).ok())
        .flat_map(|value| value.split(','))
        .map(str::trim_ascii)
        .filter(|element| !element.is_empty())
}

/// Whether a list has an element, in whatever case.
pub(super) fn has(headers: Headers<'_>, name: &'static str, element: &str) -> bool {
    elements(headers, name).any(|found| found.eq_ignore_ascii_case(element))
}
