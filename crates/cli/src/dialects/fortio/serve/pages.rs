//! The pages: a form that starts a run, the list of results, a result, and what a request was like.

use std::fmt::Write as _;
use std::time::Instant;

use plimsoll_dialect::WallTime;
use plimsoll_dialect::fortio::{canonical, long_version, version};
use plimsoll_server::{Asked, Response};
use serde_json::Value;

use super::site::text;

/// A body longer than this is shown by its ends.
const SHOWN_BYTES_MAX: usize = 512;

const STYLE: &str = "<style>body{font-family:sans-serif;margin:2em}td,th{padding:.1em 1em;\
                     text-align:right}input{margin:.2em}</style>";

/// The list of results, as fortio's readers look for links in it.
pub(super) fn list(names: &[String]) -> String {
    let mut page = "<html><body><ul>\n".to_owned();
    for name in names {
        let name = escaped(name);
        let _ = writeln!(page, "<li><a href=\"{name}.json\">{name}</a>");
    }
    page + "</ul></body></html>"
}

/// The form and the results.
pub(super) fn front(names: &[String], started: (Instant, WallTime), is_report: bool) -> String {
    let mut page = head("control UI");
    let up_s = started.0.elapsed().as_secs_f64();
    let _ = writeln!(page, "<p>Up for {up_s:.1}s (since {}).</p>", started.1.rfc3339());
    if is_report {
        page.push_str("<p>report only limited UI</p>\n");
    } else {
        page.push_str(FORM);
    }
    page.push_str("<h2>Results</h2>\n<ul>\n");
    for name in names {
        let name = escaped(name);
        let _ = writeln!(
            page,
            "<li><a href=\"?url={name}.json\">{name}</a> (<a href=\"data/{name}.json\">JSON</a>)"
        );
    }
    page + "</ul>\n</body></html>\n"
}

const FORM: &str = "<form method=\"GET\">\n\
    Title/Labels: <input name=\"labels\" size=\"40\" value=\"Fortio\"><br>\n\
    URL: <input name=\"url\" size=\"60\" value=\"http://127.0.0.1:8080/\"><br>\n\
    QPS: <input name=\"qps\" size=\"6\" value=\"100\"> \
    Duration: <input name=\"t\" size=\"6\" value=\"3s\"> \
    Connections: <input name=\"c\" size=\"6\" value=\"10\"><br>\n\
    <label><input type=\"checkbox\" name=\"jitter\">jitter</label> \
    <label><input type=\"checkbox\" name=\"uniform\" checked>uniform</label> \
    <label><input type=\"checkbox\" name=\"nocatchup\" checked>no catch-up</label> \
    <label><input type=\"checkbox\" name=\"save\" checked>save</label> \
    <input type=\"hidden\" name=\"json\" value=\"on\">\n\
    <input type=\"submit\" name=\"load\" value=\"Start\"> \
    <input type=\"submit\" name=\"stop\" value=\"Stop\">\n</form>\n";

/// The figures and the buckets of a result.
pub(super) fn result(name: &str, document: &[u8]) -> String {
    let mut page = head(&escaped(name));
    let Ok(result) = serde_json::from_slice::<Value>(document) else {
        return page + "<p>This file is not JSON.</p></body></html>\n";
    };
    page.push_str("<table>\n");
    for key in [
        "RunType",
        "Labels",
        "URL",
        "Destination",
        "StartTime",
        "RequestedQPS",
        "ActualQPS",
        "RequestedDuration",
        "NumThreads",
        "Verdict",
    ] {
        let shown = match &result[key] {
            Value::Null => continue,
            Value::String(text) => escaped(text),
            other => escaped(&other.to_string()),
        };
        let _ = writeln!(page, "<tr><th>{key}</th><td>{shown}</td></tr>");
    }
    page.push_str("</table>\n");
    for (title, key) in [
        ("Response time", "DurationHistogram"),
        ("Response time, corrected", "CorrectedDurationHistogram"),
        ("Errors", "ErrorsDurationHistogram"),
    ] {
        histogram(&mut page, title, &result[key]);
    }
    page + "</body></html>\n"
}

