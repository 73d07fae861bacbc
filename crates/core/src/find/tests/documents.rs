//! The documents `plimsoll/find/1` and `plimsoll/find-comparison/1`, and their schemas.

use super::servers::{AboveRate, Queue, Service, Worker};
use super::simulation::{Arrivals, Simulation};
use crate::environment::Environment;
use crate::find::{Document, Ending, Objective, Origin, SCHEMA, Search, SearchContrast, Settings};
use crate::plan::{Draft, Endpoint};
use crate::result::Tool;

pub(super) fn origin() -> Origin {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
    let plan = Draft::new(Endpoint::http("a", 80, "/")).record();
    let (started_at, environment) = ("2026-11-24T12:00:00Z".to_owned(), Environment::default());
    Origin { tool, plan, started_at, environment }
}

fn document(search: &Search) -> Document {
    Document::of(search, origin())
}

/// A checked-in schema, by its name.
pub(super) fn schema(name: &str) -> (boon::Schemas, boon::SchemaIndex) {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let mut compiler = boon::Compiler::new();
    for known in ["result", "find", "find-closed", "find-comparison"] {
        let text = std::fs::read_to_string(format!("{docs}/{known}.schema.json")).unwrap();
        let known = format!("plimsoll:{known}:1");
        compiler.add_resource(&known, serde_json::from_str(&text).unwrap()).unwrap();
    }
    let mut schemas = boon::Schemas::new();
    let schema = compiler.compile(&format!("plimsoll:{name}:1"), &mut schemas).unwrap();
    (schemas, schema)
}

#[test]
fn comparisons_meet_the_checked_in_schema() {
    let (schemas, schema) = schema("find-comparison");
    let objectives = vec![Objective::parse("p99<10ms").unwrap()];
    let blank = document(&Search::new(Settings::default(), objectives).unwrap());
    let mut found = blank.clone();
    found.answer.ending = Ending::Found;
    (found.answer.rate_rps, found.answer.fails_rps) = (Some(100.0), Some(110.0));
    let mut higher = found.clone();
    higher.answer.rate_rps = Some(120.0);
    higher.objectives = vec!["p99<20ms".to_owned()];
    for (base, new) in [(&found, &higher), (&higher, &found), (&blank, &found), (&found, &found)] {
        let written = SearchContrast::of(("a", base), ("b", new));
        let mut value = serde_json::to_value(&written).unwrap();
        if let Err(error) = schemas.validate(&value, schema) {
            panic!("{error}");
        }
        assert_eq!(serde_json::from_value::<SearchContrast>(value.clone()).unwrap(), written);
        value["direction"] = serde_json::json!("better");
        assert!(schemas.validate(&value, schema).is_err(), "the schema knows the directions");
        value.as_object_mut().unwrap().remove("direction");
        assert!(schemas.validate(&value, schema).is_err(), "the schema requires a direction");
    }
}

#[test]
fn documents_meet_the_checked_in_schema() {
    let (schemas, schema) = schema("find");

    let queue = Box::new(Queue::new(Service::Exponential(0.001), 1));
    let latched = Box::new(Worker::new(Service::Fixed(0.001), AboveRate::new(600, 400)));
    let settings = Settings { budget_ns: Some(3_600_000_000_000), ..Settings::default() };
    let mut limited = Simulation::new(queue, Arrivals::Poisson, 1);
    limited.tester_rps = 500.0;
    let objectives = ["p99<10ms", "errors<0.1%", "mean<1s"];
    let found = [
        limited.search(settings.clone(), &objectives),
        Simulation::new(latched, Arrivals::Even, 1).search(settings.clone(), &objectives),
    ];
    let parsed: Vec<Objective> =
        objectives.iter().map(|text| Objective::parse(text).unwrap()).collect();
    let empty = Search::new(settings, parsed).unwrap();
    let searches = found.iter().map(|it| &it.search).chain([&empty]);
    for search in searches {
        let written = document(search);
        assert_eq!(written.schema, SCHEMA);
        let mut value = serde_json::to_value(&written).unwrap();
        if let Err(error) = schemas.validate(&value, schema) {
            panic!("{error}");
        }
        let text = serde_json::to_string(&written).unwrap();
        let read: Document = serde_json::from_str(&text).unwrap();
        assert_eq!(read, written);
        let again =
            Search::resume(read.settings, search.objectives().to_vec(), &read.probes).unwrap();
        assert_eq!(document(&again), written);
        value["answer"]["ending"] = serde_json::json!("luck");
        assert!(schemas.validate(&value, schema).is_err(), "the schema knows the endings");
        value.as_object_mut().unwrap().remove("answer");
        assert!(schemas.validate(&value, schema).is_err(), "the schema requires an answer");
    }
}
