//! The command line: ab's options, its order of checks and its messages, and a few options of our
//! own.
//!
//! Numbers are read as C's `atoi` reads them, because scripts may rely on that. If `atoi` makes
//! another number of what was written, a warning says so.

use plimsoll_core::plan::{DriverPlan, Endpoint, Spin, TlsVersions};

use super::{Command, HtmlAttributes, text, url};
use crate::UsageText;
use crate::getopt::{self, Item, Long, Spec};

/// The most connections, as ab has it.
const CONCURRENCY_MAX: i32 = 200_000;

/// How many requests `-t` stands for.
const TIMED_REQUESTS: i32 = 50_000;

/// The most seconds of a limit: a year, so that nanoseconds do not overflow.
const SECONDS_MAX: i32 = 31_536_000;

const SHORT: &str = "+n:c:t:s:b:T:p:u:v:lrkVhwiIx:y:z:C:H:P:A:g:X:de:SqB:m:Z:f:E:";

const LONG: [Long; 5] = [
    Long { name: "as-original", takes: false, key: '1' },
    Long { name: "driver", takes: true, key: '2' },
    Long { name: "spin", takes: true, key: '3' },
    Long { name: "json-result", takes: true, key: '4' },
    Long { name: "quiet", takes: false, key: '5' },
];

/// Reads the arguments that follow the program's name.
///
/// # Errors
/// What to print instead of a run: the version or the usage that was asked for, or what is wrong.
pub fn parse(program: &str, arguments: &[String]) -> Result<Command, UsageText> {
    let spec = Spec { program, short: SHORT, long: &LONG };
    let items =
        getopt::parse(arguments, &spec).map_err(|line| UsageText::wrong(program, &[&line]))?;
    let mut reader = Reader::new(program);
    let mut operands = Vec::new();
    for item in items {
        match item {
            Item::Option(key, value) => reader.option(key, value.unwrap_or_default())?,
            Item::Operand(operand) => operands.push(operand),
        }
    }
    reader.finish(&operands)
}

/// What was read so far.
struct Reader<'p> {
    program: &'p str,
    command: Command,
    requests: i32,
    concurrency: i32,
    /// Whether an option has named the method already.
    has_method: bool,
}

impl<'p> Reader<'p> {
    fn new(program: &'p str) -> Self {
        Self { program, command: defaults(), requests: 1, concurrency: 1, has_method: false }
    }

    fn option(&mut self, key: char, value: String) -> Result<(), UsageText> {
        match key {
            'V' => return Err(UsageText::shown(text::version(None))),
            'h' => return Err(UsageText::wrong(self.program, &[])),
            'n' | 'c' | 't' | 's' | 'v' => self.number(key, &value)?,
            'i' => self.method("HEAD", "HEAD")?,
            'p' | 'u' => {
                let method = if key == 'p' { "POST" } else { "PUT" };
                self.method(method, method)?;
                self.command.body_path = Some(value);
            }
            'm' => {
                self.command.method = value;
                self.has_method = true;
            }
            'w' | 'x' | 'y' | 'z' => self.html(key, value),
            'C' | 'A' | 'P' | 'H' => self.field(key, &value),
            'B' | 'X' => self.way(key, &value)?,
            'I' | 'f' | 'Z' | 'E' => self.tls(key, value),
            'b' => self.warn("-b has no effect: the kernel sizes the buffers of sockets"),
            '2' | '3' => self.engine(key, &value)?,
            _ => self.output(key, value),
        }
        Ok(())
    }

    fn number(&mut self, key: char, value: &str) -> Result<(), UsageText> {
        let number = self.integer(key, value);
        match key {
            'n' if number <= 0 => return Err(UsageText::fatal("Invalid number of requests\n")),
            'n' => self.requests = number,
            'c' => self.concurrency = number,
            't' => {
                self.command.time_limit_s = seconds(number);
                self.requests = TIMED_REQUESTS;
            }
            's' => {
                let problem =
                    || self.refused(&format!("-s {value} leaves no time: give 1 or more"));
                self.command.timeout_s = seconds(number).ok_or_else(problem)?;
            }
            _ => {
                self.command.verbosity = number;
                if number >= 1 {
                    self.warn("-v: responses are not printed, and neither are TLS handshakes");
                }
            }
        }
        Ok(())
    }

