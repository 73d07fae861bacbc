//! Requests of scripts under the simulated driver: reuse, redirects, batches, timeouts, and faults.

use std::collections::HashMap;

use plimsoll_core::executor::Executor;
use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimOptions, Window};
use plimsoll_script::js::Settings;

use super::{Kept, MS, Run, S, cast, program, program_with, role, run_with};

/// Answers requests without a body, each after the same time: `/to/PATH` redirects, `/close`
/// closes, `/once` closes without an answer where it is not the first request of its connection,
/// `/never` is not answered, `/fields/N` has N fields more, `/long/N` one field of N bytes,
/// and all else is a greeting.
#[derive(Default)]
pub(super) struct Server {
    after_ns: u64,
    read: HashMap<PeerConn, Vec<u8>>,
    answered: HashMap<PeerConn, u64>,
}

impl Server {
    pub(super) fn boxed(after_ns: u64) -> Option<Box<dyn Peer>> {
        Some(Box::new(Self { after_ns, ..Self::default() }))
    }
}

impl Peer for Server {
    fn connected(&mut self, _: u64, conn: PeerConn, _: &mut PeerActions) {
        self.read.insert(conn, Vec::new());
    }

    fn received(&mut self, _: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let read = self.read.entry(conn).or_default();
        read.extend_from_slice(bytes);
        while let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = read.drain(..end + 4).collect();
            let head = String::from_utf8(head).expect("a head is text");
            let path = head.split(' ').nth(1).expect("a target").to_owned();
            let requests = self.answered.entry(conn).or_default();
            *requests += 1;
            if path == "/once" && *requests > 1 {
                out.close(self.after_ns);
                continue;
            }
            if let Some(to) = path.strip_prefix("/to") {
                let response =
                    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
                out.send(self.after_ns, response);
            } else if path == "/close" {
                out.send(self.after_ns, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbye");
                out.close(self.after_ns);
            } else if let Some(count) = path.strip_prefix("/fields/") {
                let fields = "X: y\r\n".repeat(count.parse().expect("a number"));
                let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 5");
                out.send(self.after_ns, format!("{head}\r\n\r\nhello"));
            } else if let Some(bytes) = path.strip_prefix("/long/") {
                let value = "v".repeat(bytes.parse().expect("a number"));
                let head = format!("HTTP/1.1 200 OK\r\nX: {value}\r\nContent-Length: 5");
                out.send(self.after_ns, format!("{head}\r\n\r\nhello"));
            } else if path != "/never" {
                out.send(self.after_ns, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
            }
        }
    }

    fn closed(&mut self, _: u64, conn: PeerConn) {
        self.read.remove(&conn);
    }
}

const HEAD: &str = "import http from 'k6/http'; import { sleep, check } from 'k6';
    import { Counter } from 'k6/metrics'; const asked = new Counter('asked');
    const base = 'http://10.0.0.1:80';";

fn once(body: &str, sim: SimOptions, after_ns: u64) -> Run {
    let program = program(&format!("{HEAD} export default () => {{ {body} }}"));
    let executor = Executor::PerVuIterations { vus: 1, iterations: 1, max_duration_ns: 300 * S };
    let cast = cast(&program, vec![role(&program, executor)], 1);
    run_with(cast, sim, Server::boxed(after_ns), |_, _| {})
}

fn lines(body: &str) -> Vec<String> {
    let run = once(body, SimOptions::default(), MS);
    assert_eq!(run.kept.failures, [""; 0], "{body}");
    run.kept.lines
}

#[test]
fn responses_come_back() {
    for (body, want) in [
        ("console.log(http.get(base + '/').body)", "hello"),
        ("console.log(http.get(base + '/to/x').url)", "http://10.0.0.1:80/x"),
        (
            "const r = http.get(base + '/close'); console.log(r.status, r.body, r.proto)",
            "200 bye HTTP/1.1",
        ),
        ("const r = http.get(base + '/'); console.log(r.remote_ip, r.remote_port)", "10.0.0.1 80"),
        (
            "console.log(http.batch([base + '/a', base + '/b']).map((r) => r.status))",
            "[ 200, 200 ]",
        ),
        ("console.log(http.get('http://[::1/').error_code)", "1020"),
        ("const r = http.get(base + '/fields/5000'); console.log(r.headers.X.length)", "14998"),
        ("const r = http.get(base + '/long/1000000'); console.log(r.headers.X.length)", "1000000"),
        ("console.log(http.get(base + '/long/10485760').error)", "message head too long"),
        (
            "http.asyncRequest('GET', base + '/').then((r) => console.log('later', r.status)); \
             sleep(0.1);",
            "later 200",
        ),
    ] {
        let lines = lines(body);
        let last = lines.last().map(String::as_str).unwrap_or_default();
        assert!(last.contains(want.trim_matches('"')), "{body}: {lines:?}");
    }
}

#[test]
fn the_parts_of_a_request_are_timed() {
    let run = once(
        "http.get(base + '/'); http.get(base + '/');",
        SimOptions { latency_ns: MS..MS + 1, ..SimOptions::default() },
        10 * MS,
    );
    let [first, second] = &run.kept.requests[..] else { panic!("{:?}", run.kept.requests) };
    // A connect takes a round trip, and so does what follows it.
    assert_eq!(first.timings.connecting_ns / MS, 2);
    assert_eq!(first.timings.blocked_ns / MS, 2);
    assert_eq!((second.timings.connecting_ns, second.timings.blocked_ns), (0, 0));
    for request in [first, second] {
        assert_eq!((request.status, request.proto.as_str()), (200, "HTTP/1.1"));
        let whole_ns = request.ended_ns - request.started_ns;
        assert_eq!(whole_ns, request.timings.blocked_ns + request.timings.duration_ns());
        assert!((12..13).contains(&(request.timings.duration_ns() / MS)), "{request:?}");
        assert_eq!(request.intended_ns, request.started_ns);
        assert!(request.url.ends_with('/'));
    }
    let bytes = run.kept.iterations[0].ended;
    assert_eq!(
        bytes.received_bytes,
        2 * "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".len() as u64
    );
    assert!(bytes.sent_bytes > 60);
}

#[test]
fn what_fails_has_a_number() {
    let sim = SimOptions::default;
    let refused = Some("10.0.0.1:80".parse().expect("an address"));
    for (body, sim, number) in [
        ("http.get(base + '/', {timeout: 50})", sim(), 0),
        ("http.get(base + '/never', {timeout: 50})", sim(), 1050),
        ("http.get(base + '/')", SimOptions { refused, ..sim() }, 1212),
        ("http.get(base + '/')", SimOptions { reset: 1.0, ..sim() }, 1220),
    ] {
        let run = once(body, sim, MS);
        assert_eq!(run.kept.requests.len(), 1, "{body}");
        assert_eq!(run.kept.requests[0].error_code, number, "{body}");
    }
}

/// The tester stands still while the answer comes, and until long after the timeout.
#[test]
fn what_came_in_time_during_a_pause_is_answered() {
    for (path, number) in [("/", 0), ("/never", 1050)] {
        let body = format!("http.get(base + '{path}', {{timeout: 500}})");
        let begin_ns = once(&body, SimOptions::default(), 100 * MS).begin_ns;
        for readiness in [false, true] {
            let pause = Some(Window { at_ns: begin_ns + 50 * MS, for_ns: 2 * S });
            let sim = SimOptions { pause, readiness, ..SimOptions::default() };
            let run = once(&body, sim, 100 * MS);
            let codes: Vec<u16> = run.kept.requests.iter().map(|it| it.error_code).collect();
            assert_eq!(codes, [number], "{path}, readiness {readiness}");
        }
    }
}

/// Closes each connection as soon as it is there.
struct Slammer;

impl Peer for Slammer {
    fn connected(&mut self, _: u64, _: PeerConn, out: &mut PeerActions) {
        out.close(0);
    }

