//! The command line: fortio's commands, its order of checks and its messages.
//!
//! Values of flags are checked as they are read, in the order in which they were given, because
//! fortio's first complaint is about the first flag. What is not done here is refused by name.

use plimsoll_core::plan::{DriverPlan, Spin};

use super::command::{Call, Command, LogLevel, Payload, version};
use super::flags;
use crate::UsageText;
use crate::go_flag::{self, Given, Value, Wrong, invalid};
use crate::numbers::go_shortest;

/// The most connections, and the most streams of all of them.
const THREADS_MAX: i64 = 1_000_000;

/// The largest random payload, bytes: fortio's, unless a flag of its server raises it.
const PAYLOAD_BYTES_MAX: i64 = 256 * 1024;

/// The most percentiles.
const PERCENTILES_MAX: usize = 1000;

/// Reads the arguments that follow the program's name.
///
/// # Errors
/// What to print instead of doing anything: what was asked for, or what is wrong.
pub fn parse(arguments: &[String]) -> Result<Command, UsageText> {
    let Some((name, arguments)) = arguments.split_first() else {
        return Err(wrong("Missing command argument"));
    };
    if arguments.is_empty()
        && let Some(shown) = shown(name)
    {
        return Err(shown);
    }
    let (given, operands) = go_flag::parse(arguments, &flags::all()).map_err(|error| {
        let usage = flags::usage(&version());
        match error {
            Wrong::Help => UsageText { stderr: usage, code: 0, ..UsageText::default() },
            Wrong::Line(line) => {
                let stderr = format!("{line}\n{usage}");
                UsageText { stderr, code: 2, ..UsageText::default() }
            }
        }
    })?;
    if name != "load" {
        return Err(unknown(name, operands));
    }
    Reader::new().read(given)?.finish(operands)
}

/// The help of `fortio help`.
#[must_use]
pub fn help() -> String {
    flags::usage(&version())
}

/// What a sole argument shows.
fn shown(name: &str) -> Option<UsageText> {
    let own = env!("CARGO_PKG_VERSION");
    let stdout = match name {
        "version" => format!("{}\n", version()),
        "buildinfo" => format!("{}\nPlimsoll {own}, as fortio\n", version()),
        "help" => help(),
        "envhelp" => {
            "# No environment variable changes what this program does or logs.\n".to_owned()
        }
        _ => return None,
    };
    Some(UsageText { stdout, ..UsageText::default() })
}

/// A command that is not spoken, or that fortio does not have.
fn unknown(name: &str, operands: &[String]) -> UsageText {
    const ELSEWHERE: [(&str, &str); 10] = [
        ("curl", "run curl"),
        ("grpcping", "run `fortio load -grpc -ping -c 1`"),
        ("server", "run `plimsoll serve`"),
        ("tcp-echo", "it is about TCP, and HTTP and gRPC are spoken here"),
        ("udp-echo", "it is about UDP, and HTTP and gRPC are spoken here"),
        ("nc", "it is about TCP and UDP, and HTTP and gRPC are spoken here"),
        ("report", "run `plimsoll report FILE`"),
        ("redirect", "run `plimsoll serve`, and load its /redirect"),
        ("proxies", "run `plimsoll proxy`"),
        ("script", "grol is not spoken here"),
    ];
    if operands.len() > 1 {
        return too_many(operands);
    }
    match ELSEWHERE.iter().find(|(known, _)| *known == name) {
        Some((_, advice)) => refused(&format!("{name}: {advice}")),
        None => wrong(&format!("Error: unknown command {name:?}")),
    }
}

fn too_many(operands: &[String]) -> UsageText {
    wrong(&format!("At most 1 argument expected, got {}", operands.len()))
}

/// The usage, and a line that says what is wrong: exit code 1.
fn wrong(line: &str) -> UsageText {
    let stderr = format!("{}{line}\n", flags::usage(&version()));
    UsageText { stderr, code: 1, ..UsageText::default() }
}

/// A line about what is not done here.
fn refused(line: &str) -> UsageText {
    UsageText { stderr: format!("fortio: {line}\n"), code: 1, ..UsageText::default() }
}

/// A value that a flag cannot have: exit code 2, as all of Go's complaints about flags.
fn bad_value(name: &str, value: &str, why: &str) -> UsageText {
    let stderr = format!("{}\n{}", invalid(name, value, why), flags::usage(&version()));
    UsageText { stderr, code: 2, ..UsageText::default() }
}