    /// Reads a number as `atoi` does.
    fn integer(&mut self, key: char, value: &str) -> i32 {
        let number = atoi(value);
        if number.to_string() != value {
            self.warn(&format!("-{key} {value} is read as {number}"));
        }
        number
    }

    fn method(&mut self, method: &str, name: &str) -> Result<(), UsageText> {
        if self.has_method {
            return Err(UsageText::fatal(&format!("Cannot mix {name} with other methods\n")));
        }
        self.command.method = method.to_owned();
        self.has_method = true;
        Ok(())
    }

    fn html(&mut self, key: char, value: String) {
        let attributes = self.command.html.get_or_insert_with(HtmlAttributes::default);
        match key {
            'x' => attributes.table = value,
            'y' => attributes.row = value,
            'z' => attributes.cell = value,
            _ => {}
        }
    }

    fn field(&mut self, key: char, value: &str) {
        match key {
            'C' => {
                if self.command.cookie.is_some() {
                    self.warn("-C replaces the -C before it, as with ab: write 'a=1; b=2' for two");
                }
                self.command.cookie = Some(value.to_owned());
            }
            'A' | 'P' => {
                let name = if key == 'A' { "Authorization" } else { "Proxy-Authorization" };
                let credentials = value.trim_start().to_owned();
                self.command.credentials.push((name.to_owned(), credentials));
            }
            _ => self.header(value),
        }
    }

    fn header(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else {
            // Not the text: what of it would be the value can't be told.
            self.warn("a field of -H has no colon and is left out");
            return;
        };
        let value = value.trim();
        if value.is_empty() {
            self.warn(&format!("-H '{line}' has no value: the field is left out"));
        }
        self.command.headers.push((name.to_owned(), value.to_owned()));
    }

    fn way(&mut self, key: char, value: &str) -> Result<(), UsageText> {
        if key == 'B' {
            let address = value.parse().map_err(|_| {
                self.refused(&format!("-B {value} is not an address: give one of this host"))
            })?;
            self.command.bind = Some(address);
            return Ok(());
        }
        let Some((host, Some(port))) = url::host_and_port(value) else {
            let line = format!("-X {value} names no proxy: write HOST:PORT");
            return Err(self.refused(&line));
        };
        self.command.proxy = Some((host.to_owned(), port));
        Ok(())
    }

    fn tls(&mut self, key: char, value: String) {
        match key {
            'I' => self.command.sni = false,
            'E' => self.command.certificate_path = Some(value),
            'Z' => self.warn(&format!("-Z {value} has no effect: suites are not chosen")),
            _ => {
                let versions = tls_versions(&value);
                if versions.is_none() {
                    let line = format!(
                        "-f {value} has no effect: TLS 1.2 and 1.3 are offered, as with ALL"
                    );
                    self.warn(&line);
                }
                self.command.tls_versions = versions.unwrap_or_default();
            }
        }
    }

    fn engine(&mut self, key: char, value: &str) -> Result<(), UsageText> {
        let wrong = |option: &str, known: &str| {
            self.refused(&format!("--{option} {value} is unknown: give {known}"))
        };
        match (key, value) {
            ('2', "auto") => self.command.driver = DriverPlan::Auto,
            ('2', "uring") => self.command.driver = DriverPlan::Uring,
            ('2', "epoll") => self.command.driver = DriverPlan::Epoll,
            ('3', "auto") => self.command.spin = Spin::Auto,
            ('3', "on") => self.command.spin = Spin::On,
            ('3', "off") => self.command.spin = Spin::Off,
            ('2', _) => return Err(wrong("driver", "auto, uring or epoll")),
            _ => return Err(wrong("spin", "auto, on or off")),
        }
        Ok(())
    }

