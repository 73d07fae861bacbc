//! Layout for a terminal: columns side by side, tables, labels, wrapping. Widths count characters;
//! escapes for colours count as nothing. Nothing here cuts a figure: what does not fit goes below.

/// The most columns a line takes, however wide the terminal is.
pub(crate) const WIDTH: usize = 100;

pub(crate) const LABEL: usize = 10;

/// Where the right one of two columns begins, where there is room.
const RIGHT_AT: usize = 60;

/// The least room between two columns of text.
const GUTTER: usize = 3;

/// Characters that take a column.
pub(crate) fn columns(line: &str) -> usize {
    let mut in_escape = false;
    line.chars()
        .filter(|&c| {
            let counts = !in_escape && c != '\x1b';
            in_escape = c == '\x1b' || (in_escape && c != 'm');
            counts
        })
        .count()
}

fn widest(lines: &[String]) -> usize {
    lines.iter().map(|line| columns(line)).max().unwrap_or(0)
}

/// `left` and `right` next to each other where both fit into the width, else one above the other.
pub(crate) fn beside(left: &[String], right: &[String], width: usize) -> Vec<String> {
    if right.is_empty() {
        return left.to_vec();
    }
    let (least, needed) = (widest(left) + GUTTER, widest(right));
    if least + needed > width {
        return left.iter().cloned().chain([String::new()]).chain(right.iter().cloned()).collect();
    }
    let at = if RIGHT_AT + needed <= width { least.max(RIGHT_AT) } else { least };
    let line = |i: usize| {
        let (left, right) = (left.get(i).map_or("", |s| s), right.get(i).map_or("", |s| s));
        if right.is_empty() {
            return left.to_owned();
        }
        format!("{left}{}{right}", " ".repeat(at - columns(left)))
    };
    (0..left.len().max(right.len())).map(line).collect()
}

/// Lines of a table, its head first, whose columns are as wide as what is in them: `words` of them
/// and those without a heading from the left, the rest from the right. What does not fit goes into
/// a further table, below a line that says so. It begins with the words, too, and leaves out rows
/// that have nothing in it.
pub(crate) fn table(rows: &[Vec<String>], words: usize, width: usize) -> Vec<String> {
    let Some(head) = rows.first() else { return Vec::new() };
    let widths = column_widths(rows);
    let count = widths.len();
    let is_words = |at: usize| at < words || head.get(at).is_some_and(String::is_empty);
    let names: usize = widths.iter().take(words).map(|width| width + 2).sum();
    let mut lines = Vec::new();
    let mut from = words;
    loop {
        let mut to = from;
        let mut taken = names;
        while to < count && (to == from || taken + widths[to] <= width) {
            taken += widths[to] + 2;
            to += 1;
        }
        let line = |row: &[String]| {
            let columns = (0..words).chain(from..to).filter_map(|at| Some((at, row.get(at)?)));
            let cell = |(at, cell): (usize, &String)| padded(cell, widths[at], is_words(at));
            columns.map(cell).collect::<String>().trim_end().to_owned()
        };
        let is_further = from > words;
        let has_cells = |row: &[String]| row[from.min(row.len())..].iter().any(|it| !it.is_empty());
        let is_shown = |at: usize, row: &[String]| at == 0 || !is_further || has_cells(row);
        let shown = rows.iter().enumerate().filter(|(at, row)| is_shown(*at, row));
        lines.extend(shown.map(|(_, row)| line(row)));
        from = to;
        if from >= count {
            return lines;
        }
        lines.extend([String::new(), FURTHER.to_owned()]);
    }
}

/// The widest cell of each column.
fn column_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let wide = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| columns(cell)).max().unwrap_or(0)
    };
    (0..rows.iter().map(Vec::len).max().unwrap_or(0)).map(wide).collect()
}

/// Whether all columns of a table stand beside each other in this width.
pub(crate) fn fits(rows: &[Vec<String>], width: usize) -> bool {
    let widths = column_widths(rows);
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1) <= width
}

/// What stands above the columns that did not fit beside the others.
const FURTHER: &str = "Further columns of the same rows:";

