//! The findings of experiments, as plain data: written, read again, and joined.
//!
//! A table of many testers is seldom made in one go, because each takes minutes and some are
//! installed elsewhere. So findings can be read from written documents and their columns joined.

use serde::{Deserialize, Serialize};

use crate::judge::Judgement;

/// The schema of the JSON output.
pub const SCHEMA: &str = "plimsoll/conformance/1";

/// A tester that took part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    /// Its name.
    pub name: String,
    /// What it says its version is.
    pub version: String,
}

/// What came of one experiment on one tester, repeats and all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The tester.
    pub tool: String,
    /// The outcome of each repeat.
    pub repeats: Vec<Judgement>,
    /// The share of the machine that other processes used in the worst run, where it mattered.
    pub others_share: Option<f64>,
}

impl Cell {
    /// The outcome that stands for all: that of most repeats, the worse of two that are as many.
    #[must_use]
    pub fn outcome(&self) -> Option<&Judgement> {
        let weight = |outcome: &Judgement| {
            let same = |other: &&Judgement| rank(other) == rank(outcome);
            (self.repeats.iter().filter(same).count(), rank(outcome))
        };
        self.repeats.iter().max_by_key(|outcome| weight(outcome))
    }

    /// How many repeats came out as that one.
    #[must_use]
    pub fn agreeing(&self) -> usize {
        let Some(outcome) = self.outcome() else { return 0 };
        self.repeats.iter().filter(|other| rank(other) == rank(outcome)).count()
    }
}

/// Kinds of outcomes, worse ones higher.
fn rank(outcome: &Judgement) -> u8 {
    match outcome {
        Judgement::CannotExpress { .. } => 0,
        Judgement::Skipped { .. } => 1,
        Judgement::Unmeasured { .. } => 2,
        Judgement::Pass { .. } => 3,
        Judgement::Fail { .. } => 4,
        Judgement::Broken { .. } => 5,
    }
}

/// One experiment on all testers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The number of the mistake.
    pub mistake: u8,
    /// The mistake.
    pub title: String,
    /// The testers, in the order they were asked for in.
    pub cells: Vec<Cell>,
}

/// A mistake that no experiment is made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omitted {
    /// Its number.
    pub mistake: u8,
    /// The mistake.
    pub title: String,
    /// Why.
    pub why: String,
}

/// What came of it all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// [`SCHEMA`].
    pub schema: String,
    /// The testers.
    pub tools: Vec<Participant>,
    /// The experiments.
    pub experiments: Vec<Row>,
    /// What is left out.
    pub left_out: Vec<Omitted>,
}

/// Why documents cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// One is something else.
    #[error("its schema is '{0}', not {SCHEMA}")]
    Schema(String),
    /// A column would be of two programs.
    #[error("{tool} is {one} in one document and {other} in another")]
    Versions {
        /// The tester.
        tool: String,
        /// One of its versions.
        one: String,
        /// Another.
        other: String,
    },
}

impl Findings {
    /// Joins the columns of documents: testers in the order they come in, experiments in the order
    /// of their mistakes. Repeats of one experiment on one tester are added up.
    ///
    /// # Errors
    /// When one is no such document, or a tester is of two versions.
    pub fn join(documents: Vec<Self>) -> Result<Self, JoinError> {
        let mut joined = Self {
            schema: SCHEMA.to_owned(),
            tools: Vec::new(),
            experiments: Vec::new(),
            left_out: Vec::new(),
        };
        for document in documents {
            joined.add(document)?;
        }
        joined.experiments.sort_by_key(|row| row.mistake);
        for row in &mut joined.experiments {
            row.fill(&joined.tools);
        }
        Ok(joined)
    }

    fn add(&mut self, document: Self) -> Result<(), JoinError> {
        if document.schema != SCHEMA {
            return Err(JoinError::Schema(document.schema));
        }
        for tool in document.tools {
            match self.tools.iter().find(|known| known.name == tool.name) {
                Some(known) if known.version != tool.version => {
                    return Err(JoinError::Versions {
                        tool: tool.name,
                        one: known.version.clone(),
                        other: tool.version,
                    });
                }
                Some(_) => {}
                None => self.tools.push(tool),
            }
        }
        for row in document.experiments {
            match self.experiments.iter_mut().find(|known| known.name == row.name) {
                Some(known) => row.cells.into_iter().for_each(|cell| known.add(cell)),
                None => self.experiments.push(row),
            }
        }
        for left in document.left_out {
            if !self.left_out.contains(&left) {
                self.left_out.push(left);
            }
        }
        Ok(())
    }
}

