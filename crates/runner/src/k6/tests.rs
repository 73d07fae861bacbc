//! What is counted for each event, what a test refuses, and thresholds on the way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, sync_channel};

use plimsoll_core::plan::DriverPlan;
use plimsoll_dialect::k6::metrics::{Book, Kind, Registry, Sink, SystemTags, TagSet};
use plimsoll_dialect::k6::options::{Options, Sources};
use plimsoll_dialect::k6::output::Level;
use plimsoll_dialect::k6::runtime::{Runtime, RuntimeFlags};
use plimsoll_dialect::k6::{ExitCode, SecretSources};
use plimsoll_engine::vu::{IterationEnded, Outcome, Place, RequestEnded, Tally};
use plimsoll_script::js::{self, Failure, Timings};

use super::account::Account;
use super::common::{Common, Ids, RoleNames};
use super::count::Count;
use super::handle::Figures;
use super::news::{Lines, LogLine, Point, Points};
use super::{Environment, Handle, Script, Test, thresholds};

const WALL_NS: u64 = 1_700_000_000_000_000_000;

/// Everything that a count tells, and where it comes out.
struct World {
    common: Arc<Common>,
    lines: Receiver<Box<LogLine>>,
    points: Receiver<Vec<Point>>,
    names: js::Worker,
}

impl World {
    fn new(system_tags: SystemTags) -> Self {
        let mut registry = Registry::default();
        registry.select("http_reqs{status:404}").expect("a part");
        let (lines, lines_out) = Lines::new();
        let (points, points_out) = Points::new();
        let map = |pairs: [(&str, &str); 1]| -> BTreeMap<String, String> {
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let role = RoleNames {
            name: "shop".to_owned(),
            executor: "constant-vus",
            tags: map([("of", "scenario")]),
        };
        let common = Arc::new(Common {
            ids: Ids::new(&registry),
            registry,
            is_full: true,
            metrics: std::collections::HashMap::new(),
            system_tags,
            tags: map([("of", "run")]),
            roles: vec![role],
            lines,
            points: Some(points),
            is_verbose: false,
        });
        Self { common, lines: lines_out, points: points_out, names: js::Worker::new() }
    }

    fn place(&self) -> Place<'_> {
        Place {
            scenario: Some(0),
            vu: 3,
            iteration: 7,
            group: None,
            tags: None,
            metadata: None,
            wall_ns: WALL_NS,
            at_ns: 5_000,
            names: &self.names,
        }
    }

    /// The samples that have come: metric, value and tags.
    fn samples(&self) -> Vec<(String, f64, TagSet)> {
        let name = |point: &Point| self.common.registry.get(point.metric).name.clone();
        let points = self.points.try_iter().flatten();
        points.map(|point| (name(&point), point.value, point.tags)).collect()
    }
}

const REQUEST: RequestEnded<'_> = RequestEnded {
    begun: None,
    method: "GET",
    url: "http://a/x",
    name: "http://a/x",
    status: 404,
    proto: "HTTP/1.1",
    tls_version: "",
    remote_ip: "127.0.0.1",
    error: "",
    error_code: 1404,
    errno: None,
    is_expected: Some(false),
    tags: None,
    intended_ns: 1_000,
    started_ns: 2_000,
    is_redirected: false,
    is_resent: false,
    ended_ns: 4_000,
    unread_ns: 0,
    timings: Timings {
        blocked_ns: 1_000_000,
        connecting_ns: 500_000,
        tls_handshaking_ns: 0,
        sending_ns: 250_000,
        waiting_ns: 2_000_000,
        receiving_ns: 750_000,
    },
};

fn tags(pairs: &[(&str, &str)]) -> TagSet {
    TagSet::of(pairs.iter().copied())
}

