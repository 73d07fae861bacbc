//! Text from outside in Markdown: as code, or with every character escaped that could have a
//! meaning.

use crate::facts::printable;

/// Text in a code span, also within a table. The fence is longer than any run of backticks inside,
/// as CommonMark wants it; GitHub's tables take a backslash before a bar even in code.
pub(crate) fn code(text: &str) -> String {
    let text = printable(text).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A space that is taken away again keeps backticks at the ends apart from the fence.
    let apart = text.starts_with('`') || text.ends_with('`') || text.trim().is_empty();
    let space = if apart { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Lines in a block of code. The fence is longer than any run of backticks inside.
pub(crate) fn fenced(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| printable(&line.replace('\t', "    "))).collect();
    let text = lines.join("\n");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}

/// Text in a paragraph or a cell. A backslash takes the meaning from any mark; those that mean
/// nothing within a line are left as they are, for those who read the source.
pub(crate) fn prose(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).replace("://", ":\u{2060}//").replace("www.", "www\u{2060}.").chars() {
        if "\\`*_[]<>|~&#!{}$@".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_cannot_be_left() {
        for (text, want) in [
            ("p99<250ms", "`p99<250ms`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            ("a|b", "`a\\|b`"),
            ("a\nb\u{202e}", "`a\u{fffd}b\u{fffd}`"),
            ("", "`  `"),
        ] {
            assert_eq!(code(text), want);
        }
    }

    #[test]
    fn a_block_cannot_be_left() {
        assert_eq!(fenced("a\n\x1bb"), "```text\na\n\u{fffd}b\n```\n");
        assert_eq!(fenced("````\n"), "`````text\n````\n`````\n");
    }

    #[test]
    fn prose_means_nothing() {
        for (text, want) in [
            ("give it more threads (-t), 97 %.", "give it more threads (-t), 97 %."),
            ("<img src=x> [a](b) *c* | ~d~", "\\<img src=x\\> \\[a\\](b) \\*c\\* \\| \\~d\\~"),
            ("http://a www.b", "http:\u{2060}//a www\u{2060}.b"),
            ("&lt; \\ @team", "\\&lt; \\\\ \\@team"),
        ] {
            assert_eq!(prose(text), want);
        }
    }
}
