//! Where the keys of a suite stand, so that a mistake in a value names the value's line and not the
//! line of its table.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// The line that a part of the text begins in, from 1.
pub(super) fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The line of a key in the table, such as `[[servers]]`, that begins in a line; all from 1. `None`
/// if there is no such table or key.
#[must_use]
pub fn line_of_key(text: &str, table_line: usize, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let arrays = document.get_ref().values().filter_map(|value| match value.get_ref() {
        DeValue::Array(items) => Some(items),
        _ => None,
    });
    let mut tables = arrays.flat_map(|items| items.iter());
    let table = tables.find(|item| line_of(text, &item.span()) == table_line)?;
    let keys = table.get_ref().as_table()?.keys();
    let found = keys.into_iter().find(|name| name.get_ref() == key)?;
    Some(line_of(text, &found.span()))
}

/// The key that a message begins with: `ready` of `ready.timeout: '5' is not a duration`.
pub(super) fn key_of(message: &str) -> Option<&str> {
    let (key, _) = message.split_once(':')?;
    key.split('.').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_its_table() {
        let text =
            "name = 'x'\n\n[[loads]]\nname = 'a'\nrate = 1\n[[loads]]\nname = 'b'\n\nrate = 2\n";
        for (table_line, key, want) in [
            (3, "rate", Some(5)),
            (6, "rate", Some(9)),
            (6, "name", Some(7)),
            (6, "url", None),
            (1, "name", None),
        ] {
            assert_eq!(line_of_key(text, table_line, key), want, "{table_line} {key}");
        }
        assert_eq!(line_of_key("[[", 1, "name"), None);
        assert_eq!(key_of("ready.timeout: '5' is not a duration"), Some("ready"));
        assert_eq!(key_of("nothing"), None);
    }
}
