//! Words and turns of phrase that make a text sound translated, each with what to write instead.
//!
//! Prose is Markdown outside of code, and the comments and strings of Rust. The list holds phrases
//! that recurred here and are seldom right. It is not a grammar: most of STYLE.md's rules for words
//! need a reader.

use super::Finding;
use super::files::File;
use super::source::Source;

/// Whether phrases are looked for in a file. The list itself is not prose, and recorded results
/// stay as the program wrote them.
fn is_prose(path: &str) -> bool {
    path != "xtask/src/tidy/words.rs" && !path.contains("/results/")
}

const COMPARED: &str = "compare with, or check against";
const AVAILABLE: &str = "say what is missing: 'not available', 'free', 'cannot be started'";
const COUNTED: &str = "say what is counted: 'number of threads'";
const WHO: &str = "name who it is: a user, a process, another program";
const SUBJECT: &str = "say 'you', or name who does it";
const PLAIN: &str = "write the plain word: so, then, in it, of it, on, while";

/// What to look for, in small letters, and what to do instead. A `*` is any one word.
const PHRASES: [(&str, &str); 39] = [
    ("whoever", WHO),
    ("somebody", WHO),
    ("anybody", WHO),
    ("nobody's", WHO),
    ("hurts nobody", "say what is harmless, and why"),
    ("helps nobody", "say what is useless, and why"),
    ("help nobody", "say what is useless, and why"),
    ("leaves nobody", WHO),
    ("takes nobody", WHO),
    ("by nobody", "make it active: 'nobody reads it'"),
    ("to nobody", "make it active: 'nobody gets it'"),
    ("with nobody", WHO),
    ("so many", COUNTED),
    ("so much later", COUNTED),
    ("so much time", COUNTED),
    ("so much beside", COUNTED),
    ("to be had", AVAILABLE),
    ("can be had", AVAILABLE),
    ("held against", COMPARED),
    ("hold against", COMPARED),
    ("holds against", COMPARED),
    ("all the same", "'anyway' or 'still'; of things, 'alike' or 'equal'"),
    ("is said", "'is reported', 'is shown', 'is printed', or who says it"),
    ("are said", "'are reported', 'are shown', 'are printed', or who says them"),
    ("in vain", "'without success', or say what failed"),
    ("is wanted", "say who needs it"),
    ("was wanted", "say who needed it"),
    ("' is none", "say what is wrong with it: 'is not a duration'"),
    ("what is * is", "name the thing: 'forwarded requests', not what is forwarded"),
    ("can one", SUBJECT),
    ("one can't", SUBJECT),
    ("one cannot", SUBJECT),
    ("one must", SUBJECT),
    ("hence", PLAIN),
    ("thus", PLAIN),
    ("thereof", PLAIN),
    ("therein", PLAIN),
    ("upon", PLAIN),
    ("whilst", PLAIN),
];

/// A stretch of prose that may break over lines.
#[derive(Debug, Default)]
struct Passage {
    /// In small letters, each word once with its line from 1.
    words: Vec<(usize, String)>,
}

/// Every phrase of the list in a file's prose.
pub(super) fn check(file: &File) -> Vec<Finding> {
    let passages = match file.path.rsplit('.').next() {
        _ if !is_prose(&file.path) => return Vec::new(),
        Some("md") => of_markdown(&file.text),
        Some("rs") => of_rust(&Source::new(&file.path, &file.text)),
        _ => return Vec::new(),
    };
    let mut findings = Vec::new();
    for (phrase, instead) in PHRASES {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        for passage in &passages {
            let places = passage.words.windows(wanted.len()).filter(|words| {
                words.iter().zip(&wanted).all(|((_, word), want)| *want == "*" || word == want)
            });
            let message = format!("'{phrase}': {instead}");
            findings.extend(places.map(|words| Finding::new(&file.path, words[0].0, &*message)));
        }
    }
    findings
}

/// Paragraphs outside of code blocks; what stands between backticks counts as one word.
fn of_markdown(text: &str) -> Vec<Passage> {
    let mut passages = vec![Passage::default()];
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code || line.trim().is_empty() {
            passages.push(Passage::default());
        } else if let Some(passage) = passages.last_mut() {
            add(passage, index + 1, line);
        }
    }
    passages
}

