//! The documents of k6's REST interface, which are JSON:API, and the changes that its clients ask
//! for. Which path has which document is the runner's.

use serde_json::{Map, Value, json};

use super::summary::{Figures, Part, Summary, Values, id, number, path};

/// How a run is, as `/v1/status` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// k6's number for where the run is.
    pub stage: Stage,
    /// Whether it waits to be resumed.
    pub is_paused: bool,
    /// VUs in an iteration, or in their loop.
    pub vus: u64,
    /// VUs that are initialised.
    pub vus_max: u64,
    /// Whether it was ended early.
    pub is_stopped: bool,
    /// Whether a threshold does not hold.
    pub is_tainted: bool,
}

/// Where a run is, by k6's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// VUs are initialised.
    Initializing = 1,
    /// All is ready, and waits to be resumed.
    Paused = 4,
    /// `setup` runs.
    Setup = 6,
    /// The scenarios run.
    Running = 7,
    /// `teardown` runs.
    Teardown = 8,
    /// All is done.
    Ended = 9,
    /// It was ended early.
    Interrupted = 10,
}

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The status of the response.
    pub status: u16,
    /// What kind of fault it is.
    pub title: &'static str,
    /// What it is.
    pub detail: String,
}

impl Fault {
    /// The document.
    #[must_use]
    pub fn document(&self) -> String {
        let Self { status, title, detail } = self;
        let fault = json!({ "status": status.to_string(), "title": title, "detail": detail });
        text(&json!({ "errors": [fault] }))
    }
}

/// The document of `/v1/status`.
#[must_use]
pub fn status(status: &Status) -> String {
    let is_running = status.stage >= Stage::Setup && status.stage != Stage::Ended;
    let attributes = json!({
        "status": status.stage as u8,
        "paused": status.is_paused,
        "vus": status.vus,
        "vus-max": status.vus_max,
        "stopped": status.is_stopped,
        "running": is_running,
        "tainted": status.is_tainted,
    });
    text(&json!({ "data": { "type": "status", "id": "default", "attributes": attributes } }))
}

/// The document of `/v1/setup`: what `setup` has returned, JSON.
///
/// # Errors
/// Text that is not JSON.
pub fn setup_data(data: Option<&str>) -> Result<String, serde_json::Error> {
    let mut attributes = Map::new();
    if let Some(data) = data {
        attributes.insert("data".to_owned(), serde_json::from_str(data)?);
    }
    let data = json!({ "type": "setupData", "id": "default", "attributes": attributes });
    Ok(text(&json!({ "data": data })))
}

/// The document of `/v1/metrics`.
#[must_use]
pub fn metrics(summary: &Summary) -> String {
    let all = summary.whole.metrics.iter().map(metric_of);
    text(&json!({ "data": all.collect::<Value>() }))
}

/// The document of a metric; `None` if there is no such metric, or it has no samples.
#[must_use]
pub fn metric(summary: &Summary, name: &str) -> Option<String> {
    let found = summary.whole.metrics.iter().find(|figures| figures.name == name)?;
    Some(text(&json!({ "data": metric_of(found) })))
}

fn metric_of(figures: &Figures) -> Value {
    let is_tainted = match &figures.thresholds[..] {
        [] => Value::Null,
        all => all.iter().any(|threshold| !threshold.is_ok).into(),
    };
    let mut sample = Map::new();
    let mut put = |name: &str, value: f64| sample.insert(name.to_owned(), number(value));
    match &figures.values {
        Values::Counter { count, rate } => {
            put("count", *count);
            put("rate", *rate);
        }
        Values::Gauge { value, .. } => drop(put("value", *value)),
        Values::Rate { rate, .. } => drop(put("rate", *rate)),
        Values::Trend(stats) => stats.iter().for_each(|(name, value)| drop(put(name, *value))),
    }
    let attributes = json!({
        "type": figures.kind.name(),
        "contains": figures.contains.name(),
        "tainted": is_tainted,
        "sample": sample,
    });
    json!({ "type": "metrics", "id": figures.name, "attributes": attributes })
}

/// The document of `/v1/groups`: the root, and each group after the one that it is in.
#[must_use]
pub fn groups(summary: &Summary) -> String {
    let mut all = Vec::new();
    walk(&summary.tree, "", "", None, &mut |_, group| all.push(group));
    text(&json!({ "data": all }))
}

