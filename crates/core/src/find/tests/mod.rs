//! The search on simulated servers whose load line is known.

mod answers;
mod closed;
mod coverage;
mod documents;
mod experiments;
mod methods;
mod searches;
mod servers;
mod simulation;
