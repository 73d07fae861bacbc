//! Scripts: users' programs that decide what to send and look at what comes back. They are the Lua
//! scripts of wrk and wrk2, and the JavaScript of k6.
//!
//! The crate opens no file, no socket and reads no clock: the text of a script is an argument.
//! Whatever a Lua script may ask of the system goes through [`lua::System`]; what it does with
//! Lua's own libraries is its own business. What a JavaScript may ask for are the steps of
//! [`js::Step`].
//!
//! `unsafe` is allowed here for three things that are impossible without it: calling a script on
//! the path of a request at less cost than the call itself, stopping a script that does not end,
//! and an engine for JavaScript that is written in C.

pub mod js;
pub mod lua;