#[test]
fn a_request_is_a_sample_of_each_metric_of_requests() {
    let world = World::new(SystemTags::default());
    let mut count = Count::new(&world.common, "", Some(0), None);
    count.request(&world.place(), &REQUEST);
    count.request(&world.place(), &REQUEST);
    count.request(&world.place(), &RequestEnded { is_expected: None, ..REQUEST });
    let (book, account) = count.finish();
    let samples = world.samples();
    let want = [
        ("http_reqs", 1.0),
        ("http_req_duration", 3.0),
        ("http_req_blocked", 1.0),
        ("http_req_connecting", 0.5),
        ("http_req_tls_handshaking", 0.0),
        ("http_req_sending", 0.25),
        ("http_req_waiting", 2.0),
        ("http_req_receiving", 0.75),
        ("http_req_failed", 1.0),
    ];
    let found: Vec<(&str, f64)> =
        samples.iter().map(|(name, value, _)| (name.as_str(), *value)).collect();
    assert_eq!(found[..9], want);
    assert_eq!(found[18..], want[..8], "without a judge there is no failure");
    let all = [
        ("error_code", "1404"),
        ("expected_response", "false"),
        ("group", ""),
        ("method", "GET"),
        ("name", "http://a/x"),
        ("of", "scenario"),
        ("proto", "HTTP/1.1"),
        ("scenario", "shop"),
        ("status", "404"),
        ("url", "http://a/x"),
    ];
    assert_eq!(samples[0].2, tags(&all));
    let part = book.registry().find("http_reqs{status:404}").expect("a part");
    assert_eq!(book.sink(part).map(Sink::count), Some(3));
    assert_eq!((account.responses, account.errors), (3, 0));
    assert_eq!(account.requests.quantile_ns(1.0), Some(3_000), "from when it was asked for");
}

#[test]
fn a_name_stands_in_place_of_the_url_and_tags_can_be_left_out() {
    let world = World::new(SystemTags::of(&["url", "name", "ip"].map(str::to_owned)));
    let mut count = Count::new(&world.common, "::setup", None, None);
    let place = Place { scenario: None, vu: 0, ..world.place() };
    count.request(&place, &RequestEnded { name: "http://a/${}", ..REQUEST });
    count.request(&place, &RequestEnded { status: 0, error: "dial: x", ..REQUEST });
    count.request(
        &place,
        &RequestEnded { status: 0, error: "no URL", url: "", name: "", ..REQUEST },
    );
    let (_, account) = count.finish();
    let samples = world.samples();
    let named = [("ip", "127.0.0.1"), ("name", "http://a/${}"), ("of", "run")];
    let named = [&named[..], &[("url", "http://a/${}")]].concat();
    assert_eq!(samples[0].2, tags(&named));
    assert_eq!(samples[9].2.get("url"), Some("http://a/x"));
    assert_eq!(samples[18].2.get("url"), Some(""), "a tag, if an empty one");
    assert_eq!((account.responses, account.errors), (1, 2));
}

/// Plimsoll asks for no OCSP response: the state is `unknown` over TLS, and absent without TLS.
#[test]
fn the_state_of_a_certificate_is_a_tag_over_tls() {
    let world = World::new(SystemTags::of(&["ocsp_status", "tls_version"].map(str::to_owned)));
    let mut count = Count::new(&world.common, "", Some(0), None);
    count.request(&world.place(), &REQUEST);
    count.request(&world.place(), &RequestEnded { tls_version: "tls1.3", ..REQUEST });
    count.finish();
    let samples = world.samples();
    assert_eq!(samples[0].2, tags(&[("of", "scenario")]));
    let over_tls = [("ocsp_status", "unknown"), ("of", "scenario"), ("tls_version", "tls1.3")];
    assert_eq!(samples[9].2, tags(&over_tls));
}

