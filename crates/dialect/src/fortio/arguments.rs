//! The command line: fortio's commands, its order of checks and its messages.
//!
//! Values of flags are checked as they are read, in the order in which they were given, because
//! fortio's first complaint is about the first flag. What is not done here is refused by name.

use plimsoll_core::plan::{DriverPlan, Spin};

use super::command::{AccessLog, Call, Command, LogLevel, Payload, version};
use super::flags;
use super::task::{Curl, GrpcPing, Netcat, Serve, ServeKind, Task};
use crate::UsageText;
use crate::go_flag::{self, Given, Value, Wrong, invalid};
use crate::numbers::go_shortest;

/// The most connections, and the most streams of all of them.
const THREADS_MAX: i64 = 1_000_000;

/// The largest random payload, bytes: fortio's, unless a flag of its server raises it.
const PAYLOAD_BYTES_MAX: i64 = 256 * 1024;

/// The most KiB of a body that a server makes: 1 GiB.
const PAYLOAD_KB_MAX: i64 = 1 << 20;

/// The most pings of `grpcping`.
const PINGS_MAX: u32 = 1_000_000;

/// The most percentiles.
const PERCENTILES_MAX: usize = 1000;

/// Reads the arguments that follow the program's name.
///
/// # Errors
/// What to print instead of doing anything: what was asked for, or what is wrong.
pub fn parse(arguments: &[String]) -> Result<Task, UsageText> {
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
    let Some(kind) = kind(name) else { return Err(unknown(name, operands)) };
    Reader::new().read(given)?.finish(kind, operands)
}

/// What the commands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Curl,
    GrpcPing,
    Netcat,
    Serve(ServeKind),
}

