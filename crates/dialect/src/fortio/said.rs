//! What a result file in fortio's format says: every field optional, numbers also as strings.
//!
//! fortio writes numbers. Nighthawk's writer goes through protobuf's JSON, so its counts are
//! strings and a figure that it could not compute is `"NaN"`. Older versions of it write
//! percentiles as fractions; `foreign` tells them apart.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// More buckets or percentiles than this are refused. fortio's histograms have 48 buckets.
const ROWS_MAX: usize = 10_000;
/// More codes than this are refused.
const CODES_MAX: usize = 10_000;

/// Why a file is not a result of fortio: one line, which names the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The run did not take place; fortio's REST interface still saves a file.
    #[error("a run of fortio that did not take place: {0}")]
    NotRun(String),
    /// A field has a value that it cannot have.
    #[error("{place} of fortio's result is {problem}")]
    Field {
        /// The field, with those around it: `DurationHistogram.Count`.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// A bucket of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Where it begins.
    pub start: f64,
    /// Where it ends; no less than where it begins.
    pub end: f64,
    /// Values in it.
    pub count: u64,
}

/// A histogram; of times, in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    /// How many values there are.
    pub count: Option<u64>,
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation.
    pub stdev: Option<f64>,
    /// Buckets, ascending. Their counts add up to `count` where the file has one.
    pub buckets: Vec<Bucket>,
    /// Percentiles and values, as written.
    pub percentiles: Vec<(f64, f64)>,
}

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// Whether counts are strings, as protobuf's JSON has them.
    pub has_counts_as_strings: bool,
    /// `HTTP`, `TCP`, `GRPC Ping`.
    pub run_type: Option<String>,
    /// What the user called the run.
    pub labels: Option<String>,
    /// When it began, as written.
    pub start_time: Option<String>,
    /// The rate that was asked for; `None` also for `max`.
    pub requested_qps: Option<f64>,
    /// Whether the load was as fast as possible.
    pub is_max_qps: bool,
    /// How long it was to take: `5s`, `exactly 10 calls`.
    pub requested_duration: Option<String>,
    /// Calls per second.
    pub actual_qps: Option<f64>,
    /// How long it took, s.
    pub actual_duration_s: Option<f64>,
    /// Threads, each with a connection.
    pub threads: Option<u64>,
    /// The version of the writer.
    pub version: Option<String>,
    /// How many calls were asked for; 0 for a run by time.
    pub exactly: Option<u64>,
    /// The URL, or the address of a run over TCP, UDP or gRPC.
    pub target: Option<String>,
    /// Times of all calls.
    pub durations: Histogram,
    /// Times of the calls that were not good, by fortio's rule.
    pub failures: Histogram,
    /// Times of the calls that were due, from when they were: Plimsoll's alone.
    pub due: Histogram,
    /// What Plimsoll's verdict on the run was, and the codes of its causes.
    pub verdict: Option<(String, Vec<String>)>,
    /// Calls by what came of them: a status, -1, `OK`, `SERVING`.
    pub codes: BTreeMap<String, u64>,
    /// Switches and numbers that say how the load was made, as text by their names in the file.
    pub settings: BTreeMap<String, String>,
}

/// Switches and numbers that bear on the load, and that hold no secret.
const SETTINGS: [&str; 18] = [
    "Jitter",
    "Uniform",
    "NoCatchUp",
    "Compression",
    "DisableFastClient",
    "HTTP10",
    "H2",
    "DisableKeepAlive",
    "AllowHalfClose",
    "FollowRedirects",
    "HTTPReqTimeOut",
    "ReqTimeout",
    "MethodOverride",
    "ConnReuseRange",
    "Offset",
    "Resolution",
    "Streams",
    "AbortOn",
];

/// Whether a document looks like a result in fortio's format.
#[must_use]
pub fn is_result(document: &Value) -> bool {
    document.get("schema").is_none() && document.get("DurationHistogram").is_some()
}

