//! Laying out lines for a terminal: columns side by side, labels, wrapping. Widths are counted in
//! characters, and escapes that colour count as none.

/// The most columns a line takes.
pub(crate) const WIDTH: usize = 100;

const LABEL: usize = 10;

/// Characters that take a column.
fn columns(line: &str) -> usize {
    let mut in_escape = false;
    line.chars()
        .filter(|&c| {
            let counts = !in_escape && c != '\x1b';
            in_escape = c == '\x1b' || (in_escape && c != 'm');
            counts
        })
        .count()
}

/// `left` and `right` next to each other, `right` from column `at` on, or one space behind a
/// longer `left`.
pub(crate) fn beside(left: &[String], right: &[String], at: usize) -> Vec<String> {
    let line = |i: usize| {
        let (left, right) = (left.get(i).map_or("", |s| s), right.get(i).map_or("", |s| s));
        if right.is_empty() {
            return left.to_owned();
        }
        let gap = at.saturating_sub(columns(left)).max(1);
        format!("{left}{}{right}", " ".repeat(gap))
    };
    (0..left.len().max(right.len())).map(line).collect()
}

/// Lines behind a label that stands on the first of them.
pub(crate) fn labelled(label: &str, lines: &[String]) -> Vec<String> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels.zip(lines).map(|(label, line)| format!("{label:<LABEL$}{line}")).collect()
}

/// At most `width` characters, with a mark where something was cut off.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Breaks a text at spaces; a word longer than a line is shortened.
pub(crate) fn wrap(first: &str, next: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, next.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines.iter().map(|line| shorten(line.trim_end(), WIDTH)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_also_behind_colours() {
        let left = ["a".to_owned(), "\x1b[31mbb\x1b[0m".to_owned(), "longer than it".to_owned()];
        let right = ["1".to_owned(), "2".to_owned(), "3".to_owned(), "4".to_owned()];
        assert_eq!(
            beside(&left, &right, 4),
            ["a   1", "\x1b[31mbb\x1b[0m  2", "longer than it 3", "    4"]
        );
    }

    #[test]
    fn long_texts_are_wrapped_and_long_words_shortened() {
        let text = "word ".repeat(30);
        let lines = wrap("- ", "  ", text.trim());
        assert_eq!(lines.len(), 2);
        assert!(lines[1].starts_with("  word"));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(wrap("", "", &"é".repeat(200)), [format!("{}…", "é".repeat(WIDTH - 1))]);
    }
}
