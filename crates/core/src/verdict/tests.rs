//! Provokes each cause alone, and checks what must not provoke it.

mod touches;

use super::*;
use crate::Histogram;
use crate::doubt::{Bounds, Doubts, Figure, Interval, Reach};
use crate::series::{INTERVAL_NS, Point, Series};

/// The causes, and the worst that they can lead to.
pub(super) fn judged(evidence: &Evidence) -> (Verdict, Vec<Cause>) {
    let causes = judge(evidence);
    (causes.first().map_or(Verdict::Valid, |cause| cause.verdict), causes)
}

fn good() -> Evidence {
    Evidence {
        open_loop: true,
        elapsed_ns: 10_000_000_000,
        worker_busy: vec![0.4, 0.5],
        quoted: [Quoted { lateness_ns: 9_000, response_ns: 60_000 }; QUOTED.len()],
        requests: Some(10_000),
        sent: 10_000,
        started: 10_000,
        scheduled: 10_000,
        completed: 10_000,
        connections: 50,
        ..Evidence::default()
    }
}

/// At the quantile of this place in [`QUOTED`]: how late, and the response time.
fn late_at(place: usize, lateness_ns: u64, response_ns: u64) -> Evidence {
    let mut evidence = good();
    evidence.quoted[place] = Quoted { lateness_ns, response_ns };
    evidence
}

fn opening() -> TcpFacts {
    TcpFacts { host_segments: 30_000, host_opened: 50, connects: 50, ..TcpFacts::default() }
}

fn of_tcp(tcp: TcpFacts) -> Evidence {
    Evidence { tcp, ..good() }
}

const SETTLED: Settling = Settling {
    until_ns: 2_000_000_000,
    head: 400,
    rest: 80_000,
    head_p50_ns: 50_000_000,
    rest_p50_ns: 1_000_000,
};

fn served(numbers: &[u64]) -> Evidence {
    let mut served = Spread::default();
    numbers.iter().for_each(|number| served.add(*number));
    Evidence { open_loop: false, served, ..good() }
}

/// Virtual users of a good run, but for a change.
fn of_vus(change: fn(&mut VuFacts)) -> Evidence {
    let mut vus = VuFacts {
        scheduled: 10_000,
        vus_max: 5,
        vus_needed: 40,
        wanted: 10_000,
        read: [Quoted { lateness_ns: 90_000, response_ns: 60_000 }; QUOTED.len()],
        responses: 10_000,
        requests: 10_000,
        ..VuFacts::default()
    };
    change(&mut vus);
    Evidence { vus, ..good() }
}

/// Addresses by how many requests each was sent and its median service time.
fn at_addresses(facts: &[(u64, u64)]) -> Evidence {
    let address = |(index, &(sent, service_p50_ns)): (usize, &(u64, u64))| AddressFacts {
        name: format!("192.0.2.{index}:80"),
        sent,
        completed: sent,
        service_p50_ns,
    };
    Evidence { addresses: facts.iter().enumerate().map(address).collect(), ..good() }
}

/// Service times with a peak at 40 ms beside fast ones.
fn peak_at_40ms(peak: Peak) -> Evidence {
    let peaks = Peaks { at: [peak, Peak::default()], count: 10_000 };
    let ack_delays = AckDelays { service: vec![peaks], ..AckDelays::default() };
    Evidence { ack_delays, ..good() }
}

const PEAK: Peak = Peak { fast: 9_000, below: 3, inside: 300, above: 5 };

fn cut_off(share: f64, longest_ns: u64) -> Evidence {
    Evidence { outage: Outage { share, longest_ns, ..Outage::default() }, ..good() }
}

fn messages(change: fn(&mut MessageFacts)) -> Evidence {
    let mut evidence = good();
    change(&mut evidence.messages);
    evidence
}