impl Said {
    /// Reads a document for which [`is_result`] holds.
    ///
    /// # Errors
    /// The field that cannot be read, or the run that did not take place.
    pub fn read(document: &Value) -> Result<Self, Malformed> {
        let Some(fields) = document.as_object() else {
            return Err(malformed("the whole", "not an object"));
        };
        let of = Fields { place: "", fields };
        if fields.get("error").and_then(Value::as_bool) == Some(true) {
            let words = [of.text("message")?, of.text("exception")?];
            let words: Vec<String> = words.into_iter().flatten().collect();
            return Err(Malformed::NotRun(one_line(&words.join(": "))));
        }
        let durations = of.histogram("DurationHistogram")?;
        let raw_count = fields.get("DurationHistogram").and_then(|it| it.get("Count"));
        let requested = fields.get("RequestedQPS");
        let is_max_qps = requested.and_then(Value::as_str) == Some("max");
        Ok(Self {
            has_counts_as_strings: raw_count.is_some_and(Value::is_string),
            run_type: of.text("RunType")?,
            labels: of.text("Labels")?,
            start_time: of.text("StartTime")?,
            requested_qps: if is_max_qps { None } else { of.number("RequestedQPS")? },
            is_max_qps,
            requested_duration: of.text("RequestedDuration")?,
            actual_qps: of.number("ActualQPS")?,
            actual_duration_s: of.number("ActualDuration")?.map(|ns| ns / 1e9),
            threads: of.count("NumThreads")?,
            version: of.text("Version")?,
            exactly: of.count("Exactly")?,
            target: of.text("URL")?.or(of.text("Destination")?),
            durations,
            failures: of.histogram("ErrorsDurationHistogram")?,
            due: of.histogram("CorrectedDurationHistogram")?,
            verdict: of.verdict()?,
            codes: of.codes()?,
            settings: of.settings(),
        })
    }
}

fn malformed(place: &str, problem: impl Into<String>) -> Malformed {
    Malformed::Field { place: place.to_owned(), problem: problem.into() }
}

/// Fields of an object, and where that is.
struct Fields<'a> {
    place: &'a str,
    fields: &'a Map<String, Value>,
}