#[test]
fn an_iteration_ends_in_one_of_three_ways() {
    let world = World::new(SystemTags::default());
    let mut count = Count::new(&world.common, "", Some(0), None);
    let ended = IterationEnded {
        outcome: Outcome::Completed,
        due_ns: 1_000_000,
        started_ns: 2_000_000,
        ended_ns: 5_000_000,
        sent_bytes: 10,
        received_bytes: 20,
        requests_cut_off: 1,
    };
    for outcome in [Outcome::Completed, Outcome::Failed, Outcome::Interrupted] {
        count.iteration(&world.place(), &IterationEnded { outcome, ..ended });
    }
    count.dropped(&world.place(), 4);
    count.group(&world.place(), 3_000_000);
    for at_ns in [5_000, 1_000_000_000, 1_500_000_000] {
        count.tick(&Place { at_ns, ..world.place() }, Some([1, 2]));
    }
    count.tick(&Place { at_ns: 2_500_000_000, ..world.place() }, None);
    let (_, mut account) = count.finish();
    let samples = world.samples();
    let found: Vec<(&str, f64)> =
        samples.iter().map(|(name, value, _)| (name.as_str(), *value)).collect();
    let data = [("data_sent", 10.0), ("data_received", 20.0)];
    let iteration = [("iteration_duration", 3.0), ("iterations", 1.0)];
    let rest =
        [("dropped_iterations", 4.0), ("group_duration", 3.0), ("vus", 1.0), ("vus_max", 2.0)];
    assert_eq!(found, [&data[..], &iteration, &data, &iteration, &data, &rest].concat());
    assert_eq!(samples[0].2, tags(&[("group", ""), ("of", "scenario"), ("scenario", "shop")]));
    assert_eq!(samples[10].2, tags(&[("of", "scenario"), ("scenario", "shop")]));
    assert_eq!(samples[12].2, tags(&[("of", "run")]), "VUs have the tags of the run alone");
    account.started = 3;
    assert!(account.balances());
    assert_eq!((account.completed, account.failed, account.interrupted), (1, 1, 1));
    assert_eq!((account.dropped, account.cut_off), (4, 3));
    assert_eq!(account.lateness.quantile_ns(1.0), Some(1_000_000));
    assert_eq!(
        (account.iterations.count(), account.iterations.quantile_ns(1.0)),
        (2, Some(4_000_000))
    );
}

#[test]
fn lines_say_where_they_come_from() {
    let world = World::new(SystemTags::default());
    let mut count = Count::new(&world.common, "", None, None);
    count.log(&world.place(), js::Level::Debug, "quiet");
    count.log(&world.place(), js::Level::Warn, "hello");
    let failure = Failure { text: "Error: boom".to_owned(), stack: "at f (/s.js:1:2)".to_owned() };
    count.failure(&world.place(), &failure);
    let lines: Vec<Box<LogLine>> = world.lines.try_iter().collect();
    assert_eq!((lines.len(), lines[0].level, lines[0].is_console), (2, Level::Warning, true));
    assert_eq!(lines[0].fields, [("source", "console".to_owned())]);
    assert_eq!(lines[1].message, "Error: boom\n\tat f (/s.js:1:2)\n");
    let fields: Vec<&str> = lines[1].fields.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(fields, ["constant-vus", "shop", "stacktrace"]);
}

fn environment(flags: Options) -> Environment {
    let runtime = Runtime::new(&RuntimeFlags::default(), &|_| None, true).expect("defaults");
    Environment {
        runtime,
        sources: Sources { flags, ..Sources::default() },
        variables: Vec::new(),
        variable: |_| None,
        user_agent: String::new(),
        call_agent: None,
        roots: None,
        secrets: SecretSources::default(),
        seed: 1,
        can_resume: false,
        is_verbose: false,
        driver: DriverPlan::Auto,
        workers: None,
    }
}

pub(super) fn load(text: &str) -> Result<Test, (ExitCode, String)> {
    let script = Script {
        path: "/s/main.js".to_owned(),
        text: text.as_bytes().to_vec(),
        read: Box::new(|_| Err("no such file".to_owned())),
    };
    let (lines, _receiver) = Lines::new();
    let stop = AtomicBool::new(false);
    let test = Test::load(script, environment(Options::default()), &lines, &stop);
    test.map_err(|refused| (refused.code, refused.what))
}

