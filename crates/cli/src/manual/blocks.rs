//! Commands in the pages: the code blocks of a Markdown file, and the calls of `plimsoll` in them.
//! Only tests read pages: this file is part of the program's own and of those from outside.
//!
//! A block with a call says in its info string what a test does with it. The first word is `sh`
//! (commands) or `console` (commands after `$`, and what they print). A second word `sketch` marks
//! commands that need more than a test has, so a test only parses them.

use std::fs;
use std::path::{Path, PathBuf};

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    /// From the root of the repository.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A fenced block of code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// The line of its first fence, from 1.
    pub(crate) line: usize,
    /// What stands behind the fence.
    pub(crate) info: &'a str,
    pub(crate) text: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and the pages of `docs`, but not the page of flags: each of its examples has a test.
pub(crate) fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/dialects", "docs/recipes"] {
        let files = fs::read_dir(root().join(folder)).expect("a folder");
        let files = files.map(|file| file.expect("a file").file_name());
        let files = files.filter_map(|name| name.into_string().ok());
        names.extend(
            files.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")),
        );
    }
    names.retain(|name| name != "docs/run.md");
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(root().join(&name)).expect("a page");
        Page { name, text }
    };
    names.into_iter().map(read).collect()
}

/// The fenced blocks of a page. Those in lists are moved to the left as far as their fence.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut indent = None;
    for (index, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, indent) {
            (Some(info), None) => {
                indent = Some(line.len() - line.trim_start().len());
                blocks.push(Block { line: index + 1, info: info.trim(), text: String::new() });
            }
            (Some(_), Some(_)) => indent = None,
            (None, Some(indent)) => {
                let block = blocks.last_mut().expect("a fence began one");
                block.text.push_str(line.get(indent..).unwrap_or_default());
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

impl Block<'_> {
    /// The language of its text.
    pub(crate) fn language(&self) -> &str {
        self.info.split_whitespace().next().unwrap_or_default()
    }

    /// Whether it holds commands for a shell.
    fn is_shell(&self) -> bool {
        ["sh", "console"].contains(&self.language())
    }

    /// Whether its commands are only to be parsed.
    pub(crate) fn is_sketch(&self) -> bool {
        self.info.split_whitespace().nth(1) == Some("sketch")
    }

    /// Its commands: whole, where they go on behind a backslash, and without lines of comment. A
    /// block of another language has none.
    pub(crate) fn commands(&self) -> Vec<String> {
        let is_console = self.language() == "console";
        let text = self.text.replace("\\\n", " ");
        let lines = text.lines().filter_map(|line| {
            let command = if is_console { line.strip_prefix("$ ")? } else { line };
            self.is_shell().then_some(command.trim())
        });
        let commands = lines.filter(|command| !command.is_empty() && !command.starts_with('#'));
        commands.map(str::to_owned).collect()
    }
}

/// The arguments of each `plimsoll` that a command calls. What follows an operator of the shell is
/// not among them; a variable is given as 1.
pub(crate) fn calls(command: &str) -> Vec<Vec<String>> {
    let mut calls: Vec<Vec<String>> = Vec::new();
    let mut is_open = false;
    for word in words(command) {
        match word {
            None => is_open = false,
            Some(word) if is_open => calls.last_mut().expect("one is open").push(word),
            Some(word) if word == "plimsoll" => {
                is_open = true;
                calls.push(Vec::new());
            }
            Some(_) => {}
        }
    }
    calls
}

/// The words of a command as a shell splits them; `None` is an operator.
fn words(command: &str) -> Vec<Option<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let quoted = word.get_or_insert_default();
                quoted.extend(letters.by_ref().take_while(|next| *next != letter));
            }
            '$' if letters.peek().is_some_and(char::is_ascii_alphabetic) => {
                while letters.next_if(char::is_ascii_alphanumeric).is_some() {}
                word.get_or_insert_default().push('1');
            }
            '#' if word.is_none() => break,
            ' ' => words.extend(word.take().map(Some)),
            '&' | ';' | '|' | '<' | '>' => {
                // As in `2>/dev/null`, where the number is a file descriptor.
                let is_descriptor = |word: &String| {
                    matches!(letter, '<' | '>') && word.bytes().all(|byte| byte.is_ascii_digit())
                };
                words.extend(word.take().filter(|word| !is_descriptor(word)).map(Some));
                words.push(None);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word.map(Some));
    words
}
