//! Flags, one after the other, as far as each can be checked alone.

use plimsoll_core::plan::{DriverPlan, Spin};

use super::values::{header, level, reuse};
use super::{THREADS_MAX, bad_value, refused};
use crate::UsageText;
use crate::fortio::command::{Command, LogLevel, Payload};
use crate::fortio::task::Serve;
use crate::go_flag::{Given, Value};
use crate::numbers::go_shortest;

/// The largest random payload, bytes: fortio's, unless a flag of its server raises it.
const PAYLOAD_BYTES_MAX: i64 = 256 * 1024;

/// The most KiB of a body that a server makes: 1 GiB.
const PAYLOAD_KB_MAX: i64 = 1 << 20;

/// What was read so far.
pub(super) struct Reader {
    pub(super) command: Command,
    pub(super) percentiles: String,
    pub(super) calculates_qps: bool,
    pub(super) has_duration: bool,
    pub(super) is_grpc: bool,
    pub(super) is_ping: bool,
    pub(super) health_service: String,
    pub(super) grpc_method: String,
    pub(super) delay_ns: i64,
    pub(super) log_file: String,
    pub(super) is_influx: bool,
    pub(super) serve: Serve,
    /// `-curl`, `-curl-stdout-headers`, `-stream`, `-health`, `-nc-dont-stop-on-eof`.
    pub(super) is_curl: bool,
    pub(super) stdout_headers: bool,
    pub(super) streams: bool,
    pub(super) is_health: bool,
    pub(super) outlives_eof: bool,
    /// Why the command is refused. An error of the command line comes before it.
    pub(super) refused: Option<String>,
}

impl Reader {
    pub(super) fn new() -> Self {
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

    pub(super) fn read(mut self, given: Given) -> Result<Self, UsageText> {
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
            "multi-mirror-origin" => self.serve.multi_mirrors = on,
            "multi-serial-mode" => self.serve.multi_in_turn = on,
            "L" => command.follows_redirects = on,
            "halfclose" => command.half_close = on,
            _ => {}
        }
    }

    /// Notes what cannot be done; the first of it is what the user reads.
    pub(super) fn refuse(&mut self, what: &str, advice: &str) {
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
            "user" => command.credentials = text.as_str().into(),
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
            "M" => self.serve.multis.push(text),
            "profile" if !text.is_empty() => {
                self.refuse("-profile", "profile the process with perf");
            }
            _ => {}
        }
        Ok(())
    }

    fn reuse(&mut self, text: &str) -> Result<(), UsageText> {
        self.command.connection_reuse = reuse(text).map_err(|part| {
            let why = format!(
                "invalid value for connection reuse range, err: strconv.Atoi: parsing {part:?}: \
                 invalid syntax"
            );
            bad_value("connection-reuse", text, &why)
        })?;
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
}