/// Comments, those that go on over lines as one, and strings.
fn of_rust(source: &Source<'_>) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut follows_comment = false;
    for (index, (line, code)) in source.lines.iter().zip(&source.code).enumerate() {
        let prose: String = line
            .chars()
            .zip(code.chars())
            .map(|(c, code)| if c == code { ' ' } else { c })
            .collect();
        let is_comment = line.trim_start().starts_with("//");
        let goes_on = is_comment && follows_comment || source.in_string[index];
        match passages.last_mut().filter(|_| goes_on) {
            Some(passage) => add(passage, index + 1, &prose),
            None => {
                let mut passage = Passage::default();
                add(&mut passage, index + 1, &prose);
                passages.push(passage);
            }
        }
        follows_comment = is_comment && prose.chars().any(char::is_alphanumeric);
    }
    passages
}

/// Adds the words of a line. A stop between words keeps them apart: it is a word of its own.
fn add(passage: &mut Passage, line: usize, text: &str) {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '_';
    let mut word = String::new();
    let mut in_code = false;
    let mut push = |word: &mut String| {
        if !word.is_empty() {
            passage.words.push((line, std::mem::take(word)));
        }
    };
    for c in text.chars() {
        in_code ^= c == '`';
        if in_code {
            push(&mut word);
        } else if is_of_word(c) {
            word.extend(c.to_lowercase());
        } else {
            push(&mut word);
            if !c.is_whitespace() && !"/!#*->|\\".contains(c) {
                word.push(c);
                push(&mut word);
            }
        }
    }
    push(&mut word);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let findings = check(&File::example(path, text)).into_iter();
        findings.map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn phrases_are_found_in_prose() {
        for (path, text, line, phrase) in [
            ("docs/a.md", "# Top\n\nGoes to whoever is free.\n", 3, "whoever"),
            ("docs/a.md", "Figures are held\nagainst `x`.\n", 1, "held against"),
            ("docs/a.md", "- one\n- Somebody else\n", 2, "somebody"),
            ("README.md", "**What is sent is** a request.\n", 1, "what is * is"),
            ("crates/core/src/a.rs", "/// No port is to\n/// be had.\nfn f() {}\n", 1, "to be had"),
            ("crates/core/src/a.rs", "fn f() {} // in vain\n", 1, "in vain"),
            ("crates/core/src/a.rs", "f(\"'{x}' is none\");\n", 1, "' is none"),
            ("crates/core/src/a.rs", "f(\"so \\\n   many\");\n", 1, "so many"),
            ("xtask/src/a.rs", "//! It helps nobody.\n", 1, "helps nobody"),
        ] {
            let found = found(path, text);
            assert_eq!(found.len(), 1, "{text:?}: {found:?}");
            assert_eq!(found[0].0, line, "{text:?}");
            assert!(found[0].1.starts_with(&format!("'{phrase}': ")), "{found:?}");
        }
    }

    #[test]
    fn code_and_what_only_looks_alike_are_left_alone() {
        for (path, text) in [
            ("docs/a.md", "```text\nwhoever\n```\nand `whoever` and http://nobody.invalid/\n"),
            ("docs/a.md", "It is held. Against that, nothing helps.\n"),
            ("docs/a.md", "In the end there are so\n\nmany\n"),
            ("labs/a/results/a.md", "whoever\n"),
            ("crates/core/src/a.rs", "let whoever = anybody();\n"),
            ("crates/core/src/a.rs", "// it is held\nf();\n// against that\n"),
            ("crates/core/src/a.rs", "f(\"so\", \"many\");\n"),
            ("Cargo.toml", "# whoever\n"),
        ] {
            assert_eq!(found(path, text), [], "{text:?}");
        }
    }

    #[test]
    fn each_phrase_is_written_as_it_is_looked_for() {
        for (phrase, instead) in PHRASES {
            assert_eq!(found("a.md", &phrase.replace('*', "x")).first().map(|it| it.0), Some(1));
            assert!(!instead.is_empty() && phrase == phrase.to_lowercase(), "{phrase}");
        }
    }
}
