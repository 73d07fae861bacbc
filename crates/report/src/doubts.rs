//! What is behind the line of confidence: each cause once, worst first, then what the causes take
//! nothing from. Shown after the numbers.

use std::collections::BTreeSet;

use plimsoll_core::verdict::{Cause, Verdict};

/// What stands before the text of a cause that takes nothing from a result.
pub(crate) const NOTE: &str = "note: ";

/// Causes of doubt, and notes, which are of none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reasons {
    pub(crate) doubts: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl Reasons {
    /// Those of a result, or of several.
    pub(crate) fn of<'c>(causes: impl IntoIterator<Item = &'c Cause>) -> Self {
        let mut reasons = Self::default();
        let mut said = BTreeSet::new();
        for cause in causes {
            let text = cause.text.strip_prefix(NOTE).unwrap_or(&cause.text);
            if !said.insert(text) {
                continue;
            }
            let kind = match cause.verdict {
                Verdict::Valid => &mut reasons.notes,
                Verdict::Suspect | Verdict::Invalid => &mut reasons.doubts,
            };
            kind.push(text.to_owned());
        }
        reasons
    }

    /// Both kinds that there are, under what they are called.
    pub(crate) fn groups(self) -> impl Iterator<Item = (&'static str, Vec<String>)> {
        let groups = [("Doubts", self.doubts), ("Notes", self.notes)];
        groups.into_iter().filter(|(_, texts)| !texts.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_told_once_and_notes_are_no_doubts() {
        let cause = |verdict, code: &str, text: &str| Cause::new(verdict, code, text.to_owned());
        let causes = [
            cause(Verdict::Invalid, "late", "the tester was late"),
            cause(Verdict::Suspect, "paused", "it stood still"),
            cause(Verdict::Suspect, "late_tail", "the tester was late"),
            cause(Verdict::Valid, "steal", "note: some was stolen"),
        ];
        let groups: Vec<_> = Reasons::of(&causes).groups().collect();
        let owned = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            groups,
            [
                ("Doubts", owned(&["the tester was late", "it stood still"])),
                ("Notes", owned(&["some was stolen"])),
            ]
        );
        assert_eq!(Reasons::of(&causes[3..]).groups().count(), 1);
    }
}
