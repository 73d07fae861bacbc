//! Text from elsewhere, such as names that a script makes up and what a server answers, as a
//! terminal and a page may show it.

/// Everything a terminal or a page could take for something other than text, replaced: control
/// characters, escapes, and the marks that reverse the direction of writing.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// The same of a text that may have several lines, with tabs in them.
#[must_use]
pub fn printable_lines(text: &str) -> String {
    let kept = |c: char| matches!(c, '\n' | '\t') || !is_harmful(c);
    text.chars().map(|c| if kept(c) { c } else { '\u{fffd}' }).collect()
}

/// Whether a terminal or a page could take a character for something other than text.
#[must_use]
pub fn is_harmful(c: char) -> bool {
    let invisible = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}'];
    let is_mark = matches!(c, '\u{61c}' | '\u{feff}');
    c.is_control() || is_mark || invisible.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_text_is_replaced() {
        let text = "a\x1b]0;x\x07\n\tb\u{202e}\u{9b}\u{61c}c é";
        let bad = '\u{fffd}';
        assert_eq!(printable(text), format!("a{bad}]0;x{bad}{bad}{bad}b{bad}{bad}{bad}c é"));
        assert_eq!(printable_lines(text), format!("a{bad}]0;x{bad}\n\tb{bad}{bad}{bad}c é"));
    }
}
