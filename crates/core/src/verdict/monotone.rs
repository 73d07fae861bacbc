//! More evidence against the tester never improves the verdict, and never narrows a doubt.

use proptest::prelude::*;

use crate::Histogram;
use crate::doubt::{Bounds, Doubts, Figure, Interval};

use super::tests::judged;
use super::*;

/// Picks values by the numbers of a random list: mostly the first of those there are, which is
/// harmless, because a verdict that is the worst already cannot get worse.
struct Dice<'a>(std::slice::Iter<'a, u16>);

impl Dice<'_> {
    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        let number = self.0.next().copied().unwrap_or_default();
        let (is_first, number) = (number % 8 > 0, usize::from(number / 8));
        if is_first { of[0].clone() } else { of[number % of.len()].clone() }
    }

    /// A duration, a small and a large one among them.
    fn ns(&mut self) -> u64 {
        self.pick(&[0, 90_000, 110_000, 900_000, 1_100_000, 3_000_000, 60_000_000, 700_000_000])
    }

    fn share(&mut self) -> f64 {
        self.pick(&[0.0, 0.005, 0.02, 0.04, 0.06, 0.5, 0.97])
    }

    fn count(&mut self) -> u64 {
        self.pick(&[0, 1, 9, 10, 50, 500, 5000])
    }

    fn total(&mut self) -> u64 {
        self.pick(&[10_000, 500, 999, 1000, 9_999, 100_000])
    }

    fn quoted(&mut self) -> Quoted {
        Quoted { lateness_ns: self.ns(), response_ns: self.ns() }
    }

    fn pauses(&mut self) -> Vec<Pause> {
        let number = self.pick(&[0, 1, 2, 12]);
        let for_ns = self.pick(&[10_000_000, 30_000_000, 60_000_000, 400_000_000]);
        (0..number).map(|n| Pause { at_ns: n * 200_000_000, for_ns }).collect()
    }

    fn addresses(&mut self) -> Vec<AddressFacts> {
        let number = self.pick(&[2, 0, 3]);
        let facts = (0..number).map(|_| AddressFacts {
            name: String::new(),
            sent: self.pick(&[1000, 1400, 2000, 9000]),
            completed: self.pick(&[900, 99, 100]),
            service_p50_ns: self.pick(&[40_000, 50_000, 70_000, 90_000, 200_000]),
        });
        facts.collect()
    }

    fn served(&mut self) -> Spread {
        let mut served = Spread::default();
        for _ in 0..self.pick(&[4, 0, 1]) {
            served.add(self.pick(&[400, 50, 190, 210, 800]));
        }
        served
    }

    fn tcp(&mut self) -> TcpFacts {
        TcpFacts {
            resent: self.count(),
            host_segments: self.total(),
            host_resent: self.count(),
            host_opened: self.total(),
            host_syns_resent: self.count(),
            host_listen_drops: self.count(),
            server_here: self.pick(&[false, true]),
            connects: self.total(),
            connects_retried: self.count(),
            connects_delay_requests: self.pick(&[false, true]),
        }
    }

    fn peaks(&mut self) -> Peaks {
        let peak = Peak {
            fast: self.count(),
            below: self.count(),
            inside: self.count(),
            above: self.count(),
        };
        Peaks { at: [peak, Peak::default()], count: self.total() }
    }

    fn settling(&mut self) -> Option<Settling> {
        let head = self.count();
        let found = Settling {
            until_ns: 2_000_000_000,
            head,
            rest: self.total(),
            head_p50_ns: 50_000_000,
            rest_p50_ns: 1_000_000,
        };
        self.pick(&[None, Some(found)])
    }

    fn evidence(&mut self) -> Evidence {
        Evidence {
            open_loop: self.pick(&[true, false]),
            elapsed_ns: self.pick(&[10_000_000_000, 1_000_000_000, 60_000_000_000]),
            worker_busy: vec![self.share(), self.share()],
            worker_run_delay: vec![self.share()],
            quoted: std::array::from_fn(|_| self.quoted()),
            kernel_stamps: self.pick(&[false, true]),
            blocked: std::array::from_fn(|_| self.quoted()),
            blocked_max_ns: self.pick(&[0, 3_000_000, 900_000_000]),
            spins_always: self.pick(&[false, true]),
            gave_way_ns: self.pick(&[None, Some(2_000_000_000)]),
            pauses: self.pauses(),
            paused_ns: self.ns(),
            disordered: self.pick(&[0, 1]),
            script_stopped: self.pick(&[false, true]),
            throttled_ns: self.ns(),
            steal_share: self.share(),
            requests: self.pick(&[None, Some(1000), Some(10_000)]),
            started: self.total(),
            sent: self.total(),
            lateness_max_ns: self.pick(&[0, 700_000_000, 900_000_000]),
            in_flight: self.pick(&[1.0, 0.2, 30.0]),
            cycle_ns: self.pick(&[1e6, 1e5, 0.0, 3e7]),
            cycle_excess: self.share(),
            scheduled: self.total(),
            unsent: self.count(),
            completed: self.pick(&[10_000, 0, 50]),
            after_window: self.count(),
            timed_out: self.count(),
            unfinished: self.count(),
            timeout_ns: 50_000_000,
            connections: self.pick(&[1, 50]),
            connections_needed: self.count(),
            no_ports: self.count(),
            no_files: self.count(),
            beyond_hour: self.count(),
            clock_step_ns: self.pick(&[0, 5_000_000_000, -5_000_000_000]),
            warmup_ns: self.ns(),
            tcp: self.tcp(),
            settling: self.settling(),
            served: self.served(),
            addresses: self.addresses(),
            addresses_left_out: self.pick(&[Vec::new(), vec!["[::1]:80".to_owned()]]),
            ack_delays: AckDelays {
                service: vec![self.peaks()],
                receiving: self.peaks(),
                host_delayed: self.count(),
            },
            outage: Outage { share: self.share(), longest_ns: self.ns(), ..Outage::default() },
            outcomes: Outcomes {
                ok: self.count(),
                failed: self.count(),
                ok_p50_ns: self.ns(),
                failed_p50_ns: self.ns(),
            },
            draining_share: self.share(),
            lowered_share: self.share(),
            stream_limit: self.pick(&[
                None,
                Some(StreamLimit { least: 1, most: Some(1) }),
                Some(StreamLimit { least: 0, most: None }),
            ]),
            messages: MessageFacts {
                unconfirmed_closes: self.count(),
                pushed_beside_next: self.count(),
                extra_answers: self.count(),
                cut_calls: self.count(),
                compression_offered: self.count(),
                compression_declined: self.count(),
            },
            vus: VuFacts {
                scheduled: self.total(),
                dropped: self.count(),
                vus_max: self.pick(&[10, 0]),
                vus_needed: self.count(),
                wanted: self.total(),
                unsent: self.count(),
                read: std::array::from_fn(|_| self.quoted()),
                responses: self.total(),
                requests: self.total(),
                cut_off: self.count(),
                calls: self.count(),
                sockets: self.count(),
                answered_beside: 0,
            },
        }
    }
}

