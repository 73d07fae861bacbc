//! The engine under a simulated kernel: the same worker code, a fake clock, scripted servers, and
//! truths that are known beforehand.

mod calls;
mod calls_server;
mod details;
mod echo;
mod first_requests;
mod http2;
mod http2_manners;
mod http2_resent;
mod http2_script;
mod http2_server;
mod http2_truths;
mod http2_turn;
mod iterations;
mod lockstep;
mod loopback;
mod manners;
mod multiplexed;
mod outages;
mod peer;
mod phases;
mod rates;
mod scripts;
mod seeds;
mod shares;
mod shop;
mod streams;
mod streams_server;
mod surface;
mod times;
mod toy;
mod toy_server;
mod truths;
mod websocket;
mod world;