impl Fields<'_> {
    fn at(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    fn fault(&self, name: &str, problem: impl Into<String>) -> Malformed {
        malformed(&self.at(name), problem)
    }

    /// What is there and not null.
    fn value(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn verdict(&self) -> Result<Option<(String, Vec<String>)>, Malformed> {
        const CAUSES: &str = "VerdictCauses";
        let Some(verdict) = self.text("Verdict")? else { return Ok(None) };
        let causes =
            self.value(CAUSES).map_or(Some(&[][..]), |it| it.as_array().map(Vec::as_slice));
        let causes = causes.ok_or_else(|| self.fault(CAUSES, "not a list"))?;
        let codes = causes.iter().filter_map(Value::as_str).map(one_line).collect();
        Ok(Some((one_line(&verdict), codes)))
    }

    fn text(&self, name: &str) -> Result<Option<String>, Malformed> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| self.fault(name, "not a text"))?;
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    /// A number of zero or more; `None` also for one that the writer could not compute.
    fn number(&self, name: &str) -> Result<Option<f64>, Malformed> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let number = match value {
            Value::String(text) if matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") => {
                return Ok(None);
            }
            Value::String(text) => text.parse().ok(),
            other => other.as_f64(),
        };
        let number = number.filter(|number: &f64| number.is_finite());
        let number = number.ok_or_else(|| self.fault(name, "not a number"))?;
        if number < 0.0 {
            return Err(self.fault(name, format!("{number}, and less than 0 cannot be")));
        }
        Ok(Some(number))
    }

    fn count(&self, name: &str) -> Result<Option<u64>, Malformed> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let count = count_of(value).ok_or_else(|| self.fault(name, "not a whole number"))?;
        Ok(Some(count))
    }

    fn histogram(&self, name: &str) -> Result<Histogram, Malformed> {
        let Some(value) = self.value(name) else { return Ok(Histogram::default()) };
        let fields = value.as_object().ok_or_else(|| self.fault(name, "not an object"))?;
        let place = self.at(name);
        let of = Fields { place: &place, fields };
        let histogram = Histogram {
            count: of.count("Count")?,
            min: of.number("Min")?,
            max: of.number("Max")?,
            mean: of.number("Avg")?,
            stdev: of.number("StdDev")?,
            buckets: of.rows("Data", bucket)?,
            percentiles: of.rows("Percentiles", percentile)?,
        };
        let ordered = |pair: &[Bucket]| pair[0].end <= pair[1].start;
        if !histogram.buckets.windows(2).all(ordered) {
            return Err(of.fault("Data", "not in ascending order"));
        }
        let held = histogram.buckets.iter().map(|it| it.count);
        let held = held.fold(0_u64, u64::saturating_add);
        match histogram.count {
            Some(count) if !histogram.buckets.is_empty() && held != count => {
                Err(of.fault("Count", format!("{count}, but its Data add up to {held}")))
            }
            _ => Ok(histogram),
        }
    }

    fn rows<T>(
        &self,
        name: &str,
        read: impl Fn(&Fields<'_>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let Some(value) = self.value(name) else { return Ok(Vec::new()) };
        let rows = value.as_array().ok_or_else(|| self.fault(name, "not a list"))?;
        if rows.len() > ROWS_MAX {
            let problem = format!("a list of {} rows: {ROWS_MAX} at most", rows.len());
            return Err(self.fault(name, problem));
        }
        let row = |(index, row): (usize, &Value)| {
            let place = format!("{}[{index}]", self.at(name));
            let fields = row.as_object().ok_or_else(|| malformed(&place, "not an object"))?;
            read(&Fields { place: &place, fields })
        };
        rows.iter().enumerate().map(row).collect()
    }

    fn needed(&self, name: &str) -> Result<f64, Malformed> {
        self.number(name)?.ok_or_else(|| self.fault(name, "missing"))
    }

    fn codes(&self) -> Result<BTreeMap<String, u64>, Malformed> {
        const NAME: &str = "RetCodes";
        let Some(value) = self.value(NAME) else { return Ok(BTreeMap::new()) };
        let codes = value.as_object().ok_or_else(|| self.fault(NAME, "not an object"))?;
        if codes.len() > CODES_MAX {
            return Err(self.fault(NAME, format!("{} codes: {CODES_MAX} at most", codes.len())));
        }
        let code = |(code, count): (&String, &Value)| {
            let place = format!("{NAME}[\"{}\"]", one_line(code));
            let count = count_of(count).ok_or_else(|| malformed(&place, "not a whole number"))?;
            Ok((code.clone(), count))
        };
        codes.iter().map(code).collect()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let words = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let setting = |name: &&str| Some(((*name).to_owned(), words(self.value(name)?)));
        SETTINGS.iter().filter_map(setting).collect()
    }
}

fn count_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn bucket(of: &Fields<'_>) -> Result<Bucket, Malformed> {
    let (start, end) = (of.needed("Start")?, of.needed("End")?);
    if start > end {
        return Err(of.fault("End", format!("{end}, and Start is {start}")));
    }
    let count = of.count("Count")?.ok_or_else(|| of.fault("Count", "missing"))?;
    Ok(Bucket { start, end, count })
}

fn percentile(of: &Fields<'_>) -> Result<(f64, f64), Malformed> {
    let percentile = of.needed("Percentile")?;
    if percentile > 100.0 {
        return Err(of.fault("Percentile", format!("{percentile}, and more than 100 cannot be")));
    }
    Ok((percentile, of.needed("Value")?))
}

/// The beginning of a text from a file, in one line.
fn one_line(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    text.chars().take(CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
