//! A scenario as it is written, before it is known to make sense.
//!
//! Reading refuses wrong types and unknown fields, as k6 does when it loads a script. What the
//! values mean together is checked later, when it is known which scenarios are run.

use std::collections::BTreeMap;

use plimsoll_core::executor::Kind;
use serde_json::{Map, Value};

use crate::k6::options::{Ns, OptionValue, Stage, field, folded, shortened};

/// The fields that a scenario may have with each executor, besides those of all.
const KINDS: [(Kind, &[&str]); 6] = [
    (Kind::SharedIterations, &["vus", "iterations", "maxDuration"]),
    (Kind::PerVuIterations, &["vus", "iterations", "maxDuration"]),
    (Kind::ConstantVus, &["vus", "duration"]),
    (Kind::RampingVus, &["startVUs", "stages", "gracefulRampDown"]),
    (Kind::ConstantArrivalRate, &["rate", "timeUnit", "duration", "preAllocatedVUs", "maxVUs"]),
    (Kind::RampingArrivalRate, &["startRate", "timeUnit", "stages", "preAllocatedVUs", "maxVUs"]),
];

const COMMON: [&str; 7] =
    ["executor", "startTime", "gracefulStop", "exec", "env", "tags", "options"];

/// A scenario with the values that it was given; `None`: the default.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Which executor runs it.
    pub kind: Kind,
    /// When it starts, from the start of the test.
    pub start_time: Option<Ns>,
    /// How long running iterations may go on after its regular end.
    pub graceful_stop: Option<Ns>,
    /// The function that an iteration calls.
    pub exec: Option<String>,
    /// Variables of the environment for its iterations.
    pub env: BTreeMap<String, String>,
    /// Tags of its samples.
    pub tags: BTreeMap<String, String>,
    /// What it asks of modules, such as the browser.
    pub options: Option<Value>,
    /// `vus`, or `startVUs` of ramping VUs.
    pub vus: Option<i64>,
    /// `iterations`.
    pub iterations: Option<i64>,
    /// `duration`, or `maxDuration` of iterations.
    pub duration: Option<Ns>,
    /// `stages`.
    pub stages: Vec<Stage>,
    /// `gracefulRampDown`.
    pub graceful_ramp_down: Option<Ns>,
    /// `rate`, or `startRate` of a ramping rate.
    pub rate: Option<i64>,
    /// `timeUnit`.
    pub time_unit: Option<Ns>,
    /// `preAllocatedVUs`.
    pub pre_allocated_vus: Option<i64>,
    /// `maxVUs`.
    pub max_vus: Option<i64>,
}

impl Draft {
    /// A scenario without any value.
    pub(in crate::k6) fn new(kind: Kind) -> Self {
        Self {
            kind,
            start_time: None,
            graceful_stop: None,
            exec: None,
            env: BTreeMap::new(),
            tags: BTreeMap::new(),
            options: None,
            vus: None,
            iterations: None,
            duration: None,
            stages: Vec::new(),
            graceful_ramp_down: None,
            rate: None,
            time_unit: None,
            pre_allocated_vus: None,
            max_vus: None,
        }
    }

    /// As it was written, with null for what was left out.
    fn document(&self) -> Value {
        let time = |time: Option<Ns>| time.map(|time| time.to_string());
        let mut document = Map::new();
        let mut put = |name: &str, value: Value| drop(document.insert(name.to_owned(), value));
        put("executor", self.kind.name().into());
        put("startTime", time(self.start_time).into());
        put("gracefulStop", time(self.graceful_stop).into());
        put("exec", self.exec.as_deref().into());
        put("env", if self.env.is_empty() { Value::Null } else { self.env.to_json() });
        put("tags", if self.tags.is_empty() { Value::Null } else { self.tags.to_json() });
        let (_, own) = KINDS.iter().find(|(kind, _)| *kind == self.kind).unwrap_or(&KINDS[0]);
        for name in *own {
            put(
                name,
                match *name {
                    "vus" | "startVUs" => self.vus.into(),
                    "iterations" => self.iterations.into(),
                    "duration" | "maxDuration" => time(self.duration).into(),
                    "stages" => self.stages.to_json(),
                    "gracefulRampDown" => time(self.graceful_ramp_down).into(),
                    "rate" | "startRate" => self.rate.into(),
                    "timeUnit" => time(self.time_unit).into(),
                    "preAllocatedVUs" => self.pre_allocated_vus.into(),
                    _ => self.max_vus.into(),
                },
            );
        }
        Value::Object(document)
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("it is not an object: write {executor: …}")?;
        let (kind, own) = kind(fields)?;
        let names = || COMMON.iter().chain(*own).copied();
        let unknown = fields.keys().find(|key| folded(key, names()).is_none());
        if let Some(key) = unknown {
            let (name, known) = (kind.name(), own.join(", "));
            return Err(format!("'{}' is not a field of {name}: it has {known}", shortened(key)));
        }
        let fields = Fields(fields);
        Ok(Self {
            kind: *kind,
            start_time: fields.read("startTime")?,
            graceful_stop: fields.read("gracefulStop")?,
            exec: fields.read("exec")?,
            env: fields.read("env")?.unwrap_or_default(),
            tags: fields.read("tags")?.unwrap_or_default(),
            options: fields.read("options")?,
            vus: fields.read("vus")?.or(fields.read("startVUs")?),
            iterations: fields.read("iterations")?,
            duration: fields.read("duration")?.or(fields.read("maxDuration")?),
            stages: fields.read("stages")?.unwrap_or_default(),
            graceful_ramp_down: fields.read("gracefulRampDown")?,
            rate: fields.read("rate")?.or(fields.read("startRate")?),
            time_unit: fields.read("timeUnit")?,
            pre_allocated_vus: fields.read("preAllocatedVUs")?,
            max_vus: fields.read("maxVUs")?,
        })
    }
}

struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    /// A field's value; `None` without it, and for `null`.
    fn read<T: OptionValue>(&self, name: &str) -> Result<Option<T>, String> {
        match field(self.0, name) {
            None => Ok(None),
            Some(value) => T::from_json(value).map(Some).map_err(|what| format!("{name}: {what}")),
        }
    }
}

fn kind(fields: &Map<String, Value>) -> Result<&'static (Kind, &'static [&'static str]), String> {
    let names = || KINDS.map(|(kind, _)| kind.name()).join(", ");
    let given = match field(fields, "executor") {
        None => {
            return Err(format!("it has no executor: give one of {}", names()));
        }
        Some(value) => String::from_json(value).map_err(|what| format!("executor: {what}"))?,
    };
    KINDS.iter().find(|(kind, _)| kind.name() == given).ok_or_else(|| match given.as_str() {
        "externally-controlled" => {
            "executor 'externally-controlled' is no longer part of k6: use ramping-vus".to_owned()
        }
        _ => format!("executor '{}' is not one of {}", shortened(&given), names()),
    })
}

/// Scenarios by name.
impl OptionValue for BTreeMap<String, Draft> {
    fn from_json(value: &Value) -> Result<Self, String> {
        let entries = value.as_object().ok_or("it is not an object of scenarios by name")?;
        let entry = |(name, value): (&String, &Value)| match Draft::parse(value) {
            Ok(draft) => Ok((name.clone(), draft)),
            Err(what) => Err(format!("scenario '{}': {what}", shortened(name))),
        };
        entries.iter().map(entry).collect()
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let json = serde_json::from_str(text).map_err(|_| "it is not JSON".to_owned())?;
        Self::from_json(&json)
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(name, draft)| (name.clone(), draft.document())).collect()
    }
}
