//! Every name that k6 2.2 has for its users, from `names.csv`, is understood here, or refused or
//! warned of by its name. A name with the mark `harmless` changes nothing in k6's own `run` either,
//! or asks for what is so anyway.
//!
//! The facts are k6's: its help, and the tags of its structs. Absent: names in modules of scripts,
//! which are tested where modules are.

use std::cell::RefCell;
use std::collections::HashSet;

use plimsoll_dialect::k6::absent;
use plimsoll_dialect::k6::metrics::SystemTags;
use plimsoll_dialect::k6::options::{Options, Sources, consolidate};
use plimsoll_dialect::k6::runtime::Runtime;
use serde_json::{Map, Value, json};

use super::outputs::{Outputs, Variables};
use super::script::{address, features, secrets, sources};
use super::{args, dashboard, wanted};

/// Kind, name, and what becomes of it here.
fn facts(kind: &str) -> Vec<(&'static str, &'static str)> {
    let rows = include_str!("names.csv").lines().skip(1).map(|line| {
        let mut fields = line.split(',');
        let mut next = || fields.next().expect("three fields");
        (next(), next(), next())
    });
    let found: Vec<_> =
        rows.filter(|(of, ..)| *of == kind).map(|(_, name, here)| (name, here)).collect();
    assert!(!found.is_empty(), "{kind}");
    found
}

fn matches(words: &[&str]) -> clap::ArgMatches {
    let all = ["k6"].iter().chain(words);
    let matches = args::definition().try_get_matches_from(all).expect("flags");
    let (_, given) = matches.subcommand().expect("a command");
    given.clone()
}

#[test]
fn commands_and_flags() {
    let definition = args::definition();
    for (name, here) in facts("command") {
        let is_there = definition.find_subcommand(name).is_some();
        assert_eq!(is_there, here == "understood", "{name}");
        assert_eq!(absent::command(name).is_some(), here == "refused", "{name}");
    }
    let run = definition.find_subcommand("run").expect("a command");
    let known: Vec<&str> = run
        .get_arguments()
        .chain(definition.get_arguments())
        .filter_map(clap::Arg::get_long)
        .collect();
    for (name, here) in facts("flag") {
        assert!(known.contains(&name), "--{name}");
        let warned = match name {
            "features" => absent::features(&["freeze-env".to_owned()]).len(),
            "profiling-enabled" => {
                args::without_effect(&matches(&["run", "--profiling-enabled", "s.js"])).len()
            }
            _ => 0,
        };
        assert_eq!(warned > 0, here == "warned", "--{name}");
    }
    for (name, _) in facts("feature") {
        let lines = absent::features(&[name.to_owned()]);
        assert!(matches!(&lines[..], [(false, line)] if line.contains(name)), "{lines:?}");
    }
    assert_eq!(facts("feature").len(), absent::FEATURES.len());
}

