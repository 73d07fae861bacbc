//! Remote write 2.0, read by a decoder of its own: fields by their numbers in the published
//! definition, `io.prometheus.write.v2.Request`.

use std::collections::BTreeMap;

use super::server::{Reply, Server};
use super::{fed, patient, receiver, result};
use crate::Delivery;

/// A value as protocol buffers encode it.
#[derive(Debug, Clone, PartialEq)]
enum Wire {
    Varint(u64),
    Fixed(u64),
    Bytes(Vec<u8>),
}

/// A message: values by the number of their field.
type Fields = Vec<(u64, Wire)>;

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << (7 * place);
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Fields {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Wire::Varint(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_at(8);
                bytes = rest;
                Wire::Fixed(u64::from_le_bytes(value.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Wire::Bytes(value.to_vec())
            }
            other => panic!("no message here has fields of type {other}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

/// The messages or texts of a field.
fn parts(fields: &Fields, number: u64) -> Vec<&[u8]> {
    let of = |(known, value): &'_ (u64, Wire)| *known == number && matches!(value, Wire::Bytes(_));
    let found = fields.iter().filter(|field| of(field));
    let bytes = found.map(|(_, value)| match value {
        Wire::Bytes(bytes) => bytes.as_slice(),
        _ => unreachable!(),
    });
    bytes.collect()
}

/// The number in a field; 0 if the message lacks the field.
fn number(fields: &Fields, number: u64) -> u64 {
    let found = fields.iter().find(|(known, _)| *known == number);
    found.map_or(0, |(_, value)| match value {
        Wire::Varint(value) | Wire::Fixed(value) => *value,
        Wire::Bytes(_) => panic!("{number} is not a number"),
    })
}

/// What a series of a request says.
#[derive(Debug)]
struct Series {
    labels: Vec<(String, String)>,
    sample: Option<f64>,
    histogram_count: Option<u64>,
    time_ms: u64,
    kind: u64,
    help: String,
    unit: String,
}

impl Series {
    fn is_named(&self, name: &str) -> bool {
        self.labels.contains(&("__name__".to_owned(), name.to_owned()))
    }
}

fn request(body: &[u8]) -> Vec<Series> {
    let bytes = snap::raw::Decoder::new().decompress_vec(body).unwrap();
    let request = fields(&bytes);
    assert!(request.iter().all(|(number, _)| *number > 3), "1 to 3 are those of version 1.0");
    let texts = parts(&request, 4).into_iter();
    let symbols: Vec<String> =
        texts.map(|text| String::from_utf8(text.to_vec()).unwrap()).collect();
    assert_eq!(symbols[0], "");
    parts(&request, 5).into_iter().map(|bytes| series(bytes, &symbols)).collect()
}

fn series(bytes: &[u8], symbols: &[String]) -> Series {
    let series = fields(bytes);
    let text = |place: u64| symbols[place as usize].clone();
    let [mut packed] = parts(&series, 1)[..] else { panic!("labels are packed") };
    let mut places = Vec::new();
    while !packed.is_empty() {
        places.push(varint(&mut packed));
    }
    let labels = places.chunks(2).map(|pair| (text(pair[0]), text(pair[1]))).collect();
    let samples: Vec<Fields> = parts(&series, 2).into_iter().map(fields).collect();
    let histograms: Vec<Fields> = parts(&series, 3).into_iter().map(fields).collect();
    assert_eq!(samples.len() + histograms.len(), 1);
    let metadata = fields(parts(&series, 5)[0]);
    Series {
        labels,
        sample: samples.first().map(|sample| f64::from_bits(number(sample, 1))),
        histogram_count: histograms.first().map(|histogram| number(histogram, 1)),
        time_ms: samples.first().map_or_else(|| number(&histograms[0], 15), |it| number(it, 2)),
        kind: number(&metadata, 1),
        help: text(number(&metadata, 3)),
        unit: text(number(&metadata, 4)),
    }
}

/// What a receiver answers that took all of a request but this many points.
fn taken_but(body: &[u8], missing: usize) -> String {
    let all = request(body);
    let histograms = all.iter().filter(|series| series.histogram_count.is_some()).count();
    let samples = all.len() - histograms - missing;
    format!(
        "X-Prometheus-Remote-Write-Samples-Written: {samples}\r\n\
         X-Prometheus-Remote-Write-Histograms-Written: {histograms}\r\n"
    )
}

fn taken(body: &[u8]) -> String {
    taken_but(body, 0)
}

/// A run of three seconds at a receiver that answers so.
fn sent(kind: &str, reply: Reply) -> (Server, Delivery) {
    let server = Server::start(vec![reply; 10]);
    let target = format!("prometheus-rw=http://{}{kind}", server.address());
    let delivery = fed(&[receiver(&target)], patient(), 3).remove(0);
    (server, delivery)
}

#[test]
fn all_is_written_with_its_metadata() {
    let (server, delivery) = sent(",v2,native", Reply::Of(204, taken));
    assert_eq!((delivery.delivered, delivery.lost, &delivery.reason), (6, 0, &None));
    for head in server.heads() {
        for line in [
            "content-type: application/x-protobuf;proto=io.prometheus.write.v2.request\n",
            "content-encoding: snappy\n",
            "x-prometheus-remote-write-version: 2.0.0\n",
        ] {
            assert!(head.contains(line), "{line} {head}");
        }
    }
    let requests: Vec<Vec<Series>> = server.bodies().iter().map(|body| request(body)).collect();
    let want = result(3);
    let sum = |name: &str| -> f64 {
        let named = requests[4].iter().filter(|series| series.is_named(name));
        named.filter_map(|series| series.sample).sum()
    };
    assert_eq!(sum("plimsoll_scheduled_total"), want.ledger.scheduled as f64);
    assert_eq!(sum("plimsoll_requests_total"), want.ledger.scheduled as f64);
    let histogram = requests[4].iter().find(|series| series.is_named("plimsoll_response_seconds"));
    let histogram = histogram.unwrap();
    assert_eq!(histogram.histogram_count, Some(want.latency.response.count()));
    // METRIC_TYPE_HISTOGRAM
    assert_eq!((histogram.kind, histogram.unit.as_str()), (3, "seconds"));
    let mut before_ms = 0;
    for request in &requests {
        assert!(request[0].time_ms > before_ms);
        before_ms = request[0].time_ms;
        for series in request {
            assert!(series.labels.is_sorted(), "{:?}", series.labels);
            assert!(series.kind > 0 && !series.help.is_empty(), "{series:?}");
        }
    }
    let ended = requests[5].iter().filter_map(|series| series.sample);
    assert!(ended.map(f64::to_bits).all(|bits| bits == 0x7ff0_0000_0000_0002));
}

#[test]
fn a_receiver_that_took_less_or_knows_the_old_version_alone_is_told_of() {
    let missing = |body: &[u8]| taken_but(body, 2);
    let replies: BTreeMap<&str, Reply> = BTreeMap::from([
        (" points were written", Reply::Of(204, missing)),
        (" points were written)", Reply::Of(400, missing)),
        ("the receiver does not take remote write 2.0: leave ,v2 out", Reply::Status(204, "")),
        ("HTTP 415: no: the receiver does not take remote write", Reply::Status(415, "")),
    ]);
    for (want, reply) in replies {
        let (_server, delivery) = sent(",v2", reply);
        assert_eq!((delivery.delivered, delivery.lost), (0, 6), "{delivery:?}");
        let reason = delivery.reason.as_deref().unwrap();
        assert!(reason.contains(want), "{reason}");
    }
}
