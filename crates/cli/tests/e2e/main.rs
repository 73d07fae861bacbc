//! The program with real components.
#[path = "../support/mod.rs"]
mod support;