#[test]
fn options_and_fields() {
    for (name, here) in facts("option") {
        for name in [name.to_owned(), name.to_uppercase()] {
            let mut warnings = Vec::new();
            Options::from_script(&json!({ name.clone(): null }), &mut warnings).expect("options");
            assert!(warnings.is_empty(), "{warnings:?}");
            if here == "warned" {
                let value =
                    if name.eq_ignore_ascii_case("features") { json!(["a"]) } else { json!(5) };
                let options = Options::from_script(&json!({ name.clone(): value }), &mut warnings);
                let script = options.expect("options");
                let made = consolidate(&Sources { script, ..Sources::default() }).expect("options");
                let is_named = |line: &String| line.to_lowercase().contains(&name.to_lowercase());
                assert!(made.warnings.iter().any(is_named), "{name}: {:?}", made.warnings);
            }
        }
    }
    for (name, here) in facts("field") {
        let (kind, field) = name.split_once('.').expect("an executor and a field");
        let draft = |field: &str| {
            let mut scenario = Map::new();
            scenario.insert("executor".to_owned(), kind.into());
            if field != "executor" {
                scenario.insert(field.to_owned(), Value::Null);
            }
            Options::from_script(&json!({ "scenarios": { "a": scenario } }), &mut Vec::new())
        };
        for field in [field.to_owned(), field.to_uppercase()] {
            draft(&field).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        draft(&format!("{field}x")).expect_err(name);
        // Those for the browser are refused when the test is loaded.
        assert_eq!(here == "refused", field == "options", "{name}");
    }
    for (name, here) in facts("file") {
        let value = match name {
            "out" => json!(["json"]),
            "collectors" => json!({}),
            _ => json!(true),
        };
        let mut warnings = Vec::new();
        let text = json!({ name: value }).to_string();
        Options::from_file("c.json", &text, &mut warnings).expect("a file");
        let is_named = warnings.iter().any(|line| line.contains(name));
        assert_eq!(is_named, here == "warned", "{name}: {warnings:?}");
    }
}

#[test]
fn outputs() {
    let nothing = Variables { lookup: &|_| None, all: &Vec::new };
    for (name, here) in facts("output") {
        if here == "refused" {
            let opened = Outputs::open(&[name.to_owned()], &SystemTags::default(), nothing);
            let what = opened.err().expect("it is not there").what;
            assert!(what.contains(&format!("output '{name}' is not supported: ")), "{what}");
        } else {
            assert!(
                absent::output("").contains(name.trim_start_matches("experimental-o")),
                "{name}"
            );
        }
    }
}

/// Reads variables as a run does, and notes which it looks up.
fn looked_up() -> HashSet<String> {
    let asked = RefCell::new(HashSet::new());
    let lookup = |name: &str| {
        asked.borrow_mut().insert(name.to_owned());
        (name == "K6_OTEL_EXPORTER_PROTOCOL").then(|| "http/protobuf".to_owned())
    };
    let all = || {
        asked.borrow_mut().insert("K6_PROMETHEUS_RW_HEADERS_*".to_owned());
        Vec::new()
    };
    let variables = Variables { lookup: &lookup, all: &all };
    let given = matches(&["run", "s.js"]);
    wanted(&given, true, &lookup);
    address(&given, &lookup);
    secrets(&given, &lookup).expect("none");
    let file = sources(&given, true, &lookup, &mut Vec::new()).expect("nothing is set").file;
    features(&given, true, &file, &lookup);
    Runtime::new(&args::runtime_flags(&given), &lookup, true).expect("nothing is set");
    let outputs =
        ["csv=fileName=/dev/null", "influxdb", "opentelemetry", "experimental-prometheus-rw"];
    let outputs = outputs.map(str::to_owned);
    Outputs::open(&outputs, &SystemTags::default(), variables).expect("outputs");
    dashboard::variables(variables);
    asked.into_inner()
}

#[test]
fn variables() {
    let asked = looked_up();
    let outputs = ["influxdb", "opentelemetry"].map(str::to_owned);
    for (name, here) in facts("variable") {
        let is_read = asked.contains(name);
        let set = name.replace('*', "X");
        let lines = absent::variables(std::slice::from_ref(&set), &outputs);
        let is_warned = lines.iter().any(|line| line.contains(&set));
        let want = match here {
            "understood" | "refused" => (true, false),
            "warned" => (false, true),
            _ => (false, false),
        };
        assert_eq!((is_read, is_warned), want, "{name}");
    }
    // Nothing is read that k6 does not have, but for the folder of modules and older names.
    let names: Vec<&str> = facts("variable").iter().map(|(name, _)| *name).collect();
    let own = ["K6_OTEL_EXPORTER_TYPE"];
    for name in asked.iter().filter(|name| name.starts_with("K6_")) {
        assert!(names.contains(&name.as_str()) || own.contains(&name.as_str()), "{name}");
    }
}
