//! The load line in connections: the highest number of connections of a closed loop with which a
//! server meets its objectives. For services that are provisioned by connections or workers.
//!
//! [`ClosedSearch`] says which probe comes next, as [`Search`](super::Search) does for rates. A
//! probe is a closed loop with a number of connections. The rules that keep the promise are the
//! same: only holds decide, and the climb ends at the first number that is not shown to meet the
//! objectives.
//!
//! The rates of the probes are fitted to the Universal Scalability Law (`usl`). It describes the
//! server and decides nothing.
//!
//! Absent on purpose: overload and cool-downs, since a closed loop waits for the server and leaves
//! no backlog; a growing backlog as a condition, for the same reason; and stalls added up over all
//! probes, which would need their share at each rate.

mod budget;
mod document;
mod search;

pub use document::{CLOSED_SCHEMA, ClosedAnswer, ClosedDocument};
pub use search::{
    ClosedNext, ClosedPlan, ClosedProbe, ClosedPurpose, ClosedSearch, ClosedSettings,
};
