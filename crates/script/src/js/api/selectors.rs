//! Selectors of state, for a page at rest. The library that selects knows their names, and matches
//! nothing with them; so each is written as the selector of what the attributes say.
//!
//! Which elements they match is as in k6: options that no attribute selects are not checked, and
//! links are enabled.

use std::borrow::Cow;

/// What can be disabled by a fieldset around it.
const CONTROLS: &str = ":is(button, input, select, textarea, fieldset)";

const CHECKED: &str =
    ":is(input:is([type=\"checkbox\" i], [type=\"radio\" i])[checked], option[selected])";

/// The text of a selector with its pseudo-classes of state replaced.
///
/// # Errors
/// One that depends on more than attributes say.
pub(super) fn at_rest(text: &str) -> Result<Cow<'_, str>, &'static str> {
    let mut out = String::new();
    let mut kept = 0;
    for (start, name) in pseudo_classes(text) {
        let replacement = match &*name.to_ascii_lowercase() {
            "checked" => CHECKED.to_owned(),
            "disabled" => disabled(),
            "enabled" => enabled(),
            "input" => ":is(input, select, textarea, button)".to_owned(),
            "indeterminate" => return Err(":indeterminate is not supported"),
            _ => continue,
        };
        out.push_str(&text[kept..start]);
        out.push_str(&replacement);
        kept = start + 1 + name.len();
    }
    if kept == 0 {
        return Ok(Cow::Borrowed(text));
    }
    out.push_str(&text[kept..]);
    Ok(Cow::Owned(out))
}

/// With the attribute, or in a disabled fieldset and not in its first legend, or an option of a
/// disabled group.
fn disabled() -> String {
    format!(
        ":is(:is({CONTROLS}, optgroup, option)[disabled], optgroup[disabled] > option, \
         {CONTROLS}:is(fieldset[disabled] > *, \
         fieldset[disabled] > :not(legend:first-of-type) *))"
    )
}

fn enabled() -> String {
    let disabled = disabled();
    format!(":is(:is(a, area, link)[href], :is({CONTROLS}, optgroup, option):not({disabled}))")
}

/// Where each pseudo-class begins, and its name. The search skips quoted and escaped text.
fn pseudo_classes(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let (mut found, mut quote, mut at) = (Vec::new(), None, 0);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match (byte, quote) {
            (b'\\', _) => at += 1,
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => {}
            (b'"' | b'\'', None) => quote = Some(byte),
            (b':', None) => {
                let end = bytes[at..].iter().position(|byte| !is_name(*byte));
                let end = end.map_or(bytes.len(), |len| at + len);
                // Two colons are before a pseudo-element, and a parenthesis is after a function.
                let is_plain = !(start > 0 && bytes[start - 1] == b':');
                if is_plain && end > at && bytes.get(end) != Some(&b'(') {
                    found.push((start, &text[at..end]));
                }
                at = end;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pseudo_classes_are_replaced() {
        for text in [
            "p",
            "",
            ":",
            "::checked",
            "[a=\":checked\"]",
            "[a=':checked\\':checked']",
            "#a\\:checked",
            ":checked-not",
            ":checked(1)",
            ":first-child",
            "\u{e9}:x\u{e9}",
            "\\",
        ] {
            assert_eq!(at_rest(text), Ok(Cow::Borrowed(text)), "{text}");
        }
        let twice = at_rest("a:CHECKED, b:not(:checked)").unwrap();
        assert_eq!(twice, format!("a{CHECKED}, b:not({CHECKED})"));
        assert!(at_rest("p :indeterminate").is_err());
    }
}