fn kind(name: &str) -> Option<Kind> {
    const KINDS: [(&str, Kind); 10] = [
        ("load", Kind::Load),
        ("curl", Kind::Curl),
        ("grpcping", Kind::GrpcPing),
        ("nc", Kind::Netcat),
        ("server", Kind::Serve(ServeKind::Server)),
        ("report", Kind::Serve(ServeKind::Report)),
        ("redirect", Kind::Serve(ServeKind::Redirect)),
        ("tcp-echo", Kind::Serve(ServeKind::TcpEcho)),
        ("udp-echo", Kind::Serve(ServeKind::UdpEcho)),
        ("proxies", Kind::Serve(ServeKind::Proxies)),
    ];
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
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
    match (name, operands.len()) {
        (_, 2..) => too_many(operands),
        ("script", _) => refused("script: grol is not spoken here"),
        _ => wrong(&format!("Error: unknown command {name:?}")),
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
    grpc_method: String,
    delay_ns: i64,
    log_file: String,
    is_influx: bool,
    serve: Serve,
    /// `-curl`, `-curl-stdout-headers`, `-stream`, `-health`, `-nc-dont-stop-on-eof`.
    is_curl: bool,
    stdout_headers: bool,
    streams: bool,
    is_health: bool,
    outlives_eof: bool,
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
            grpc_method: String::new(),
            delay_ns: 0,
            log_file: String::new(),
            is_influx: false,
            serve: Serve::new(),
            is_curl: false,
            stdout_headers: false,
            streams: false,
            is_health: false,
            outlives_eof: false,
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
            "curl" => self.is_curl = on,
            "curl-stdout-headers" => self.stdout_headers = on,
            "stream" => self.streams = on,
            "health" => self.is_health = on,
            "nc-dont-stop-on-eof" => self.outlives_eof = on,
            "fetch" => self.serve.fetches = on,
            "L" if on => self.refuse("-L", "redirects would count as calls: load their end"),
            "grpc-compression" if on => self.refuse("-grpc-compression", "leave it out"),
            "halfclose" if on => self.refuse("-halfclose", "connections are closed whole"),
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
                if ![0, -1].contains(&number) && !(100..=599).contains(&number) {
                    let advice = "give -1 or a status from 100 to 599";
                    self.refuse(&format!("-abort-on {number}"), advice);
                }
            }
            // fortio takes its default for what is below 1.
            "c" => command.threads = Some(limited(THREADS_MAX)?).filter(|c| *c > 0).unwrap_or(4),
            "gomaxprocs" => command.workers = limited(4096)?,
            "n" => command.exactly = number.max(0),
            "runid" => command.run_id = number,
            "maxpayloadsizekb" => {
                self.serve.payload_bytes_max = u64::from(limited(PAYLOAD_KB_MAX)?) << 10;
            }
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
            "max-echo-delay" => self.serve.echo_delay_ns_max = ns.max(0) as u64,
            "sync-interval" => self.serve.sync_interval_ns = ns.max(0) as u64,
            "udp-timeout" if ns > 0 => command.udp_timeout_ns = ns,
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
            "access-log-file" => self.log_file = text,
            "access-log-format" => {
                self.is_influx = match text.as_str() {
                    "json" => false,
                    "influx" => true,
                    _ => {
                        let why = "invalid value for access log format, should be json or influx";
                        return Err(bad_value(name, &text, why));
                    }
                }
            }
            "grpc-method" => self.grpc_method = text,
            "http-port" => self.serve.http = text,
            "grpc-port" => self.serve.grpc = text,
            "redirect-port" => self.serve.redirect = text,
            "tcp-port" => self.serve.tcp = text,
            "udp-port" => self.serve.udp = text,
            "ui-path" => self.serve.ui_path = text,
            "echo-debug-path" => self.serve.debug_path = text,
            "echo-server-default-params" => self.serve.default_params = text,
            "base-url" => self.serve.base_url = text,
            "sync" => self.serve.sync_url = text,
            "P" => self.serve.proxies.push(text),
            "M" => self.refuse("-M", "run `plimsoll proxy`"),
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
        ends.sort_unstable();
        let [min, max] = ends;
        self.command.connection_reuse = (max > 0).then_some([min.max(1), max]);
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

    fn finish(mut self, kind: Kind, operands: &[String]) -> Result<Task, UsageText> {
        let kind = if kind == Kind::Load && self.is_curl { Kind::Curl } else { kind };
        if kind == Kind::Netcat {
            return self.netcat(operands);
        }
        if operands.len() > 1 {
            return Err(too_many(operands));
        }
        self.command.percentiles = percentiles(&self.percentiles)
            .map_err(|why| wrong(&format!("Unable to extract percentiles from -p: {why}")))?;
        if let Kind::Serve(kind) = kind {
            return self.serve(kind, operands);
        }
        let Some(target) = operands.first() else {
            return Err(wrong(match kind {
                Kind::GrpcPing => {
                    "Error: fortio grpcping needs host argument in the form of host, host:port or \
                     ip:port"
                }
                _ => "Error: fortio load/curl needs a URL or destination",
            }));
        };
        self.command.target.clone_from(target);
        match kind {
            Kind::Load => self.load(),
            Kind::GrpcPing => self.grpc_ping(),
            _ => self.curl(),
        }
    }

    fn load(mut self) -> Result<Task, UsageText> {
        self.calculate_qps()?;
        for scheme in ["tcp://", "udp://"] {
            if self.command.target.starts_with(scheme) {
                self.refuse(scheme, "HTTP and gRPC are");
            }
        }
        if self.streams {
            self.refuse("-stream", "give -payload-file");
        }
        let log = AccessLog { path: self.log_file.clone(), is_influx: self.is_influx };
        self.command.access_log = Some(log).filter(|log| !log.path.is_empty());
        if self.is_grpc {
            self.command.call = Some(match (self.grpc_method.is_empty(), self.is_ping) {
                (false, _) => Call::Method(std::mem::take(&mut self.grpc_method)),
                (true, true) => Call::Ping { delay_ns: self.delay_ns },
                (true, false) => Call::Health(std::mem::take(&mut self.health_service)),
            });
            let streams = u64::from(self.command.streams);
            let threads = u64::from(self.command.threads) * streams;
            self.command.threads = u32::try_from(threads)
                .ok()
                .filter(|threads| i64::from(*threads) <= THREADS_MAX)
                .ok_or_else(|| refused("-c times -s is too many: lower one of them"))?;
        }
        let command = self.command.clone();
        self.done(Task::Load(Box::new(command)))
    }

    fn curl(self) -> Result<Task, UsageText> {
        let mut command = self.command.clone();
        command.h2 |= self.streams;
        let curl = Curl { command, stdout_headers: self.stdout_headers, streams: self.streams };
        self.done(Task::Curl(Box::new(curl)))
    }

    fn grpc_ping(mut self) -> Result<Task, UsageText> {
        let count = u32::try_from(self.command.exactly.max(1))
            .ok()
            .filter(|count| *count <= PINGS_MAX)
            .ok_or_else(|| refused(&format!("-n is too many: give {PINGS_MAX} or fewer")))?;
        self.command.call = Some(match self.is_health {
            true => Call::Health(std::mem::take(&mut self.health_service)),
            false => Call::Ping { delay_ns: self.delay_ns },
        });
        let (command, is_health) = (self.command.clone(), self.is_health);
        self.done(Task::GrpcPing(Box::new(GrpcPing { command, count, is_health })))
    }

    /// `host:port`, or `host port`.
    fn netcat(self, operands: &[String]) -> Result<Task, UsageText> {
        let target = match operands {
            [] => {
                let line = "Error: fortio nc needs a host:port or host port destination";
                return Err(wrong(line));
            }
            [target] => target.clone(),
            [host, port] => format!("{host}:{port}"),
            _ => {
                let count = operands.len();
                return Err(wrong(&format!("At most 2 arguments expected, got {count}")));
            }
        };
        let is_udp = target.starts_with("udp://");
        let stops_on_eof = !self.outlives_eof;
        self.done(Task::Netcat(Netcat { target, is_udp, stops_on_eof }))
    }

    fn serve(mut self, kind: ServeKind, operands: &[String]) -> Result<Task, UsageText> {
        if !operands.is_empty() {
            return Err(wrong("Error: too many arguments (typo in a flag?)"));
        }
        let mut serve = std::mem::replace(&mut self.serve, Serve::new()).only(kind);
        if kind == ServeKind::Proxies && serve.proxies.is_empty() {
            return Err(wrong("Error: fortio proxies command needs at least one -P / -M flag"));
        }
        serve.data_dir.clone_from(&self.command.data_dir);
        serve.cert.clone_from(&self.command.cert);
        serve.key.clone_from(&self.command.key);
        serve.threads = self.command.workers;
        serve.command = self.command.clone();
        self.done(Task::Serve(Box::new(serve)))
    }

    /// The task, unless something of it is not done here.
    fn done(self, task: Task) -> Result<Task, UsageText> {
        match self.refused {
            Some(line) => Err(refused(&line)),
            None => Ok(task),
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
pub(super) fn header(text: &str) -> Option<(String, Option<String>)> {
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

pub(super) fn percentiles(list: &str) -> Result<Vec<f64>, String> {
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
