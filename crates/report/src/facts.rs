//! What several views share: which clock is the headline, how many samples support a quantile, the
//! plan in words, the tester's share of a CPU.

pub(crate) use crate::tail::{FEW_BEYOND, Tail};
use plimsoll_core::RunResult;
pub use plimsoll_core::clock::Clock;
use plimsoll_core::plan::{Body, Draft, Endpoint, HttpVersion, Order, TargetFile, VuPlan};
pub(crate) use plimsoll_core::printable::{is_harmful, printable};
use plimsoll_core::result::{Gate, Outcome};
use plimsoll_core::schedule::{Arrival, Profile};
pub(crate) use plimsoll_core::units::counted;
use plimsoll_core::units::{format_count, format_duration, format_ns};
use plimsoll_core::verdict::Cause;

/// Where a clock starts.
pub(crate) fn origin(clock: Clock, plan: &Draft) -> &'static str {
    match clock {
        Clock::Response if plan.vus.is_some() => "from when asked for",
        Clock::Response if plan.is_open_loop() => "from schedule",
        Clock::Response => "from due time",
        Clock::Service => "from send",
    }
}

/// The quantiles that reports show: label and rank in ten thousandths.
pub(crate) const QUANTILES: [(&str, u64); 7] = [
    ("p50", 5000),
    ("p75", 7500),
    ("p90", 9000),
    ("p95", 9500),
    ("p99", 9900),
    ("p99.9", 9990),
    ("p99.99", 9999),
];

/// Over what a run's rates are averaged, where they differ on the way: its figures are those of
/// no load that it had.
pub(crate) fn averaged(result: &RunResult) -> Option<String> {
    let stages = &result.plan.rate.as_ref()?.stages;
    match stages.as_slice() {
        [only] => (only.from_uhz != only.to_uhz).then(|| "over the ramp".to_owned()),
        several => Some(format!("over {} stages", several.len())),
    }
}

/// The command that explains the causes of a verdict; `None` without any.
pub(crate) fn explain_command<'a>(causes: impl IntoIterator<Item = &'a Cause>) -> Option<String> {
    let mut codes: Vec<&str> = Vec::new();
    for cause in causes {
        if !codes.contains(&cause.code.as_str()) {
            codes.push(&cause.code);
        }
    }
    (!codes.is_empty()).then(|| format!("plimsoll explain {}", codes.join(" ")))
}

/// What is wrong besides the tester's causes: a ledger that does not balance, an early end, times
/// that no bucket holds.
pub(crate) fn caveats(result: &RunResult) -> Vec<String> {
    let mut caveats = Vec::new();
    if let Err(imbalance) = result.ledger.check() {
        caveats.push(format!("{imbalance}: please report this"));
    }
    let elapsed = format_ns(result.elapsed_ns);
    if result.interrupted && result.aborted.is_none() {
        caveats.push(format!("interrupted after {elapsed}: this is what had happened until then"));
    }
    caveats.extend(result.metrics.conflicts());
    let beyond_hour = result.latency.response.beyond_hour();
    if beyond_hour > 0 {
        caveats.push(format!(
            "{} of more than an hour: quantiles show an hour, the maximum is exact",
            counted(beyond_hour, "response time")
        ));
    }
    caveats
}

/// If they differ from those of the rate by this share, responses to the last are shown.
const RATE_DIFFERS: f64 = 0.01;

/// All responses over the time until the last, of a run of a number of requests, where that is
/// another figure than the rate.
pub(crate) fn rate_to_last(result: &RunResult) -> Option<f64> {
    let rate = &result.rate;
    let to_last_rps = rate.to_last_rps.filter(|_| result.plan.requests.is_some())?;
    let differs = (to_last_rps - rate.achieved_rps).abs() >= RATE_DIFFERS * rate.achieved_rps;
    differs.then_some(to_last_rps)
}

/// The gates, those that failed first, then those that are undecided.
pub(crate) fn gates(result: &RunResult) -> Vec<&Gate> {
    let mut gates: Vec<&Gate> = result.gates.iter().collect();
    gates.sort_by_key(|gate| match gate.outcome() {
        Outcome::Fail => 0,
        Outcome::Undecided => 1,
        Outcome::Pass => 2,
    });
    gates
}

/// A share of a whole in percent, with the digits a person needs.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let share = if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
    match share {
        0.0 => "0 %".to_owned(),
        s if s < 0.01 => "< 0.01 %".to_owned(),
        s if s > 99.99 && part < whole => "> 99.99 %".to_owned(),
        s if s < 1.0 => format!("{s:.2} %"),
        s if s < 10.0 || (s > 99.0 && part < whole) => format!("{s:.1} %"),
        s => format!("{s:.0} %"),
    }
}

