//! Flags of `request`: those of `run` that say what is sent and how, and what a response has to be
//! like.
//!
//! Flags that say how much is sent, and when, are taken and change nothing, so a run becomes one
//! request by one other word. Flags for what a single request does not have are refused.

use clap::Command;

/// What stands below the flags in the help.
const EXIT_CODES: &str = "\
Exit codes:
  0    the response is as expected: a status below 400, or what --expect says
  1    no whole response came
  2    a mistake in the flags or the plan
  3    the response is not as expected
  129  interrupted: the terminal was closed
  130  interrupted by Ctrl-C
  143  interrupted by SIGTERM";

/// What the URL is for.
const URL: &str = "The URL to request; with --targets, the server to use instead of theirs; or a \
                   plan file, NAME.toml";

/// Flags of `run` about its load, by their names in the definition.
const OF_LOADS: [&str; 15] = [
    "connections",
    "duration",
    "requests",
    "rate",
    "arrival",
    "stages",
    "rate_file",
    "shed_after",
    "repeat",
    "warmup",
    "drain",
    "threads",
    "spin",
    "latency",
    "env",
];

const GATES: &str = "say what the response has to be like with --expect";
const REPORTS: &str = "it writes no report, and shows request and response on stdout";
const RUNS: &str = "it is over after one request: give it to run";

/// Flags of `run` that a single request has no place for, and what to do.
const UNFIT: [(&str, &str); 20] = [
    ("gate", GATES),
    ("abort_when", GATES),
    ("require_valid", GATES),
    ("control", RUNS),
    ("monitor", RUNS),
    ("out", RUNS),
    ("out_label", RUNS),
    ("out_names", RUNS),
    ("print_plan", "run prints plans"),
    ("verbose", "it shows all there is without that"),
    ("output", REPORTS),
    ("format", REPORTS),
    ("json", REPORTS),
    ("html", REPORTS),
    ("hgrm", REPORTS),
    ("hlog", REPORTS),
    ("junit", REPORTS),
    ("github_summary", REPORTS),
    ("timeseries", REPORTS),
    ("no_progress", REPORTS),
];

/// Why a single request has no place for a flag of `run`.
pub(crate) fn unfit(id: &str) -> Option<&'static str> {
    UNFIT.iter().find(|(name, _)| *name == id).map(|(_, advice)| *advice)
}

/// The definition of `request`, of one that has all flags of `run`.
pub(crate) fn fitted(request: Command) -> Command {
    let hidden = OF_LOADS.iter().copied().chain(UNFIT.iter().map(|(id, _)| *id));
    let request = hidden.fold(request, |request, id| request.mut_arg(id, |arg| arg.hide(true)));
    request
        .mut_arg("url", |arg| arg.help(URL))
        .mut_arg("quiet", |arg| arg.help("Print nothing; stderr still says why a request failed"))
        .after_help(EXIT_CODES)
}
