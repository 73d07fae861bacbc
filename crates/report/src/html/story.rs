//! What a run was for, in a few sentences above its report: the tour tells its story this way. The
//! words come from the command that made the run; here they get their place and links to charts.

use crate::page::escape::Escaped;
use crate::page::push;

/// A chart of a run's page that a story can point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Latency by percentile, both clocks.
    Percentiles,
    /// Requests per second, over time.
    Rate,
    /// Latency over time.
    Latency,
}

impl Place {
    /// The chart's id in the page, and its title.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Percentiles => ("spectrum", "Latency by percentile"),
            Self::Rate => ("rate", "Requests per second"),
            Self::Latency => ("latency", "Latency over time"),
        }
    }
}

/// See the head of this module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// What it is about.
    pub title: String,
    /// What was done, what happened and what it means.
    pub paragraphs: Vec<String>,
    /// Where it can be seen, and what is to be seen there.
    pub places: Vec<(Place, String)>,
}

/// Writes the section; a chart that `page` does not have gets no link.
pub(super) fn write(story: &Story, report: &str, page: &mut String) {
    push(page, format_args!("<section class=\"story\">\n<h2>{}</h2>\n", Escaped(&story.title)));
    for paragraph in &story.paragraphs {
        push(page, format_args!("<p>{}</p>\n", Escaped(paragraph)));
    }
    let is_there = |id: &str| report.contains(&format!("<figure class=\"chart\" id=\"{id}\">"));
    let named = story.places.iter().map(|(place, words)| (place.names(), words));
    let there: Vec<_> = named.filter(|((id, _), _)| is_there(id)).collect();
    if !there.is_empty() {
        page.push_str("<ul>\n");
        for ((id, title), words) in there {
            let words = Escaped(words);
            push(page, format_args!("<li><a href=\"#{id}\">{title}</a>: {words}</li>\n"));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("</section>\n");
}
