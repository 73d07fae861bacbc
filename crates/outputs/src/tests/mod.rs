//! Feeds against receivers that take figures, and against those that do not.

mod lines;
mod metrics;
mod server;
mod version2;

use std::net::UdpSocket;
use std::time::Duration;

use plimsoll_core::live::LiveFigures;
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::result::Tool;
use plimsoll_core::series::Point;
use plimsoll_core::{Histogram, RunResult};
use server::{Reply, Server};

use crate::sender::Patience;
use crate::{Delivery, Feed, Label, Receiver, Style, Timetable};

const SECOND_NS: u64 = 1_000_000_000;

/// When the runs of these tests begin, ns since 1970.
const BEGAN_NS: u64 = 1_700_000_000 * SECOND_NS;

/// Long enough to answer on a busy machine, or too short for a receiver that never answers.
fn patience(answer: Duration) -> Patience {
    let pause = Duration::from_millis(1);
    let pause_max = Duration::from_millis(20);
    Patience { answer, flush: answer * 2, pause, pause_max, echo: answer }
}

fn patient() -> Patience {
    patience(Duration::from_secs(60))
}

fn labels() -> Vec<Label> {
    ["run=a b", "target=x:80"].map(|text| text.parse().unwrap()).to_vec()
}

fn style(labels: &[Label]) -> Style<'_> {
    Style { labels, ..Style::default() }
}

fn receiver(text: &str) -> Receiver {
    Receiver::parse(text, &|_| None).unwrap()
}

/// Second `second` of a run: 10 requests sent, 7 as expected.
fn point(second: u64) -> Point {
    let mut times = Histogram::new();
    (1..=10).for_each(|time| times.record(time * 1_000_000 * (second + 1)));
    Point {
        t_ns: second * SECOND_NS,
        interval_ns: SECOND_NS,
        sent: 12,
        shed: 1,
        completed: 9,
        ok: 7,
        failed: 2,
        timed_out: 1,
        errors: 1,
        status: [(200, 7), (503, 2)].into(),
        received_bytes: 1000,
        loader_cpu_ns: SECOND_NS / 4,
        lateness_max_ns: 2_000_000,
        response: times.pack(),
        service: times.pack(),
        ..Point::default()
    }
}

/// The result of a run of a number of such seconds, in which some requests were still open at the
/// end and some never sent.
fn result(seconds: u64) -> RunResult {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let mut result = RunResult::empty(tool, &Draft::new(Endpoint::http("x", 80, "/")));
    result.elapsed_ns = seconds * SECOND_NS + 5;
    let ledger = &mut result.ledger;
    (ledger.sent, ledger.shed, ledger.unsent) = (12 * seconds, seconds, 3);
    ledger.scheduled = ledger.sent + ledger.shed + ledger.unsent;
    (ledger.ok, ledger.failed, ledger.completed) = (7 * seconds, 2 * seconds, 9 * seconds);
    ledger.timed_out = seconds;
    ledger.unfinished = ledger.sent - ledger.completed - ledger.timed_out;
    ledger.check().unwrap();
    result.bytes.received = 1000 * seconds + 17;
    result.status = [(200, 7 * seconds), (503, 2 * seconds)].into();
    for second in 0..seconds {
        result.latency.response.merge(&point(second).response.unpack());
        result.latency.service.merge(&point(second).service.unpack());
    }
    let never_sent = ledger.shed + ledger.unsent;
    result.latency.response.record_n(5 * SECOND_NS, never_sent);
    result
}

/// Tells a feed of a run that begins then.
fn tell(feed: &Feed, began_ns: u64, seconds: u64) {
    let mut live = LiveFigures::new(&Draft::new(Endpoint::http("x", 80, "/")));
    live.target_rps = Some(12.5);
    feed.began(began_ns, &Timetable::default());
    for second in 0..seconds {
        live.add(&point(second));
        feed.interval(began_ns + (second + 1) * SECOND_NS, &live);
    }
    feed.ended(began_ns + seconds * SECOND_NS + 5, &result(seconds));
}

/// Sends a run of some seconds to receivers, and says what came of it.
fn fed(receivers: &[Receiver], patience: Patience, seconds: u64) -> Vec<Delivery> {
    let feed = Feed::begin_with(receivers, style(&labels()), patience).unwrap();
    tell(&feed, BEGAN_NS, seconds);
    feed.finish()
}

