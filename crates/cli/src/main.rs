//! The `plimsoll` command: flags in, a run, reports out, and a meaningful exit code.
#![forbid(unsafe_code)]

mod args;
mod compare;
mod compare_args;
mod conformance;
mod conformance_args;
mod connection_args;
mod control;
mod demo;
mod dialects;
mod doctor;
mod ending;
mod exit;
mod explain;
#[cfg(test)]
mod help_tests;
mod lab;
mod lab_args;
mod listen;
mod manual;
mod message;
mod output_args;
mod outputs;
mod plan;
mod plan_file;
mod progress;
mod proxy;
mod proxy_args;
mod refusal;
mod repeat;
mod report;
mod request;
mod request_args;
mod run;
mod run_args;
mod script;
mod serve;
mod serve_args;
mod signals;
mod study;
mod terminal;
mod url;

use std::process::ExitCode;

use args::{Command, Original};

fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os()) {
        Ok(command) => command,
        Err(exit) => return exit.report(),
    };
    let outcome = match command {
        Command::Run(flags) => run::run(&flags),
        Command::Manual(flags) => manual::manual(&flags),
        Command::Plan(runs) => plan_file::execute(&runs),
        Command::Serve(flags) => serve::serve(&flags),
        Command::Proxy(flags) => proxy::proxy(&flags),
        Command::Report(flags) => report::report(&flags),
        Command::Explain(flags) => explain::explain(&flags),
        Command::Compare(flags) => compare::compare(&flags),
        Command::Demo(flags) => demo::demo(&flags),
        Command::Doctor(flags) => doctor::doctor(&flags),
        Command::Wrk(flags) => dialects::run(Original::Wrk, &flags.arguments),
        Command::Wrk2(flags) => dialects::run(Original::Wrk2, &flags.arguments),
        Command::Ab(flags) => dialects::run(Original::Ab, &flags.arguments),
        Command::Lab(flags) => lab::lab(&flags),
        Command::Conformance(flags) => conformance::conformance(&flags),
    };
    match outcome {
        Ok(code) => code,
        Err(exit) => exit.report(),
    }
}
