//! `-o influxdb`: a point for each sample, to a server over the network.

use super::World;
use crate::peer::{Answer, Peer};

const SCRIPT: &str = "import http from 'k6/http';
    export default function () { http.get(`${__ENV.BASE}/?a b`, { tags: { name: 'x y' } }); }";

#[test]
fn influxdb_gets_a_point_for_each_sample() {
    let world = World::new(SCRIPT);
    let receiver = Peer::answering(|_| Answer::Say("HTTP/1.1 204 No Content\r\n\r\n"));
    let url = receiver.url("/mine").replace("http://", "http://me:secret@");
    let finished = world.run(&["-i", "7", "-o", &format!("influxdb={url}")]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let shown = format!("output: influxdb ({})", receiver.url("/write"));
    assert!(finished.stdout.contains(&shown), "{finished:?}");
    let requests = receiver.requests().join("\n");
    assert!(requests.starts_with("POST /write?db=mine&precision=ns HTTP/1.1\r\n"), "{requests}");
    assert!(
        requests.to_lowercase().contains("authorization: basic bwu6c2vjcmv0\r\n"),
        "{requests}"
    );
    let points: Vec<&str> =
        requests.lines().filter(|line| line.starts_with("http_reqs,")).collect();
    assert_eq!(points.len(), 7, "{requests}");
    for point in points {
        assert!(point.contains(",name=x\\ y,"), "{point}");
        assert!(point.contains(",status=200"), "{point}");
        // As with k6, a name given in the script stands for the URL.
        assert!(point.contains(" value=1,url=\"x y\" "), "{point}");
    }
    assert!(requests.contains("\nhttp_req_duration,"), "{requests}");
    assert!(!finished.stderr.contains("secret") && !finished.stdout.contains("secret"));
}

#[test]
fn a_receiver_that_refuses_is_named_at_the_end() {
    let world = World::new(SCRIPT);
    let receiver = Peer::answering(|_| Answer::Say("HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n"));
    let outputs = ["influxdb", "experimental-prometheus-rw"];
    for output in outputs {
        let flag = format!("{output}={}", receiver.url("/a"));
        let finished = world.run(&["-q", "-i", "3", "-o", &flag]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let wants = ["level=warning", "batches were not delivered: HTTP 400"];
        assert!(wants.iter().all(|want| finished.stderr.contains(want)), "{finished:?}");
    }
}