#[test]
fn sums_of_points_are_the_ledger() {
    let server = Server::start(Vec::new());
    let influx = receiver(&format!("influx=http://{}/load", server.address()));
    let deliveries = fed(&[influx], patient(), 4);
    assert_eq!((deliveries[0].lost, deliveries[0].complaint()), (0, None), "{deliveries:?}");
    assert_eq!(deliveries[0].delivered, 6, "the beginning, four seconds and the end");
    let bodies = server.bodies();
    let text = String::from_utf8(bodies.concat()).unwrap();
    let want = result(4).ledger;
    for (field, want) in [
        ("scheduled", want.scheduled),
        ("sent", want.sent),
        ("completed", want.completed),
        ("ok", want.ok),
        ("failed", want.failed),
        ("timed_out", want.timed_out),
        ("unfinished", want.unfinished),
        ("unsent", want.unsent),
        ("shed", want.shed),
        ("received_bytes", 4017),
    ] {
        assert_eq!(lines::sum(&text, field), want, "{field}: {text}");
    }
    assert!(text.starts_with("plimsoll_events,run=a\\ b,target=x:80 title=\"run started\""));
}

#[test]
fn what_fails_in_passing_is_delivered_later_and_in_order() {
    let busy = Reply::Status(429, "Retry-After: 0\r\n");
    let replies = vec![Reply::Status(500, ""), busy, Reply::Status(204, ""), Reply::Drop, busy];
    let server = Server::start(replies);
    let influx = receiver(&format!("influx=http://{}/load", server.address()));
    let deliveries = fed(&[influx], patient(), 5);
    assert_eq!((deliveries[0].delivered, deliveries[0].lost), (7, 0), "{deliveries:?}");
    let times: Vec<u64> = server.bodies().iter().map(|body| lines::last_time_ns(body)).collect();
    assert_eq!(times.len(), 7 + 4, "{times:?}");
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn what_a_receiver_never_takes_is_counted_with_its_reason() {
    let refusing = Server::start(vec![Reply::Status(400, "X: y\r\n"); 100]);
    let hanging = Server::start(vec![Reply::Hang; 100]);
    let failing = Server::start(vec![Reply::Status(500, ""); 10_000]);
    // Nobody listens on a port that was just closed.
    let closed = Server::start(Vec::new()).address();
    let good = Server::start(Vec::new());
    let to = |address: std::net::SocketAddr| receiver(&format!("influx=http://{address}/load"));
    let receivers =
        [to(refusing.address()), to(hanging.address()), to(failing.address()), to(closed)];
    let deliveries = fed(&receivers, patience(Duration::from_millis(300)), 3);
    for (delivery, reason) in
        deliveries.iter().zip(["HTTP 400: no", "no answer in", "HTTP 500: no", "refused"])
    {
        let complaint = delivery.complaint().expect("all was lost");
        let want = format!("{}: 5 of 5 batches were not delivered: ", delivery.receiver);
        assert!(complaint.contains(&want) && complaint.contains(reason), "{complaint}");
    }
    let deliveries = fed(&[to(good.address())], patient(), 3);
    assert_eq!(deliveries[0].lost, 0, "{deliveries:?}");
}

#[test]
fn a_batch_of_datagrams_that_nobody_takes_is_lost() {
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let statsd = receiver(&format!("statsd={closed}"));
    let feed = Feed::begin_with(&[statsd], style(&labels()), patient()).unwrap();
    feed.batch(b"a:1|c\n".to_vec());
    let delivery = feed.finish().remove(0);
    assert_eq!((delivery.delivered, delivery.lost), (0, 1), "{delivery:?}");
    assert!(delivery.complaint().unwrap().contains("refused"), "{delivery:?}");
}

#[test]
fn an_answer_that_repeats_credentials_is_shown_without_them() {
    let server = Server::start(vec![Reply::Echo; 10]);
    let token = |name: &str| (name == "INFLUX_TOKEN").then(|| "hush-hush-hush".to_owned());
    let target = format!("influx=http://{}/load", server.address());
    let influx = Receiver::parse(&target, &token).unwrap();
    let complaint = fed(&[influx], patient(), 1)[0].complaint().unwrap();
    assert!(complaint.contains("HTTP 403: authorization: token [masked:"), "{complaint}");
    assert!(!complaint.contains("hush"), "{complaint}");
}

#[test]
fn a_receiver_that_hangs_does_not_hold_up_another() {
    let hanging = Server::start(vec![Reply::Hang; 100]);
    let good = Server::start(Vec::new());
    let to = |address: std::net::SocketAddr| receiver(&format!("influx=http://{address}/load"));
    let receivers = [to(hanging.address()), to(good.address())];
    let patience = Patience { flush: Duration::from_millis(100), ..patient() };
    let feed = Feed::begin_with(&receivers, style(&labels()), patience).unwrap();
    tell(&feed, BEGAN_NS, 3);
    // The other one has them all while the first request to this one is still open.
    assert_eq!(good.wait_for(5).len(), 5);
    drop(hanging);
    let lost = feed.finish()[0].lost;
    assert_eq!(lost, 5, "it took none");
}
