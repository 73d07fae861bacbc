//! The command lines.

use plimsoll_core::plan::{DriverPlan, Spin};
use plimsoll_core::secret::Masks;

use super::{Command, Flavour};
use crate::UsageText;
use crate::getopt::{self, Item, Long, Spec};
use crate::units::{scan_metric, scan_seconds};

/// Exit status of every command line that starts no run.
const USAGE_CODE: u8 = 1;

const SECOND_NS: u64 = 1_000_000_000;

/// Keys of long options that are ours: no ASCII, so that they are not abbreviated.
const AS_ORIGINAL: char = '\u{100}';
const HIST_VERSION: char = '\u{101}';
const DRIVER: char = '\u{102}';
const SPIN: char = '\u{103}';
const JSON_RESULT: char = '\u{104}';
const QUIET: char = '\u{105}';

const fn long(name: &'static str, takes: bool, key: char) -> Long {
    Long { name, takes, key }
}

const WRK: [Long; 9] = [
    long("connections", true, 'c'),
    long("duration", true, 'd'),
    long("threads", true, 't'),
    long("script", true, 's'),
    long("header", true, 'H'),
    long("latency", false, 'L'),
    long("timeout", true, 'T'),
    long("help", false, 'h'),
    long("version", false, 'v'),
];

const WRK2: [Long; 6] = [
    long("u_latency", false, 'U'),
    long("batch_latency", false, 'B'),
    long("rate", true, 'R'),
    long("json_encoding", false, 'e'),
    long("report_interval", true, 'p'),
    long("digits", true, 'D'),
];

const OURS: [Long; 6] = [
    long("as-original", false, AS_ORIGINAL),
    long("hist-version", true, HIST_VERSION),
    long("driver", true, DRIVER),
    long("spin", true, SPIN),
    long("json-result", true, JSON_RESULT),
    long("quiet", false, QUIET),
];

const USAGE_WRK: &str = "    -c, --connections <N>  Connections to keep open (10)
    -d, --duration    <T>  How long to send (10s)
    -t, --threads     <N>  Threads to send from (2)

    -s, --script      <S>  Lua script to load
    -H, --header      <H>  Header to send, \"Name: value\"
    -L, --latency          Print the latency distribution
    -T, --timeout     <T>  Time a request may take (2s)
    -v, --version          Print the version
";

const USAGE_WRK2: &str = "    -R, --rate        <N>  Requests per second, of all threads together
                           [Required Parameter]
    -U, --u_latency        Print the uncorrected distribution too
    -B, --batch_latency    Record a batch of pipelined requests once
    -e, --json_encoding    Print JSON, with the histogram encoded
    -p, --report_interval <T>  Print a report each T (never)
    -D, --digits      <N>  Digits of precision, 1 to 3 (3)
";

const USAGE_OURS: &str = "
        --as-original      Compute as the original does
        --json-result <F>  Write the result document to this file
        --driver      <D>  auto, uring or epoll
        --spin        <S>  auto, on or off
        --quiet            No verdict on standard error
";

const USAGE_END: &str = "
  Numeric arguments may include a SI unit (1k, 1M, 1G)
  Time arguments may include a time unit (2s, 2m, 2h)
";

fn usage(flavour: Flavour) -> String {
    let (wrk2, version) = match flavour {
        Flavour::Wrk => ("", ""),
        Flavour::Wrk2 => {
            (USAGE_WRK2, "        --hist-version <N> Format of -e's histogram: 1 or 2 (1)\n")
        }
    };
    format!(
        "Usage: wrk <options> <url>\n  Options:\n{USAGE_WRK}{wrk2}{USAGE_OURS}{version}{USAGE_END}"
    )
}

/// The message about `-B`.
const BATCH: &str = "-B changes nothing: of several requests at once each is recorded by itself";

/// What the originals print for an invalid URL.
#[must_use]
pub fn invalid_url(flavour: Flavour, url: &str) -> UsageText {
    UsageText {
        stdout: usage(flavour),
        stderr: format!("invalid URL: {}\n", Masks::default().url(url).escape_default()),
        code: USAGE_CODE,
    }
}

