//! An example and a wrong value for each flag of `run`: data alone, because the documentation shows
//! it, the tests of the definition hold it against the flags, and the tests of the program, which
//! take this file in as it stands, run it.
//!
//! `{url}` stands for a built-in target that serves every route, without the slash at its end.

/// What is shown and tried of a flag.
#[derive(Debug)]
pub(crate) struct Example {
    /// The flag, by its name in the definition.
    pub flag: &'static str,
    /// Arguments of `plimsoll run` that use it.
    pub arguments: &'static [&'static str],
    /// The exit code of those.
    pub exit: u8,
    /// Arguments with which it is given wrongly.
    pub wrong: &'static [&'static str],
    /// What stands in the error line of those.
    pub says: &'static str,
}

/// Files that examples use, by their names in the directory where they are run.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("order.json", "{\"item\": 7}\n"),
    ("plan.toml", "url = \"{url}/\"\nconnections = 10\nrequests = 100\n"),
];

/// What a flag without a value says when it is given one.
const NO_VALUE: &str = "no more were expected";

const U: &str = "{url}/";

const fn flag(
    flag: &'static str,
    arguments: &'static [&'static str],
    wrong: &'static [&'static str],
    says: &'static str,
) -> Example {
    Example { flag, arguments, exit: 0, wrong, says }
}

/// One for each flag, in any order.
pub(crate) const EXAMPLES: &[Example] = &[
    flag("url", &["-n", "100", U], &["127.0.0.1:8080"], "write http://"),
    flag("plan", &["--plan", "plan.toml", "-n", "10"], &["--plan", "no/such.toml"], "no/such.toml"),
    flag("print_plan", &["--print-plan", "-c", "9", U], &["--print-plan=1", U], NO_VALUE),
    flag(
        "control",
        &["--control", "run.sock", "-n", "100", U],
        &["--control", "no/such/run.sock", U],
        "control socket 'no/such/run.sock'",
    ),
    flag("connections", &["-c", "10", "-n", "100", U], &["-c", "many", U], "is not a count"),
    flag("threads", &["-t", "1", "-n", "100", U], &["-t", "0", U], "give 1 or more"),
    flag("duration", &["-d", "100ms", U], &["-d", "10", U], "is not a duration"),
    flag("requests", &["-n", "1k", U], &["-n", "1.5", U], "is not a count"),
    flag("rate", &["-r", "1k", "-d", "100ms", U], &["-r", "fast", U], "is not a rate"),
    flag(
        "arrival",
        &["--arrival", "poisson", "-r", "1k", "-d", "100ms", U],
        &["--arrival", "random", U],
        "uniform, poisson",
    ),
    flag(
        "stages",
        &["--stages", "50ms@100,50ms@100..1k", U],
        &["--stages", "10s", U],
        "DURATION@RATE",
    ),
    flag("warmup", &["--warmup", "50ms", "-n", "100", U], &["--warmup", "1", U], "not a duration"),
    flag("drain", &["--drain", "1s", "-n", "100", U], &["--drain", "long", U], "not a duration"),
    flag("timeout", &["--timeout", "2s", "-n", "100", U], &["--timeout", "0s", U], "--timeout"),
    flag("method", &["-X", "DELETE", "-n", "10", U], &["-X", "G T", U], "method"),
    flag("headers", &["-H", "X-Id: 7", "-n", "10", "{url}/echo"], &["-H", "X-Id", U], "no colon"),
    flag("body", &["-b", "@order.json", "-n", "10", "{url}/echo"], &["-b", "@none", U], "'none'"),
    flag("http", &["--http", "1.0", "-n", "10", U], &["--http", "7", U], "1.0, 1.1"),
    flag(
        "requests_per_conn",
        &["--requests-per-conn", "5", "-n", "100", U],
        &["--requests-per-conn", "0", U],
        "give 1 or more",
    ),
    flag("no_keepalive", &["--no-keepalive", "-n", "100", U], &["--no-keepalive=1", U], NO_VALUE),
    flag("pipeline", &["--pipeline", "4", "-n", "100", U], &["--pipeline", "0", U], "1 or more"),
    flag(
        "seed",
        &["--seed", "7", "--arrival", "poisson", "-r", "1k", "-n", "100", U],
        &["--seed", "x", U],
        "is not a whole number",
    ),
    flag("driver", &["--driver", "epoll", "-n", "100", U], &["--driver", "kqueue", U], "epoll"),
    flag(
        "spin",
        &["--spin", "off", "-r", "1k", "-n", "100", U],
        &["--spin", "round", U],
        "auto, on, off",
    ),
    flag("pin", &["--pin", "0", "-n", "100", U], &["--pin", "first", U], "whole number"),
    Example {
        flag: "require_valid",
        // A server that answers nobody in time gives nothing to judge by.
        arguments: &["--require-valid", "-n", "4", "--timeout", "20ms", "{url}/delay/10s"],
        exit: 4,
        wrong: &["--require-valid=1", U],
        says: NO_VALUE,
    },
    flag(
        "output",
        &["-o", "report.txt", "-n", "100", U],
        &["-o", "no/such/report.txt", U],
        "cannot write 'no/such/report.txt'",
    ),
    flag("format", &["--format", "json", "-n", "100", U], &["--format", "pdf", U], "text, json"),
    flag(
        "json",
        &["--json", "result.json", "-n", "100", U],
        &["--json", "no/such/result.json", U],
        "cannot write",
    ),
    flag(
        "html",
        &["--html", "report.html", "-n", "100", U],
        &["--html", "no/such/report.html", U],
        "cannot write",
    ),
    flag(
        "hgrm",
        &["--hgrm", "times.hgrm", "-n", "100", U],
        &["--hgrm", "no/such/times.hgrm", U],
        "cannot write",
    ),
    flag(
        "timeseries",
        &["--timeseries", "seconds.ndjson", "-n", "100", U],
        &["--timeseries", "no/such/seconds.ndjson", U],
        "cannot write",
    ),
    flag("quiet", &["-q", "-n", "100", U], &["--quiet=1", U], NO_VALUE),
    flag("no_progress", &["--no-progress", "-n", "100", U], &["--no-progress=1", U], NO_VALUE),
    flag("no_color", &["--no-color", "-n", "100", U], &["--no-color=1", U], NO_VALUE),
];