    fn received(&mut self, _: u64, _: PeerConn, _: &[u8], _: &mut PeerActions) {}

    fn closed(&mut self, _: u64, _: PeerConn) {}
}

#[test]
fn the_requests_of_a_batch_are_due_when_it_is_asked_for() {
    let settings = Settings { batch_per_host_max: 2, ..Settings::default() };
    let body = "http.batch(['/a', '/b', '/c', '/d'].map((path) => base + path))";
    let text = format!("{HEAD} export default () => {{ {body} }}");
    let program = program_with(&text, settings);
    let executor = Executor::PerVuIterations { vus: 1, iterations: 1, max_duration_ns: 300 * S };
    let cast = cast(&program, vec![role(&program, executor)], 1);
    let run = run_with(cast, SimOptions::default(), Server::boxed(10 * MS), |_, _| {});
    let requests = &run.kept.requests;
    let dues: Vec<u64> = requests.iter().map(|request| request.intended_ns).collect();
    assert_eq!(dues, [dues[0]; 4]);
    let waits = requests.iter().map(|request| (request.started_ns - dues[0]) / (10 * MS));
    assert_eq!(waits.collect::<Vec<_>>(), [0, 0, 1, 1]);
}

#[test]
fn a_server_that_closes_at_once_ends_each_request_once() {
    for base in ["http://10.0.0.1", "https://10.0.0.1"] {
        let program = program(&format!(
            "import http from 'k6/http'; export default () => {{
             http.get('{base}/'); http.batch(['{base}/a', '{base}/b', '{base}/c']); }}"
        ));
        let executor =
            Executor::PerVuIterations { vus: 1, iterations: 2, max_duration_ns: 300 * S };
        let cast = cast(&program, vec![role(&program, executor)], 1);
        let run = run_with(cast, SimOptions::default(), Some(Box::new(Slammer)), |_, _| {});
        assert_eq!(run.kept.counts(0), [2, 0, 0], "{base}");
        let codes: Vec<u16> = run.kept.requests.iter().map(|it| it.error_code).collect();
        assert_eq!(codes, [1000; 8], "{base}");
    }
}

