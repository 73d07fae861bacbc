//! One configuration of all sources: flags above the environment, that above the script, that above
//! the configuration file, and defaults below all.

use std::collections::BTreeMap;

use plimsoll_core::dns::{DnsPolicy, DnsSelect};

use super::network::DnsTtl;
use super::value::Ns;
use super::{Options, shortened};
use crate::k6::defaults;
use crate::k6::exit::Refused;
use crate::k6::metrics::{SystemTags, TrendStat};
use crate::k6::scenario::plan::{self, Limits, Need};
use crate::k6::scenario::{self, Draft, Kind, Scenario};
use crate::k6::segment::Part;
use crate::k6::summary::TimeUnit;

/// What each source sets, from the lowest to the highest.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The configuration file.
    pub file: Options,
    /// The script's `options`.
    pub script: Options,
    /// Variables of the environment.
    pub environment: Options,
    /// Flags.
    pub flags: Options,
}

/// What a run does: checked, with every default in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// Scenarios in the order in which k6 lists them: by start, then by name.
    pub scenarios: Vec<Scenario>,
    /// What this process does of them.
    pub part: Part,
    /// VUs over time, in this part.
    pub needs: Vec<Need>,
    /// How long `setup()` may take.
    pub setup_timeout_ns: u64,
    /// How long `teardown()` may take.
    pub teardown_timeout_ns: u64,
    /// How long `handleSummary()` may take.
    pub handle_summary_timeout_ns: u64,
    /// How long a looked-up address is used.
    pub dns_ttl: DnsTtl,
    /// Which address is taken.
    pub dns_select: DnsSelect,
    /// Which families of addresses are taken.
    pub dns_policy: DnsPolicy,
    /// Redirects that are followed.
    pub max_redirects: u64,
    /// Whether that number is the default, which is warned of when it is reached.
    pub has_default_redirects: bool,
    /// Requests of a batch at one time.
    pub batch: u64,
    /// Requests of a batch to one host at one time.
    pub batch_per_host: u64,
    /// Requests per second of all VUs at most.
    pub rps: Option<u64>,
    /// How long an iteration takes at least.
    pub min_iteration_duration_ns: u64,
    /// Figures of trends that the summary shows.
    pub summary_trend_stats: Vec<TrendStat>,
    /// The unit of times in the summary, if it is fixed.
    pub summary_time_unit: Option<TimeUnit>,
    /// Tags that are set by themselves.
    pub system_tags: SystemTags,
    /// Tags of all samples.
    pub tags: BTreeMap<String, String>,
    /// All options as they were given, without the shortcuts' results: for what has no default.
    pub options: Options,
    /// The scenarios as they were given, or those that shortcuts stand for.
    drafts: BTreeMap<String, Draft>,
    /// What is odd but no error, a line each.
    pub warnings: Vec<String>,
}