/// What the originals print, before anything else, when no address of the URL's host takes a
/// connection. `service` is the port where the URL has one, else the scheme.
#[must_use]
pub fn unable_to_connect(host: &str, service: &str, reason: &str) -> UsageText {
    UsageText {
        stdout: String::new(),
        stderr: format!("unable to connect to {host}:{service} {reason}\n"),
        code: USAGE_CODE,
    }
}

/// Reads the arguments behind the program's name.
///
/// # Errors
/// What to print instead of running.
pub fn parse(flavour: Flavour, program: &str, arguments: &[String]) -> Result<Command, UsageText> {
    let mut reader = Reader { program, command: defaults(flavour), operands: Vec::new() };
    match reader.read(arguments).and_then(|()| reader.check()) {
        Ok(()) => Ok(reader.command),
        Err(line) => Err(UsageText {
            stdout: reader.command.preamble + &usage(flavour),
            stderr: if line.is_empty() { line } else { line + "\n" },
            code: USAGE_CODE,
        }),
    }
}

fn defaults(flavour: Flavour) -> Command {
    Command {
        flavour,
        url: String::new(),
        connections: 10,
        threads: 2,
        duration_ns: 10 * SECOND_NS,
        timeout_ns: 2 * SECOND_NS,
        rate_hz: None,
        headers: Vec::new(),
        script: None,
        arguments: Vec::new(),
        latency: false,
        uncorrected: false,
        json: false,
        report_interval_ns: None,
        digits: 3,
        hist_v1: true,
        as_original: false,
        driver: DriverPlan::Auto,
        spin: Spin::Auto,
        json_result: None,
        quiet: false,
        preamble: String::new(),
        warnings: Vec::new(),
    }
}