fn later(quoted: &mut Quoted) {
    quoted.lateness_ns = 2 * quoted.lateness_ns + 150_000;
}

/// A step in the bad direction.
type Step = fn(&mut Evidence);

fn pause(e: &mut Evidence, for_ns: u64) {
    e.pauses.push(Pause { at_ns: 7, for_ns });
    e.paused_ns += for_ns;
}

/// One for each piece of evidence against the tester, or for the load not being what was asked for.
/// What is missing only says what the rest is measured against, as `sent`, `elapsed_ns` and the
/// totals of TCP do, or stands in a text.
const STEPS: [(&str, Step); 54] = [
    ("worker_busy", |e| e.worker_busy.push(0.99)),
    ("worker_run_delay", |e| e.worker_run_delay[0] += 0.1),
    ("lateness at p50", |e| later(&mut e.quoted[0])),
    ("lateness at p90", |e| later(&mut e.quoted[2])),
    ("lateness at p99", |e| later(&mut e.quoted[4])),
    ("lateness at p99.9", |e| later(&mut e.quoted[5])),
    ("the latest request", |e| e.lateness_max_ns += 500_000_000),
    ("waits for connections", |e| e.blocked.iter_mut().for_each(later)),
    ("the longest wait for a connection", |e| e.blocked_max_ns += 500_000_000),
    ("a longer cycle", |e| e.cycle_excess += 0.1),
    ("faster responses", |e| e.quoted.iter_mut().for_each(|quoted| quoted.response_ns /= 2)),
    ("a short pause", |e| pause(e, 30_000_000)),
    ("a long pause", |e| pause(e, 60_000_000)),
    ("paused", |e| e.paused_ns += 40_000_000),
    ("disordered", |e| e.disordered += 1),
    ("a script that was stopped", |e| e.script_stopped = true),
    ("throttled", |e| e.throttled_ns += 1_000_000),
    ("steal", |e| e.steal_share += 0.02),
    ("short", |e| e.requests = Some(e.requests.unwrap_or(0).max(e.started + 1))),
    ("unsent", |e| e.unsent += 100),
    ("after_window", |e| e.after_window += 100),
    ("timed_out", |e| e.timed_out += 100),
    ("unfinished", |e| e.unfinished += 100),
    ("completed", |e| e.completed = 0),
    ("no_ports", |e| e.no_ports += 1),
    ("no_files", |e| e.no_files += 1),
    ("beyond_hour", |e| e.beyond_hour += 1),
    ("clock_step", |e| e.clock_step_ns *= 2),
    ("tcp.resent", |e| e.tcp.resent += 20),
    ("tcp.host_resent", |e| e.tcp.host_resent += 20),
    ("tcp.host_syns_resent", |e| e.tcp.host_syns_resent += 20),
    ("tcp.host_listen_drops", |e| e.tcp.host_listen_drops += 1),
    ("tcp.server_here", |e| e.tcp.server_here = true),
    ("tcp.connects_retried", |e| e.tcp.connects_retried += 1),
    ("tcp.connects_delay_requests", |e| e.tcp.connects_delay_requests = true),
    ("settling", |e| {
        e.settling = Some(match e.settling {
            Some(found) => Settling { head: 2 * found.head + 1, ..found },
            None => Settling {
                until_ns: 1_000_000_000,
                head: 100,
                rest: 1000,
                head_p50_ns: 9,
                rest_p50_ns: 1,
            },
        });
    }),
    ("served", |e| {
        let (min, max) = (e.served.min().unwrap_or(1), e.served.max().unwrap_or(0));
        e.served.add(min / 4);
        e.served.add(4 * max);
    }),
    ("a slower address", |e| {
        if let Some(slow) = e.addresses.iter_mut().max_by_key(|address| address.service_p50_ns) {
            slow.service_p50_ns *= 2;
        }
    }),
    ("an address with fewer requests", |e| {
        if let Some(least) = e.addresses.iter_mut().min_by_key(|address| address.sent) {
            least.sent /= 4;
        }
    }),
    ("ack_delays", |e| e.ack_delays.receiving.at[0].inside *= 20),
    ("outcomes", |e| e.outcomes.failed += 100),
    ("outage.share", |e| e.outage.share += 0.01),
    ("outage.longest", |e| e.outage.longest_ns += 400_000_000),
    ("draining", |e| e.draining_share += 0.02),
    ("lowered", |e| e.lowered_share += 0.02),
    ("messages.unconfirmed_closes", |e| e.messages.unconfirmed_closes += 1),
    ("messages.pushed_beside_next", |e| e.messages.pushed_beside_next += 20),
    ("messages.extra_answers", |e| e.messages.extra_answers += 20),
    ("messages.cut_calls", |e| e.messages.cut_calls += 20),
    ("vus.cut_off", |e| e.vus.cut_off += 20),
    ("vus.dropped", |e| e.vus.dropped += 100),
    ("vus.unsent", |e| e.vus.unsent += 1),
    ("vus.read", |e| e.vus.read.iter_mut().for_each(later)),
    ("messages.compression_declined", |e| e.messages.compression_declined += 20),
];