/// Makes one configuration of all sources.
///
/// # Errors
/// Options and scenarios that make no sense, all named in one line; exit code 104.
pub fn consolidate(sources: &Sources) -> Result<Configuration, Refused> {
    let mut warnings = Vec::new();
    let mut options = Options::default();
    for (name, tier) in [
        ("configuration file", &sources.file),
        ("script", &sources.script),
        ("environment", &sources.environment),
        ("command line", &sources.flags),
    ] {
        apply(&mut options, name, tier, &mut warnings);
    }
    if options.metric_samples_buffer_size.is_some() {
        let what = "metricSamplesBufferSize has no effect: the queue to outputs has its own size";
        warnings.push(what.to_owned());
    }
    if sources.script.features.as_ref().is_some_and(|features| !features.is_empty()) {
        let what = "features in the options of a script have no effect: k6 takes --features";
        warnings.push(what.to_owned());
    }
    let drafts = scenarios(&options, &mut warnings)?;
    let mut faults = Vec::new();
    let timeout = |name, given: Option<Ns>, default_ns, faults: &mut Vec<String>| {
        let given = given.unwrap_or(Ns(default_ns));
        if given.0 <= 0 {
            faults.push(format!("{name} is {given}: give more than 0s"));
        }
        given.unsigned()
    };
    let minute = defaults::LIFE_CYCLE_TIMEOUT.0;
    let setup_timeout_ns = timeout("setupTimeout", options.setup_timeout, minute, &mut faults);
    let teardown_timeout_ns =
        timeout("teardownTimeout", options.teardown_timeout, minute, &mut faults);
    let handle_summary_timeout_ns = timeout(
        "handleSummaryTimeout",
        options.handle_summary_timeout,
        defaults::HANDLE_SUMMARY_TIMEOUT.0,
        &mut faults,
    );
    let part = Part::new(options.execution_segment, options.execution_segment_sequence.as_ref());
    let part = part.map_err(|what| faults.push(what)).unwrap_or_default();
    let mut scenarios = Vec::with_capacity(drafts.len());
    for (name, draft) in &drafts {
        match scenario::check(name, draft) {
            Ok(scenario) => scenarios.push(scenario),
            Err(of_scenario) => faults.push(scenario::worded(name, &of_scenario)),
        }
    }
    if !faults.is_empty() {
        return Err(Refused::config(faults.join("; ")));
    }
    plan::sort(&mut scenarios);
    let dns = options.dns.unwrap_or_default();
    let count = |given: Option<i64>, default: u64| {
        given.map_or(default, |given| given.try_into().unwrap_or(0))
    };
    let tags = options.system_tags.clone().unwrap_or_default();
    let odd = tags.unknown.iter();
    warnings.extend(odd.map(|tag| format!("'{}' is not a system tag: ignored", shortened(tag))));
    Ok(Configuration {
        needs: plan::needs(&scenarios, &part),
        scenarios,
        part,
        setup_timeout_ns,
        teardown_timeout_ns,
        handle_summary_timeout_ns,
        dns_ttl: dns.ttl.unwrap_or(defaults::DNS_TTL),
        dns_select: dns.select.unwrap_or(defaults::DNS_SELECT),
        dns_policy: dns.policy.unwrap_or(defaults::DNS_POLICY),
        max_redirects: count(options.max_redirects, defaults::MAX_REDIRECTS),
        has_default_redirects: options.max_redirects.is_none(),
        batch: count(options.batch, defaults::BATCH),
        batch_per_host: count(options.batch_per_host, defaults::BATCH_PER_HOST),
        rps: options.rps.and_then(|rps| rps.try_into().ok()).filter(|rps| *rps > 0),
        min_iteration_duration_ns: options.min_iteration_duration.unwrap_or_default().unsigned(),
        summary_trend_stats: options
            .summary_trend_stats
            .clone()
            .unwrap_or_else(TrendStat::defaults),
        summary_time_unit: time_unit(&options, &mut warnings),
        system_tags: tags,
        tags: options.tags.clone().unwrap_or_default(),
        options,
        drafts,
        warnings,
    })
}

impl Configuration {
    /// What the test needs at most, in this part of the run.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits::of(&self.needs)
    }

    /// The options as `exec.test.options` shows them: what says in short how VUs run is among the
    /// scenarios, and lists that have a default are there.
    #[must_use]
    pub fn consolidated(&self) -> Options {
        let (vus, iterations, duration, stages) = (None, None, None, None);
        let mut options = Options { vus, iterations, duration, stages, ..self.options.clone() };
        options.scenarios = Some(self.drafts.clone());
        options.dns.get_or_insert_default();
        options.summary_trend_stats = Some(self.summary_trend_stats.clone());
        options.system_tags = Some(self.system_tags.clone());
        options
    }

    /// Checks that the script exports the functions that its scenarios call.
    ///
    /// # Errors
    /// All that are missing; exit code 104.
    pub fn check_functions(&self, is_exported: &dyn Fn(&str) -> bool) -> Result<(), Refused> {
        let missing = self.scenarios.iter().filter(|scenario| !is_exported(scenario.function()));
        let faults: Vec<String> = missing
            .map(|scenario| {
                let (name, function) = (&scenario.name, shortened(scenario.function()));
                format!("scenario '{name}' calls '{function}', which the script does not export")
            })
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(Refused::config(faults.join("; "))) }
    }
}

