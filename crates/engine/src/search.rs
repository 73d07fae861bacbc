//! Searches a body for texts while it arrives: across the borders of its pieces, in a body of any
//! length. The search remembers an overlap shorter than the longest text.

use regex::bytes::Regex;

use crate::error::RunError;

/// A text to look for.
#[derive(Debug, Clone)]
pub(crate) struct Needle {
    text: Vec<u8>,
    /// Finds it faster than comparing at each place.
    finder: Regex,
}

impl Needle {
    /// Makes a text ready.
    ///
    /// # Errors
    /// When it is too long to be looked for.
    pub(crate) fn new(text: &str) -> Result<Self, RunError> {
        let finder = Regex::new(&regex::escape(text)).map_err(|_| RunError::Expectation {
            expectation: "body*=".to_owned(),
            reason: format!("a text of {} bytes is too long", text.len()),
        })?;
        Ok(Self { text: text.as_bytes().to_vec(), finder })
    }
}

/// How far the search in one body has come.
#[derive(Debug, Default)]
pub(crate) struct Search {
    found: Vec<bool>,
    /// The last bytes before the next piece.
    overlap: Vec<u8>,
}

impl Search {
    /// A body begins.
    pub(crate) fn begin(&mut self, needles: &[Needle]) {
        self.overlap.clear();
        self.found.clear();
        // Whatever the body, nothing is in it.
        self.found.extend(needles.iter().map(|needle| needle.text.is_empty()));
    }

    /// Looks at the next piece.
    pub(crate) fn piece(&mut self, needles: &[Needle], piece: &[u8]) {
        if self.found.iter().all(|found| *found) {
            return;
        }
        let kept_bytes =
            needles.iter().map(|needle| needle.text.len()).max().unwrap_or(0).saturating_sub(1);
        // A match across the border ends within this many bytes of the piece.
        let before = self.overlap.len();
        self.overlap.extend_from_slice(&piece[..piece.len().min(kept_bytes)]);
        for (found, needle) in self.found.iter_mut().zip(needles) {
            let crosses = || before > 0 && needle.finder.is_match(&self.overlap);
            *found = *found || crosses() || needle.finder.is_match(piece);
        }
        if piece.len() >= kept_bytes {
            self.overlap.clear();
            self.overlap.extend_from_slice(&piece[piece.len() - kept_bytes..]);
        } else {
            let surplus = self.overlap.len().saturating_sub(kept_bytes);
            self.overlap.drain(..surplus);
        }
    }

    /// Whether a text has been found.
    pub(crate) fn has(&self, needle: usize) -> bool {
        self.found.get(needle).is_some_and(|found| *found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str], body: &[u8], piece_bytes: usize) -> Vec<bool> {
        let needles: Vec<Needle> =
            texts.iter().map(|text| Needle::new(text).expect("short")).collect();
        let mut search = Search::default();
        search.begin(&needles);
        for piece in body.chunks(piece_bytes) {
            search.piece(&needles, piece);
            let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
            assert!(search.overlap.len() < longest.max(1), "memory is bounded");
        }
        (0..texts.len()).map(|needle| search.has(needle)).collect()
    }

    #[test]
    fn however_a_body_is_cut_its_texts_are_found() {
        let body = b"a.*b aab aaab abcabd \xff\n end";
        let texts = ["a.*b", "aaab", "abd", " end", "", "abcabe", "\u{ff}", "aaaab", "a"];
        let want: Vec<bool> = texts
            .iter()
            .map(|text| text.is_empty() || body.windows(text.len()).any(|w| w == text.as_bytes()))
            .collect();
        for piece_bytes in 1..=body.len() {
            assert_eq!(found(&texts, body, piece_bytes), want, "in pieces of {piece_bytes}");
            for (text, want) in texts.iter().zip(&want) {
                assert_eq!(found(&[text], body, piece_bytes), [*want], "{text} {piece_bytes}");
            }
        }
    }
}
