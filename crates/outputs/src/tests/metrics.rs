//! The metrics of a whole run, as scrapes, remote write and OTLP have them: counts are the
//! ledger's, whatever the format.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use prost::Message as _;

use super::server::Server;
use super::{BEGAN_NS, fed, labels, patient, receiver, result, style, tell};
use crate::Feed;
use crate::delimited::MetricFamily;
use crate::figures::outcomes;
use crate::otlp::message::{Data, Number, Request};
use crate::remote_write::{TimeSeries, WriteRequest};

const PROTOBUF: &str =
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

/// Runs a run of three seconds past a scrape, and gives its last figures in each format.
fn scraped(accepts: &[&str]) -> Vec<Vec<u8>> {
    let receiver = receiver("prometheus=127.0.0.1:0,linger=60s");
    let feed = Feed::begin_with(&[receiver], style(&labels()), patient()).unwrap();
    let address = feed.addresses().next().unwrap();
    tell(&feed, BEGAN_NS, 3);
    // The last figures are there once the thread has heard of the end. Until then the test asks
    // again.
    let bodies = std::thread::spawn({
        let accepts: Vec<String> = accepts.iter().map(|it| (*it).to_owned()).collect();
        move || {
            while !String::from_utf8_lossy(&get(address, "")).contains("plimsoll_verdict") {
                std::thread::yield_now();
            }
            accepts.iter().map(|accept| get(address, accept)).collect::<Vec<_>>()
        }
    });
    let bodies = bodies.join().unwrap();
    let finished = std::thread::spawn(move || feed.finish());
    // A scrape after the end lets it go. It may be over before this one.
    while !finished.is_finished() {
        let _ = TcpStream::connect(address).map(|stream| ask(stream, ""));
    }
    let deliveries = finished.join().unwrap();
    assert_eq!(deliveries[0].complaint(), None);
    bodies
}

#[test]
fn a_wait_for_a_last_scrape_can_be_ended() {
    let receiver = receiver("prometheus=127.0.0.1:0,linger=600s");
    let feed = Feed::begin_with(&[receiver], style(&labels()), patient()).unwrap();
    let address = feed.addresses().next().unwrap();
    tell(&feed, BEGAN_NS, 1);
    let mut told = Vec::new();
    let deliveries = feed.finish_telling(|waits| {
        told.extend(waits.iter().map(|wait| wait.address));
        waits.iter().for_each(crate::Wait::give_up);
    });
    assert_eq!(told, [address]);
    let complaint = deliveries[0].complaint().unwrap();
    assert!(complaint.ends_with("because the wait was ended"), "{complaint}");
}

#[test]
fn nothing_is_waited_for_if_nothing_came_in_as_long_a_run() {
    // No run is shorter than this.
    let receiver = receiver("prometheus=127.0.0.1:0,linger=0s");
    let feed = Feed::begin_with(&[receiver], style(&labels()), patient()).unwrap();
    tell(&feed, BEGAN_NS, 1);
    let deliveries = feed.finish_telling(|waits| panic!("{waits:?}"));
    let complaint = deliveries[0].complaint().unwrap();
    assert!(complaint.ends_with("nothing scraped the figures during the run"), "{complaint}");
}

fn get(address: std::net::SocketAddr, accept: &str) -> Vec<u8> {
    ask(TcpStream::connect(address).unwrap(), accept)
}

