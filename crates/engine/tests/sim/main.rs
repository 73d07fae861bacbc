//! The engine under a simulated kernel: the same worker code, a fake clock, scripted servers, and
//! truths that are known beforehand.

mod details;
mod peer;
mod rates;
mod scripts;
mod seeds;
mod surface;
mod times;
mod truths;
mod world;
