//! Checks that the pages of `docs` form a book: `docs/SUMMARY.md` lists each page once, and only
//! pages of the reference may be long. Another check follows the links.

use super::Finding;
use super::files::File;

const SUMMARY: &str = "docs/SUMMARY.md";
/// The part of the book in which readers look things up.
const REFERENCE: &str = "Reference";
/// Lines of a page outside the reference.
const PAGE_LINES_MAX: usize = 300;
/// Lines of README.md, which is read before anything else.
const README_LINES_MAX: usize = 120;

/// A chapter of the summary.
struct Chapter {
    /// The page, from the root of the repository.
    path: String,
    is_reference: bool,
    line: usize,
}

/// Pages that the summary leaves out or repeats, and pages that are too long.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else {
        return vec![Finding::new(SUMMARY, 0, "the order of the pages is missing")];
    };
    let chapters = chapters(&summary.text);
    let twice = chapters.iter().enumerate().filter_map(|(index, chapter)| {
        let is_known = chapters[..index].iter().any(|earlier| earlier.path == chapter.path);
        let message = format!("{} is a chapter twice", chapter.path);
        is_known.then(|| Finding::new(SUMMARY, chapter.line, message))
    });
    let pages = files.iter().filter(|file| file.path.ends_with(".md") && file.path != SUMMARY);
    let wrong = pages.filter_map(|page| wrong_with(page, &chapters));
    twice.chain(wrong).collect()
}

fn wrong_with(page: &File, chapters: &[Chapter]) -> Option<Finding> {
    let lines_max = if page.path == "README.md" {
        README_LINES_MAX
    } else if page.path.starts_with("docs/") {
        match chapters.iter().find(|chapter| chapter.path == page.path) {
            Some(chapter) if chapter.is_reference => return None,
            Some(_) => PAGE_LINES_MAX,
            None => return Some(Finding::new(&page.path, 0, format!("is not in {SUMMARY}"))),
        }
    } else {
        return None;
    };
    let lines = page.text.lines().count();
    let message = format!("{lines} lines; {lines_max} at most, so split it by topic");
    (lines > lines_max).then(|| Finding::new(&page.path, 0, message))
}

/// The chapters: links below `docs`, each in the part whose heading stands above it.
fn chapters(summary: &str) -> Vec<Chapter> {
    let mut part = "";
    let mut chapters = Vec::new();
    for (index, line) in summary.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("# ") {
            part = heading;
        }
        let link = line.split_once("](").and_then(|(_, rest)| rest.split(')').next());
        chapters.extend(link.map(|link| Chapter {
            path: format!("docs/{link}"),
            is_reference: part == REFERENCE,
            line: index + 1,
        }));
    }
    chapters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_chapters_and_short() {
        let summary = "# Summary\n\n[First](a.md)\n\n# Recipes\n\n- [Soak](r/soak.md)\n    \
                       - [B](b.md)\n\n# Reference\n\n- [Flags](run.md)\n";
        let lines = |count| "line\n".repeat(count);
        let [first, second, short, long] = [120, 121, 300, 301].map(lines);
        let [first, second, short, long] = [&*first, &*second, &*short, &*long];
        let of = |summary: &str, pages: &[(&str, &str)]| {
            let mut files: Vec<File> =
                pages.iter().map(|(path, text)| File::example(path, text)).collect();
            files.push(File::example(SUMMARY, summary));
            check(&files).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let good = [
            ("docs/a.md", short),
            ("docs/r/soak.md", ""),
            ("docs/b.md", ""),
            ("docs/run.md", long),
            ("docs/x.json", long),
            ("labs/README.md", long),
            ("README.md", first),
        ];
        assert_eq!(of(summary, &good), [""; 0]);
        for (page, want) in [
            (("docs/c.md", ""), "docs/c.md: is not in docs/SUMMARY.md"),
            (("docs/r/ci.md", ""), "docs/r/ci.md: is not in docs/SUMMARY.md"),
            (("docs/b.md", long), "docs/b.md: 301 lines; 300 at most, so split it by topic"),
            (("README.md", second), "README.md: 121 lines; 120 at most, so split it by topic"),
        ] {
            assert_eq!(of(summary, &[page]), [want], "{page:?}");
        }
        let again = format!("{summary}- [Again](a.md)\n");
        assert_eq!(of(&again, &good), ["docs/SUMMARY.md:13: docs/a.md is a chapter twice"]);
    }

    #[test]
    fn a_book_has_an_order() {
        let found = check(&[File::example("docs/a.md", "")]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