fn ask(mut stream: TcpStream, accept: &str) -> Vec<u8> {
    let _ = write!(stream, "GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |at| at + 4);
    answer.split_off(end)
}

#[test]
fn a_scrape_gets_the_ledger_in_every_format() {
    let bodies = scraped(&["", "application/openmetrics-text", PROTOBUF]);
    let want = result(3);
    let texts: Vec<String> =
        bodies[..2].iter().map(|body| String::from_utf8(body.clone()).unwrap()).collect();
    for text in &texts {
        for (outcome, count) in outcomes(&want.ledger) {
            let line = format!(
                "plimsoll_requests_total{{run=\"a b\",target=\"x:80\",outcome=\"{outcome}\"}} \
                 {count}\n"
            );
            assert!(text.contains(&line), "{line}{text}");
        }
        let labels = "run=\"a b\",target=\"x:80\"";
        let count = want.latency.response.count();
        for line in [
            format!("plimsoll_scheduled_total{{{labels}}} {}\n", want.ledger.scheduled),
            format!("plimsoll_response_seconds_count{{{labels}}} {count}\n"),
            format!("plimsoll_response_seconds_bucket{{{labels},le=\"+Inf\"}} {count}\n"),
            format!("plimsoll_responses_total{{{labels},code=\"503\"}} 6\n"),
            format!("plimsoll_verdict{{{labels},verdict=\"valid\"}} 1\n"),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
    }
    assert!(texts[0].contains("# TYPE plimsoll_sent_total counter\n") && !texts[0].contains("EOF"));
    let open = &texts[1];
    assert!(open.contains("# TYPE plimsoll_sent counter\n") && open.ends_with("# EOF\n"), "{open}");
    assert!(open.contains("# UNIT plimsoll_response_seconds seconds\n"), "{open}");
    assert!(open.contains("le=\"1.0\"") && texts[0].contains("le=\"1\""));

    let mut bytes = bodies[2].as_slice();
    let mut families = Vec::new();
    while !bytes.is_empty() {
        families.push(MetricFamily::decode_length_delimited(&mut bytes).unwrap());
    }
    let named = |name: &str| families.iter().find(|it| it.name.as_deref() == Some(name)).unwrap();
    let sent = named("plimsoll_sent_total").metric[0].counter.as_ref().unwrap().value;
    assert_eq!(sent, Some(want.ledger.sent as f64));
    let histogram = named("plimsoll_response_seconds").metric[0].histogram.clone().unwrap();
    assert_eq!(histogram.sample_count, Some(want.latency.response.count()));
    let mut running = 0;
    let counts = histogram.positive_delta.iter().map(|delta| {
        running += delta;
        running as u64
    });
    assert_eq!(counts.sum::<u64>(), want.latency.response.count());
    let places: u32 = histogram.positive_span.iter().filter_map(|span| span.length).sum();
    assert_eq!(places as usize, histogram.positive_delta.len());
}

/// The requests of remote write that a run of three seconds makes.
fn written(kind: &str) -> Vec<WriteRequest> {
    let server = Server::start(Vec::new());
    let target = format!("prometheus-rw=http://{}/api/v1/write{kind}", server.address());
    let deliveries = fed(&[receiver(&target)], patient(), 3);
    assert_eq!((deliveries[0].delivered, deliveries[0].lost), (6, 0), "{deliveries:?}");
    let decode = |body: &Vec<u8>| {
        let bytes = snap::raw::Decoder::new().decompress_vec(body).unwrap();
        WriteRequest::decode(bytes.as_slice()).unwrap()
    };
    server.bodies().iter().map(decode).collect()
}

fn is_named(series: &TimeSeries, name: &str) -> bool {
    series.labels.iter().any(|pair| pair.name == "__name__" && pair.value == name)
}

#[test]
fn remote_write_grows_to_the_ledger_and_ends_with_markers() {
    let requests = written("");
    let last = &requests[4];
    let sum = |name: &str| -> f64 {
        let series = last.timeseries.iter().filter(|series| is_named(series, name));
        series.map(|series| series.samples[0].value).sum()
    };
    let want = result(3);
    assert_eq!(sum("plimsoll_scheduled_total"), want.ledger.scheduled as f64);
    assert_eq!(sum("plimsoll_requests_total"), want.ledger.scheduled as f64);
    assert_eq!(sum("plimsoll_service_seconds_count"), want.latency.service.count() as f64);
    let mut before_ms = 0;
    for request in &requests {
        let time_ms = request.timeseries[0].samples[0].timestamp_ms;
        assert!(time_ms > before_ms);
        before_ms = time_ms;
        for series in &request.timeseries {
            assert!(series.labels.is_sorted_by(|a, b| a.name < b.name), "{:?}", series.labels);
            assert_eq!(series.samples.len() + series.histograms.len(), 1);
        }
    }
    let ended = &requests[5].timeseries;
    assert!(ended.len() >= last.timeseries.len());
    assert!(ended.iter().all(|it| it.samples[0].value.to_bits() == 0x7ff0_0000_0000_0002));
}

#[test]
fn remote_write_has_native_histograms_where_they_are_asked_for() {
    let requests = written(",native");
    let last = requests[4].timeseries.iter();
    let found: Vec<&TimeSeries> =
        last.filter(|series| is_named(series, "plimsoll_response_seconds")).collect();
    assert_eq!(found[0].histograms[0].count, Some(result(3).latency.response.count()));
    let has_buckets = |request: &WriteRequest| {
        request.timeseries.iter().any(|it| is_named(it, "plimsoll_response_seconds_bucket"))
    };
    assert!(!requests.iter().any(has_buckets));
}

#[test]
fn otlp_has_all_so_far_or_what_is_new() {
    for preference in ["cumulative", "delta"] {
        let server = Server::start(Vec::new());
        let text = format!("otlp=http://{}", server.address());
        let lookup = |name: &str| name.ends_with("PREFERENCE").then(|| preference.to_owned());
        let receiver = crate::Receiver::parse(&text, &lookup).unwrap();
        let deliveries = fed(&[receiver], patient(), 3);
        assert_eq!((deliveries[0].delivered, deliveries[0].lost), (5, 0), "{deliveries:?}");
        let bodies = server.bodies();
        let requests = bodies.iter().map(|body| Request::decode(body.as_slice()).unwrap());
        let sums: Vec<i64> = requests.map(|request| sum(&request, "plimsoll.requests")).collect();
        let scheduled = result(3).ledger.scheduled as i64;
        match preference {
            "delta" => assert_eq!(sums.iter().sum::<i64>(), scheduled),
            _ => assert_eq!((sums.last(), sums.is_sorted()), (Some(&scheduled), true)),
        }
    }
}

/// The sum of all points of a counter.
fn sum(request: &Request, name: &str) -> i64 {
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let metric = metrics.iter().find(|metric| metric.name == name).unwrap();
    let Some(Data::Sum(sum)) = &metric.data else { panic!("{metric:?} is not a sum") };
    let values = sum.points.iter().map(|point| match point.value {
        Some(Number::Int(value)) => value,
        other => panic!("{other:?} is not a count"),
    });
    values.sum()
}