/// The document of a group by its identity; `None` if there is no such group.
#[must_use]
pub fn group(summary: &Summary, wanted: &str) -> Option<String> {
    let mut found = None;
    walk(&summary.tree, "", "", None, &mut |id, group| {
        if id == wanted {
            found = Some(group);
        }
    });
    Some(text(&json!({ "data": found? })))
}

/// Makes each group, with its identity, of a part and those in it.
fn walk(
    part: &Part,
    name: &str,
    own_path: &str,
    parent: Option<&str>,
    take: &mut dyn FnMut(&str, Value),
) {
    let own = id(own_path);
    let link = |id: &str| json!({ "type": "groups", "id": id });
    let checks = part.checks.iter().map(|check| {
        let path = path(own_path, &check.name);
        let (passes, fails) = (check.passes, check.fails);
        let id = id(&path);
        json!({ "id": id, "path": path, "name": check.name, "passes": passes, "fails": fails })
    });
    let checks = if part.checks.is_empty() { Value::Null } else { checks.collect() };
    let within = part.groups.iter().map(|(name, _)| link(&id(&path(own_path, name))));
    let group = json!({
        "type": "groups",
        "id": own,
        "attributes": { "path": own_path, "name": name, "checks": checks },
        "relationships": {
            "groups": { "data": within.collect::<Vec<_>>() },
            "parent": { "data": parent.map(link) },
        },
    });
    take(&own, group);
    for (name, inner) in &part.groups {
        walk(inner, name, &path(own_path, name), Some(&own), take);
    }
}

/// A change that a client asks for; what it does not name stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Pauses or resumes.
    pub is_paused: Option<bool>,
    /// Stops.
    pub is_stopped: Option<bool>,
    /// Whether it is about the numbers of VUs.
    pub has_vus: bool,
}

