//! The `plimsoll` command: flags in, a run, reports out, and a meaningful exit code.
#![forbid(unsafe_code)]

mod args;
mod command_line;
mod compare;
mod compare_args;
mod conformance;
mod conformance_args;
mod connection_args;
mod demo;
mod demo_story;
mod destination;
mod dialects;
mod doctor;
mod document;
mod ending;
mod exit;
mod explain;
mod explain_args;
mod fault;
mod feed;
mod feed_args;
mod files;
mod find;
mod find_args;
mod foreign;
mod grpc;
mod grpc_args;
mod habits;
#[cfg(test)]
mod help_tests;
mod http2_args;
mod k6;
mod lab;
mod lab_args;
mod listen;
mod load;
mod manual;
mod message;
mod messages;
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
mod serve;
mod serve_args;
mod serving;
mod short_help;
mod signals;
mod single;
mod single_args;
mod study;
mod terminal;
mod url;
mod value_args;
mod websocket_args;

use std::process::ExitCode;

use args::{Command, Original};
use command_line::Given;
use exit::Exit;
use load::Load;

fn main() -> ExitCode {
    signals::outlive_limits();
    let outcome = match command_line::parse(std::env::args_os()) {
        Ok(Given::Command(command)) => carry_out(command),
        Ok(Given::Runs(runs)) => plan_file::execute(&runs),
        Ok(Given::Script(script, flags)) if flags.print_plan => script.print_plan(&flags),
        Ok(Given::Script(script, flags)) => repeat::run(&Load::Script(script), &flags),
        Err(exit) => Err(exit),
    };
    match outcome {
        Ok(code) => code,
        Err(exit) => exit.report(),
    }
}

fn carry_out(command: Command) -> Result<ExitCode, Exit> {
    match command {
        Command::Run(flags) => {
            repeat::run(&Load::Scenarios(Box::new(plan::plan(&flags)?.into())), &flags)
        }
        Command::Find(flags) => find::find(*flags),
        Command::Request(flags) => single::single(&flags),
        Command::Manual(flags) => manual::manual(&flags),
        Command::Serve(flags) => serve::serve(&flags),
        Command::Proxy(flags) => proxy::proxy(&flags),
        Command::Report(flags) => report::report(&flags),
        Command::Explain(flags) => explain::explain(&flags.codes),
        Command::Compare(flags) => compare::compare(&flags),
        Command::Demo(flags) => demo::demo(&flags),
        Command::Doctor(flags) => doctor::doctor(&flags),
        Command::Wrk(flags) => dialects::run(Original::Wrk, &flags.arguments),
        Command::Wrk2(flags) => dialects::run(Original::Wrk2, &flags.arguments),
        Command::Ab(flags) => dialects::run(Original::Ab, &flags.arguments),
        Command::K6(flags) => k6::run(&flags.arguments),
        Command::Fortio(flags) => dialects::run(Original::Fortio, &flags.arguments),
        Command::Lab(flags) => lab::lab(&flags),
        Command::Conformance(flags) => conformance::conformance(&flags),
    }
}
