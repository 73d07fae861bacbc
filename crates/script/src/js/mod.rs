//! k6's scripts: JavaScript, run by QuickJS-NG, with the modules that k6 gives them.
//!
//! Who does what, in this order:
//!
//! 1. [`Program::load`] evaluates the script once: it compiles the modules, reads the files that
//!    the script opens, and learns what it exports.
//! 2. [`Program::spawn`] makes virtual users, in the thread that they are to run in. Each has a
//!    runtime of its own and evaluates the modules' bytecode: nothing that one does is seen by
//!    another, but for what k6 shares on purpose (`SharedArray`).
//! 3. A virtual user carries out tasks: `setup`, iterations, `teardown`, `handleSummary`. It runs
//!    in a coroutine, and is suspended wherever the script waits for something. [`Vu::resume`]
//!    gives the next [`Step`] that the script asks for.
//!
//! A script that is busy is suspended too, after its turn ([`Settings::polls_per_turn`]), so that
//! it holds up no other virtual user of its thread. One that needs too much memory, or calls too
//! deep, fails its iteration and nothing else.
//!
//! A single call of a function that is built in, such as `JSON.parse` of a long text, is not
//! suspended; what it works on fits into the memory of a virtual user.
//!
//! What goes on the wire for a request, and what comes of the response, is in [`http`].
//!
//! What a script asks of gRPC, and where it gets schemas from, is in [`grpc`].
//!
//! Absent on purpose: sockets, files and clocks. Requests are steps, files come through a function,
//! and the time is an argument of each call. `__VU` and `__ITER` are 32 and 53 bits wide.

mod api;
mod context;
mod errors;
mod events;
mod execution;
mod export;
mod ffi;
pub mod grpc;
pub mod http;
mod inner;
mod jar;
mod labels;
mod library;
mod modules;
mod names;
mod native;
mod program;
mod resolve;
mod step;
mod store;
mod typescript;
mod value;
mod vu;
mod worker;

#[cfg(test)]
mod tests;

pub use api::http::{Expected, Request, ResponseBody};
pub use api::metadata::Metadata;
pub use api::sockets::{Dial, Outgoing, Sends};
pub use execution::{Course, Execution, InstanceFacts, ScenarioFacts};
pub use program::{Failure, FunctionId, Notice, Program, Secrets, Settings, Source};
pub use step::{Answer, Ending, Level, News, Reply, Sample, Step, Timings};
pub use store::Read;
pub use vu::{Output, Summarized, Task, Vu};
pub use worker::Worker;
