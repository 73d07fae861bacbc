//! Programs that parse ab's output: their patterns, tried on ours.

use std::collections::BTreeMap;

use regex::Regex;

use super::{ODD, command, result, shown};
use crate::ab::csv;

/// Bees with Machine Guns (`newsapps/beeswithmachineguns`, its `bees.py`) takes four
/// figures from the report, and the column `Time in ms` of the file of `-e`.
#[test]
fn bees_with_machine_guns() {
    let command = command("-r -n 5 -c 2 -e out http://h/");
    let result = result(&command, &ODD);
    let text = shown(&command, &result);
    for (pattern, want) in [
        (r"Time\ per\ request:\s+([0-9.]+)\ \[ms\]\ \(mean\)", "4.000"),
        (r"Requests\ per\ second:\s+([0-9.]+)\ \[#/sec\]\ \(mean\)", "500.00"),
        (r"Failed\ requests:\s+([0-9.]+)", "0"),
        (r"Complete\ requests:\s+([0-9]+)", "5"),
    ] {
        let found = Regex::new(pattern).expect(pattern).captures(&text).expect(pattern);
        assert_eq!(&found[1], want, "{pattern}");
    }
    let csv = csv(&command, &result).expect("requests were answered");
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = rows.next().expect("the names");
    let column = names.iter().position(|name| *name == "Time in ms").expect("the column");
    let times: Vec<f64> = rows.map(|row| row[column].parse().expect("a number")).collect();
    assert_eq!((times.len(), times[0], times[100]), (101, 11.0, 31.1));
}

/// Virtual Client (`microsoft/VirtualClient`, `ApacheBenchMetricsParser.cs`) takes the lines from
/// `Concurrency Level` to the next empty one, and of each that has one colon the first word behind
/// it. Of two lines of one name the later one counts.
#[test]
fn virtual_client() {
    let command = command("-n 5 -c 2 http://h/");
    let text = shown(&command, &result(&command, &ODD));
    let squeezed = Regex::new("[ ]{2,}").expect("a pattern").replace_all(&text, " ");
    let start = squeezed.find("Concurrency Level").expect("the section");
    let section = Regex::new(r"\n\s*\n").expect("a pattern").split(&squeezed[start..]).next();
    let mut figures = BTreeMap::new();
    for line in section.expect("the section").lines() {
        let parts: Vec<&str> = line.split(':').collect();
        if let [name, value] = parts[..] {
            let first = value.trim().split(' ').next().unwrap_or_default();
            figures.insert(name.trim(), first.parse::<f64>().expect(line));
        }
    }
    for (name, want) in [
        ("Concurrency Level", 2.0),
        ("Complete requests", 5.0),
        ("Time taken for tests", 0.01),
        ("Failed requests", 0.0),
        ("Requests per second", 500.0),
        ("Time per request", 2.0),
        ("Total transferred", 1220.0),
        ("Transfer rate", 119.14),
    ] {
        assert_eq!(figures.get(name), Some(&want), "{name}");
    }
}
