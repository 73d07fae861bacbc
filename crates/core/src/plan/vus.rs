//! The scenarios of a k6 script, as a plan and its document describe them. What carries them out
//! has the script's own options; this is what readers of a result need to know.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::secret::Masks;

/// What the virtual users of a script do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VuPlan {
    /// The scenarios, in the order in which they start.
    pub scenarios: Vec<VuScenario>,
    /// The consolidated options of the script, of flags and of the environment. Null in the plan of
    /// a single scenario of several.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub options: Value,
}

/// What a scenario does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VuScenario {
    /// Its name.
    pub name: String,
    /// Its executor, such as `ramping-vus`.
    pub executor: String,
    /// Its load in words: `2 looping VUs for 10s (gracefulStop: 30s)`.
    pub load: String,
    /// The function of the script that an iteration calls.
    pub exec: String,
    /// The most virtual users that it may have.
    pub vus_max: u64,
    /// How many iterations it asks for, where it asks for a number of them.
    pub iterations: Option<u64>,
}

/// Options that hold secrets as a whole: keys of TLS, and what other services are told.
const SECRET_OPTIONS: [&str; 3] = ["tlsAuth", "ext", "cloud"];

impl VuPlan {
    /// What a result keeps of it: options without secrets.
    pub(super) fn recorded(&self, masks: &Masks) -> Self {
        let mut options = self.options.clone();
        for name in SECRET_OPTIONS {
            if let Some(value) = options.get_mut(name).filter(|value| !value.is_null()) {
                *value = masked(value, masks);
            }
        }
        let scenarios = options.get_mut("scenarios").and_then(Value::as_object_mut);
        for scenario in scenarios.into_iter().flat_map(|all| all.values_mut()) {
            let variables = scenario.get_mut("env").and_then(Value::as_object_mut);
            for value in variables.into_iter().flat_map(|all| all.values_mut()) {
                *value = masked(value, masks);
            }
        }
        if let Some(thresholds) = options.get_mut("thresholds").and_then(Value::as_object_mut) {
            let taken = std::mem::take(thresholds).into_iter();
            thresholds.extend(taken.map(|(metric, value)| (masks.submetric(&metric), value)));
        }
        Self { scenarios: self.scenarios.clone(), options }
    }
}

/// A value in place of which a mask stands. One that is a mask already stays.
fn masked(value: &Value, masks: &Masks) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Value::from(masks.whole(&text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_kept_without_secrets() {
        let options = json!({
            "vus": 2,
            "tlsAuth": [{ "cert": "PEM", "key": "s3cret" }],
            "ext": { "loadimpact": { "token": "s3cret" } },
            "scenarios": { "a": { "executor": "constant-vus", "env": { "KEY": "s3cret" } } },
            "thresholds": { "http_reqs{name:http://h/?token=s3cret}": ["count>1"] },
        });
        let plan = VuPlan { options, scenarios: Vec::new() };
        let recorded = plan.recorded(&Masks::default());
        let text = recorded.options.to_string();
        assert!(!text.contains("s3cret") && text.contains("constant-vus"), "{text}");
        assert_eq!(recorded.options["vus"], 2);
        assert_eq!(recorded.recorded(&Masks::default()), recorded, "a record of a record");
        let shown = plan.recorded(&Masks { shows_all: true, ..Masks::default() });
        assert!(shown.options.to_string().contains("s3cret"));
    }
}
