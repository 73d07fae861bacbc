//! Holds the table of `docs/verdict.md` and the code together: each cause has a row, and the row
//! names the figures that the cause touches and the side on which their true values lie.

use std::collections::BTreeMap;

use super::tests::provoked;
use super::*;
use crate::doubt::Figure;

/// Whether the true value may be lower, and whether it may be higher.
type Sides = (bool, bool);

/// By what the table calls a figure.
fn figure(name: &str) -> Figure {
    match name {
        "load" => Figure::Load,
        "counts" => Figure::Counts,
        "offered" => Figure::Offered,
        "rate" => Figure::Achieved,
        "response" => Figure::Response,
        "service" => Figure::Service,
        "phases" => Figure::Phases,
        "connections" => Figure::Connections,
        "server" => Figure::Server,
        "series" => Figure::Series,
        other => panic!("no figure is called {other}"),
    }
}

/// A cell as `response, service: lower; rate: higher`.
fn parsed(cell: &str) -> BTreeMap<Figure, Sides> {
    let mut figures = BTreeMap::new();
    for group in cell.split(';').map(str::trim).filter(|group| *group != "none") {
        let (names, side) = group.split_once(": ").unwrap_or_else(|| panic!("{cell}"));
        let sides = match side {
            "lower" => (true, false),
            "higher" => (false, true),
            "either" => (true, true),
            other => panic!("{other} is not a side"),
        };
        for name in names.split(", ") {
            assert_eq!(figures.insert(figure(name), sides), None, "{cell}");
        }
    }
    figures
}

/// The second column of the table, by the first.
fn table() -> BTreeMap<String, BTreeMap<Figure, Sides>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verdict.md");
    let text = std::fs::read_to_string(path).expect("a document about the verdict");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.flat_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 5, "{row}");
        let figures = parsed(cells[1]);
        let codes: Vec<String> =
            cells[0].split(", ").map(|code| code.trim_matches('`').to_owned()).collect();
        codes.into_iter().map(move |code| (code, figures.clone()))
    })
    .collect()
}

/// What a cause touches, in either kind of load.
fn touched(code: &str) -> BTreeMap<Figure, Sides> {
    let mut figures: BTreeMap<Figure, Sides> = BTreeMap::new();
    for (evidence, ..) in provoked().into_iter().filter(|(.., provoked)| *provoked == code) {
        for open_loop in [true, false] {
            // What waits for connections, what comes after the window and what a cycle has beside
            // its request matters to some.
            let (unsent, after_window) = (evidence.unsent.max(200), 200);
            let evidence =
                Evidence { open_loop, cycle_excess: 0.1, unsent, after_window, ..evidence.clone() };
            let causes = judge(&evidence);
            for touch in causes.iter().filter(|cause| cause.code == code).flat_map(|it| &it.touches)
            {
                let sides = figures.entry(touch.figure).or_default();
                sides.0 |= !touch.below.is_nothing();
                sides.1 |= !touch.above.is_nothing();
            }
        }
    }
    figures
}

#[test]
fn the_table_of_causes_and_figures_is_that_of_the_code() {
    let table = table();
    for code in CODES {
        let row = table.get(code).unwrap_or_else(|| panic!("{code} has no row"));
        assert_eq!(*row, touched(code), "{code}");
    }
    assert_eq!(table.len(), CODES.len(), "a row is about no cause");
}
