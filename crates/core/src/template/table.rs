//! The tables that templates take values from.

use serde::{Deserialize, Serialize};

/// A table whose columns templates take values from: a CSV file with names in its first line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The file, as templates name it.
    pub path: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows; each has as many fields as there are columns. Not kept in results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Vec<String>>,
}

/// Without the rows: tables hold passwords as often as anything.
impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Table");
        shown.field("path", &self.path).field("columns", &self.columns);
        shown.field("rows", &self.rows.len()).finish()
    }
}