/// Reads the body of a PATCH of `/v1/status`.
///
/// # Errors
/// What cannot be read.
pub fn change(body: &[u8]) -> Result<Change, String> {
    let document: Value =
        serde_json::from_slice(body).map_err(|error| format!("it is not JSON: {error}"))?;
    if !document.is_object() {
        return Err(r#"it is not an object: send {"data": {"attributes": {…}}}"#.to_owned());
    }
    let attribute = |name: &str| {
        let value = document.get("data").and_then(|data| data.get("attributes")?.get(name));
        value.filter(|value| !value.is_null())
    };
    let switch = |name: &str| match attribute(name) {
        None => Ok(None),
        Some(Value::Bool(is_on)) => Ok(Some(*is_on)),
        Some(_) => Err(format!("'{name}' is neither true nor false")),
    };
    Ok(Change {
        is_paused: switch("paused")?,
        is_stopped: switch("stopped")?,
        has_vus: ["vus", "vus-max"].iter().any(|name| attribute(name).is_some()),
    })
}

/// JSON as Go writes it: what HTML gives a meaning is escaped.
fn text(document: &Value) -> String {
    let text = document.to_string();
    text.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use crate::k6::metrics::{Book, Contains, Kind, Registry, TagSet, TrendStat};
    use crate::k6::threshold::{ThresholdText, Thresholds};

    use super::*;

    /// One trend with a threshold, and the checks of a group in another.
    fn summary() -> Summary {
        let mut registry = Registry::default();
        let trend = registry.declare("my_trend", Kind::Trend, Contains::Time).expect("a trend");
        let text = ThresholdText {
            source: "avg<2".to_owned(),
            abort_on_fail: false,
            delay_abort_eval: None,
        };
        let texts = [("my_trend".to_owned(), vec![text])].into();
        let mut thresholds = Thresholds::new(&texts, &mut registry).expect("thresholds");
        let checks = registry.find("checks").expect("built in");
        let mut book = Book::new(registry, false);
        book.record(trend, &TagSet::default(), 5.0);
        for (group, check, value) in [("::g<1>", "one", 1.0), ("::g<1>::inner", "deep", 0.0)] {
            book.record(checks, &TagSet::of([("group", group), ("check", check)]), value);
        }
        thresholds.evaluate(&book, 1_000_000_000, true);
        Summary::of(&book, &thresholds, &TrendStat::defaults(), 1_000_000_000)
    }

    /// What k6 1.8 has answered, with the names of this test.
    #[test]
    fn documents_are_those_of_k6() {
        let running = Status {
            stage: Stage::Running,
            is_paused: false,
            vus: 2,
            vus_max: 3,
            is_stopped: false,
            is_tainted: false,
        };
        let summary = summary();
        let trend = r#"{"type":"metrics","id":"my_trend","attributes":{"type":"trend","contains":"time","tainted":true,"sample":{"avg":5,"max":5,"med":5,"min":5,"p(90)":5,"p(95)":5}}}"#;
        for (document, want) in [
            (
                status(&running),
                r#"{"data":{"type":"status","id":"default","attributes":{"status":7,"paused":false,"vus":2,"vus-max":3,"stopped":false,"running":true,"tainted":false}}}"#.to_owned(),
            ),
            (
                setup_data(None).expect("nothing"),
                r#"{"data":{"type":"setupData","id":"default","attributes":{}}}"#.to_owned(),
            ),
            (
                setup_data(Some(r#"{"b":"x","a":1}"#)).expect("JSON"),
                r#"{"data":{"type":"setupData","id":"default","attributes":{"data":{"b":"x","a":1}}}}"#.to_owned(),
            ),
            (metric(&summary, "my_trend").expect("a metric"), format!(r#"{{"data":{trend}}}"#)),
            (
                Fault { status: 404, title: "Not Found", detail: "a < b".to_owned() }.document(),
                r#"{"errors":[{"status":"404","title":"Not Found","detail":"a \u003c b"}]}"#.to_owned(),
            ),
        ] {
            assert_eq!(sorted(&document), sorted(&want));
        }
        assert!(metrics(&summary).contains(r#""id":"checks""#));
        assert_eq!(metric(&summary, "http_reqs"), None);
    }

    /// A document without the order of its keys.
    fn sorted(document: &str) -> Value {
        serde_json::from_str(document).expect("JSON")
    }

    #[test]
    fn groups_name_those_around_them() {
        let summary = summary();
        let document = sorted(&groups(&summary));
        let all = document["data"].as_array().expect("groups");
        let names: Vec<&Value> = all.iter().map(|group| &group["attributes"]["name"]).collect();
        assert_eq!(names, ["", "g<1>", "inner"]);
        assert_eq!(all[0]["id"], "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(all[0]["attributes"]["checks"], Value::Null);
        assert_eq!(all[0]["relationships"]["groups"]["data"][0]["id"], all[1]["id"]);
        assert_eq!(all[2]["relationships"]["parent"]["data"]["id"], all[1]["id"]);
        assert_eq!(all[2]["attributes"]["path"], "::g<1>::inner");
        assert_eq!(all[2]["attributes"]["checks"][0]["path"], "::g<1>::inner::deep");
        assert_eq!(all[2]["attributes"]["checks"][0]["fails"], 1);
        let inner = all[2]["id"].as_str().expect("an identity");
        assert_eq!(sorted(&group(&summary, inner).expect("a group"))["data"], all[2]);
        assert_eq!(group(&summary, "x"), None);
        assert!(!groups(&summary).contains('<'));
    }

    #[test]
    fn changes_are_read() {
        let none = Change::default();
        for (body, want) in [
            ("{}", Ok(none)),
            (r#"{"data":{"attributes":{}}}"#, Ok(none)),
            (
                r#"{"data":{"attributes":{"paused":false},"id":"default","type":"status"}}"#,
                Ok(Change { is_paused: Some(false), ..none }),
            ),
            (
                r#"{"data":{"attributes":{"stopped":true,"paused":null}}}"#,
                Ok(Change { is_stopped: Some(true), ..none }),
            ),
            (r#"{"data":{"attributes":{"vus":5}}}"#, Ok(Change { has_vus: true, ..none })),
            (r#"{"data":{"attributes":{"paused":5}}}"#, Err("'paused' is neither true nor false")),
            ("", Err("it is not JSON")),
            ("[]", Err("it is not an object")),
        ] {
            match (change(body.as_bytes()), want) {
                (Ok(read), Ok(want)) => assert_eq!(read, want, "{body}"),
                (Err(what), Err(want)) => assert!(what.starts_with(want), "{what}"),
                other => panic!("{body}: {other:?}"),
            }
        }
    }
}