/// What was read so far.
struct Reader {
    command: Command,
    percentiles: String,
    calculates_qps: bool,
    has_duration: bool,
    is_grpc: bool,
    is_ping: bool,
    health_service: String,
    delay_ns: i64,
    /// What cannot be done, to be said unless something is wrong.
    refused: Option<String>,
}

impl Reader {
    fn new() -> Self {
        Self {
            command: Command::new(),
            percentiles: "50,75,90,99,99.9".to_owned(),
            calculates_qps: false,
            has_duration: false,
            is_grpc: false,
            is_ping: false,
            health_service: String::new(),
            delay_ns: 0,
            refused: None,
        }
    }

    fn read(mut self, given: Given) -> Result<Self, UsageText> {
        for (name, value) in given {
            match value {
                Value::Switch(on) => self.switch(name, on),
                Value::Integer(number) => self.integer(name, number)?,
                Value::Number(number) => self.number(name, number)?,
                Value::Duration(ns) => self.duration(name, ns),
                Value::Text(text) => self.text(name, text)?,
            }
        }
        Ok(self)
    }

    fn switch(&mut self, name: &'static str, on: bool) {
        let command = &mut self.command;
        match name {
            "a" => command.auto_save = on,
            "allow-initial-errors" => command.allow_initial_errors = on,
            "calc-qps" => self.calculates_qps = on,
            "compression" => command.compression = on,
            "grpc" => self.is_grpc = on,
            "h2" => command.h2 = on,
            "http1.0" => command.http10 = on,
            "k" | "https-insecure" => command.insecure = on,
            "jitter" => command.jitter = on,
            "keepalive" => command.keep_alive = on,
            "log-errors" => command.log_errors = on,
            "mtls" => command.mtls = on,
            "no-reresolve" => command.no_reresolve = on,
            "nocatchup" => command.no_catch_up = on,
            "ping" => self.is_ping = on,
            "quiet" if on => command.log_level = LogLevel::Error,
            "sequential-warmup" => command.sequential_warmup = on,
            "stdclient" => command.std_client = on,
            "uniform" => command.uniform = on,
            "as-original" => command.as_original = on,
            "curl" if on => self.refuse("-curl", "run curl"),
            "L" if on => self.refuse("-L", "redirects would count as calls: load their end"),
            "grpc-compression" if on => self.refuse("-grpc-compression", "leave it out"),
            "halfclose" if on => self.refuse("-halfclose", "connections are closed whole"),
            "stream" if on => self.refuse("-stream", "give -payload-file"),
            _ => {}
        }
    }

    /// Notes what cannot be done; the first of it is what the user reads.
    fn refuse(&mut self, what: &str, advice: &str) {
        self.refused.get_or_insert_with(|| format!("{what} is not done here: {advice}"));
    }

    fn integer(&mut self, name: &'static str, number: i64) -> Result<(), UsageText> {
        let command = &mut self.command;
        let limited = |most: i64| match number {
            number if number > most => {
                Err(refused(&format!("-{name} {number} is too many: give {most} or fewer")))
            }
            number => Ok(u32::try_from(number).unwrap_or(0)),
        };
        match name {
            "abort-on" => {
                command.abort_on = number;
                if ![0, -1].contains(&number) {
                    let advice = "give -1, or run `plimsoll run --abort-when 'failed>0'`";
                    self.refuse(&format!("-abort-on {number}"), advice);
                }
            }
            // fortio takes its default for what is below 1.
            "c" => command.threads = Some(limited(THREADS_MAX)?).filter(|c| *c > 0).unwrap_or(4),
            "gomaxprocs" => command.workers = limited(4096)?,
            "n" => command.exactly = number.max(0),
            "runid" => command.run_id = number,
            "s" => command.streams = limited(THREADS_MAX)?.max(1),
            "payload-size" if number > 0 => {
                if number > PAYLOAD_BYTES_MAX {
                    let most = PAYLOAD_BYTES_MAX;
                    let line = format!("-payload-size {number} is too large: give {most} or less");
                    return Err(refused(&line));
                }
                command.payload = Payload::Random(number as usize);
            }
            _ => {}
        }
        Ok(())
    }