/// Stages that are spelled out; of more, only the first and the last are.
const STAGES_SHOWN: usize = 3;

fn profile_words(profile: &Profile) -> String {
    let stages: Vec<String> = match profile.stages.as_slice() {
        [only] => vec![only.words()],
        several => several
            .iter()
            .map(|stage| {
                let time = stage.duration_ns.map(|ns| format!(" for {}", format_duration(ns)));
                stage.words() + &time.unwrap_or_default()
            })
            .collect(),
    };
    let rates = match stages.as_slice() {
        [first, .., last] if stages.len() > STAGES_SHOWN => {
            format!("{first}, … {last} ({} stages)", stages.len())
        }
        _ => stages.join(", "),
    };
    match profile.arrival {
        Arrival::Uniform => rates,
        Arrival::Poisson => format!("{rates}, Poisson arrivals"),
    }
}

/// What a run is about: what is sent or, of several scenarios, their names.
pub(crate) fn subject(result: &RunResult) -> String {
    if result.scenarios.is_empty() {
        return request_words(&result.plan);
    }
    let script = result.plan.vus.as_ref().map(|_| request_words(&result.plan));
    let names: Vec<&str> = result.scenarios.iter().map(|it| it.name.as_str()).collect();
    let names = format!("{}: {}", counted(names.len() as u64, "scenario"), names.join(", "));
    script.map_or_else(|| names.clone(), |script| format!("{script}, {names}"))
}

/// What is sent: method and URL or, of several targets, how many from where, how they are taken,
/// and the first.
pub(crate) fn request_words(plan: &Draft) -> String {
    if plan.vus.is_some() {
        let script = plan.script.as_ref().map_or("", |script| script.path.as_str());
        return format!("script {script}");
    }
    // The targets of a script are what it has made of the one request.
    let Some(first) = plan.targets.first().filter(|_| plan.script.is_none()) else {
        if plan.endpoint.is_websocket() {
            return format!("messages to {}", plan.endpoint);
        }
        if plan.endpoint.is_echo() {
            return format!("bytes to {} and back", plan.endpoint);
        }
        return format!("{} {}", plan.request.method, plan.endpoint);
    };
    let url = Endpoint { path: first.path.clone(), ..plan.endpoint.clone() };
    let (count, from) = match &plan.target_file {
        Some(TargetFile { path, count }) if path == "-" => (*count, " from stdin".to_owned()),
        Some(TargetFile { path, count }) => (*count, format!(" from {path}")),
        None => (plan.targets.len() as u64, String::new()),
    };
    let order = match plan.order {
        Order::Sequential => "in turn",
        Order::Random => "at random",
        Order::Weighted => "by weight",
    };
    if plan.endpoint.is_websocket() {
        return format!("{} {order} to {url}", counted(count, "message"));
    }
    format!("{}{from} {order}, first {} {url}", counted(count, "target"), first.request.method)
}

/// The load in a few words each: connections, rate, length, driver, and what is out of the
/// ordinary.
pub(crate) fn load_words(result: &RunResult) -> Vec<String> {
    let plan = &result.plan;
    if let Some(vus) = &plan.vus {
        return vu_words(vus, result);
    }
    let connections = match plan.connections_max {
        Some(max) => format!("{}..{}", plan.connections, counted(max.into(), "connection")),
        None => counted(plan.connections.into(), "connection"),
    };
    let mut words = vec![connections];
    words.extend(match (&plan.rate, &plan.trace) {
        (Some(profile), _) => Some(profile_words(profile)),
        (None, Some(trace)) => Some(format!("times from {}", trace.path)),
        (None, None) if result.scenarios.is_empty() => Some("closed loop".to_owned()),
        // Each scenario has a schedule of its own, or none.
        (None, None) => None,
    });
    words.extend(match (plan.requests, plan.duration_ns.map(format_duration)) {
        (Some(requests), None) => Some(counted(requests, "request")),
        (Some(requests), Some(limit)) => {
            Some(format!("{}, at most {limit}", counted(requests, "request")))
        }
        (None, duration) => duration,
    });
    if !result.loader.driver.kind.is_empty() {
        let threads = counted(result.loader.workers.into(), "thread");
        words.push(format!("{}, {threads}", result.loader.driver.kind));
    }
    match plan.http_version {
        _ if plan.endpoint.is_websocket() || plan.endpoint.is_echo() => {
            words.push(version_words(result));
        }
        HttpVersion::Http1 if plan.request.http_minor == 0 => words.push("HTTP/1.0".to_owned()),
        HttpVersion::Http1 => {}
        HttpVersion::Http2 | HttpVersion::Auto => words.push(version_words(result)),
    }
    if plan.http2.streams > 1 && speaks_http2(result) {
        words.push(format!("{} streams per connection", plan.http2.streams));
    }
    if plan.websocket.in_flight > 1 {
        words.push(format!("{} messages in flight per connection", plan.websocket.in_flight));
    }
    if plan.pipeline > 1 {
        words.push(format!("{} pipelined", plan.pipeline));
    }
    if let Some(requests) = plan.requests_per_connection {
        words.push(format!("{} per connection", counted(requests, "request")));
    }
    if let Some(body) = &plan.request.body {
        let what = if plan.endpoint.is_websocket() { "messages" } else { "body" };
        let bytes = plimsoll_core::units::format_bytes(body_bytes(body));
        words.push(format!("{what} of {bytes}"));
    }
    words
}

