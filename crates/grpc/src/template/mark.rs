//! Makes a text with templates plain JSON: each template becomes a mark, which is a number between
//! two characters that the text does not have. A template outside of quotes gets quotes, with what
//! touches it.

use plimsoll_core::template::{Piece, Span, TemplateError, parse, spans};

/// A text with marks in place of templates.
#[derive(Debug)]
pub(super) struct Marked {
    /// JSON, if the text was.
    pub(super) json: String,
    /// The templates, braces and all.
    templates: Vec<String>,
    mark: char,
}

/// A stretch of a string with marks in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch<'a> {
    Text(&'a str),
    /// With its number among those of the text.
    Template {
        number: usize,
        text: &'a str,
    },
}

impl Marked {
    pub(super) fn of(text: &str) -> Result<Self, TemplateError> {
        let mut writer = Writer { mark: free_mark(text), ..Writer::default() };
        for span in spans(text)? {
            match span {
                Span::Text(text) => text.chars().for_each(|it| writer.push(it)),
                Span::Template(text) => writer.template(plain(text)?),
            }
        }
        writer.end_token();
        let Writer { json, templates, mark, .. } = writer;
        Ok(Self { json, templates, mark })
    }

    /// In order.
    pub(super) fn templates(&self) -> impl Iterator<Item = &str> {
        self.templates.iter().map(String::as_str)
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        text.contains(self.mark)
    }

    /// The text and the templates of a string, in order.
    pub(super) fn stretches<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Stretch<'a>> {
        text.split(self.mark).enumerate().filter_map(|(i, part)| match i % 2 {
            0 => (!part.is_empty()).then_some(Stretch::Text(part)),
            _ => {
                let number = part.parse().ok()?;
                Some(Stretch::Template { number, text: self.templates.get(number)? })
            }
        })
    }

    /// A string as it was in the text, for errors.
    pub(super) fn shown(&self, text: &str) -> String {
        let text_of = |it| match it {
            Stretch::Text(text) | Stretch::Template { text, .. } => text,
        };
        self.stretches(text).map(text_of).collect()
    }
}

/// A character for private use that the text does not have, not even escaped. A text that has all
/// 6400 of them gets a mark that it has, and is refused as JSON or for a field.
fn free_mark(text: &str) -> char {
    let small = text.to_ascii_lowercase();
    ('\u{e000}'..='\u{f8ff}')
        .find(|it| !text.contains(*it) && !small.contains(&format!("\\u{:04x}", u32::from(*it))))
        .unwrap_or('\u{e000}')
}

/// A template whose value is written as it is. In JSON a value of a table may have to be escaped;
/// here it is a value already.
fn plain(text: &str) -> Result<String, TemplateError> {
    use plimsoll_core::template::Encoding;
    Ok(match parse(text)?.as_slice() {
        [Piece::Csv { table, column, random, encoding: Some(Encoding::Json) }] => {
            let random = if *random { " random" } else { "" };
            format!("{{{{csv:{table}:{column}{random} raw}}}}")
        }
        _ => text.to_owned(),
    })
}

/// Writes JSON, character by character.
#[derive(Debug, Default)]
struct Writer {
    json: String,
    templates: Vec<String>,
    mark: char,
    is_in_string: bool,
    is_escaped: bool,
    /// What stands outside of quotes since the last comma, bracket or colon.
    token: String,
}

impl Writer {
    fn push(&mut self, it: char) {
        if self.is_in_string {
            self.json.push(it);
            self.is_in_string = it != '"' || self.is_escaped;
            self.is_escaped = it == '\\' && !self.is_escaped;
        } else if matches!(it, '"' | '{' | '}' | '[' | ']' | ',' | ':') || it.is_whitespace() {
            self.end_token();
            self.json.push(it);
            self.is_in_string = it == '"';
        } else {
            self.token.push(it);
        }
    }

    fn template(&mut self, template: String) {
        let mark = format!("{0}{1}{0}", self.mark, self.templates.len());
        self.templates.push(template);
        if self.is_in_string { &mut self.json } else { &mut self.token }.push_str(&mark);
    }

    fn end_token(&mut self) {
        let quote = if self.token.contains(self.mark) { "\"" } else { "" };
        self.json.push_str(quote);
        self.json.push_str(&self.token);
        self.json.push_str(quote);
        self.token.clear();
    }
}
