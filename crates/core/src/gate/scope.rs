//! The part of a run that a condition is about: `@endpoint:NAME`, `@stage:2`, `@address:NAME`,
//! `@group:NAME`, `@scenario:NAME`, `@10s..20s`, `@last:10s`.

use super::metric::Source;
use crate::nearest::nearest;
use crate::plan::Draft;
use crate::series::INTERVAL_NS;
use crate::units::{format_duration, parse_duration_ns};

/// The longest `@last`: all of it is looked at again each second.
const LAST_LIMIT_NS: u64 = 300 * INTERVAL_NS;

/// Names that are listed where one is not found.
const NAMES_SHOWN: usize = 5;

/// The part of a run that is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of it.
    Run,
    /// The requests of an endpoint.
    Endpoint(String),
    /// The requests of a stage, by its number from 1.
    Stage(usize),
    /// The requests of a stage, by its name.
    StageNamed(String),
    /// The requests to an address.
    Address(String),
    /// The requests of users in a group.
    Group(String),
    /// The result of a scenario.
    Scenario(String),
    /// What ended between two times from the start of the measured part, ns.
    Between(u64, u64),
    /// What ended within the last stretch of this length, ns.
    Last(u64),
}

const POSSIBLE: &str = "write @endpoint:NAME, @stage:2, @stage:NAME, @address:NAME, @group:NAME, \
                        @scenario:NAME or @10s..20s";

const KINDS: [&str; 6] = ["endpoint", "address", "group", "scenario", "stage", "last"];

/// A scenario of a run, as far as conditions have to know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subplan<'a> {
    pub name: &'a str,
    pub plan: &'a Draft,
}

impl Scope {
    /// Reads what stands behind the `@`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some((kind, name)) = text.split_once(':') {
            let name = name.trim();
            if name.is_empty() {
                return Err(format!("'@{text}' names nothing: {POSSIBLE}"));
            }
            return match kind.trim() {
                "endpoint" => Ok(Self::Endpoint(name.to_owned())),
                "address" => Ok(Self::Address(name.to_owned())),
                "group" => Ok(Self::Group(name.to_owned())),
                "scenario" => Ok(Self::Scenario(name.to_owned())),
                "stage" if name.bytes().all(|byte| byte.is_ascii_digit()) => match name.parse() {
                    Ok(number @ 1..) => Ok(Self::Stage(number)),
                    _ => Err(format!("there is no stage {name}: stages count from 1")),
                },
                "stage" => Ok(Self::StageNamed(name.to_owned())),
                "last" => last(name),
                other => {
                    let meant = nearest(other, KINDS);
                    let meant = meant.map(|kind| format!("did you mean '@{kind}:{name}'?"));
                    let advice = meant.unwrap_or_else(|| POSSIBLE.to_owned());
                    Err(format!("'@{text}' is not a part of a run: {advice}"))
                }
            };
        }
        let (from, to) = text
            .split_once("..")
            .ok_or_else(|| format!("'@{text}' is not a part of a run: {POSSIBLE}"))?;
        let (from_ns, to_ns) = (whole_seconds(from)?, whole_seconds(to)?);
        if from_ns >= to_ns {
            return Err(format!("'@{text}' has its ends the wrong way round"));
        }
        Ok(Self::Between(from_ns, to_ns))
    }

    /// What it is measured from at the end of a run.
    pub(super) fn source(&self) -> Source {
        match self {
            Self::Run | Self::Scenario(_) => Source::Run,
            Self::Endpoint(_) | Self::Address(_) | Self::Group(_) => Source::Part,
            Self::Stage(_) | Self::StageNamed(_) => Source::Stage,
            Self::Between(..) | Self::Last(_) => Source::Stretch,
        }
    }

    /// Why the plan's runs cannot have it, if so.
    pub(super) fn missing_from(&self, plan: &Draft) -> Option<String> {
        match self {
            Self::Stage(_) | Self::StageNamed(_) => {
                let stages = plan.rate.as_ref().map_or(0, |profile| profile.stages.len());
                match self {
                    _ if stages < 2 => {
                        Some("the plan does not have several stages: leave @stage out".to_owned())
                    }
                    Self::Stage(number) if *number > stages => {
                        Some(format!("the plan has {stages} stages"))
                    }
                    _ => None,
                }
            }
            Self::Endpoint(name) if !plan.targets.is_empty() => {
                let names = plan.targets.iter().map(|target| target.name.as_str());
                not_among("endpoint", name, names)
            }
            Self::Scenario(_) => Some("the run has no scenarios: leave @scenario out".to_owned()),
            Self::Between(from_ns, _) if plan.duration_ns.is_some_and(|ns| ns <= *from_ns) => {
                let duration = format_duration(plan.duration_ns.unwrap_or(0));
                Some(format!("the run is over after {duration}"))
            }
            _ => None,
        }
    }
}

impl Scope {
    /// Why a run of these scenarios, which together make `run`, cannot have it, if so.
    pub(super) fn missing_among(&self, run: &Draft, scenarios: &[Subplan<'_>]) -> Option<String> {
        let own = match self {
            Self::Scenario(name) => {
                return not_among("scenario", name, scenarios.iter().map(|it| it.name));
            }
            Self::Endpoint(_) => "endpoints",
            Self::Address(_) => "addresses",
            Self::Stage(_) | Self::StageNamed(_) => "stages",
            _ => return self.missing_from(run),
        };
        let name = scenarios.first().map_or("NAME", |first| first.name);
        let instead = format!("judge a whole one, with @scenario:{name}");
        Some(format!("each scenario has {own} of its own: {instead}"))
    }
}

/// Says what there is where a name is not; `None` where it is.
pub(super) fn not_among<'a>(
    kind: &str,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<String> {
    let mut known: Vec<&str> = Vec::new();
    for other in names.clone() {
        if other == name {
            return None;
        }
        if !known.contains(&other) && known.len() <= NAMES_SHOWN {
            known.push(other);
        }
    }
    if let Some(meant) = nearest(name, names) {
        return Some(format!("no {kind} '{name}': did you mean '{meant}'?"));
    }
    let more = if known.len() > NAMES_SHOWN { ", …" } else { "" };
    known.truncate(NAMES_SHOWN);
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Some(format!("no {kind} '{name}'; there is: {known}{more}"))
}

fn last(text: &str) -> Result<Scope, String> {
    let for_ns = whole_seconds(text)?;
    if !(INTERVAL_NS..=LAST_LIMIT_NS).contains(&for_ns) {
        let most = format_duration(LAST_LIMIT_NS);
        return Err(format!("'@last:{text}' is not within 1s and {most}"));
    }
    Ok(Scope::Last(for_ns))
}

/// A duration the series can tell apart.
fn whole_seconds(text: &str) -> Result<u64, String> {
    let time_ns = parse_duration_ns(text.trim()).map_err(|error| error.to_string())?;
    if time_ns.is_multiple_of(INTERVAL_NS) {
        return Ok(time_ns);
    }
    Err(format!("'{text}' is not whole seconds, which is what a run is kept by"))
}
