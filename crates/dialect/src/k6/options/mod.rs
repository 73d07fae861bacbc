//! Options: their names, how each is read, and what the sources of a run make of them together.
//!
//! The table below is the one place that names an option. From it follow the fields of [`Options`],
//! the keys of scripts and configuration files, and the variables of the environment. Flags are a
//! struct of their own ([`Flags`]), since they are fewer and have other units.

mod consolidate;
mod flags;
mod network;
mod tls;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use consolidate::{Configuration, Sources, consolidate};
pub use flags::Flags;
pub use network::{BlockedHosts, Cidr, Dns, DnsTtl, HostAddress, Hosts, LocalIps};
pub use tls::{CIPHER_SUITES, CipherSuite, ClientCertificate, TlsRange, TlsVersion};
pub use value::Ns;
pub(in crate::k6) use value::{OptionValue, field, shortened};

use super::exit::Refused;
use super::metrics::{SystemTags, TrendStat};
use super::scenario::Draft;
use super::segment::{Segment, Sequence};
use super::threshold::ThresholdText;

/// A stage as it is written; which parts it must have depends on its scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stage {
    /// How long it lasts.
    pub duration: Option<Ns>,
    /// VUs or iterations at its end.
    pub target: Option<i64>,
}

macro_rules! options {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty, $json:literal, $env:literal;)+) => {
        /// What one source sets; `None`: nothing.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Options {
            $($(#[doc = $doc])+ pub $field: Option<$type>,)+
        }

        /// Names of options in JSON and in the environment; empty where they have none.
        pub const NAMES: &[(&str, &str)] = &[$(($json, $env)),+];

        impl Options {
            /// Sets the option with this name in JSON; `false` if no option has it.
            fn set_json(&mut self, name: &str, value: &Value) -> Result<bool, String> {
                match name {
                    $($json if !$json.is_empty() => {
                        self.$field = Some(<$type as OptionValue>::from_json(value)?);
                    })+
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// Sets what variables of the environment say; empty ones say nothing.
            fn set_environment(
                &mut self,
                lookup: &dyn Fn(&str) -> Option<String>,
            ) -> Result<(), String> {
                $(if let Some(text) = variable($env, lookup) {
                    let value = <$type as OptionValue>::from_text(&text);
                    self.$field = Some(value.map_err(|what| format!("{}: {what}", $env))?);
                })+
                Ok(())
            }

            /// Name and value of each option that has a name in JSON; null: it is not set.
            #[must_use]
            pub fn named(&self) -> Vec<(&'static str, Value)> {
                let mut all = vec![$((
                    $json,
                    self.$field.as_ref().map_or(Value::Null, OptionValue::to_json),
                )),+];
                all.retain(|(name, _)| !name.is_empty());
                all
            }

            /// Sets what a source of higher precedence sets.
            fn overlay(&mut self, over: &Self) {
                $(match (&mut self.$field, &over.$field) {
                    (_, None) => {}
                    (Some(value), Some(over)) => value.overlay(over),
                    (value, Some(over)) => *value = Some(over.clone()),
                })+
            }
        }
    };
}

options! {
    /// Start paused.
    paused: bool, "paused", "K6_PAUSED";
    /// VUs of a shortcut.
    vus: i64, "vus", "K6_VUS";
    /// Duration of a shortcut.
    duration: Ns, "duration", "K6_DURATION";
    /// Iterations of a shortcut.
    iterations: i64, "iterations", "K6_ITERATIONS";
    /// Stages of a shortcut.
    stages: Vec<Stage>, "stages", "K6_STAGES";
    /// Scenarios by name.
    scenarios: BTreeMap<String, Draft>, "scenarios", "";
    /// The part of the run that this process does.
    execution_segment: Segment, "executionSegment", "";
    /// All parts.
    execution_segment_sequence: Sequence, "executionSegmentSequence", "";
    /// Call no `setup()`.
    no_setup: bool, "noSetup", "K6_NO_SETUP";
    /// How long `setup()` may take.
    setup_timeout: Ns, "setupTimeout", "K6_SETUP_TIMEOUT";
    /// Call no `teardown()`.
    no_teardown: bool, "noTeardown", "K6_NO_TEARDOWN";
    /// How long `teardown()` may take.
    teardown_timeout: Ns, "teardownTimeout", "K6_TEARDOWN_TIMEOUT";
    /// How long `handleSummary()` may take.
    handle_summary_timeout: Ns, "handleSummaryTimeout", "K6_HANDLE_SUMMARY_TIMEOUT";
    /// Requests per second of all VUs at most; 0: any.
    rps: i64, "rps", "K6_RPS";
    /// How names are looked up.
    dns: Dns, "dns", "K6_DNS";
    /// Redirects that are followed.
    max_redirects: i64, "maxRedirects", "K6_MAX_REDIRECTS";
    /// The field User-Agent.
    user_agent: String, "userAgent", "K6_USER_AGENT";
    /// Requests of a batch at one time.
    batch: i64, "batch", "K6_BATCH";
    /// Requests of a batch to one host at one time.
    batch_per_host: i64, "batchPerHost", "K6_BATCH_PER_HOST";
    /// Log requests and responses; `full`: with bodies.
    http_debug: String, "httpDebug", "K6_HTTP_DEBUG";
    /// Trust any certificate.
    insecure_skip_tls_verify: bool, "insecureSkipTLSVerify", "K6_INSECURE_SKIP_TLS_VERIFY";
    /// Cipher suites to offer.
    tls_cipher_suites: Vec<CipherSuite>, "tlsCipherSuites", "K6_TLS_CIPHER_SUITES";
    /// Versions of TLS to offer.
    tls_version: TlsRange, "tlsVersion", "";
    /// Certificates of the client.
    tls_auth: Vec<ClientCertificate>, "tlsAuth", "K6_TLSAUTH";
    /// Throw an exception when a request fails.
    throw: bool, "throw", "K6_THROW";
    /// Thresholds by metric.
    thresholds: BTreeMap<String, Vec<ThresholdText>>, "thresholds", "K6_THRESHOLDS";
    /// Addresses that requests must not go to.
    blacklist_ips: Vec<Cidr>, "blacklistIPs", "K6_BLACKLIST_IPS";
    /// Names that requests must not go to.
    block_hostnames: BlockedHosts, "blockHostnames", "K6_BLOCK_HOSTNAMES";
    /// Addresses for names.
    hosts: Hosts, "hosts", "K6_HOSTS";
    /// Close each connection after a request.
    no_connection_reuse: bool, "noConnectionReuse", "K6_NO_CONNECTION_REUSE";
    /// Close a VU's connections after each iteration.
    no_vu_connection_reuse: bool, "noVUConnectionReuse", "K6_NO_VU_CONNECTION_REUSE";
    /// How long an iteration takes at least.
    min_iteration_duration: Ns, "minIterationDuration", "K6_MIN_ITERATION_DURATION";
    /// For the cloud; kept and not used.
    cloud: Value, "cloud", "";
    /// For extensions; kept and not used.
    ext: Value, "ext", "";
    /// Figures of trends that the summary shows.
    summary_trend_stats: Vec<TrendStat>, "summaryTrendStats", "K6_SUMMARY_TREND_STATS";
    /// The unit of times in the summary.
    summary_time_unit: String, "summaryTimeUnit", "K6_SUMMARY_TIME_UNIT";
    /// Tags that are set by themselves.
    system_tags: SystemTags, "systemTags", "K6_SYSTEM_TAGS";
    /// Tags of all samples.
    tags: BTreeMap<String, String>, "tags", "K6_TAGS";
    /// Room for samples; kept and not used.
    metric_samples_buffer_size: i64, "metricSamplesBufferSize", "K6_METRIC_SAMPLES_BUFFER_SIZE";
    /// Keep cookies from one iteration to the next.
    no_cookies_reset: bool, "noCookiesReset", "K6_NO_COOKIES_RESET";
    /// Read bodies of responses and drop them.
    discard_response_bodies: bool, "discardResponseBodies", "K6_DISCARD_RESPONSE_BODIES";
    /// Where `console` writes.
    console_output: String, "", "K6_CONSOLE_OUTPUT";
    /// Addresses to connect from.
    local_ips: LocalIps, "", "K6_LOCAL_IPS";
    /// Experimental features; kept and not used.
    features: Vec<String>, "features", "";
    /// Outputs.
    out: Vec<String>, "", "K6_OUT";
    /// Stay when the run has ended.
    linger: bool, "", "K6_LINGER";
}

/// Keys of a configuration file beside options.
const FILE_KEYS: [&str; 6] =
    ["out", "linger", "noUsageReport", "webDashboard", "noArchiveUpload", "collectors"];

fn variable(name: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if name.is_empty() { None } else { lookup(name).filter(|text| !text.is_empty()) }
}

impl Options {
    /// Reads what a script exports as `options`, as JSON. Keys that are not options are warned of.
    ///
    /// # Errors
    /// An option that cannot be read; exit code 104.
    pub fn from_script(value: &Value, warnings: &mut Vec<String>) -> Result<Self, Refused> {
        let source = "the options of the script";
        let entries = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(entries) => entries,
            _ => {
                let what = format!("{source} are not an object: export const options = {{…}}");
                return Err(Refused::config(what));
            }
        };
        let mut options = Self::default();
        for (name, value) in entries {
            if !options.read(source, name, value)? {
                warnings.push(unknown(source, name));
            }
        }
        Ok(options)
    }

    /// Reads a configuration file, which is JSON and may say a little more than a script.
    ///
    /// # Errors
    /// A file that is not JSON, or an option that cannot be read; exit code 104.
    pub fn from_file(path: &str, text: &str, warnings: &mut Vec<String>) -> Result<Self, Refused> {
        let json: Value = serde_json::from_str(text).map_err(|error| {
            Refused::config(format!("{path}, line {}: {}", error.line(), plain(&error)))
        })?;
        let entries = json.as_object().ok_or_else(|| {
            Refused::config(format!("{path} is not an object of options: write {{\"vus\": 1}}"))
        })?;
        let mut options = Self::default();
        for (name, value) in entries {
            let wrong = |what| Refused::config(format!("{path}: option '{name}': {what}"));
            match (folded(name, FILE_KEYS), value) {
                (Some("out"), Value::Array(_)) => {
                    options.out = Some(Vec::<String>::from_json(value).map_err(wrong)?);
                }
                (Some("out"), Value::String(text)) => options.out = Some(vec![text.clone()]),
                (Some("linger"), Value::Bool(linger)) => options.linger = Some(*linger),
                _ if options.read(path, name, value)? => {}
                (Some("collectors"), _) => {
                    let what = "set the K6_… variables of outputs";
                    warnings.push(format!("'collectors' of {path} has no effect: {what}"));
                }
                (Some("webDashboard"), Value::Bool(true)) => {
                    let what = "K6_WEB_DASHBOARD_EXPORT=FILE writes a report at the end";
                    warnings.push(format!("'webDashboard' of {path} has no effect: {what}"));
                }
                (Some(_), _) => {}
                _ => warnings.push(unknown(path, name)),
            }
        }
        Ok(options)
    }

    /// Reads the variables of the environment. `K6_SUMMARY_MODE` and others that are not options
    /// are not among them.
    ///
    /// # Errors
    /// A variable that cannot be read; exit code 104.
    pub fn from_environment(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, Refused> {
        let mut options = Self::default();
        let read = options.set_environment(lookup);
        read.map_err(|what| Refused::config(format!("environment variable {what}")))?;
        Ok(options)
    }

    /// Whether any option says how VUs run, beside their number.
    #[must_use]
    pub fn says_how_vus_run(&self) -> bool {
        self.duration.is_some()
            || self.iterations.is_some()
            || self.stages.is_some()
            || self.scenarios.is_some()
    }

    /// All options by name, with null for those that are not set.
    #[must_use]
    pub fn document(&self) -> Value {
        self.named().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// `false` if the name is not one of an option, in whatever letter case.
    fn read(&mut self, source: &str, name: &str, value: &Value) -> Result<bool, Refused> {
        let names = NAMES.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
        let Some(name) = folded(name, names) else { return Ok(false) };
        if value.is_null() {
            return Ok(true);
        }
        let wrong = |what| Refused::config(format!("option '{name}' of {source}: {what}"));
        self.set_json(name, value).map_err(wrong)
    }
}

/// The one of these names that this is, as Go reads names in JSON: letter case does not matter.
pub(in crate::k6) fn folded<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    names.into_iter().find(|name| name.eq_ignore_ascii_case(given))
}

/// What a parser says, without its place, which the caller words.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

fn unknown(source: &str, name: &str) -> String {
    let names = NAMES.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
    let close = plimsoll_core::nearest::nearest(name, names);
    let meant = close.map(|close| format!(", did you mean '{close}'?")).unwrap_or_default();
    format!("'{}' in {source} is not an option and is ignored{meant}", shortened(name))
}

impl OptionValue for Segment {
    fn from_json(value: &Value) -> Result<Self, String> {
        Self::parse(&String::from_json(value)?)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn to_json(&self) -> Value {
        self.to_string().into()
    }
}

impl OptionValue for Sequence {
    fn from_json(value: &Value) -> Result<Self, String> {
        Self::parse(&String::from_json(value)?)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn to_json(&self) -> Value {
        self.to_string().into()
    }
}

impl OptionValue for Vec<Stage> {
    fn from_json(value: &Value) -> Result<Self, String> {
        let items = value.as_array().ok_or("it is not a list: write [{duration, target}]")?;
        let stage = |(at, item): (usize, &Value)| {
            let wrong = |what: String| format!("stage {}: {what}", at + 1);
            let fields = item.as_object().ok_or_else(|| {
                wrong("it is not an object: write {duration: '10s', target: 5}".to_owned())
            })?;
            let duration = field(fields, "duration").map(Ns::from_json).transpose();
            let target = field(fields, "target").map(i64::from_json).transpose();
            Ok(Stage {
                duration: duration.map_err(|what| wrong(format!("duration: {what}")))?,
                target: target.map_err(|what| wrong(format!("target: {what}")))?,
            })
        };
        items.iter().enumerate().map(stage).collect()
    }

    /// `10s:5,1m:20`; either may be left out.
    fn from_text(text: &str) -> Result<Self, String> {
        text.split(',').map(|item| stage_of_text(item, Ns::from_text)).collect()
    }

    fn to_json(&self) -> Value {
        let duration = |stage: &Stage| stage.duration.map(|duration| duration.to_string());
        let stage = |stage| json!({ "duration": duration(stage), "target": stage.target });
        self.iter().map(stage).collect()
    }
}

fn stage_of_text(
    text: &str,
    duration: impl Fn(&str) -> Result<Ns, String>,
) -> Result<Stage, String> {
    let (before, target) = text.split_once(':').unwrap_or((text, ""));
    let given = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    Ok(Stage {
        duration: given(before).map(|text| duration(&text)).transpose()?,
        target: given(target).map(|text| i64::from_text(&text)).transpose()?,
    })
}