/// A cell and the room behind it.
fn padded(cell: &str, width: usize, from_left: bool) -> String {
    let room = " ".repeat(width.saturating_sub(columns(cell)));
    if from_left { format!("{cell}{room}  ") } else { format!("{room}{cell}  ") }
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

/// The names of a table's rows in at most `width` characters. Names that differ look different. If
/// they would be cut alike, they are cut in the middle. If that does not help, they get numbers.
pub(crate) fn shorten_apart(names: &[String], width: usize) -> Vec<String> {
    let mut short: Vec<String> = names.iter().map(|name| shorten(name, width)).collect();
    for at in alike(names, &short) {
        short[at] = shorten_middle(&names[at], width);
    }
    for (number, at) in alike(names, &short).into_iter().enumerate() {
        let number = format!(" #{}", number + 1);
        let room = width.saturating_sub(number.chars().count());
        short[at] = shorten(&names[at], room) + &number;
    }
    short
}

/// Which of the names look like another one.
fn alike(names: &[String], short: &[String]) -> Vec<usize> {
    let is_alike = |at: &usize| {
        let mut others = names.iter().zip(short);
        others.any(|(name, shown)| *name != names[*at] && *shown == short[*at])
    };
    (0..names.len()).filter(is_alike).collect()
}

/// The beginning and the end of a text, in at most `width` characters.
fn shorten_middle(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let behind = width.saturating_sub(1) / 2;
    let before: String = text.chars().take(width.saturating_sub(1) - behind).collect();
    before + "…" + &text.chars().skip(count - behind).collect::<String>()
}

/// Breaks a text into lines of at most `width` characters, the first behind `first` and the others
/// behind `next`. It breaks at spaces, but not within `17 188` or before a unit. A word that is
/// longer than a line is broken where the line ends.
#[must_use]
pub fn wrap(first: &str, next: &str, text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in words(text) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, next.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        for c in word.chars() {
            if line.chars().count() >= width {
                lines.push(std::mem::replace(&mut line, next.to_owned()));
            }
            line.push(c);
        }
        is_empty = false;
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Marks of figures.
const MARKS: [char; 4] = ['≥', '≤', '≈', '~'];

/// The words of a text, a figure with what stands behind it as one; two spaces part all.
fn words(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let is_between = |at: usize| {
        let behind_figure = at > 0 && bytes[at - 1].is_ascii_digit();
        // A mark belongs to the figure behind it.
        let behind_mark = text.get(..at).is_some_and(|head| head.ends_with(MARKS));
        bytes[at] == b' '
            && !behind_mark
            && !(behind_figure && bytes.get(at + 1).is_some_and(|&b| b != b' '))
    };
    let mut words = Vec::new();
    let mut from = 0;
    for at in (0..bytes.len()).filter(|&at| is_between(at)) {
        words.push(&text[from..at]);
        from = at + 1;
    }
    words.push(&text[from..]);
    words
}

/// The same in a limited number of lines, with a mark at the end if something was cut off: for text
/// from outside, which may be of any length.
pub(crate) fn wrap_within(
    (first, next): (&str, &str),
    text: &str,
    width: usize,
    most: usize,
) -> Vec<String> {
    // No line is longer than the width, so the rest would be cut off anyway.
    let text = shorten(text, most * width);
    let mut lines = wrap(first, next, &text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = shorten(&format!("{last} …"), width);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn names_that_differ_look_different() {
        for (names, want) in [
            (&["http://a/b", "x"][..], &["http://a…", "x"][..]),
            // Cut alike, they show their ends.
            (&["http://a/b/1", "http://a/b/2", "x"], &["http…/b/1", "http…/b/2", "x"]),
            // The ends are alike, too.
            (&["http://a/1/items", "http://a/2/items"], &["http:… #1", "http:… #2"]),
            // The same name twice is the same twice, and what looks cut may be a whole name.
            (&["http://a/b", "http://a/b"], &["http://a…", "http://a…"]),
            (&["http://a…", "http://a/b"], &["http://a…", "http…/a/b"]),
        ] {
            assert_eq!(shorten_apart(&owned(names), 9), owned(want), "{names:?}");
        }
    }

    #[test]
    fn columns_line_up_also_behind_colours() {
        let left = owned(&["a", "\x1b[31mbb\x1b[0m", "longer"]);
        let right = owned(&["1", "2", "3", "4"]);
        assert_eq!(
            beside(&left, &right, 10),
            ["a        1", "\x1b[31mbb\x1b[0m       2", "longer   3", "         4"]
        );
        assert_eq!(beside(&left, &[], 10), left);
        let at = beside(&left, &right, WIDTH)[0].find('1');
        assert_eq!(at, Some(RIGHT_AT), "where there is room all begin at one column");
    }

    #[test]
    fn what_does_not_fit_beside_goes_below() {
        let (left, right) = (owned(&["left"]), owned(&["right"]));
        assert_eq!(beside(&left, &right, 12), ["left   right"]);
        assert_eq!(beside(&left, &right, 11), ["left", "", "right"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_cells_and_continue_below() {
        let rows = [owned(&["Name", "p50", "p99"]), owned(&["a", "\x1b[31m1 ms\x1b[0m", "20 ms"])];
        let whole = ["Name   p50    p99", "a     \x1b[31m1 ms\x1b[0m  20 ms"];
        assert_eq!(table(&rows, 1, 17), whole);
        assert!(fits(&rows, 17) && !fits(&rows, 16));
        let split =
            ["Name   p50", "a     \x1b[31m1 ms\x1b[0m", "", FURTHER, "Name    p99", "a     20 ms"];
        assert_eq!(table(&rows, 1, 16), split);
        assert!(table(&[], 1, 16).is_empty());
        let rows = [["Name", "p50", ""], ["a", "1 ms", ""], ["b", "2 ms", "slower"]];
        let rows = rows.map(|row| owned(&row));
        let whole = ["Name   p50", "a     1 ms", "b     2 ms  slower"];
        assert_eq!(table(&rows, 1, 18), whole);
        let further =
            ["Name   p50", "a     1 ms", "b     2 ms", "", FURTHER, "Name", "b     slower"];
        assert_eq!(table(&rows, 1, 17), further, "a has nothing in the further table");
    }

    #[test]
    fn long_texts_are_wrapped_and_long_words_broken() {
        let text = "word ".repeat(30);
        let lines = wrap("- ", "  ", text.trim(), 80);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].starts_with("  word"));
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
        let lines = wrap("", "> ", &"é".repeat(15), 10);
        assert_eq!(lines, ["é".repeat(10), format!("> {}", "é".repeat(5))]);
        let figures = wrap("", "", "at 17 188 responses/s, 2 µs   200: 5", 14);
        assert_eq!(figures, ["at", "17 188 respons", "es/s, 2 µs", "200: 5"]);
        assert_eq!(wrap("", "", "slower ≤ 2 µs", 9), ["slower", "≤ 2 µs"]);
    }

    #[test]
    fn texts_from_outside_have_an_end() {
        let cut = wrap_within(("", ""), &"word ".repeat(30), 20, 2);
        assert_eq!(cut, ["word word word word", "word word word word…"]);
        assert_eq!(wrap_within(("", ""), "short", 20, 2), ["short"]);
        assert_eq!(wrap_within(("", ""), &"x".repeat(1000), 10, 2).len(), 2);
    }
}