/// Sets what a source sets. What says how VUs run is set as a whole: any of it wipes all of it that
/// lower sources set.
fn apply(options: &mut Options, name: &str, tier: &Options, warnings: &mut Vec<String>) {
    if tier.says_how_vus_run() {
        if options.scenarios.is_some() {
            warnings.push(format!("the {name} overrides all scenarios of the sources below it"));
        }
        options.duration = None;
        options.iterations = None;
        options.stages = None;
        options.scenarios = None;
    }
    options.overlay(tier);
    if let Some(stages) = &mut options.stages {
        stages.retain(|stage| stage.duration.is_some());
    }
}

/// The scenarios, or those that shortcuts stand for.
fn scenarios(
    options: &Options,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, Draft>, Refused> {
    let has_stages = options.stages.as_ref().is_some_and(|stages| !stages.is_empty());
    let conflict = |one: &str, other: &str| {
        let what = format!("options '{one}' and '{other}' exclude each other: give one of them");
        Err(Refused::config(what))
    };
    let shortcut = if options.iterations.is_some() {
        Some("iterations")
    } else if options.duration.is_some() {
        Some("duration")
    } else {
        has_stages.then_some("stages")
    };
    if let Some(shortcut) = shortcut {
        if has_stages && shortcut != "stages" {
            return conflict(shortcut, "stages");
        }
        if options.scenarios.is_some() {
            return conflict(shortcut, "scenarios");
        }
    }
    let is_alone = shortcut.is_none() && options.stages.is_none();
    let draft = match shortcut {
        Some("iterations") => Draft {
            iterations: options.iterations,
            duration: options.duration,
            ..Draft::new(Kind::SharedIterations)
        },
        Some("duration") => {
            if let Some(duration) = options.duration.filter(|duration| duration.0 <= 0) {
                let what = format!("option 'duration' is {duration}: give 1s or more");
                return Err(Refused::config(what));
            }
            Draft { duration: options.duration, ..Draft::new(Kind::ConstantVus) }
        }
        Some(_) => Draft {
            stages: options.stages.clone().unwrap_or_default(),
            ..Draft::new(Kind::RampingVus)
        },
        None if is_alone && options.vus.is_some() => {
            if options.scenarios.is_some() {
                warnings.push("option 'vus' overrides all scenarios".to_owned());
            }
            Draft { iterations: options.vus, ..Draft::new(Kind::SharedIterations) }
        }
        None => {
            if let Some(scenarios) = options.scenarios.as_ref().filter(|all| !all.is_empty()) {
                return Ok(scenarios.clone());
            }
            for (name, is_set) in
                [("stages", options.stages.is_some()), ("scenarios", options.scenarios.is_some())]
            {
                if is_set {
                    warnings.push(format!("option '{name}' is empty: 1 VU does 1 iteration"));
                }
            }
            let draft = Draft::new(Kind::PerVuIterations);
            return Ok(BTreeMap::from([("default".to_owned(), draft)]));
        }
    };
    Ok(BTreeMap::from([("default".to_owned(), Draft { vus: options.vus, ..draft })]))
}

fn time_unit(options: &Options, warnings: &mut Vec<String>) -> Option<TimeUnit> {
    let text = options.summary_time_unit.as_deref().filter(|text| !text.is_empty())?;
    let unit = TimeUnit::parse(text);
    if unit.is_none() {
        let text = shortened(text);
        warnings.push(format!("summaryTimeUnit '{text}' is not one of s, ms and us: ignored"));
    }
    unit
}
