//! `k6 inspect`: the options of a script as JSON.

use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use plimsoll_dialect::k6::options::Ns;
use plimsoll_dialect::k6::{ExitCode, Refused};
use serde_json::{Value, json};

use super::log::Log;
use super::script::load;
use super::{args, print};

/// Prints the options.
///
/// # Errors
/// What is wrong with the script or its options, with k6's exit code for it.
pub(super) fn inspect(given: &ArgMatches, log: &Log) -> Result<ExitCode, Refused> {
    let test = load(given, log, &AtomicBool::new(false))?.test;
    let configuration = &test.configuration;
    let options = &configuration.options;
    let mut entries = options.named();
    entries.retain(|(name, value)| *name != "cloud" || !value.is_null());
    for (_, value) in entries.iter_mut().filter(|(name, value)| *name == "dns" && value.is_null()) {
        *value = json!({ "ttl": null, "select": null, "policy": null });
    }
    if args::switch(given, "execution-requirements") == Some(true) {
        let limits = configuration.limits();
        let duration = Ns(i64::try_from(limits.duration_ns).unwrap_or(i64::MAX));
        let consolidated = configuration.consolidated().named();
        for (name, value) in &mut entries {
            match *name {
                // VUs alone stand for as many iterations.
                "iterations" if !options.says_how_vus_run() => {
                    *value = options.vus.map_or(Value::Null, Value::from);
                }
                "scenarios" | "summaryTrendStats" | "systemTags" => {
                    let whole = consolidated.iter().find(|(known, _)| known == name);
                    *value = whole.map_or(Value::Null, |(_, value)| value.clone());
                }
                _ => {}
            }
        }
        entries.push(("totalDuration", json!(duration.to_string())));
        entries.push(("maxVUs", json!(limits.max_vus)));
    }
    print(&document(&entries))?;
    Ok(ExitCode::Done)
}

/// An object in the order of its entries, with two blanks for each level, escaped as Go does.
fn document(entries: &[(&str, Value)]) -> String {
    let entry = |(name, value): &(&str, Value)| {
        let value = format!("{value:#}").replace('\n', "\n  ");
        format!("  \"{name}\": {value}")
    };
    let text = entries.iter().map(entry).collect::<Vec<_>>().join(",\n");
    let text = text.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    format!("{{\n{text}\n}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_stays() {
        let entries = [("vus", Value::Null), ("thresholds", json!({ "a": ["count>1"] }))];
        let want = "{\n  \"vus\": null,\n  \"thresholds\": {\n    \"a\": [\n      \
                    \"count\\u003e1\"\n    ]\n  }\n}";
        assert_eq!(document(&entries), want);
    }
}