    fn number(&mut self, name: &'static str, number: f64) -> Result<(), UsageText> {
        if !number.is_finite() {
            let line = format!("-{name} {} is not a number to count with", go_shortest(number));
            return Err(refused(&line));
        }
        match name {
            "qps" => self.command.qps = number,
            // fortio takes its default for 0.
            _ => self.command.resolution_s = if number > 0.0 { number } else { 0.001 },
        }
        Ok(())
    }

    fn duration(&mut self, name: &'static str, ns: i64) {
        let command = &mut self.command;
        match name {
            "t" => {
                command.duration_ns = ns.max(0);
                self.has_duration = ns > 0;
            }
            "timeout" if ns > 0 => command.timeout_ns = ns,
            "offset" => command.offset_ns = ns,
            "grpc-ping-delay" => self.delay_ns = ns,
            _ => {}
        }
    }

    fn text(&mut self, name: &'static str, text: String) -> Result<(), UsageText> {
        let command = &mut self.command;
        let kept = || Some(text.clone()).filter(|text| !text.is_empty());
        match name {
            "H" => {
                let header = header(&text).ok_or_else(|| {
                    let why = format!("invalid extra header '{text}', expecting Key: Value");
                    bad_value(name, &text, &why)
                })?;
                command.headers.push(header);
            }
            "X" => command.method = kept(),
            "cacert" => command.ca_cert = text,
            "cert" => command.cert = text,
            "key" => command.key = text,
            "connection-reuse" => self.reuse(&text)?,
            "content-type" => command.content_type = kept(),
            "data-dir" => command.data_dir = text,
            "dns-method" if !["cached-rr", "first", "rnd", "rr"].contains(&text.as_str()) => {
                let why =
                    "invalid value for dns method, should be one of cached-rr, first, rnd or rr";
                return Err(bad_value(name, &text, why));
            }
            "healthservice" => self.health_service = text,
            "json" => command.json = kept(),
            "labels" => command.labels = kept(),
            "loglevel" => {
                command.log_level = level(&text).ok_or_else(|| {
                    let why = "should be one of [Debug Verbose Info Warning Error Critical Fatal]";
                    bad_value(name, &text, why)
                })?
            }
            "p" => self.percentiles = text,
            "payload" => command.payload = kept().map_or(Payload::None, Payload::Text),
            "payload-file" if !text.is_empty() => command.payload = Payload::File(text),
            "resolve" => command.resolve = text,
            "unix-socket" => command.unix_socket = text,
            "user" => command.credentials = text,
            "json-result" => command.json_result = kept(),
            "driver" | "spin" => self.engine(name, &text)?,
            "access-log-file" if !text.is_empty() => {
                self.refuse("-access-log-file", "calls are not logged one by one");
            }
            "grpc-method" if !text.is_empty() => {
                self.refuse("-grpc-method", "run `plimsoll run --grpc METHOD --reflect`");
            }
            "profile" if !text.is_empty() => {
                self.refuse("-profile", "profile the process with perf");
            }
            _ => {}
        }
        Ok(())
    }

    /// `min:max`, in either order, or one number.
    fn reuse(&mut self, text: &str) -> Result<(), UsageText> {
        if text.is_empty() {
            return Ok(());
        }
        let mut ends = [0_u32; 2];
        let (min, max) = text.split_once(':').unwrap_or((text, text));
        for (end, text_of_end) in ends.iter_mut().zip([min, max]) {
            *end = text_of_end.parse().map_err(|_| {
                let why = format!(
                    "invalid value for connection reuse range, err: strconv.Atoi: parsing \
                     {text_of_end:?}: invalid syntax"
                );
                bad_value("connection-reuse", text, &why)
            })?;
        }
        let [min, max] = ends;
        if min != max {
            let middle = min / 2 + max / 2;
            let what = format!("-connection-reuse {text}");
            self.refuse(&what, &format!("give one number of calls, such as {middle}"));
        }
        self.command.calls_per_connection = Some(max).filter(|calls| *calls > 0);
        Ok(())
    }

