//! The project's automation: `cargo xtask tidy`, `bench`, `toolchains`, `picture` and `dashboard`.
//! Every task that Cargo itself does not have lives here, so that there is one place to look and
//! nothing to install.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks")]

use std::process::ExitCode;

mod bench;
mod dashboard;
mod picture;
mod tidy;
mod toolchains;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy         check the rules of STYLE.md that a machine can check
  bench        measure plimsoll beside other tools; see `cargo xtask bench --help`
  picture      draw the report that README.md shows, from docs/pictures/report.json
  toolchains   build and test with the least version of Rust, stable, beta and nightly
  dashboard    draw the dashboard of dist/grafana with a real run and a real Prometheus";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let outcome = match args.next().as_deref() {
        Some("tidy") => tidy::run(),
        Some("bench") => bench::run(args.collect()),
        Some("dashboard") => dashboard::run(&args.collect::<Vec<_>>()),
        Some("picture") => picture::run(&args.collect::<Vec<_>>()),
        Some("toolchains") => toolchains::run(),
        Some("help" | "-h" | "--help") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