fn histogram(page: &mut String, title: &str, histogram: &Value) {
    let Some(rows) = histogram["Data"].as_array() else { return };
    let ms = |value: &Value| value.as_f64().unwrap_or_default() * 1000.0;
    let _ = writeln!(page, "<h2>{title}</h2>\n<p>{} calls</p>\n<table>", histogram["Count"]);
    for it in histogram["Percentiles"].as_array().into_iter().flatten() {
        let (percent, value) = (&it["Percentile"], ms(&it["Value"]));
        let _ = writeln!(page, "<tr><th>p{percent}</th><td>{value:.3} ms</td></tr>");
    }
    page.push_str("</table>\n<table><tr><th>from ms<th>to ms<th>%<th>calls</tr>\n");
    for row in rows {
        let (start, end) = (ms(&row["Start"]), ms(&row["End"]));
        let percent = row["Percent"].as_f64().unwrap_or_default();
        let count = &row["Count"];
        let _ = writeln!(page, "<tr><td>{start:.3}<td>{end:.3}<td>{percent:.2}<td>{count}</tr>");
    }
    page.push_str("</table>\n");
}

/// What a request was like.
pub(super) fn debug(asked: &Asked, started: (Instant, WallTime)) -> Response {
    let head = String::from_utf8_lossy(&asked.head).into_owned();
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    let mut fields: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let name = canonical(name.trim());
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value.trim()),
            None => fields.push((name, vec![value.trim()])),
        }
    }
    fields.sort_by(|a, b| (a.0 != "Host", &a.0).cmp(&(b.0 != "Host", &b.0)));
    let up_s = started.0.elapsed().as_secs_f64();
    let node = rustix::system::uname();
    let host = node.nodename().to_string_lossy();
    let tls = if asked.is_secure { " TLS" } else { "" };
    let mut page = format!(
        "Φορτίο version {} echo debug server up for {up_s:.1}s on {host} - request from {}{tls}\n\n\
         {first}\n\nheaders:\n\n",
        long_version(),
        asked.peer
    );
    for (name, values) in fields {
        let _ = writeln!(page, "{name}: {}", values.join(","));
    }
    let body = String::from_utf8_lossy(&asked.body);
    let bytes = asked.body.len();
    if bytes <= SHOWN_BYTES_MAX {
        let _ = write!(page, "\nbody:\n\n{body}\n");
    } else {
        let end = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        let half = SHOWN_BYTES_MAX / 2;
        let (first, last) = (end(&asked.body[..half]), end(&asked.body[bytes - half..]));
        let _ = write!(page, "\nbody:\n\n{bytes}: {first}...{last}\n");
    }
    text(200, &page)
}

fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html><head><title>Φορτίο v{}</title>{STYLE}</head>\n<body>\n\
         <h1>Φορτίο (fortio) v{} {title}</h1>\n",
        version(),
        version()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_links_that_readers_look_for() {
        let names = ["2026-11-26-121159_2".to_owned(), "a<b".to_owned()];
        let want = "<html><body><ul>\n\
            <li><a href=\"2026-11-26-121159_2.json\">2026-11-26-121159_2</a>\n\
            <li><a href=\"a&lt;b.json\">a&lt;b</a>\n</ul></body></html>";
        assert_eq!(list(&names), want);
    }

    #[test]
    fn a_result_is_shown_without_markup_of_its_own() {
        let document = br#"{"Labels":"<script>","DurationHistogram":{"Count":2,"Data":[
            {"Start":0.001,"End":0.002,"Percent":100,"Count":2}],
            "Percentiles":[{"Percentile":50,"Value":0.0015}]}}"#;
        let page = result("x.json", document);
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"), "{page}");
        assert!(page.contains("<tr><td>1.000<td>2.000<td>100.00<td>2</tr>"), "{page}");
        assert!(page.contains("p50</th><td>1.500 ms"), "{page}");
        assert!(result("x.json", b"no").contains("not JSON"));
    }

    #[test]
    fn requests_are_shown_with_sorted_fields() {
        let asked = Asked {
            head: b"POST /debug HTTP/1.1\r\nx-b: 1\r\nhost: h\r\na: 2\r\nX-B: 3\r\n\r\n".to_vec(),
            method: "POST".to_owned(),
            target: "/debug".to_owned(),
            body: b"hello".to_vec(),
            peer: ([127, 0, 0, 1], 9).into(),
            is_secure: false,
        };
        let started = (Instant::now(), WallTime { unix_ns: 0, offset_s: 0 });
        let body = String::from_utf8(debug(&asked, started).body).expect("text");
        let (first, rest) = body.split_once("\n\n").expect("a line");
        assert!(first.ends_with(" - request from 127.0.0.1:9"), "{first}");
        let want =
            "POST /debug HTTP/1.1\n\nheaders:\n\nHost: h\nA: 2\nX-B: 1,3\n\nbody:\n\nhello\n";
        assert_eq!(rest, want);
    }
}