impl Row {
    fn add(&mut self, cell: Cell) {
        let Some(known) = self.cells.iter_mut().find(|known| known.tool == cell.tool) else {
            return self.cells.push(cell);
        };
        known.repeats.extend(cell.repeats);
        known.others_share =
            known.others_share.into_iter().chain(cell.others_share).reduce(f64::max);
    }

    /// Gives it a cell for each of these testers, in their order; an empty one where it was not
    /// examined.
    fn fill(&mut self, tools: &[Participant]) {
        let cells = tools.iter().map(|tool| {
            let place = self.cells.iter().position(|cell| cell.tool == tool.name);
            place.map(|place| self.cells.swap_remove(place)).unwrap_or_else(|| Cell {
                tool: tool.name.clone(),
                repeats: Vec::new(),
                others_share: None,
            })
        });
        self.cells = cells.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_repeats_decide_and_the_worse_of_equals() {
        let (pass, fail) = (Judgement::pass("a"), Judgement::fail("b", "c"));
        let cell = |repeats: &[&Judgement]| Cell {
            tool: "t".to_owned(),
            repeats: repeats.iter().map(|outcome| (*outcome).clone()).collect(),
            others_share: None,
        };
        assert_eq!(cell(&[&pass, &fail, &pass]).outcome(), Some(&pass));
        assert_eq!(cell(&[&pass, &fail, &pass]).agreeing(), 2);
        assert_eq!(cell(&[&pass, &fail]).outcome(), Some(&fail));
        assert_eq!(cell(&[]).outcome(), None);
    }

    /// An experiment: its name, its number, and the outcome of each tester.
    type Made<'a> = (&'a str, u8, &'a [(&'a str, Judgement)]);

    fn document(tools: &[(&str, &str)], rows: &[Made<'_>]) -> Findings {
        let participant = |(name, version): &(&str, &str)| Participant {
            name: (*name).to_owned(),
            version: (*version).to_owned(),
        };
        let cell = |(tool, outcome): &(&str, Judgement)| Cell {
            tool: (*tool).to_owned(),
            repeats: vec![outcome.clone()],
            others_share: None,
        };
        let row = |(name, mistake, cells): &Made<'_>| Row {
            name: (*name).to_owned(),
            mistake: *mistake,
            title: "t".to_owned(),
            cells: cells.iter().map(cell).collect(),
        };
        Findings {
            schema: SCHEMA.to_owned(),
            tools: tools.iter().map(participant).collect(),
            experiments: rows.iter().map(row).collect(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn columns_are_joined() {
        let (pass, fail) = (Judgement::pass("a"), Judgement::fail("b", "c"));
        let one = document(
            &[("plimsoll", "1")],
            &[("b", 2, &[("plimsoll", pass.clone())]), ("a", 1, &[("plimsoll", pass.clone())])],
        );
        let two = document(
            &[("wrk", "4"), ("plimsoll", "1")],
            &[("a", 1, &[("wrk", fail.clone()), ("plimsoll", fail.clone())])],
        );
        let joined = Findings::join(vec![one.clone(), two]).unwrap();
        let tools: Vec<&str> = joined.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(tools, ["plimsoll", "wrk"]);
        let rows: Vec<&str> = joined.experiments.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(rows, ["a", "b"]);
        assert_eq!(joined.experiments[0].cells[0].repeats, [pass, fail.clone()]);
        assert_eq!(joined.experiments[0].cells[1].repeats, [fail]);
        assert_eq!(joined.experiments[1].cells[1].repeats, [], "not run");
        assert_eq!(Findings::join(vec![one.clone()]).unwrap().experiments.len(), 2);

        let newer = document(&[("plimsoll", "2")], &[]);
        let error = Findings::join(vec![one.clone(), newer]).unwrap_err();
        assert_eq!(error.to_string(), "plimsoll is 1 in one document and 2 in another");
        let other = Findings { schema: "x".to_owned(), ..one };
        assert!(matches!(Findings::join(vec![other]), Err(JoinError::Schema(_))));
    }

    #[test]
    fn a_document_reads_as_it_was_written() {
        let written = document(&[("wrk", "4")], &[("a", 1, &[("wrk", Judgement::fail("b", "c"))])]);
        let text = serde_json::to_string(&written).unwrap();
        assert_eq!(serde_json::from_str::<Findings>(&text).unwrap(), written);
    }
}
