//! Markdown as plain text for a terminal: paragraphs and lists, because the sections have nothing
//! else.

use plimsoll_report::text::wrap;

/// A paragraph or an item of a list.
struct Block {
    /// What its first line begins with: spaces and perhaps a dash.
    first: String,
    text: String,
}

impl Block {
    fn is_item(&self) -> bool {
        !self.first.is_empty()
    }
}

/// The text of a section, without marks.
pub(super) fn text(section: &str, columns: usize) -> String {
    let mut text = String::new();
    let mut follows_item = true;
    for block in blocks(section) {
        // Items of a list stand together; a paragraph has a line above.
        let stands_apart = !follows_item || !block.is_item();
        if !text.is_empty() && stands_apart {
            text.push('\n');
        }
        follows_item = block.is_item();
        let next = " ".repeat(block.first.len());
        for line in wrap(&block.first, &next, &without_marks(&block.text), columns) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// The first sentence of a section.
pub(super) fn first_sentence(section: &str) -> String {
    let first = blocks(section).into_iter().next();
    let text = first.map(|block| without_marks(&block.text)).unwrap_or_default();
    match text.split_once(". ") {
        Some((sentence, _)) => sentence.to_owned(),
        None => text.trim_end_matches('.').to_owned(),
    }
}

fn blocks(section: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for line in section.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() {
            is_open = false;
        } else if let Some(item) = text.strip_prefix("- ") {
            let first = format!("{}- ", " ".repeat(indent));
            blocks.push(Block { first, text: item.to_owned() });
            is_open = true;
        } else if let Some(block) = blocks.last_mut().filter(|_| is_open) {
            block.text.push(' ');
            block.text.push_str(text);
        } else {
            blocks.push(Block { first: String::new(), text: text.to_owned() });
            is_open = true;
        }
    }
    blocks
}

/// A text without emphasis and the targets of links. Backticks stay: they say where a command or a
/// name begins and ends.
fn without_marks(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => part.replace('*', ""),
        _ => part.to_owned(),
    });
    let plain = parts.collect::<Vec<_>>().join("`");
    let mut text = String::new();
    let mut rest = plain.as_str();
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before);
        let shown = link.split_once("](").and_then(|(shown, target)| {
            let (_, behind) = target.split_once(')')?;
            (!shown.contains(']')).then_some((shown, behind))
        });
        match shown {
            Some((shown, behind)) => {
                text.push_str(shown);
                rest = behind;
            }
            None => {
                text.push('[');
                rest = link;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_left_out() {
        for (markdown, want) in [
            ("**Seen:** `late` and *late*", "Seen: `late` and late"),
            ("`body*=x` of [a page](page.md#a), [b] and [c](d)", "`body*=x` of a page, [b] and c"),
            ("[`code`](page.md)", "`code`"),
            ("no marks, 2 x 3", "no marks, 2 x 3"),
        ] {
            assert_eq!(without_marks(markdown), want, "{markdown}");
        }
    }

    #[test]
    fn paragraphs_and_lists_are_wrapped() {
        let section = "One two\nthree four.\n\nFive.\n\n- **six** seven\n  eight\n  - nine ten\n";
        let want = "One two\nthree\nfour.\n\nFive.\n\n- six\n  seven\n  eight\n  - nine\n    ten\n";
        assert_eq!(text(section, 9), want);
    }

    #[test]
    fn a_sentence_ends_at_its_stop() {
        for (section, want) in [
            ("At p99.9 it\nis late. Then more.", "At p99.9 it is late"),
            ("All of it.\n\n- **Seen:** x", "All of it"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(section), want, "{section:?}");
        }
    }
}