#[test]
fn a_test_is_checked_before_it_is_run() {
    let run = "export default function () {}";
    for (script, code, says) in [
        ("export default function (".to_owned(), 107, "SyntaxError"),
        ("throw new Error('x')".to_owned(), 107, "Error: x"),
        (
            format!("import exec from 'k6/execution'; exec.test.abort('no use'); {run}"),
            108,
            "test aborted: no use",
        ),
        (
            format!("import exec from 'k6/execution'; exec.test.abort(''); {run}"),
            108,
            "test aborted",
        ),
        ("import './no.js'".to_owned(), 107, "no such file"),
        ("export const options = 1;".to_owned() + run, 104, "are not an object"),
        ("export const options = { vus: -1 };".to_owned() + run, 104, "vus is -1"),
        ("export const options = {};".to_owned(), 255, "exports no functions"),
        ("module.exports = function () {};".to_owned(), 255, "exports no functions"),
        ("export function other() {}".to_owned(), 104, "calls 'default'"),
        ("export const options = { paused: true };".to_owned() + run, 104, "nothing could resume"),
        (
            format!("export const options = {{ thresholds: {{ no: ['count>1'] }} }}; {run}"),
            104,
            "there is no metric 'no'",
        ),
        (
            format!("import {{ Gauge }} from 'k6/metrics'; new Gauge('http_reqs'); {run}"),
            107,
            "metric 'http_reqs' is a counter",
        ),
    ] {
        let (found, what) = load(&script).expect_err(&script);
        assert_eq!((found.code(), what.contains(says)), (code, true), "{script}: {what}");
    }
}

#[test]
fn scripts_read_the_tags_that_samples_have() {
    for (system, want, has_group) in [
        ("'scenario', 'group'", "run=r scenario=s st=x who=scenario", true),
        ("'url'", "run=r st=x who=scenario", false),
    ] {
        let test = load(&format!(
            "export const options = {{ tags: {{ run: 'r', who: 'run' }}, systemTags: [{system}],
                 scenarios: {{ s: {{ executor: 'shared-iterations',
                     tags: {{ st: 'x', who: 'scenario' }} }} }} }};
             export default function () {{}}"
        ))
        .expect("a test");
        let cast = test.cast().expect("a cast");
        let pair = |(name, value): &(String, String)| format!("{name}={value}");
        let found: Vec<String> = cast.roles[0].tags.iter().map(pair).collect();
        assert_eq!((found.join(" "), cast.roles[0].tags_group), (want.to_owned(), has_group));
    }
}

#[test]
fn metrics_of_a_script_keep_their_unit() {
    let test = load(
        "import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
         new Counter('one'); new Counter('two', true); new Trend('three', true); new Trend('four');
         new Gauge('five'); new Rate('six'); export default function () {}",
    )
    .expect("a test");
    for (name, kind, contains) in [
        ("one", Kind::Counter, "default"),
        ("two", Kind::Counter, "time"),
        ("three", Kind::Trend, "time"),
        ("four", Kind::Trend, "default"),
        ("five", Kind::Gauge, "default"),
        ("six", Kind::Rate, "default"),
    ] {
        let metric = test.registry.get(test.registry.find(name).expect(name));
        assert_eq!((metric.kind, metric.contains.name()), (kind, contains), "{name}");
    }
    let divisors = test.metrics.values().filter(|(_, divisor)| *divisor == 1e6).count();
    assert_eq!(divisors, 1, "times of trends come in ns");
}

#[test]
fn thresholds_see_what_workers_hand_over() {
    let test = load(
        "export const options = { thresholds: { iterations: ['count<3'] } };
         export default function () {}",
    )
    .expect("a test");
    let id = test.registry.find("iterations").expect("built in");
    let (sender, parts) = sync_channel(4);
    for _ in 0..2 {
        let mut part = Book::new(test.registry.clone(), false);
        part.record(id, &TagSet::default(), 2.0);
        sender.send(part).expect("room");
    }
    drop(sender);
    let handle: Handle = test.handle();
    let book = Book::new(test.registry.clone(), false);
    let (thresholds, account) = (test.thresholds.clone(), Account::default());
    *handle.figures() = Some(Figures { book, thresholds, account });
    let ended_by = thresholds::watch(&parts, &handle);
    let mut figures = handle.figures().take().expect("they are there");
    assert_eq!(figures.book.sink(id).map(Sink::count), Some(2));
    assert!(figures.thresholds.evaluate(&figures.book, 1, true).has_failed);
    assert!(ended_by.is_empty(), "it was over before anything was judged");
}
