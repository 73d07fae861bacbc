//! What `-h` of a command with many flags shows: those that most runs use, on two screens. `--help`
//! shows all of them.

use clap::Command;

/// Flags of `run` and `find` that `-h` shows, by their names in the definition.
const COMMON: [&str; 37] = [
    "connections",
    "duration",
    "requests",
    "rate",
    "stages",
    "repeat",
    "warmup",
    "timeout",
    "method",
    "headers",
    "body",
    "basic",
    "http",
    "targets",
    "expect",
    "redirects",
    "no_keepalive",
    "proxy",
    "insecure",
    "grpc",
    "script",
    "env",
    "threads",
    "require_valid",
    "monitor",
    "out",
    "plan",
    "print_plan",
    "gate",
    "abort_when",
    "output",
    "format",
    "json",
    "html",
    "junit",
    "quiet",
    "verbose",
];

/// The headings whose flags are all shown.
const WHOLE: [&str; 1] = ["Search"];

/// What stands below the flags.
const FURTHER: &str = "\
These are the flags that most runs use: --help lists all of them, and what the exit codes mean.
`plimsoll explain` says what words and codes of reports mean.";

/// The command with a short help. What stands below the flags of its help goes to the long one.
pub(crate) fn shortened(command: Command) -> Command {
    let below = command.get_after_help().cloned().unwrap_or_default();
    let command = command.mut_args(|arg| {
        let is_common = COMMON.contains(&arg.get_id().as_str());
        let is_whole = arg.get_help_heading().is_some_and(|heading| WHOLE.contains(&heading));
        let is_shown = is_common || is_whole || arg.get_help_heading().is_none();
        arg.hide_short_help(!is_shown)
    });
    command.after_long_help(below).after_help(FURTHER)
}
