//! The picture in README.md: it shows what the text report says of the stored document.

use std::fs;
use std::path::Path;

use plimsoll_core::RunResult;
use plimsoll_report::text::{Style, write};

#[path = "../../../xtask/src/picture/svg.rs"]
mod svg;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_pictures_are_those_of_the_stored_report() {
    let result: RunResult = serde_json::from_str(&read("report.json")).expect("a result");
    let mut text = Vec::new();
    write(&result, &mut text, Style { color: true, width: 100 }).expect("a report");
    let text = String::from_utf8(text).expect("text");
    for (name, theme) in [("report-light.svg", svg::LIGHT), ("report-dark.svg", svg::DARK)] {
        let drawn = svg::draw(&text, &theme).expect("colours and nothing else");
        // Not `assert_eq`: it would print two whole pictures.
        assert!(drawn == read(name), "{name} is not what the report says: cargo xtask picture");
    }
}