/// Fills a command in. Errors are lines for standard error; an empty one is a plain `-h`.
struct Reader<'a> {
    program: &'a str,
    command: Command,
    operands: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self, arguments: &[String]) -> Result<(), String> {
        let mut options = WRK.to_vec();
        let mut short = "t:c:d:s:H:T:Lhv?".to_owned();
        if self.command.flavour == Flavour::Wrk2 {
            options.extend(WRK2);
            short.push_str("R:p:D:UBe");
        }
        options.extend(OURS);
        let spec = Spec { program: self.program, short: &short, long: &options };
        for item in getopt::parse(arguments, &spec)? {
            match item {
                Item::Operand(operand) => self.operands.push(operand),
                Item::Option(key, None) => self.flag(key)?,
                Item::Option(key, Some(value)) => self.option(key, &value)?,
            }
        }
        Ok(())
    }

    fn flag(&mut self, key: char) -> Result<(), String> {
        let command = &mut self.command;
        match key {
            'L' => command.latency = true,
            'U' => (command.latency, command.uncorrected) = (true, true),
            'B' => command.warnings.push(BATCH.to_owned()),
            'e' => command.json = true,
            'v' => {
                let name = if command.flavour == Flavour::Wrk { "wrk" } else { "wrk2" };
                command.preamble = format!("plimsoll {} [{name}]\n", env!("CARGO_PKG_VERSION"));
            }
            AS_ORIGINAL => command.as_original = true,
            QUIET => command.quiet = true,
            _ => return Err(String::new()),
        }
        Ok(())
    }

    fn option(&mut self, key: char, value: &str) -> Result<(), String> {
        match key {
            'c' => self.command.connections = self.count("-c", value)?,
            't' => self.command.threads = self.count("-t", value)?,
            'd' => self.command.duration_ns = self.time_ns("-d", value)?,
            'T' => self.command.timeout_ns = self.time_ns("--timeout", value)?,
            'R' => {
                let rate = scan_metric(value).ok_or_else(|| self.no_count("-R", value))?;
                self.command.rate_hz = Some(rate as f64);
            }
            'p' => {
                let interval_ns = self.time_ns("-p", value)?;
                self.command.report_interval_ns = Some(interval_ns).filter(|ns| *ns > 0);
            }
            // Read as C's `atoi` reads it: what is no number is out of the range.
            'D' => self.command.digits = value.trim().parse().unwrap_or(0),
            's' => self.command.script = Some(value.to_owned()),
            'H' => self.header(value)?,
            JSON_RESULT => self.command.json_result = Some(value.to_owned()),
            HIST_VERSION => {
                self.command.hist_v1 =
                    self.choice("--hist-version", value, [("1", true), ("2", false)])?;
            }
            DRIVER => {
                let drivers = [
                    ("auto", DriverPlan::Auto),
                    ("uring", DriverPlan::Uring),
                    ("epoll", DriverPlan::Epoll),
                ];
                self.command.driver = self.choice("--driver", value, drivers)?;
            }
            _ => {
                let spins = [("auto", Spin::Auto), ("on", Spin::On), ("off", Spin::Off)];
                self.command.spin = self.choice("--spin", value, spins)?;
            }
        }
        Ok(())
    }

    fn no_count(&self, flag: &str, value: &str) -> String {
        let value = value.escape_default();
        format!("{}: {flag} '{value}' is not a count: write 100, 10k or 1M", self.program)
    }

    fn count(&self, flag: &str, value: &str) -> Result<u32, String> {
        let count = scan_metric(value).ok_or_else(|| self.no_count(flag, value))?;
        u32::try_from(count).map_err(|_| {
            format!("{}: {flag} {count} is too many: give {} at most", self.program, u32::MAX)
        })
    }

    fn time_ns(&self, flag: &str, value: &str) -> Result<u64, String> {
        let time_ns = scan_seconds(value).and_then(|seconds| seconds.checked_mul(SECOND_NS));
        time_ns.ok_or_else(|| {
            let value = value.escape_default();
            format!(
                "{}: {flag} '{value}' is not a time: write 10s, 2m or 1h, without a point",
                self.program
            )
        })
    }

    fn choice<T: Copy, const N: usize>(
        &self,
        flag: &str,
        value: &str,
        choices: [(&str, T); N],
    ) -> Result<T, String> {
        let found = choices.iter().find(|(name, _)| *name == value);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names = choices.map(|(name, _)| name).join(", ");
            let value = value.escape_default();
            format!("{}: {flag} '{value}' is unknown: give one of {names}", self.program)
        })
    }

    /// wrk takes no notice of a header without `": "`, nor do we, but we say so.
    fn header(&mut self, line: &str) -> Result<(), String> {
        let shown = line.escape_default();
        if line.contains(['\r', '\n', '\0']) {
            return Err(format!(
                "{}: -H '{shown}' has a line break in it: leave it out",
                self.program
            ));
        }
        let split =
            line.split_once(':').and_then(|(name, rest)| Some((name, rest.strip_prefix(' ')?)));
        let Some((name, value)) = split else {
            let program = self.program;
            self.command.warnings.push(format!(
                "{program}: -H '{shown}' is left out, as wrk does: write 'Name: value', with \
                 the space"
            ));
            return Ok(());
        };
        let headers = &mut self.command.headers;
        headers.retain(|(known, _)| known != name);
        headers.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// The originals' checks, in their order and, where they have some, in their words.
    fn check(&mut self) -> Result<(), String> {
        let program = self.program;
        let mut operands = std::mem::take(&mut self.operands).into_iter();
        let command = &mut self.command;
        command.url = operands.next().ok_or_else(|| format!("{program}: no URL: give one"))?;
        command.arguments = operands.collect();
        let problem = if command.threads == 0 {
            format!("{program}: -t 0 has nothing to send from: give 1 or more")
        } else if command.duration_ns == 0 {
            format!("{program}: -d 0 leaves no time: give 1s or more")
        } else if command.timeout_ns == 0 {
            format!("{program}: --timeout 0 fails every request: give 1s or more")
        } else if !(1..=3).contains(&command.digits) {
            "Precision digits must be between 1 and 3".to_owned()
        } else if command.connections < command.threads {
            "number of connections must be >= threads".to_owned()
        } else if command.flavour == Flavour::Wrk2 && command.rate_hz.is_none_or(|rate| rate < 1.0)
        {
            "Throughput MUST be specified with the --rate or -R option".to_owned()
        } else {
            return Ok(());
        };
        Err(problem)
    }
}
