//! The pages: a form that starts a run, the list of results, the flags, and what a request was
//! like. Those that show results are in `results`.

use std::fmt::Write as _;
use std::time::Instant;

use plimsoll_dialect::WallTime;
use plimsoll_dialect::fortio::{canonical, help, long_version, version};
use plimsoll_server::{Asked, Response};

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

/// The form that starts a run, and links.
pub(super) fn front(started: (Instant, WallTime)) -> String {
    let mut page = head("control UI");
    let up_s = started.0.elapsed().as_secs_f64();
    let _ = writeln!(page, "<p>Up for {up_s:.1}s (since {}).</p>", started.1.rfc3339());
    page + FORM + "</body></html>\n"
}

const FORM: &str = "<form method=\"GET\">\n\
    Title/Labels: <input name=\"labels\" size=\"40\" value=\"Fortio\"><br>\n\
    URL: <input name=\"url\" size=\"60\" value=\"http://127.0.0.1:8080/\"><br>\n\
    QPS: <input name=\"qps\" size=\"6\" value=\"100\"> \
    Duration (on: until stopped): <input name=\"t\" size=\"6\" value=\"3s\"> \
    or calls: <input name=\"n\" size=\"6\"><br>\n\
    Connections: <input name=\"c\" size=\"6\" value=\"10\"> \
    Calls for each (min:max): <input name=\"connection-reuse\" size=\"8\"> \
    Timeout: <input name=\"timeout\" size=\"8\" value=\"750ms\"><br>\n\
    <label><input type=\"checkbox\" name=\"jitter\">jitter</label> \
    <label><input type=\"checkbox\" name=\"uniform\" checked>uniform</label> \
    <label><input type=\"checkbox\" name=\"nocatchup\" checked>no catch-up</label> \
    <label><input type=\"checkbox\" name=\"sequential-warmup\">sequential warm-up</label> \
    <label><input type=\"checkbox\" name=\"log-errors\" checked>log errors</label><br>\n\
    Percentiles: <input name=\"p\" size=\"20\" value=\"50,75,90,99,99.9\"> \
    Resolution, s: <input name=\"r\" size=\"8\" value=\"0.0001\"><br>\n\
    Method: <input name=\"X\" size=\"8\"> Header: <input name=\"H\" size=\"30\"><br>\n\
    Payload:<br><textarea name=\"payload\" rows=\"3\" cols=\"75\"></textarea><br>\n\
    <label><input type=\"radio\" name=\"runner\" value=\"http\" checked>http, tcp, udp</label> \
    <label><input type=\"checkbox\" name=\"stdclient\" checked>Go's client</label> \
    <label><input type=\"checkbox\" name=\"h2\">h2</label> \
    <label><input type=\"checkbox\" name=\"https-insecure\">https insecure</label> \
    Resolve: <input name=\"resolve\" size=\"12\"><br>\n\
    <label><input type=\"radio\" name=\"runner\" value=\"grpc\">grpc</label> \
    <label><input type=\"checkbox\" name=\"grpc-secure\">TLS</label> \
    <label><input type=\"checkbox\" name=\"ping\">ping</label> \
    Ping delay: <input name=\"grpc-ping-delay\" size=\"6\"> \
    Health service: <input name=\"healthservice\" size=\"6\"><br>\n\
    <label><input type=\"checkbox\" name=\"json\">JSON</label> \
    <label><input type=\"checkbox\" name=\"save\" checked>save</label>\n\
    <input type=\"submit\" name=\"load\" value=\"Start\"> \
    <input type=\"submit\" name=\"stop\" value=\"Stop\">\n</form>\n\
    <p><a href=\"browse\">Saved results</a>, also as <a href=\"data/\">JSON</a></p>\n\
    <form action=\"rest/dns\">Addresses of <input name=\"name\" size=\"40\"> \
    <input type=\"submit\" value=\"Look up\"></form>\n\
    <p><a href=\"rest/status\">Runs</a>, <a href=\"flags\">flags</a></p>\n";

/// A form for a list of results to copy.
pub(super) fn sync() -> String {
    let form = "<form>\nList of results (TSV, or XML of a bucket): \
                <input name=\"url\" size=\"60\"> <input type=\"submit\" value=\"Copy\">\n\
                </form>\n</body></html>\n";
    head("copy results") + form
}

/// What the program can be started with.
pub(super) fn flags() -> String {
    let note = "No flag can be changed while the server runs.";
    format!("{}<p>{note}</p>\n<pre>{}</pre>\n</body></html>\n", head("flags"), escaped(&help()))
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

/// Everything before the content of a page.
pub(super) fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html><head><title>Φορτίο v{}</title>{STYLE}</head>\n<body>\n\
         <h1>Φορτίο (fortio) v{} {title}</h1>\n",
        version(),
        version()
    )
}

/// A text that is nothing but text in an element and in a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use plimsoll_server::Client;

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
    fn the_form_asks_for_what_a_run_can_have() {
        let page = front((Instant::now(), WallTime { unix_ns: 0, offset_s: 0 }));
        for name in ["url", "qps", "t", "n", "c", "p", "r", "save", "json", "load", "runner"] {
            assert!(page.contains(&format!(" name=\"{name}\"")), "{name}: {page}");
        }
        assert!(flags().contains("\n  -qps rate\n") && !flags().contains("<script"));
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
            client: Client::default(),
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
