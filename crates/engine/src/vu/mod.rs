//! Virtual users: a run of a script whose iterations executors start.
//!
//! It is a loop of its own beside the plain [`worker`](crate::worker). That one deals slots of a
//! schedule to connections whose requests were compiled before the run. A virtual user owns its
//! connections, opens them where its script says so, and computes its requests. Both stand on
//! `conn` and `io`, and a plain run has nothing of this on its path.

mod books;
mod cast;
mod controls;
mod director;
mod lending;
mod net;
mod pace;
mod recording;
mod run;
mod scene;
mod schemas;
mod solo;
mod stage;
mod steps;
mod tally;
#[cfg(test)]
mod tests;
mod user;
mod worker;

pub use cast::{
    BlockedAddress, BlockedName, Cast, Dns, FixedAddress, HttpDebug, LocalAddress, Network, Role,
};
pub use controls::{Controls, RoleProgress};
pub use pace::Pace;
pub use recording::{Recorded, Recorders, Recording, Seconds, Testimony, Witness, result};
pub use run::{Ended, Prepared, VuError, prepare};
pub use schemas::schemas;
pub use solo::{Errand, Returned, call};
pub use tally::{
    CallEvent, CallTold, IterationEnded, Outcome, Place, RequestBegun, RequestEnded, Shortage,
    SocketEvent, SocketTold, Tally, TaskEnded,
};