/// The load of a script: what each scenario does, and the driver.
fn vu_words(vus: &VuPlan, result: &RunResult) -> Vec<String> {
    let mut words: Vec<String> = match vus.scenarios.as_slice() {
        [only] => vec![format!("{}: {}", only.executor, only.load)],
        // Each has a row of its own.
        several => vec![counted(several.iter().map(|it| it.vus_max).sum(), "virtual user")],
    };
    if !result.loader.driver.kind.is_empty() {
        let threads = counted(result.loader.workers.into(), "thread");
        words.push(format!("{}, {threads}", result.loader.driver.kind));
    }
    words
}

/// Which version of HTTP was spoken, as far as the run has found out.
pub(crate) fn version_words(result: &RunResult) -> String {
    let plan = &result.plan;
    let of_http1 = || format!("HTTP/1.{}", plan.request.http_minor);
    match plan.http_version {
        _ if plan.endpoint.is_websocket() => "WebSocket".to_owned(),
        _ if plan.endpoint.is_echo() => plan.endpoint.scheme.to_ascii_uppercase(),
        HttpVersion::Http1 => of_http1(),
        HttpVersion::Http2 => "HTTP/2".to_owned(),
        HttpVersion::Auto if result.protocols.is_empty() => "HTTP/2 or HTTP/1.1".to_owned(),
        HttpVersion::Auto if speaks_http2(result) => "HTTP/2, as agreed in TLS".to_owned(),
        HttpVersion::Auto => of_http1(),
    }
}

fn speaks_http2(result: &RunResult) -> bool {
    let is_asked_for = result.plan.http_version == HttpVersion::Http2;
    is_asked_for || result.protocols.iter().any(|protocol| protocol.name == "h2")
}

/// How long the request's body is.
pub(crate) fn body_bytes(body: &Body) -> u64 {
    match body {
        Body::Omitted { bytes, .. } => *bytes,
        kept => kept.as_bytes().len() as u64,
    }
}

/// The tester's CPU time as shares of one core: at work, and spinning towards a deadline.
pub(crate) fn tester_cores(result: &RunResult) -> (f64, f64) {
    let loader = &result.loader;
    let total_ns = loader.cpu_user_ns + loader.cpu_system_ns;
    let elapsed_ns = result.elapsed_ns.max(1) as f64;
    let work_ns = total_ns.saturating_sub(loader.spin_ns);
    (work_ns as f64 / elapsed_ns, (total_ns - work_ns) as f64 / elapsed_ns)
}

