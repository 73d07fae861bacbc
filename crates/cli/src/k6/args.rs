//! The command line of `plimsoll k6`, which is k6's: its commands, and the names of its flags. What
//! flags mean is read in `plimsoll-dialect`, which gets them as text.

use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use plimsoll_dialect::k6::absent;
use plimsoll_dialect::k6::options::Flags;
use plimsoll_dialect::k6::runtime::RuntimeFlags;

/// How a flag is given.
enum Takes {
    /// A value; a later one replaces it.
    Value(&'static str),
    /// A value, and another each time.
    Values(&'static str),
    /// Nothing, or `=true` or `=false`.
    Switch,
    /// Nothing, which stands for this, or `=` and a value.
    Maybe(&'static str),
}

use Takes::{Maybe, Switch, Value, Values};

type Flag = (&'static str, Option<char>, Takes, &'static str);

/// Flags of all commands.
const GLOBAL: [Flag; 9] = [
    ("address", Some('a'), Value("ADDRESS"), "Open the REST interface there: HOST:PORT"),
    ("config", Some('c'), Value("FILE"), "Configuration file, JSON"),
    ("log-format", None, Value("FORMAT"), "Format of the log: json, raw; else text"),
    ("log-output", None, Value("WHERE"), "stderr, stdout, none, file=PATH"),
    ("no-color", None, Switch, "No colour"),
    ("profiling-enabled", None, Switch, "No effect"),
    ("quiet", Some('q'), Switch, "No progress and no banner"),
    ("secret-source", None, Values("SOURCE"), "Secrets: mock=NAME=VALUE, file=PATH"),
    ("verbose", Some('v'), Switch, "Log lines for debugging too"),
];

/// Flags that say how the script is read.
const RUNTIME: [Flag; 10] = [
    ("include-system-env-vars", None, Switch, "Give scripts the system's variables"),
    ("compatibility-mode", None, Value("MODE"), "extended or base"),
    ("type", Some('t'), Value("TYPE"), "js; archives are not supported"),
    ("env", Some('e'), Values("NAME=VALUE"), "A variable of __ENV"),
    ("module-cache", None, Value("DIR"), "Where modules with https:// URLs are"),
    ("no-thresholds", None, Switch, "Evaluate no thresholds"),
    ("summary-mode", None, Value("MODE"), "compact, full or disabled"),
    ("summary-export", None, Value("FILE"), "Write the summary as JSON"),
    ("new-machine-readable-summary", None, Switch, "The newer JSON of the summary"),
    ("traces-output", None, Value("WHERE"), "Not supported"),
];

/// Flags that are options, and those of `run` alone.
const RUN: [Flag; 35] = [
    ("vus", Some('u'), Value("N"), "Virtual users"),
    ("duration", Some('d'), Value("TIME"), "How long iterations start"),
    ("iterations", Some('i'), Value("N"), "Iterations of all VUs together"),
    ("stage", Some('s'), Values("TIME:N"), "A stage: VUs ramp to N in this time"),
    ("execution-segment", None, Value("SEGMENT"), "The part of the test to run: 10%, 1/3:2/3"),
    ("execution-segment-sequence", None, Value("BORDERS"), "All parts: 0,1/3,2/3,1"),
    ("paused", Some('p'), Switch, "Wait to be resumed through --address"),
    ("no-setup", None, Switch, "Do not call setup()"),
    ("no-teardown", None, Switch, "Do not call teardown()"),
    ("max-redirects", None, Value("N"), "Redirects to follow"),
    ("batch", None, Value("N"), "Requests of a batch at one time"),
    ("batch-per-host", None, Value("N"), "Requests of a batch to one host at one time"),
    ("rps", None, Value("N"), "Requests per second at most"),
    ("user-agent", None, Value("TEXT"), "The field User-Agent"),
    ("http-debug", None, Maybe("headers"), "Log requests and responses: headers or full"),
    ("insecure-skip-tls-verify", None, Switch, "Trust any certificate"),
    ("no-connection-reuse", None, Switch, "Close each connection after a request"),
    ("no-vu-connection-reuse", None, Switch, "Close connections after each iteration"),
    ("min-iteration-duration", None, Value("TIME"), "How long an iteration takes at least"),
    ("throw", Some('w'), Switch, "Throw an exception when a request fails"),
    ("blacklist-ip", None, Values("BLOCK"), "Addresses not to connect to"),
    ("block-hostnames", None, Values("PATTERN"), "Names not to connect to"),
    ("summary-trend-stats", None, Values("STATS"), "Figures of trends: avg,p(95)"),
    ("summary-time-unit", None, Value("UNIT"), "Unit of times: s, ms or us"),
    ("system-tags", None, Values("TAGS"), "System tags to set"),
    ("tag", None, Values("NAME=VALUE"), "A tag of all samples"),
    ("console-output", None, Value("FILE"), "Where console writes"),
    ("discard-response-bodies", None, Switch, "Keep no bodies of responses"),
    ("local-ips", None, Value("ADDRESSES"), "Addresses to connect from"),
    ("dns", None, Value("SETTINGS"), "ttl=5m,select=random,policy=preferIPv4"),
    ("out", Some('o'), Values("OUTPUT"), "Write samples: json=FILE, csv=FILE"),
    ("features", None, Values("NAMES"), "No effect: each feature is warned of"),
    ("linger", Some('l'), Switch, "Stay after the test until Ctrl-C"),
    ("no-usage-report", None, Switch, "No effect: none is ever sent"),
    ("as-original", None, Switch, "k6's User-Agent, and nothing of our own on stderr"),
];

const INSPECT: [Flag; 1] =
    [("execution-requirements", None, Switch, "Say what the test needs as well")];

const NEW: [Flag; 3] = [
    ("force", Some('f'), Switch, "Overwrite the file"),
    ("template", None, Value("NAME"), "minimal"),
    ("project-id", None, Value("ID"), "Not supported"),
];

const VERSION: [Flag; 1] = [("json", None, Switch, "As JSON")];

/// The commands for a run that goes on elsewhere.
const REMOTE: [(&str, &str); 5] = [
    ("status", "Show how a run with --address is"),
    ("stats", "Show the metrics of a run with --address"),
    ("pause", "Have a run with --address wait before it starts"),
    ("resume", "Start a run that was paused"),
    ("scale", "Change the number of VUs; no executor allows it"),
];

const SCALE: [Flag; 2] = [
    ("vus", Some('u'), Value("N"), "Virtual users"),
    ("max", Some('m'), Value("N"), "Virtual users at most"),
];

/// Flags that `run` has taken over from earlier versions.
const DEPRECATED: [Flag; 1] = [("no-summary", None, Switch, "--summary-mode=disabled")];

fn args(flags: impl IntoIterator<Item = Flag>) -> impl Iterator<Item = Arg> {
    flags.into_iter().map(|(long, short, takes, help)| {
        let arg = Arg::new(long).long(long).help(help);
        let arg = if let Some(short) = short { arg.short(short) } else { arg };
        match takes {
            Value(name) => arg.value_name(name).allow_hyphen_values(true),
            Values(name) => {
                arg.value_name(name).allow_hyphen_values(true).action(ArgAction::Append)
            }
            Switch => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_parser(ValueParser::bool())
                .hide_possible_values(true)
                .value_name("BOOL"),
            Maybe(meant) => arg.num_args(0..=1).require_equals(true).default_missing_value(meant),
        }
    })
}

/// The whole definition.
pub(crate) fn definition() -> Command {
    let script = || Arg::new("script").value_name("SCRIPT").num_args(0..).hide(true);
    let run = Command::new("run")
        .about("Run a script")
        .override_usage("plimsoll k6 run [FLAGS] SCRIPT")
        .arg(script())
        .args(args(RUN).chain(args(RUNTIME)))
        .args(args(DEPRECATED).map(|arg| arg.hide(true)));
    let inspect = Command::new("inspect")
        .about("Print the options of a script")
        .override_usage("plimsoll k6 inspect [FLAGS] SCRIPT")
        .arg(script())
        .args(args(INSPECT).chain(args(RUNTIME)));
    let new = Command::new("new")
        .about("Write a script to start from")
        .override_usage("plimsoll k6 new [FLAGS] [FILE]")
        .arg(script())
        .args(args(NEW));
    let version = Command::new("version").about("Print the version").args(args(VERSION));
    let remote = REMOTE.map(|(name, about)| {
        let command = Command::new(name).about(about);
        if name == "scale" { command.args(args(SCALE)) } else { command }
    });
    let commands = [run, inspect, new, version].into_iter().chain(remote);
    Command::new("plimsoll k6")
        .bin_name("plimsoll k6")
        .about("Run k6's scripts")
        .version(super::VERSION)
        .disable_help_subcommand(false)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args(args(GLOBAL).map(|arg| arg.global(true)))
        .subcommands(commands.map(|command| command.args_override_self(true)))
}

/// What the parser says, as one line, or the text that was asked for.
pub(super) fn said(error: &clap::Error) -> Result<String, String> {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Ok(error.render().to_string()),
        _ => {
            if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
                && let Some(why) = absent::command(name)
            {
                return Err(why);
            }
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            let what = first.strip_prefix("error: ").unwrap_or(first);
            Err(format!("{what}: see --help"))
        }
    }
}

/// A line for each flag that is given and has no effect.
pub(super) fn without_effect(matches: &ArgMatches) -> Vec<String> {
    let is_given = switch(matches, "profiling-enabled") == Some(true);
    let what = "--profiling-enabled has no effect: there is nothing for Go's profiler to look at";
    is_given.then(|| what.to_owned()).into_iter().collect()
}

/// What a flag says, if it is given.
pub(super) fn text(matches: &ArgMatches, flag: &str) -> Option<String> {
    matches.get_one::<String>(flag).cloned()
}

/// What a switch says, if it is given.
pub(super) fn switch(matches: &ArgMatches, flag: &str) -> Option<bool> {
    matches.get_one::<bool>(flag).copied()
}

/// All that was given.
pub(super) fn texts(matches: &ArgMatches, flag: &str) -> Vec<String> {
    matches.get_many::<String>(flag).into_iter().flatten().cloned().collect()
}

/// The flags of `run` that are options.
pub(super) fn flags(matches: &ArgMatches) -> Flags {
    let text = |flag| text(matches, flag);
    let texts = |flag| texts(matches, flag);
    let switch = |flag| switch(matches, flag);
    Flags {
        vus: text("vus"),
        duration: text("duration"),
        iterations: text("iterations"),
        stage: texts("stage"),
        execution_segment: text("execution-segment"),
        execution_segment_sequence: text("execution-segment-sequence"),
        paused: switch("paused"),
        no_setup: switch("no-setup"),
        no_teardown: switch("no-teardown"),
        max_redirects: text("max-redirects"),
        batch: text("batch"),
        batch_per_host: text("batch-per-host"),
        rps: text("rps"),
        user_agent: text("user-agent"),
        http_debug: text("http-debug"),
        insecure_skip_tls_verify: switch("insecure-skip-tls-verify"),
        no_connection_reuse: switch("no-connection-reuse"),
        no_vu_connection_reuse: switch("no-vu-connection-reuse"),
        min_iteration_duration: text("min-iteration-duration"),
        throw: switch("throw"),
        blacklist_ip: texts("blacklist-ip"),
        block_hostnames: texts("block-hostnames"),
        summary_trend_stats: texts("summary-trend-stats"),
        summary_time_unit: text("summary-time-unit"),
        system_tags: texts("system-tags"),
        tag: texts("tag"),
        console_output: text("console-output"),
        discard_response_bodies: switch("discard-response-bodies"),
        local_ips: text("local-ips"),
        dns: text("dns"),
        out: texts("out"),
        linger: switch("linger"),
    }
}

/// The flags that are not options.
pub(super) fn runtime_flags(matches: &ArgMatches) -> RuntimeFlags {
    RuntimeFlags {
        env: texts(matches, "env"),
        include_system_env_vars: switch(matches, "include-system-env-vars"),
        compatibility_mode: text(matches, "compatibility-mode"),
        test_type: text(matches, "type"),
        no_thresholds: switch(matches, "no-thresholds"),
        summary_mode: text(matches, "summary-mode"),
        summary_export: text(matches, "summary-export"),
        new_machine_readable_summary: switch(matches, "new-machine-readable-summary"),
        traces_output: text(matches, "traces-output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn flags_are_read_as_k6_reads_them() {
        let parse = |words: &[&str]| {
            let all = ["k6"].iter().chain(words);
            definition().try_get_matches_from(all)
        };
        let matches = parse(&[
            "-q",
            "run",
            "-u5",
            "--vus=7",
            "s.js",
            "--no-setup=false",
            "-e",
            "A=-1",
            "-eB=2",
            "--http-debug",
            "-i",
            "3",
            "-v",
            "--tag",
            "a=b",
            "-o",
            "json",
        ]);
        let matches = matches.expect("flags");
        let (name, run) = matches.subcommand().expect("a command");
        let flags = flags(run);
        assert_eq!((name, flags.vus.as_deref(), flags.no_setup), ("run", Some("7"), Some(false)));
        assert_eq!(runtime_flags(run).env, ["A=-1", "B=2"]);
        assert_eq!(flags.http_debug.as_deref(), Some("headers"));
        assert_eq!((switch(run, "quiet"), switch(run, "verbose")), (Some(true), Some(true)));
        assert_eq!(texts(run, "script"), ["s.js"]);
        for (words, says) in [
            (&["run", "--bogus", "s.js"][..], "unexpected argument '--bogus' found: see --help"),
            (&["run", "--quiet=x", "s.js"], "invalid value 'x' for '--quiet[=<BOOL>]'"),
            (&["nope"], "unrecognized subcommand 'nope': see --help"),
            (&["-v", "archive", "-O", "a.tar"], "k6's command 'archive' is not supported: copy"),
        ] {
            let line = said(&parse(words).expect_err(says)).expect_err(says);
            assert!(line.starts_with(says) && !line.contains('\n'), "{line}");
        }
        assert!(said(&parse(&[]).expect_err("help")).expect("help").contains("run"));
    }
}
