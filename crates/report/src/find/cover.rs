//! How the reports of searches for a rate and of closed searches begin: the answer in a sentence,
//! what readers have to know beside it, what was sent and how the search went. Each kind of search
//! has its own words for it. Here they are laid out for a screen, in Markdown and on a page.

use std::io::{self, Write};

use plimsoll_core::plan::Record;
use plimsoll_core::result::Tool;
use plimsoll_core::verdict::Verdict;

use crate::facts::{printable, request_words};
use crate::markdown::escape::{code, prose};
use crate::page::escape::Escaped;
use crate::page::push;
use crate::page::table::clipped;
use crate::text::Style;
use crate::text::table::wrap;

const STYLE: &str = concat!(include_str!("../page/verdict.css"), include_str!("find.css"));

/// See the head of this module.
pub(super) struct Cover<'a> {
    /// How the answer is coloured.
    pub look: Verdict,
    pub word: &'static str,
    pub sentence: String,
    pub remarks: Vec<String>,
    pub plan: &'a Record,
    /// How the search went, in parts.
    pub search: Vec<String>,
    pub started_at: &'a str,
    pub tool: &'a Tool,
    pub schema: &'a str,
}

impl Cover<'_> {
    /// The answer for a screen.
    pub(super) fn answer(&self, style: Style) -> Vec<String> {
        let color = match self.look {
            Verdict::Valid => "1;32",
            Verdict::Suspect => "1;33",
            Verdict::Invalid => "1;31",
        };
        let word = self.word.to_uppercase();
        let sentence = printable(&self.sentence);
        let mut lines = wrap(&format!("{word} · "), "  ", &sentence, style.columns());
        if let Some(first) = lines.first_mut() {
            let rest = first.strip_prefix(&word).unwrap_or_default().to_owned();
            *first = style.paint(color, &word) + &rest;
        }
        for text in &self.remarks {
            lines.extend(wrap("- ", "  ", &printable(text), style.columns()));
        }
        lines
    }

    /// What was sent, and how the search went, for a screen.
    pub(super) fn load(&self, style: Style) -> Vec<String> {
        let mut lines = wrap("", "  ", &printable(&request_words(self.plan)), style.columns());
        lines.extend(wrap("", "", &self.search.join(" · "), style.columns()));
        lines
    }

    /// All of it in Markdown.
    pub(super) fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "## {}: {}\n", prose(&self.word.to_uppercase()), prose(&self.sentence))?;
        for text in &self.remarks {
            writeln!(out, "- {}", prose(text))?;
        }
        let words = self.search.join(" · ");
        writeln!(out, "\n{} · {}\n", code(&request_words(self.plan)), prose(&words))
    }

    /// A page that begins with it; `body` writes the rest.
    pub(super) fn page(&self, body: impl FnOnce(&mut String)) -> String {
        let mut page = String::with_capacity(64 << 10);
        crate::page::head(&format!("{}: {}", self.word, self.sentence), STYLE, &mut page);
        page.push_str("<body>\n<main>\n");
        self.banner(&mut page);
        body(&mut page);
        let tool = format!("{} {}", self.tool.name, self.tool.version);
        let (tool, schema) = (Escaped(&tool), Escaped(self.schema));
        push(&mut page, format_args!("</main>\n<footer>{tool} · {schema}</footer>\n"));
        page.push_str("</body>\n</html>\n");
        page
    }

    fn banner(&self, page: &mut String) {
        let (word, sentence) = (Escaped(self.word), Escaped(&self.sentence));
        push(page, format_args!("<header class=\"verdict {}\">\n", self.look.name()));
        push(page, format_args!("<p class=\"mark\">{word}</p>\n<div><h1>{sentence}</h1>\n"));
        if !self.remarks.is_empty() {
            page.push_str("<ul>");
            for text in &self.remarks {
                push(page, format_args!("<li>{}</li>", Escaped(&clipped(text))));
            }
            page.push_str("</ul>\n");
        }
        page.push_str("</div></header>\n");
        let (request, words) = (request_words(self.plan), self.search.join(" · "));
        push(page, format_args!("<p class=\"plan\"><code>{}</code>", Escaped(&clipped(&request))));
        push(page, format_args!("<span>{}</span>", Escaped(&words)));
        push(page, format_args!("<time>{}</time></p>\n", Escaped(self.started_at)));
    }
}