/// Evidence, the worst verdict that it can lead to, and the code of its one cause.
pub(super) type Provoked = (Evidence, Verdict, &'static str);

/// What provokes each cause alone.
pub(super) fn provoked() -> Vec<Provoked> {
    [of_tester_and_load(), of_network_and_server()].concat()
}

fn of_tester_and_load() -> Vec<Provoked> {
    let pause = Pause { at_ns: 1_000_000_000, for_ns: 400_000_000 };
    let later = Pause { at_ns: 2_000_000_000, ..pause };
    let short = Pause { for_ns: 12_000_000, ..pause };
    let late_tail = Evidence { sent: 20_000, ..late_at(5, 3_000_000, 4_000_000) };
    vec![
        (Evidence { completed: 0, ..good() }, Verdict::Invalid, "no_responses"),
        (
            Evidence { outcomes: Outcomes { failed: 10_000, ..Outcomes::default() }, ..good() },
            Verdict::Suspect,
            "none_ok",
        ),
        (late_at(4, 150_000, 300_000), Verdict::Suspect, "late"),
        (late_at(4, 2_000_000, 3_000_000), Verdict::Invalid, "late"),
        (Evidence { worker_busy: vec![0.2, 0.99], ..good() }, Verdict::Suspect, "cpu"),
        (Evidence { disordered: 1, ..good() }, Verdict::Invalid, "time_order"),
        (Evidence { script_stopped: true, ..good() }, Verdict::Invalid, "script"),
        (Evidence { pauses: vec![pause], ..good() }, Verdict::Suspect, "paused"),
        (
            Evidence { pauses: vec![short], paused_ns: 100_000_000, ..good() },
            Verdict::Suspect,
            "paused",
        ),
        (
            Evidence { pauses: vec![short], paused_ns: 600_000_000, ..good() },
            Verdict::Invalid,
            "paused",
        ),
        (Evidence { pauses: vec![pause, pause], ..good() }, Verdict::Suspect, "paused"),
        (Evidence { pauses: vec![pause, later], ..good() }, Verdict::Invalid, "paused"),
        (Evidence { worker_run_delay: vec![0.3], ..good() }, Verdict::Suspect, "cpu_shared"),
        (Evidence { started: 9_999, ..good() }, Verdict::Suspect, "short"),
        (late_tail, Verdict::Suspect, "late_tail"),
        (Evidence { throttled_ns: 1_000_000, ..good() }, Verdict::Suspect, "throttled"),
        (Evidence { steal_share: 0.02, ..good() }, Verdict::Suspect, "steal"),
        (Evidence { unsent: 500, ..good() }, Verdict::Suspect, "connections"),
        (of_vus(|vus| vus.dropped = 100), Verdict::Suspect, "vus"),
        (of_vus(|vus| vus.cut_off = 100), Verdict::Suspect, "cut_off"),
        (of_vus(|vus| vus.calls = 1), Verdict::Valid, "left_out"),
        (of_vus(|vus| vus.sockets = 1), Verdict::Valid, "left_out"),
        (of_vus(|vus| vus.unsent = 1), Verdict::Suspect, "short"),
        (of_vus(|vus| vus.read[4].lateness_ns = 200_000), Verdict::Suspect, "read_late"),
        (of_vus(|vus| vus.read[0].lateness_ns = 2_000_000), Verdict::Invalid, "read_late"),
        (cut_off(0.001, 10_000_000), Verdict::Suspect, "outage"),
        (cut_off(0.0001, 1_000_000_000), Verdict::Suspect, "outage"),
        (Evidence { no_ports: 1, ..good() }, Verdict::Invalid, "ports"),
        (Evidence { no_files: 1, ..good() }, Verdict::Invalid, "files"),
        (Evidence { beyond_hour: 1, ..good() }, Verdict::Suspect, "beyond_hour"),
        (Evidence { gave_way_ns: Some(2_000_000_000), ..good() }, Verdict::Valid, "gave_way"),
        (Evidence { clock_step_ns: -5_000_000_000, ..good() }, Verdict::Valid, "clock_step"),
    ]
}

fn of_network_and_server() -> Vec<Provoked> {
    vec![
        (of_tcp(TcpFacts { resent: 10, ..opening() }), Verdict::Suspect, "retransmits"),
        (
            of_tcp(TcpFacts { host_segments: 30_000, host_resent: 60, ..opening() }),
            Verdict::Suspect,
            "retransmits",
        ),
        (of_tcp(TcpFacts { connects_retried: 1, ..opening() }), Verdict::Valid, "connect_retries"),
        (
            of_tcp(TcpFacts {
                connects_retried: 12,
                connects: 256,
                connects_delay_requests: true,
                ..opening()
            }),
            Verdict::Suspect,
            "connect_retries",
        ),
        (
            of_tcp(TcpFacts {
                host_syns_resent: 30,
                host_opened: 1000,
                connects_delay_requests: true,
                ..opening()
            }),
            Verdict::Suspect,
            "connect_retries",
        ),
        (
            of_tcp(TcpFacts { host_listen_drops: 3, server_here: true, ..opening() }),
            Verdict::Suspect,
            "listen_drops",
        ),
        (Evidence { settling: Some(SETTLED), ..good() }, Verdict::Suspect, "nonstationary"),
        (served(&[1000, 1000, 1000, 1500]), Verdict::Valid, "skew_connections"),
        (served(&[300, 1000, 1000, 1000]), Verdict::Suspect, "skew_connections"),
        (at_addresses(&[(5000, 40_000), (5000, 60_000)]), Verdict::Valid, "skew_addresses"),
        (at_addresses(&[(5000, 40_000), (5000, 900_000)]), Verdict::Suspect, "skew_addresses"),
        (at_addresses(&[(9000, 40_000), (1000, 41_000)]), Verdict::Suspect, "skew_addresses"),
        (
            Evidence { addresses_left_out: vec!["[::1]:80".to_owned()], ..good() },
            Verdict::Valid,
            "address_left_out",
        ),
        (peak_at_40ms(PEAK), Verdict::Valid, "delayed_ack"),
        (outcomes(400, 50_000_000, 600, 100_000), Verdict::Valid, "mixed_outcomes"),
        (outcomes(9900, 100_000, 100, 200_000), Verdict::Valid, "mixed_outcomes"),
        (
            Evidence { open_loop: false, draining_share: 0.02, ..good() },
            Verdict::Suspect,
            "draining",
        ),
        (
            Evidence { open_loop: false, lowered_share: 0.02, ..good() },
            Verdict::Suspect,
            "lowered_limit",
        ),
        (messages(|it| it.unconfirmed_closes = 1), Verdict::Suspect, "unconfirmed"),
        (messages(|it| it.pushed_beside_next = 10), Verdict::Suspect, "pushed_replies"),
        (messages(|it| it.extra_answers = 10), Verdict::Suspect, "extra_answers"),
        (messages(|it| it.cut_calls = 1), Verdict::Valid, "cut_calls"),
        (messages(|it| it.compression_declined = 1), Verdict::Valid, "uncompressed"),
    ]
}

#[test]
fn each_cause_is_provoked_alone() {
    assert_eq!(judged(&good()), (Verdict::Valid, vec![]));
    let cases = provoked();
    for (evidence, verdict, code) in &cases {
        let (found, causes) = judged(evidence);
        let codes: Vec<&str> = causes.iter().map(|cause| cause.code.as_str()).collect();
        assert_eq!((found, codes), (*verdict, vec![*code]));
        assert!(!causes[0].text.contains('\n'));
        assert_eq!(causes[0].text.starts_with("note: "), *verdict == Verdict::Valid, "{code}");
    }
    for code in CODES {
        assert!(cases.iter().any(|(_, _, provoked)| *provoked == code), "{code} is not provoked");
    }
}

#[test]
fn lateness_is_held_against_the_same_quantile_of_the_response_time() {
    const US: u64 = 1000;
    // Sent, place of the quantile, lateness and response there in µs; verdict and what to doubt.
    for (sent, place, late_us, response_us, want) in [
        (10_000, 0, 133, 273, Some((Verdict::Suspect, "p50"))),
        (10_000, 4, 133, 350, Some((Verdict::Suspect, "p99"))),
        (10_000, 4, 133, 200_000, None),
        (10_000, 2, 5_000, 100_000, None),
        (10_000, 2, 11_000, 100_000, Some((Verdict::Suspect, "p90"))),
        (10_000, 3, 51_000, 100_000, Some((Verdict::Invalid, "p95"))),
        (10_000, 4, 100, 120, None),
        (10_000, 4, 999, 1000, Some((Verdict::Suspect, "p99"))),
        // Not enough requests for that quantile.
        (999, 4, 5_000, 6_000, None),
        (14, 1, 5_000, 6_000, None),
        (14, 0, 200, 400, Some((Verdict::Suspect, "p50 and everything above"))),
    ] {
        let case = format!("{sent} {place} {late_us} {response_us}");
        let late = late_at(place, late_us * US, response_us * US);
        let evidence = Evidence { sent, requests: None, ..late };
        let (verdict, causes) = judged(&evidence);
        assert_eq!(verdict, want.map_or(Verdict::Valid, |(verdict, _)| verdict), "{case}");
        let doubted = causes.first().map(|cause| cause.text.clone());
        let doubt = want.map(|(_, name)| format!("late or more: doubt {name}; "));
        assert_eq!(doubted.is_some(), doubt.is_some(), "{case}");
        assert!(doubted.unwrap_or_default().contains(&doubt.unwrap_or_default()), "{case}");
        let closed = Evidence { open_loop: false, ..evidence };
        assert_eq!(judged(&closed), (Verdict::Valid, vec![]), "{case}");
    }
}

#[test]
fn all_distorted_quantiles_are_named() {
    let mut evidence = late_at(0, 120_000, 260_000);
    for place in 1..5 {
        evidence.quoted[place] = Quoted { lateness_ns: 133_000, response_ns: 300_000 };
    }
    let (_, causes) = judged(&evidence);
    assert_eq!(
        causes[0].text,
        "the tester itself sent 1 % of the requests 133 µs late or more: doubt p50, p75, p90, p95, \
         p99; give it a CPU of its own (--pin, --spin on), and ask `plimsoll doctor` what is in \
         its way"
    );
    let (_, causes) = judged(&Evidence { sent: 999, ..evidence.clone() });
    let want = "doubt p50, p75, p90, p95 and everything above; give it";
    assert!(causes[0].text.contains(want), "{}", causes[0].text);
    let (_, causes) = judged(&Evidence { spins_always: true, ..evidence });
    let want = "; give it a CPU of its own (--pin), and ask `plimsoll doctor` what is in its way";
    assert!(causes[0].text.ends_with(want), "it spins already: {}", causes[0].text);
    let mut of_script = late_at(4, 150_000, 300_000);
    of_script.vus.vus_max = 5;
    let (_, causes) = judged(&of_script);
    let text = &causes[0].text;
    assert!(
        text.contains("itself started 1 % of the iterations") && !text.contains("--"),
        "{text}"
    );
}

/// The server's limit of streams says why connections do not carry what the plan gives them.
#[test]
fn connections_that_the_server_limits_are_told() {
    let limit = |least, most| Some(StreamLimit { least, most });
    for (stream_limit, needed, want) in [
        (None, 59, "50 connections, about 59 needed at the service time seen"),
        (
            limit(1, Some(1)),
            59,
            "50 connections, about 59 needed at the service time seen, for the server allows 1 \
             stream on each",
        ),
        (
            limit(2, Some(50)),
            59,
            "50 connections, about 59 needed at the service time seen, for the server allows 2 \
             streams on each at times",
        ),
        (
            limit(0, None),
            1,
            "though 50 connections would do at the service time seen: the server allowed no stream \
             for a time",
        ),
        (
            limit(2, Some(2)),
            1,
            "though 50 connections would do at the service time seen: the server was away or stood \
             still",
        ),
    ] {
        let evidence = Evidence { unsent: 500, connections_needed: needed, stream_limit, ..good() };
        let (_, causes) = judged(&evidence);
        assert!(causes[0].text.ends_with(want), "{}", causes[0].text);
    }
}

#[test]
fn a_lowered_limit_says_what_would_be_the_same_throughout() {
    for (least, want) in [
        (2, "; -m 2 gives the same load throughout"),
        (0, "so streams idled for 60.0 % of their time and rate and quantiles mix different loads"),
    ] {
        let stream_limit = Some(StreamLimit { least, most: Some(50) });
        let closed = Evidence { open_loop: false, lowered_share: 0.6, stream_limit, ..good() };
        let (_, causes) = judged(&closed);
        let text = &causes[0].text;
        let begin = format!("the server lowered its limit to {least} streams on a connection");
        assert!(text.starts_with(&begin) && text.ends_with(want), "{text}");
    }
}

/// How many connections would do follows from the service time, and without a response there is
/// none.
#[test]
fn connections_that_would_do_are_told_if_a_response_came() {
    for (completed, want) in [
        (
            1,
            "500 of 10 000 requests found no free connection in time: 50 connections, about 59 needed at the \
             service time seen",
        ),
        (0, "500 of 10 000 requests found no free connection in time"),
    ] {
        let evidence = Evidence { unsent: 500, connections_needed: 59, completed, ..good() };
        let (_, causes) = judged(&evidence);
        let cause = causes.iter().find(|cause| cause.code == "connections").expect("a cause");
        assert_eq!(cause.text, want);
    }
}

#[test]
fn littles_law() {
    assert_eq!(connections_needed(100_000_000, 500_000_000.0), 50);
}

#[test]
fn what_is_ordinary_provokes_nothing() {
    for (name, evidence) in [
        ("a slew", Evidence { clock_step_ns: 900_000_000, ..good() }),
        ("segments lost here and there", of_tcp(TcpFacts { resent: 9, ..opening() })),
        (
            "few of many",
            of_tcp(TcpFacts { host_segments: 3_000_000, host_resent: 60, ..opening() }),
        ),
        (
            "one connect of ten thousand",
            of_tcp(TcpFacts { connects_retried: 1, connects: 10_000, ..opening() }),
        ),
        (
            "SYNs of others, while we open none",
            of_tcp(TcpFacts { host_syns_resent: 30, host_opened: 1000, ..opening() }),
        ),
        (
            "SYNs of others, few of all",
            of_tcp(TcpFacts {
                host_syns_resent: 30,
                host_opened: 10_000,
                connects_delay_requests: true,
                ..opening()
            }),
        ),
        (
            "drops of somebody's listener, the server elsewhere",
            of_tcp(TcpFacts { host_listen_drops: 3, ..opening() }),
        ),
        (
            "a start of no weight",
            Evidence { settling: Some(Settling { head: 40, ..SETTLED }), ..good() },
        ),
        ("even connections", served(&[900, 1000, 1100, 1200])),
        ("too few requests to tell", served(&[10, 30, 60, 100])),
        ("one connection", served(&[10_000])),
        ("what connections were given", Evidence { open_loop: true, ..served(&[300, 1000, 1000]) }),
        ("even addresses", at_addresses(&[(5000, 40_000), (4000, 55_000)])),
        ("hardly an answer", at_addresses(&[(70, 40_000), (50, 900_000)])),
        (
            "a broad distribution around 40 ms",
            peak_at_40ms(Peak { below: 900, inside: 1000, above: 950, ..PEAK }),
        ),
        ("a handful at 40 ms", peak_at_40ms(Peak { inside: 9, ..PEAK })),
        ("nothing fast beside 40 ms", peak_at_40ms(Peak { fast: 0, ..PEAK })),
    ] {
        assert_eq!(judged(&evidence), (Verdict::Valid, vec![]), "{name}");
    }
}

/// Requests that time out while the tester stands still for half of the timeout, or are open when
/// the run ends in a pause, may be the tester's failures.
#[test]
fn pauses_can_make_requests_fail() {
    let pause = |at_ns, for_ms: u64| Evidence {
        pauses: vec![Pause { at_ns, for_ns: for_ms * 1_000_000 }],
        paused_ns: for_ms * 1_000_000,
        timeout_ns: 100_000_000,
        ..good()
    };
    let second = 1_000_000_000;
    for (evidence, timed_out, unfinished, is_in_doubt) in [
        (pause(second, 50), 20, 0, true),
        (pause(second, 49), 20, 0, false),
        (pause(second, 50), 0, 20, false),
        (pause(good().elapsed_ns - 50_000_000, 50), 0, 20, true),
        (pause(good().elapsed_ns - 50_000_000, 50), 0, 0, false),
    ] {
        for open_loop in [true, false] {
            let evidence = Evidence { timed_out, unfinished, open_loop, ..evidence.clone() };
            let causes = judge(&evidence);
            let doubts = Doubts::of(causes.iter().flat_map(|cause| &cause.touches));
            let Interval { low, high } = doubts.value(Figure::Counts, 20.0);
            assert_eq!((low < 20.0, high > 20.0), (is_in_doubt, is_in_doubt), "{evidence:?}");
        }
    }
}

#[test]
fn a_note_stands_behind_what_is_worse() {
    let evidence = Evidence { clock_step_ns: 5_000_000_000, steal_share: 0.5, ..good() };
    let (verdict, causes) = judged(&evidence);
    let codes: Vec<&str> = causes.iter().map(|cause| cause.code.as_str()).collect();
    assert_eq!((verdict, codes), (Verdict::Suspect, vec!["steal", "clock_step"]));
}

#[test]
fn connects_of_a_second_were_tried_twice() {
    let mut connect = Histogram::new();
    for ms in [0, 40, 200, 900, 1001, 3040, 7010] {
        connect.record(ms * 1_000_000);
    }
    assert_eq!((connect.count(), connects_retried(&connect)), (7, 3));
    assert_eq!(connects_retried(&Histogram::new()), 0);
}

/// A series of seconds with these median service times, in µs, and the same number of requests
/// each.
fn seconds(medians_us: &[u64], requests: u64) -> Series {
    let mut series = Series::default();
    for (second, median_us) in (0..).zip(medians_us) {
        let mut service = Histogram::new();
        service.record_n(median_us * 1000, requests);
        series.add(&Point {
            t_ns: second * INTERVAL_NS,
            interval_ns: INTERVAL_NS,
            completed: requests,
            service: service.pack(),
            ..Point::default()
        });
    }
    series
}

#[test]
fn a_start_unlike_the_rest_is_seen_and_noise_is_not() {
    for (name, medians_us, requests, until_s) in [
        ("a slow start", &[50_000, 50_000, 1000, 1010, 990, 1000, 1005, 9][..], 100, Some(2)),
        ("a fast start", &[100, 1000, 1010, 990, 1000, 1005, 1000][..], 100, Some(1)),
        ("a slope", &[9000, 5000, 2500, 1100, 1000, 1010, 990, 1000, 1000, 1][..], 100, Some(3)),
        (
            "an odd second in the rest",
            &[9000, 1000, 1000, 7000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000][..],
            100,
            Some(1),
        ),
        ("noise", &[1300, 900, 1000, 1100, 800, 1200, 1000][..], 100, None),
        ("wild noise", &[2300, 400, 1000, 3100, 800, 200, 1000, 2500, 700][..], 100, None),
        ("an odd second in the middle", &[1000, 1000, 1000, 9000, 1000, 1000, 1000][..], 100, None),
        ("a trend", &[1000, 1500, 2200, 3300, 5000, 7500, 11_000, 16_000][..], 100, None),
        ("half and half", &[9000, 9000, 9000, 9000, 1000, 1000, 1000][..], 100, None),
        ("too short", &[9000, 1000, 1000, 1000, 1000][..], 100, None),
        ("too few requests", &[9000, 1000, 1000, 1000, 1000, 1000, 1000][..], 9, None),
        ("nothing", &[][..], 100, None),
    ] {
        let found = settling(&seconds(medians_us, requests));
        assert_eq!(found.map(|found| found.until_ns), until_s.map(|s| s * INTERVAL_NS), "{name}");
    }
    let slow = settling(&seconds(&[50_000, 50_000, 1000, 1000, 1000, 1000, 1000], 100)).unwrap();
    assert_eq!((slow.head, slow.rest), (200, 500));
    assert!(slow.head_p50_ns.abs_diff(50_000_000) < 50_000, "{slow:?}");
}

#[test]
fn a_long_run_is_sampled_and_its_shares_are_of_all() {
    let mut medians_us = vec![1000; 3000];
    medians_us[..30].fill(9000);
    let found = settling(&seconds(&medians_us, 10)).unwrap();
    assert_eq!((found.until_ns, found.head), (30 * INTERVAL_NS, 300));
    assert_eq!(found.rest, 29_700);
}

#[test]
fn every_code_has_its_section_in_the_documents() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verdict.md");
    let text = std::fs::read_to_string(path).expect("a document about the verdict");
    let sections: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`')).collect();
    for code in CODES {
        assert!(sections.contains(&code), "{code} has no section");
    }
    for section in sections {
        assert!(CODES.contains(&section), "no cause is called {section}");
    }
}

fn outcomes(ok: u64, ok_p50_ns: u64, failed: u64, failed_p50_ns: u64) -> Evidence {
    let outcomes = Outcomes { ok, failed, ok_p50_ns, failed_p50_ns };
    Evidence { outcomes, ..good() }
}

#[test]
fn failures_that_are_few_or_like_the_rest_are_not_mentioned() {
    for evidence in [
        outcomes(1000, 100_000, 0, 0),
        outcomes(9910, 100_000, 90, 900_000),
        outcomes(100, 100_000, 9, 900_000),
        outcomes(500, 100_000, 500, 190_000),
    ] {
        assert_eq!(judged(&evidence), (Verdict::Valid, Vec::new()), "{:?}", evidence.outcomes);
    }
}

/// Nothing of requests and schedules is missed, because they are counted elsewhere.
#[test]
fn what_the_host_tells_is_judged_by_itself() {
    let elapsed_ns = 4_000_000_000;
    let codes = |evidence: Evidence| -> Vec<String> {
        of_host(&evidence).into_iter().map(|cause| cause.code).collect()
    };
    assert_eq!(codes(Evidence { elapsed_ns, ..Evidence::default() }), [""; 0]);
    let evidence = Evidence {
        elapsed_ns,
        worker_run_delay: vec![0.0, 0.06],
        pauses: vec![Pause { at_ns: 1_500_000_000, for_ns: 500_000_000 }],
        throttled_ns: 100_000_000,
        steal_share: 0.02,
        clock_step_ns: -5_000_000_000,
        ..Evidence::default()
    };
    assert_eq!(codes(evidence), ["paused", "cpu_shared", "throttled", "steal", "clock_step"]);
}
