//! Pages of real runs in a real browser: nothing in them is cut, on a phone as on a large screen.
//! The samples of the report crate have the extremes; here are the kinds that the program writes.

use std::fs;

use crate::browser::{is_here, nothing_is_cut};
use crate::programs::share_with;
use crate::support::{Server, plimsoll, run};

/// Endpoints with names of any length, one of them failing.
const TARGETS: &str = "GET /\n\nGET /echo/a/path/that/no/column/of/a/table/can/hold?without=any&\
    space=in-it-at-which-a-line-could-break\n\nGET /status/503\n";

const SCRIPT: &str = "
import http from 'k6/http';
import { Counter, Rate, Trend } from 'k6/metrics';
const times = new Trend('time_until_the_last_picture_is_shown', true);
const sizes = new Trend('bytes_of_all_pictures');
const shown = new Counter('pictures_shown'), fine = new Rate('pictures_fine');
export const options = { vus: 2, iterations: 20, thresholds: { pictures_fine: ['rate>0.99'] } };
export default function () {
  const response = http.get(`${__ENV.BASE}/bytes/10k`);
  times.add(response.timings.duration, { page: 'a-page-with-a-long-name', zone: 'eu' });
  sizes.add(123456789.125);
  shown.add(12);
  fine.add(__ITER > 3);
}
";

#[test]
fn nothing_is_cut_in_pages_of_real_runs() {
    let Some(_share) = share_with(&["chromium"]) else { return };
    assert!(is_here());
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let (base, quick) = (server.url(""), ["--quick-only", "--settle", "0s", "--quick", "1s"]);
    let url = |path: &str| format!("{}{path}", base.trim_end_matches('/'));
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a file");
    };
    let scenarios = format!(
        "url = '{}'\nconnections = 2\nhtml = 'scenarios.html'\n\
         gate = ['p99@scenario:nightly-import-of-all-orders<1ns', 'errors<1%']\n\
         [scenario.browse]\nrequests = 30\n\
         [scenario.nightly-import-of-all-orders]\nurl = '{}'\nrequests = 40\n",
        url("/"),
        url("/status/503"),
    );
    let targets = TARGETS.replace("GET /", &format!("GET {}", url("/")));
    for (name, text) in
        [("scenarios.toml", scenarios.as_str()), ("targets.http", &targets), ("script.js", SCRIPT)]
    {
        file(name, text);
    }
    let environment = format!("BASE={}", url(""));
    let plain = url("/");
    let staged = ["--stages", "500ms@50..200,500ms@200", "--targets", "targets.http"];
    let kinds: [(&str, Vec<&str>); 6] = [
        ("plain", vec!["run", "-n", "100", &plain]),
        (
            "staged",
            [&["run", "--gate", "service.p99.9@endpoint:GET /status/503<1us"], &staged[..]]
                .concat(),
        ),
        ("scenarios", vec!["run", "scenarios.toml"]),
        ("script", vec!["run", "-e", &environment, "script.js"]),
        ("find", [&["find", "--max-rate", "400", "--slo", "p99<1s", &plain], &quick[..]].concat()),
        (
            "closed",
            [&["find", "--closed", "-c", "4", "--slo", "p99<1s", &plain], &quick[..]].concat(),
        ),
    ];
    let mut pages = Vec::new();
    for (name, arguments) in &kinds {
        let page = format!("{name}.html");
        let mut command = plimsoll(arguments);
        if *name != "scenarios" {
            command.args(["--html", &page]);
        }
        let finished = run(command.current_dir(folder.path()));
        // What the runs are judged is not at stake here; that they ran is.
        let text = fs::read_to_string(folder.path().join(&page));
        let text = text.unwrap_or_else(|error| panic!("{name}: {error}: {finished:?}"));
        assert!(text.contains("</html>") && text.contains("<table"), "{name}: {finished:?}");
        pages.push((*name, text));
    }
    shows_its_kind(&pages);
    nothing_is_cut(&pages);
}

/// Each page has what it is here for.
fn shows_its_kind(pages: &[(&str, String)]) {
    for (kind, words) in [
        ("staged", "Each stage"),
        ("staged", "no/column/of/a/table"),
        ("staged", "503"),
        ("scenarios", "nightly-import-of-all-orders"),
        ("scenarios", "FAILED"),
        ("script", "time_until_the_last_picture_is_shown"),
        ("find", "Probes"),
        ("closed", "Rate against connections"),
    ] {
        let (_, page) = pages.iter().find(|(name, _)| *name == kind).expect("a page");
        assert!(page.contains(words), "{kind}: no {words}");
    }
}
