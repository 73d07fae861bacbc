//! Scripts: users' programs that decide what to send and look at what comes back. So far these are
//! the Lua scripts of wrk and wrk2.
//!
//! The crate opens no file, no socket and reads no clock: the text of a script is an argument, and
//! whatever a script may ask of the system goes through [`lua::System`]. What a script does with
//! Lua's own libraries is its own business.
//!
//! `unsafe` is allowed here for two things that are impossible without it: calling a script on the
//! path of a request at less cost than the call itself, and stopping a script that does not end.

pub mod lua;
