//! Flags of `k6 run` that are options. A flag that cannot be read ends with exit code 255, where an
//! option ends with 104.

use std::collections::BTreeMap;

use super::network::LocalIps;
use super::value::{Ns, OptionValue, shortened};
use super::{Options, stage_of_text};
use crate::k6::exit::{ExitCode, Refused};
use crate::k6::summary::TimeUnit;

/// What stands on the command line, as text; `None`: the flag is not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `-u`, `--vus`
    pub vus: Option<String>,
    /// `-d`, `--duration`
    pub duration: Option<String>,
    /// `-i`, `--iterations`
    pub iterations: Option<String>,
    /// `-s`, `--stage`; each may have several, with commas between.
    pub stage: Vec<String>,
    /// `--execution-segment`
    pub execution_segment: Option<String>,
    /// `--execution-segment-sequence`
    pub execution_segment_sequence: Option<String>,
    /// `-p`, `--paused`
    pub paused: Option<bool>,
    /// `--no-setup`
    pub no_setup: Option<bool>,
    /// `--no-teardown`
    pub no_teardown: Option<bool>,
    /// `--max-redirects`
    pub max_redirects: Option<String>,
    /// `--batch`
    pub batch: Option<String>,
    /// `--batch-per-host`
    pub batch_per_host: Option<String>,
    /// `--rps`
    pub rps: Option<String>,
    /// `--user-agent`
    pub user_agent: Option<String>,
    /// `--http-debug`, which is `headers` without a value.
    pub http_debug: Option<String>,
    /// `--insecure-skip-tls-verify`
    pub insecure_skip_tls_verify: Option<bool>,
    /// `--no-connection-reuse`
    pub no_connection_reuse: Option<bool>,
    /// `--no-vu-connection-reuse`
    pub no_vu_connection_reuse: Option<bool>,
    /// `--min-iteration-duration`
    pub min_iteration_duration: Option<String>,
    /// `-w`, `--throw`
    pub throw: Option<bool>,
    /// `--blacklist-ip`
    pub blacklist_ip: Vec<String>,
    /// `--block-hostnames`
    pub block_hostnames: Vec<String>,
    /// `--summary-trend-stats`
    pub summary_trend_stats: Vec<String>,
    /// `--summary-time-unit`
    pub summary_time_unit: Option<String>,
    /// `--system-tags`
    pub system_tags: Vec<String>,
    /// `--tag`, each `name=value`
    pub tag: Vec<String>,
    /// `--console-output`
    pub console_output: Option<String>,
    /// `--discard-response-bodies`
    pub discard_response_bodies: Option<bool>,
    /// `--local-ips`
    pub local_ips: Option<String>,
    /// `--dns`
    pub dns: Option<String>,
    /// `-o`, `--out`
    pub out: Vec<String>,
    /// `-l`, `--linger`
    pub linger: Option<bool>,
}

impl Flags {
    /// The options that they set.
    ///
    /// # Errors
    /// The first flag that cannot be read; exit code 255.
    pub fn options(&self) -> Result<Options, Refused> {
        let tags: Option<BTreeMap<String, String>> = match self.tag.as_slice() {
            [] => None,
            tags => Some(tags.iter().map(|text| tag(text)).collect::<Result<_, _>>()?),
        };
        let time_unit = self.summary_time_unit.clone().filter(|text| !text.is_empty());
        if let Some(text) = time_unit.as_deref().filter(|text| TimeUnit::parse(text).is_none()) {
            let text = shortened(text);
            return Err(wrong("summary-time-unit", format!("'{text}' is not one of s, ms, us")));
        }
        Ok(Options {
            vus: read("vus", self.vus.as_deref())?,
            duration: duration("duration", self.duration.as_deref())?,
            iterations: read("iterations", self.iterations.as_deref())?,
            stages: self.stages()?,
            execution_segment: read("execution-segment", self.execution_segment.as_deref())?,
            execution_segment_sequence: read(
                "execution-segment-sequence",
                self.execution_segment_sequence.as_deref(),
            )?,
            paused: self.paused,
            no_setup: self.no_setup,
            no_teardown: self.no_teardown,
            max_redirects: read("max-redirects", self.max_redirects.as_deref())?,
            batch: read("batch", self.batch.as_deref())?,
            batch_per_host: read("batch-per-host", self.batch_per_host.as_deref())?,
            rps: read("rps", self.rps.as_deref())?,
            user_agent: self.user_agent.clone(),
            http_debug: self.http_debug.clone(),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            no_connection_reuse: self.no_connection_reuse,
            no_vu_connection_reuse: self.no_vu_connection_reuse,
            min_iteration_duration: duration(
                "min-iteration-duration",
                self.min_iteration_duration.as_deref(),
            )?,
            throw: self.throw,
            blacklist_ips: list("blacklist-ip", &self.blacklist_ip)?,
            block_hostnames: list("block-hostnames", &self.block_hostnames)?,
            summary_trend_stats: list("summary-trend-stats", &self.summary_trend_stats)?,
            summary_time_unit: time_unit,
            system_tags: list("system-tags", &self.system_tags)?,
            tags,
            console_output: self.console_output.clone().filter(|path| !path.is_empty()),
            discard_response_bodies: self.discard_response_bodies,
            local_ips: read::<LocalIps>("local-ips", self.local_ips.as_deref())?,
            dns: read("dns", self.dns.as_deref())?,
            out: (!self.out.is_empty()).then(|| self.out.clone()),
            linger: self.linger,
            ..Options::default()
        })
    }

    fn stages(&self) -> Result<Option<Vec<super::Stage>>, Refused> {
        if self.stage.is_empty() {
            return Ok(None);
        }
        let all = self.stage.iter().flat_map(|text| text.split(','));
        let stage = |text: &str| stage_of_text(text, go_duration);
        let read: Result<Vec<_>, _> = all.map(stage).collect();
        read.map(Some).map_err(|what| wrong("stage", what))
    }
}

fn wrong(flag: &str, what: String) -> Refused {
    Refused { code: ExitCode::Other, what: format!("--{flag}: {what}") }
}

fn read<T: OptionValue>(flag: &str, given: Option<&str>) -> Result<Option<T>, Refused> {
    given.map(T::from_text).transpose().map_err(|what| wrong(flag, what))
}

fn list<T: OptionValue>(flag: &str, given: &[String]) -> Result<Option<T>, Refused> {
    read(flag, (!given.is_empty()).then(|| given.join(",")).as_deref())
}

fn duration(flag: &str, given: Option<&str>) -> Result<Option<Ns>, Refused> {
    given.map(go_duration).transpose().map_err(|what| wrong(flag, what))
}

/// On the command line a duration has a unit, and days are not one.
fn go_duration(text: &str) -> Result<Ns, String> {
    let is_bare = text.parse::<f64>().is_ok() && text != "0";
    let wrong = || format!("'{}' is not a duration: write 500ms, 1.5s, 2m or 1h", shortened(text));
    if is_bare || text.contains('d') {
        Err(wrong())
    } else {
        Ns::from_text(text).map_err(|_| wrong())
    }
}

fn tag(text: &str) -> Result<(String, String), Refused> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| {
        wrong("tag", format!("'{}' is not a tag: write name=value", shortened(text)))
    })
}
