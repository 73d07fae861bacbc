//! Pages with results: the list of those that were saved, one with its charts, and several in one
//! chart. The charts are those of `plimsoll report --format html`.

use std::fmt::Write as _;
use std::path::Path;

use plimsoll_core::foreign::ForeignResult;
use plimsoll_core::units::format_bytes;
use plimsoll_dialect::fortio::rest::Arguments;
use plimsoll_dialect::fortio::{Said, foreign, is_result};
use plimsoll_report::foreign::{Link, RESULTS_MAX, write_html, write_html_of_several};
use plimsoll_server::Response;

use super::data;
use super::pages::{escaped, head};
use super::site::html;

/// The longest result that a page shows. One in memory takes a hundred times as much.
const SHOWN_BYTES_MAX: u64 = 4 << 20;

const BACK: Link<'static> = Link { href: "browse", text: "Saved results" };

/// What a query asks to be shown: the result `url`, those that are selected with `sel`, or the list
/// of all whose names contain `s`.
pub(super) fn browse(folder: &Path, arguments: &Arguments, is_report: bool) -> Response {
    let name = arguments.text("url");
    if !name.is_empty() {
        return one(folder, name);
    }
    let selected: Vec<&str> = arguments.texts("sel").collect();
    match selected.as_slice() {
        [] => html(200, &list(&data::names(folder), arguments.text("s"), is_report)),
        [name] => one(folder, name),
        names => several(folder, names),
    }
}

/// The page of a run that was started with the form; what went wrong stays as it was said.
pub(super) fn of_run(answer: Response) -> Response {
    if answer.status != 200 {
        return html(answer.status, &message(&String::from_utf8_lossy(&answer.body)));
    }
    let front = Link { href: "./", text: "Another run" };
    page(&answer.body, &[front, BACK])
}

fn one(folder: &Path, name: &str) -> Response {
    let document = match document(folder, name) {
        Ok(document) => document,
        Err(refusal) => return refusal,
    };
    let json = format!("data/{name}");
    page(&document, &[BACK, Link { href: &json, text: "JSON" }])
}

/// A saved result, or a page that says why it is not shown.
fn document(folder: &Path, name: &str) -> Result<Vec<u8>, Response> {
    if let Some(length) = data::length(folder, name).filter(|length| *length > SHOWN_BYTES_MAX) {
        let most = format_bytes(SHOWN_BYTES_MAX);
        let length = format_bytes(length);
        let why = format!("'{name}' has {length}; pages show results of up to {most}.");
        return Err(html(200, &message(&why)));
    }
    let none = || html(404, &message(&format!("There is no result '{name}'.")));
    data::read(folder, name).ok_or_else(none)
}