#[test]
fn options_of_the_network_are_obeyed() {
    let program =
        program(&format!("{HEAD} export default () => {{ http.get('http://a.test/x') }}"));
    let executor = || Executor::PerVuIterations { vus: 1, iterations: 3, max_duration_ns: 60 * S };
    let with = |change: &dyn Fn(&mut super::Network)| {
        let mut cast = cast(&program, vec![role(&program, executor())], 1);
        cast.network.fixed_address =
            Some(std::sync::Arc::new(|_, _| Some(([10, 0, 0, 2].into(), Some(81)))));
        change(&mut cast.network);
        run_with(cast, SimOptions::default(), Server::boxed(MS), |_, _| {}).kept
    };
    let connects = |kept: &Kept| {
        kept.requests.iter().filter(|request| request.timings.connecting_ns > 0).count()
    };
    assert_eq!(connects(&with(&|_| {})), 1);
    assert_eq!(connects(&with(&|network| network.reuses_connections = false)), 3);
    assert_eq!(connects(&with(&|network| network.keeps_connections = false)), 3);
    // The server answers what is meant for a proxy too.
    let proxied = with(&|network| {
        network.fixed_address = None;
        network.http.proxies = plimsoll_script::js::http::Proxies::of_environment(|name| {
            (name == "HTTP_PROXY").then(|| "10.0.0.9:3128".to_owned())
        })
        .expect("a proxy");
    });
    assert!(proxied.requests.iter().all(|request| request.status == 200), "{proxied:?}");
    let kept = with(&|network| network.rps = 10);
    let starts: Vec<u64> = kept.requests.iter().map(|request| request.started_ns).collect();
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 100 * MS), "{starts:?}");
    assert!(kept.requests.iter().all(|request| request.timings.blocked_ns < 10 * MS));
    // Each is due when the limit lets it go.
    let dues: Vec<u64> = kept.requests.iter().map(|request| request.intended_ns).collect();
    assert!(dues.windows(2).all(|pair| pair[1] - pair[0] == 100 * MS), "{dues:?}");
    let kept =
        with(&|network| network.blocked_name = Some(std::sync::Arc::new(|name| name == "a.test")));
    assert!(kept.requests.iter().all(|request| request.error_code == 1111));
    let kept = with(&|network| network.blocked_address = Some(std::sync::Arc::new(|_| true)));
    assert!(kept.requests.iter().all(|request| request.error_code == 1110));
}

#[test]
fn every_request_ends_once_whatever_happens() {
    let program = program(&format!(
        "{HEAD} export default () => {{
            asked.add(1); http.get(base + '/');
            asked.add(3); http.batch([base + '/a', base + '/close', base + '/c']);
            if (__ITER % 3 == 0) {{ asked.add(1); http.get(base + '/never', {{timeout: 20}}); }}
            asked.add(1); http.asyncRequest('GET', base + '/later');
            sleep(Math.random() * 0.01);
        }}"
    ));
    for seed in 0..30 {
        let mut scenario = role(&program, Executor::ConstantVus { vus: 4, duration_ns: S / 2 });
        scenario.graceful_stop_ns = (seed % 2) * 10 * MS;
        let sim = SimOptions {
            seed,
            latency_ns: 10_000..2 * MS,
            split: 0.3,
            partial_write: 0.2,
            reset: if seed % 3 == 0 { 0.0 } else { 0.01 },
            refuse: if seed % 5 == 0 { 0.1 } else { 0.0 },
            wait_jitter_ns: 0..100_000,
            work_ns: 100..5_000,
            ..SimOptions::default()
        };
        let cast = cast(&program, vec![scenario], 4);
        let run = run_with(cast, sim, Server::boxed(MS), |_, _| {});
        let asked: f64 = run.kept.samples.iter().sum();
        let cut_off: u64 = run.kept.iterations.iter().map(|it| it.ended.requests_cut_off).sum();
        let told = run.kept.requests.len() as u64;
        assert_eq!(asked as u64, told + cut_off, "seed {seed}");
        assert!(told > 50, "seed {seed}: {told}");
        let is_known = |code: u16| [0, 1000, 1050, 1212, 1220, 1201].contains(&code);
        for request in &run.kept.requests {
            assert!(is_known(request.error_code), "seed {seed}: {request:?}");
        }
    }
}