/// Requests that did not complete, by the ledger's words, those that happened.
pub(crate) fn incomplete_words(result: &RunResult) -> Vec<String> {
    let ledger = &result.ledger;
    [
        (ledger.refused, "refused"),
        (ledger.timed_out, "timed out"),
        (ledger.broken, "broken"),
        (ledger.unfinished, "unfinished"),
        (ledger.unsent, "unsent"),
        (ledger.shed, "shed"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{} {word}", format_count(*count)))
    .collect()
}

/// A text from elsewhere that is to be read back: everything harmful is escaped, as `\\x1b` and
/// `\\u{202e}`; the end of a line too, so that nothing foreign begins a line of its own.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|letter| push_escaped(letter, &mut shown));
    shown
}

/// Appends a character, escaped where a terminal could take it for something other than text.
pub(crate) fn push_escaped(letter: char, line: &mut String) {
    match u32::from(letter) {
        _ if letter == '\t' || !is_harmful(letter) => line.push(letter),
        code @ 0..=0xff => line.push_str(&format!("\\x{code:02x}")),
        code => line.push_str(&format!("\\u{{{code:x}}}")),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{Request, Script, Target};

    use super::*;
    use crate::samples;

    /// In every view, of a run of a number of requests alone.
    #[test]
    fn the_rate_to_the_last_response_is_shown_where_it_is_another() {
        type View = fn(&RunResult, &mut dyn std::io::Write) -> std::io::Result<()>;
        let text: View =
            |result, out| crate::text::write(result, out, crate::text::Style::default());
        for (requests, to_last_rps, is_shown) in [
            (Some(4000), Some(61.0), true),
            (Some(4000), Some(99.5), false),
            (Some(4000), None, false),
            (None, Some(61.0), false),
        ] {
            let mut result = samples::steady();
            result.plan.requests = requests;
            result.rate.achieved_rps = 100.0;
            result.rate.to_last_rps = to_last_rps;
            for view in [text, crate::markdown::write, crate::html::write] {
                let mut bytes = Vec::new();
                view(&result, &mut bytes).expect("memory takes it");
                let shown = String::from_utf8(bytes).expect("text");
                let has = ["to last ", "to the last"].iter().any(|words| shown.contains(words));
                assert_eq!(has, is_shown, "{requests:?}, {to_last_rps:?}: {shown}");
            }
        }
    }

    #[test]
    fn percents_never_round_to_none_or_all() {
        let cases = [
            (0, 10, "0 %"),
            (10, 10, "100 %"),
            (1, 1_000_000, "< 0.01 %"),
            (999_999, 1_000_000, "> 99.99 %"),
            (995, 1_000, "99.5 %"),
            (1, 200, "0.50 %"),
            (1, 30, "3.3 %"),
            (1, 2, "50 %"),
            (0, 0, "0 %"),
        ];
        for (part, whole, want) in cases {
            assert_eq!(percent(part, whole), want);
        }
    }

    #[test]
    fn a_plan_in_words() {
        let words = |result: &RunResult| load_words(result).join(" · ");
        assert_eq!(
            words(&samples::steady()),
            "50 connections · closed loop · 10s · uring, 2 threads"
        );
        assert_eq!(words(&samples::stall()), "50 connections · 1 000/s · 10s · uring, 1 thread");
        let mut result = samples::ramp();
        assert_eq!(
            words(&result),
            "64 connections · 100 to 2 000/s for 10s, 2 000/s for 20s, Poisson arrivals · 30s · \
             epoll, 1 thread"
        );
        result.plan.pipeline = 4;
        result.plan.requests_per_connection = Some(1);
        result.plan.request.http_minor = 0;
        result.plan.request.body = Some(Body::Omitted { bytes: 5000, fingerprint: String::new() });
        let rate = result.plan.rate.as_mut().unwrap();
        rate.stages = vec![rate.stages[1]; 5];
        rate.arrival = Arrival::Uniform;
        assert_eq!(
            words(&result),
            "64 connections · 2 000/s for 20s, … 2 000/s for 20s (5 stages) · 30s · epoll, 1 thread \
             · HTTP/1.0 · 4 pipelined · 1 request per connection · body of 4.88 KiB"
        );
    }

    #[test]
    fn several_targets_in_words() {
        let target = |path: &str| Target {
            name: path.to_owned(),
            path: path.into(),
            request: Request::get(),
            weight: 1,
            expect: Vec::new(),
        };
        let mut plan = samples::stall().plan;
        plan.targets = vec![target("/a?token=x"), target("/b")];
        let url = "GET http://127.0.0.1:8080/a?token=";
        let words = request_words(&plan.record());
        assert!(words.starts_with(&format!("2 targets in turn, first {url}[masked")), "{words}");
        plan.targets.swap(0, 1);
        plan.target_file = Some(TargetFile { path: "list.toml".to_owned(), count: 5000 });
        plan.order = Order::Weighted;
        assert_eq!(
            request_words(&plan),
            "5 000 targets from list.toml by weight, first GET http://127.0.0.1:8080/b"
        );
        plan.target_file = Some(TargetFile { path: "-".to_owned(), count: 1 });
        plan.order = Order::Random;
        assert_eq!(
            request_words(&plan),
            "1 target from stdin at random, first GET http://127.0.0.1:8080/b"
        );
        plan.script =
            Some(Script { path: "x.lua".to_owned(), text: "".into(), arguments: Vec::new() });
        assert_eq!(request_words(&plan), "GET http://127.0.0.1:8080/");
    }

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        assert_eq!(
            printable("a\x1b[31mb\r\n\u{202e}c\u{9b}d é"),
            "a\u{fffd}[31mb\u{fffd}\u{fffd}\u{fffd}c\u{fffd}d é"
        );
    }
}
