//! The engine under a simulated kernel: the same worker code, a fake clock, scripted servers, and
//! truths that are known beforehand.

mod details;
mod iterations;
mod lockstep;
mod multiplexed;
mod outages;
mod peer;
mod rates;
mod scripts;
mod seeds;
mod shares;
mod shop;
mod surface;
mod times;
mod toy;
mod toy_server;
mod truths;
mod websocket;
mod world;