    /// What is left: switches, and names of files to write.
    fn output(&mut self, key: char, value: String) {
        let command = &mut self.command;
        match key {
            'T' => command.content_type = value,
            'k' => command.keep_alive = true,
            'd' => command.percentages = false,
            'S' => command.confidence = false,
            'q' => command.heartbeat = false,
            'l' => command.variable_length = true,
            'g' => command.gnuplot_path = Some(value),
            'e' => command.csv_path = Some(value),
            'r' => command.goes_on = true,
            '1' => command.as_original = true,
            '4' => command.json_path = Some(value),
            // There is no other one than --quiet.
            _ => command.quiet = true,
        }
    }

    /// What ab would have taken, or has no words for.
    fn refused(&self, line: &str) -> UsageText {
        UsageText::fatal(&format!("{}: {line}", self.program))
    }

    fn warn(&mut self, line: &str) {
        self.command.warnings.push(line.to_owned());
    }

    fn finish(mut self, operands: &[String]) -> Result<Command, UsageText> {
        let program = self.program;
        let wrong = |what: &str| UsageText::wrong(program, &[&format!("{program}: {what}")]);
        let [operand] = operands else { return Err(wrong("wrong number of arguments")) };
        self.command.endpoint = url::parse(operand).ok_or_else(|| wrong("invalid URL"))?;
        let concurrency = u32::try_from(self.concurrency).unwrap_or(0);
        if !(1..=CONCURRENCY_MAX).contains(&self.concurrency) {
            return Err(wrong(&format!("Invalid Concurrency [Range 1..{CONCURRENCY_MAX}]")));
        }
        if self.concurrency > self.requests {
            let what = "Cannot use concurrency level greater than total number of requests";
            return Err(wrong(what));
        }
        self.command.concurrency = concurrency;
        self.command.requests = u64::from(self.requests.unsigned_abs());
        Ok(self.command)
    }
}

fn defaults() -> Command {
    Command {
        endpoint: Endpoint::http("", 80, "/"),
        requests: 1,
        concurrency: 1,
        time_limit_s: None,
        timeout_s: 30,
        bind: None,
        method: "GET".to_owned(),
        body_path: None,
        content_type: "text/plain".to_owned(),
        verbosity: 0,
        html: None,
        cookie: None,
        credentials: Vec::new(),
        headers: Vec::new(),
        proxy: None,
        keep_alive: false,
        percentages: true,
        confidence: true,
        heartbeat: true,
        variable_length: false,
        gnuplot_path: None,
        csv_path: None,
        goes_on: false,
        sni: true,
        tls_versions: TlsVersions::Both,
        certificate_path: None,
        as_original: false,
        driver: DriverPlan::Auto,
        spin: Spin::Auto,
        json_path: None,
        quiet: false,
        warnings: Vec::new(),
    }
}

/// A number of seconds that a limit can have.
fn seconds(number: i32) -> Option<u64> {
    u64::try_from(number.min(SECONDS_MAX)).ok().filter(|seconds| *seconds > 0)
}

/// The versions that ab means by a name; `None` for those that are not spoken here. The beginning
/// of a name decides, in any case.
fn tls_versions(name: &str) -> Option<TlsVersions> {
    let known = [
        ("ALL", TlsVersions::Both),
        ("TLS1.2", TlsVersions::Only12),
        ("TLS1.3", TlsVersions::Only13),
    ];
    let upper = name.to_ascii_uppercase();
    known.into_iter().find(|(start, _)| upper.starts_with(start)).map(|(_, versions)| versions)
}

/// C's `atoi`: spaces, a sign, digits, and nothing of what follows; 0 without digits. What does not
/// fit saturates.
fn atoi(text: &str) -> i32 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().map_while(|byte| char::from(byte).to_digit(10));
    let mut number = 0_i64;
    for digit in digits {
        number = (number * 10 + i64::from(digit)).min(i64::from(i32::MAX));
    }
    i32::try_from(sign * number).unwrap_or(i32::MAX)
}