fn page(document: &[u8], links: &[Link<'_>]) -> Response {
    let result = match read(document) {
        Ok(result) => result,
        Err(why) => return html(200, &message(&why)),
    };
    let mut page = Vec::new();
    match write_html(&result, links, &mut page) {
        Ok(()) => html(200, &String::from_utf8_lossy(&page)),
        Err(error) => html(500, &message(&error.to_string())),
    }
}

fn several(folder: &Path, names: &[&str]) -> Response {
    let mut results = Vec::new();
    for name in names.iter().take(RESULTS_MAX) {
        let document = match document(folder, name) {
            Ok(document) => document,
            Err(refusal) => return refusal,
        };
        match read(&document) {
            Ok(result) => results.push((name.trim_end_matches(".json").to_owned(), result)),
            Err(why) => return html(200, &message(&format!("{name}: {why}"))),
        }
    }
    let mut page = Vec::new();
    match write_html_of_several(&results, &[BACK], &mut page) {
        Ok(()) => html(200, &String::from_utf8_lossy(&page)),
        Err(error) => html(500, &message(&error.to_string())),
    }
}

fn read(document: &[u8]) -> Result<ForeignResult, String> {
    let document = serde_json::from_slice(document).map_err(|error| error.to_string())?;
    if !is_result(&document) {
        return Err("This file is not a result of fortio.".to_owned());
    }
    Said::read(&document).map(|said| foreign(&said)).map_err(|error| error.to_string())
}

/// The list of results, of which several can be chosen.
fn list(names: &[String], wanted: &str, is_report: bool) -> String {
    let mut page = head(if is_report { ", report only limited UI" } else { "saved results" });
    let _ = writeln!(
        page,
        "<form>Names with <input name=\"s\" value=\"{}\"> <input type=\"submit\" \
         value=\"Filter\"></form>\n<form>\n<ul>",
        escaped(wanted)
    );
    let small = wanted.to_lowercase();
    for name in names.iter().filter(|name| name.to_lowercase().contains(&small)) {
        let name = escaped(name);
        let _ = writeln!(
            page,
            "<li><input type=\"checkbox\" name=\"sel\" value=\"{name}.json\"> \
             <a href=\"browse?url={name}.json\">{name}</a> (<a href=\"data/{name}.json\">JSON</a>)"
        );
    }
    let _ = writeln!(
        page,
        "</ul>\n<input type=\"submit\" value=\"Compare\"> up to {RESULTS_MAX}\n</form>\n\
         </body></html>"
    );
    page
}

/// A page that says one thing.
pub(super) fn message(text: &str) -> String {
    format!("{}<p>{}</p>\n</body></html>\n", head(""), escaped(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"Labels":"<script>","DurationHistogram":{"Count":2,"Data":[
        {"Start":0.001,"End":0.002,"Percent":100,"Count":2}],
        "Percentiles":[{"Percentile":50,"Value":0.0015}]}}"#;

    fn shown(folder: &Path, query: &str) -> (u16, String) {
        let arguments = Arguments::read(&format!("/browse?{query}"), b"").expect("a query");
        let response = browse(folder, &arguments, false);
        (response.status, String::from_utf8(response.body).expect("text"))
    }

    #[test]
    fn results_are_listed_shown_and_compared() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("a_1.json", DOCUMENT), ("B_2.json", DOCUMENT), ("c.json", "no")] {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        let long = std::fs::File::create(folder.path().join("long.json")).expect("created");
        long.set_len(SHOWN_BYTES_MAX + 1).expect("made longer");
        let shown = |query: &str| shown(folder.path(), query);
        let (_, all) = shown("");
        assert_eq!(all.matches("name=\"sel\"").count(), 4, "{all}");
        let (_, some) = shown("s=b_");
        assert!(some.contains("browse?url=B_2.json") && !some.contains("a_1"), "{some}");
        for (query, status, parts) in [
            ("url=a_1.json", 200, ["&lt;script&gt;", "<h3>Calls by latency</h3>"]),
            ("sel=a_1.json", 200, ["data/a_1.json", "<h3>Calls by latency</h3>"]),
            ("sel=a_1.json&sel=B_2.json", 200, ["<h1>2 results</h1>", "class=\"s-2\""]),
            ("url=c.json", 200, ["expected", "<p>"]),
            ("url=long.json", 200, ["'long.json' has 4.", "up to 4."]),
            ("sel=a_1.json&sel=long.json", 200, ["'long.json' has 4.", "up to 4."]),
            ("url=d.json", 404, ["There is no result", "<p>"]),
            ("url=../a_1.json", 404, ["There is no result", "<p>"]),
            ("sel=a_1.json&sel=d.json", 404, ["There is no result", "<p>"]),
        ] {
            let (got, page) = shown(query);
            assert_eq!(got, status, "{query}");
            assert!(parts.iter().all(|part| page.contains(part)), "{query}: {page}");
            assert!(!page.contains("<script>"), "{query}: {page}");
        }
    }

    #[test]
    fn runs_are_shown_as_results_are() {
        let answer =
            |status, body: &str| Response { status, body: body.into(), fields: Vec::new() };
        let run = of_run(answer(200, DOCUMENT));
        assert!(String::from_utf8_lossy(&run.body).contains("<h3>Latency by percentile</h3>"));
        let wrong = of_run(answer(400, "{\"message\":\"<URL is required>\"}"));
        let page = String::from_utf8_lossy(&wrong.body).into_owned();
        assert!(wrong.status == 400 && page.contains("&lt;URL is required&gt;"), "{page}");
    }
}