/// Times of 1000 requests, some of them slow.
fn times() -> Histogram {
    let mut times = Histogram::new();
    for (value_ns, count) in [(400_000, 500), (900_000, 400), (3_000_000, 90), (70_000_000, 10)] {
        times.record_n(value_ns, count);
    }
    times
}

/// The least and the most that each figure can be, by the evidence.
fn intervals(evidence: &Evidence, times: &Histogram) -> Vec<(String, Interval)> {
    let causes = judge(evidence);
    let doubts = Doubts::of(causes.iter().flat_map(|cause| &cause.touches));
    let bounds = Bounds::new(times, 0, 0);
    let mut intervals = Vec::new();
    for figure in Figure::ALL {
        intervals.push((format!("{figure:?}"), doubts.value(figure, 100.0)));
        for q in [0.5, 0.9, 0.99, 0.999, 1.0].iter().filter(|_| figure.is_time()) {
            let interval = doubts.quantile_ns(figure, &bounds, *q);
            intervals.push((format!("{figure:?} at {q}"), interval));
        }
        if figure.is_time() {
            intervals.push((format!("{figure:?} mean"), doubts.mean_ns(figure, &bounds)));
        }
    }
    intervals
}

/// A figure whose interval is narrower after than before.
fn narrowed(
    before: &[(String, Interval)],
    after: &[(String, Interval)],
) -> Option<(String, Interval, Interval)> {
    let is_narrower = |old: Interval, new: Interval| {
        // Arithmetic rounds.
        new.low > old.low * (1.0 + 1e-9) || new.high < old.high * (1.0 - 1e-9)
    };
    let pairs = before.iter().zip(after);
    { pairs }
        .find(|(old, new)| is_narrower(old.1, new.1))
        .map(|(old, new)| (old.0.clone(), old.1, new.1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn more_evidence_never_improves_the_verdict(
        numbers in prop::collection::vec(any::<u16>(), 136),
        order in prop::collection::vec(any::<prop::sample::Index>(), 4),
    ) {
        let mut evidence = Dice(numbers.iter()).evidence();
        let (before, _) = judged(&evidence);
        for (name, step) in STEPS {
            let mut worse = evidence.clone();
            step(&mut worse);
            let (after, _) = judged(&worse);
            prop_assert!(after >= before, "{name}: {before:?}, then {after:?}");
        }
        // And several, one after the other.
        let mut before = before;
        for index in order {
            let (name, step) = index.get(&STEPS);
            step(&mut evidence);
            let (after, _) = judged(&evidence);
            prop_assert!(after >= before, "{name}: {before:?}, then {after:?}");
            before = after;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]
    #[test]
    fn more_evidence_never_narrows_a_doubt(
        numbers in prop::collection::vec(any::<u16>(), 136),
    ) {
        let times = times();
        let evidence = Dice(numbers.iter()).evidence();
        let known = intervals(&evidence, &times);
        for (name, step) in STEPS {
            let mut worse = evidence.clone();
            step(&mut worse);
            let narrowed = narrowed(&known, &intervals(&worse, &times));
            prop_assert!(narrowed.is_none(), "{name}: {narrowed:?}");
        }
    }
}
