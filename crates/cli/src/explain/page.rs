//! A page of the documentation with a section for each code.

/// A Markdown file. The headings of its sections hold codes, as in ``## `late` ``; codes that have
/// the same explanation share a heading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page(pub(super) &'static str);

const HEADING: &str = "\n## ";

impl Page {
    /// What is below the first heading with a code that is the one looked for.
    pub(super) fn section(self, is_it: impl Fn(&str) -> bool) -> Option<&'static str> {
        let mut sections = self.0.split(HEADING).skip(1).filter_map(|part| part.split_once('\n'));
        let (_, text) = sections.find(|(heading, _)| codes(heading).any(&is_it))?;
        Some(text.trim())
    }

    /// The codes of each section.
    pub(super) fn headings(self) -> impl Iterator<Item = Vec<&'static str>> {
        let headings = self.0.split(HEADING).skip(1).filter_map(|part| part.lines().next());
        headings.map(|heading| codes(heading).collect())
    }

    /// Every code that has a section.
    #[cfg(test)]
    pub(super) fn codes(self) -> impl Iterator<Item = &'static str> {
        self.headings().flatten()
    }
}

/// What stands between backticks.
fn codes(heading: &str) -> impl Iterator<Item = &str> {
    heading.split('`').skip(1).step_by(2)
}