    fn engine(&mut self, name: &'static str, text: &str) -> Result<(), UsageText> {
        match (name, text) {
            ("driver", "auto") => self.command.driver = DriverPlan::Auto,
            ("driver", "uring") => self.command.driver = DriverPlan::Uring,
            ("driver", "epoll") => self.command.driver = DriverPlan::Epoll,
            ("spin", "auto") => self.command.spin = Spin::Auto,
            ("spin", "on") => self.command.spin = Spin::On,
            ("spin", "off") => self.command.spin = Spin::Off,
            ("driver", _) => return Err(bad_value(name, text, "give auto, uring or epoll")),
            _ => return Err(bad_value(name, text, "give auto, on or off")),
        }
        Ok(())
    }

    fn finish(mut self, operands: &[String]) -> Result<Command, UsageText> {
        if operands.len() > 1 {
            return Err(too_many(operands));
        }
        self.command.percentiles = percentiles(&self.percentiles)
            .map_err(|why| wrong(&format!("Unable to extract percentiles from -p: {why}")))?;
        let Some(target) = operands.first() else {
            return Err(wrong("Error: fortio load/curl needs a URL or destination"));
        };
        self.command.target.clone_from(target);
        self.calculate_qps()?;
        for scheme in ["tcp://", "udp://"] {
            if target.starts_with(scheme) {
                self.refuse(scheme, "HTTP and gRPC are");
            }
        }
        if self.is_grpc {
            self.command.call = Some(match self.is_ping {
                true => Call::Ping { delay_ns: self.delay_ns },
                false => Call::Health(std::mem::take(&mut self.health_service)),
            });
            let streams = u64::from(self.command.streams);
            let threads = u64::from(self.command.threads) * streams;
            self.command.threads = u32::try_from(threads)
                .ok()
                .filter(|threads| i64::from(*threads) <= THREADS_MAX)
                .ok_or_else(|| refused("-c times -s is too many: lower one of them"))?;
        }
        match self.refused {
            Some(line) => Err(refused(&line)),
            None => Ok(self.command),
        }
    }

    fn calculate_qps(&mut self) -> Result<(), UsageText> {
        if !self.calculates_qps {
            return Ok(());
        }
        let command = &mut self.command;
        if command.exactly == 0 || !self.has_duration {
            let line = "Error: can't use `-calc-qps` without also specifying `-n` and `-t`";
            return Err(wrong(line));
        }
        command.qps = command.exactly as f64 / (command.duration_ns as f64 / 1e9);
        Ok(())
    }
}

/// `Name: value` with the name as Go spells it. Nothing after the colon leaves the header out.
fn header(text: &str) -> Option<(String, Option<String>)> {
    let (name, value) = text.split_once(':')?;
    let value = (!value.is_empty()).then(|| value.trim().to_owned());
    Some((canonical(name.trim()), value))
}

/// As Go's `CanonicalMIMEHeaderKey`: capitals at the start and after dashes.
fn canonical(name: &str) -> String {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.bytes().all(is_token) {
        return name.to_owned();
    }
    let mut upper = true;
    let spell = |letter: char| {
        let spelt = if upper { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        upper = letter == '-';
        spelt
    };
    name.chars().map(spell).collect()
}

fn level(name: &str) -> Option<LogLevel> {
    let levels = [
        ("debug", LogLevel::Debug),
        ("verbose", LogLevel::Verbose),
        ("info", LogLevel::Info),
        ("warning", LogLevel::Warning),
        ("error", LogLevel::Error),
        ("critical", LogLevel::Critical),
        ("fatal", LogLevel::Fatal),
    ];
    let lower = name.to_ascii_lowercase();
    levels.iter().find(|(known, _)| *known == lower).map(|(_, level)| *level)
}

fn percentiles(list: &str) -> Result<Vec<f64>, String> {
    if list.trim().is_empty() {
        return Err("list can't be empty".to_owned());
    }
    let all: Vec<&str> = list.split(',').map(str::trim).collect();
    if all.len() > PERCENTILES_MAX {
        return Err(format!("{} are too many: give {PERCENTILES_MAX} or fewer", all.len()));
    }
    let one = |text: &str| {
        let number: f64 = text
            .parse()
            .map_err(|_| format!("strconv.ParseFloat: parsing {text:?}: invalid syntax"))?;
        let is_inside = number > 0.0 && number < 100.0;
        let why = || format!("percentile {} must be > 0 and < 100", go_shortest(number));
        is_inside.then_some(number).ok_or_else(why)
    };
    all.into_iter().map(one).collect()
}
