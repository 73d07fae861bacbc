//! Scripts: programs of the user that say what to send and look at what comes back. For now those
//! of wrk and wrk2, in Lua.
//!
//! The crate opens no file, no socket and reads no clock: a script's text is an argument, and what
//! a script may ask of the system comes through [`lua::System`]. What a script does by itself, with
//! Lua's own libraries, is its own business.
//!
//! `unsafe` is allowed here because two things cannot be had otherwise: calls of a script on the
//! path of a request without a cost that is larger than the call, and stopping a script that does
//! not end.

pub mod lua;
