//! Lines as receivers read them, and the exact text of some.

use std::sync::Arc;

use plimsoll_core::live::LiveFigures;
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::series::Point;
use plimsoll_core::{Histogram, RunResult};

use super::{BEGAN_NS, SECOND_NS, labels, point, result};
use crate::events::Timetable;
use crate::figures::{Ending, Figures, Kind, Moment, Totals};
use crate::influx::Influx;
use crate::statsd::Statsd;

/// The sum of a field over all points of InfluxDB's lines.
pub(super) fn sum(text: &str, field: &str) -> u64 {
    let fields = text.lines().filter(|line| line.starts_with("plimsoll,"));
    let fields = fields.flat_map(|line| line.rsplit(' ').nth(1).unwrap().split(','));
    let values = fields.filter_map(|pair| pair.split_once('=').filter(|(name, _)| *name == field));
    values.map(|(_, value)| value.trim_end_matches('i').parse::<u64>().unwrap()).sum()
}

/// The time of the last line.
pub(super) fn last_time_ns(body: &[u8]) -> u64 {
    let text = std::str::from_utf8(body).unwrap();
    text.trim_end().rsplit(' ').next().unwrap().parse().unwrap()
}

/// The beginning, an interval and the end of a run of a second, as an encoder sees them.
fn moments(encode: impl FnMut(&Moment<'_>) -> Vec<u8>) -> Vec<String> {
    moments_of(&Arc::default(), encode)
}

/// The same of a run with this timetable.
fn moments_of(
    timetable: &Arc<Timetable>,
    mut encode: impl FnMut(&Moment<'_>) -> Vec<u8>,
) -> Vec<String> {
    let mut figures = Figures::default();
    let mut live = LiveFigures::new(&Draft::new(Endpoint::http("x", 80, "/")));
    live.add(&point(0));
    let mut encoded = Vec::new();
    let mut see = |kind, new: &Totals, all: &Figures| {
        let bytes = encode(&Moment { kind, new, all });
        encoded.push(String::from_utf8(bytes).unwrap());
    };
    let new = figures.begin(BEGAN_NS, timetable);
    see(Kind::Began, &new, &figures);
    let new = figures.add(BEGAN_NS + SECOND_NS, &live);
    see(Kind::Interval, &new, &figures);
    let new = figures.end(BEGAN_NS + SECOND_NS + 5, &Ending::of(&result(1)));
    see(Kind::Ended, &new, &figures);
    encoded
}

#[test]
fn points_of_influx_have_tags_fields_and_the_end_of_the_interval() {
    let influx = Influx::new(&labels());
    let lines = moments(|moment| influx.encode(moment));
    assert_eq!(
        lines,
        [
            "plimsoll_events,run=a\\ b,target=x:80 title=\"run started\" 1700000000000000000\n",
            "plimsoll,run=a\\ b,target=x:80 scheduled=13i,sent=12i,completed=9i,errors=4i,\
             received_bytes=1000i,ok=7i,failed=2i,refused=0i,timed_out=1i,broken=0i,unfinished=0i,\
             unsent=0i,shed=1i,connections=50i,tester_cpu_cores=0.25,lateness_max_seconds=0.002,\
             response_p50_seconds=0.005001215,response_p90_seconds=0.009003007,\
             response_p99_seconds=0.01,response_p999_seconds=0.01,response_max_seconds=0.01,\
             service_p50_seconds=0.005001215,service_p90_seconds=0.009003007,\
             service_p99_seconds=0.01,service_p999_seconds=0.01,service_max_seconds=0.01 \
             1700000001000000000\n",
            "plimsoll,run=a\\ b,target=x:80 scheduled=3i,sent=0i,completed=0i,errors=5i,\
             received_bytes=17i,ok=0i,failed=0i,refused=0i,timed_out=0i,broken=0i,unfinished=2i,\
             unsent=3i,shed=0i 1700000001001000000\n\
             plimsoll_events,run=a\\ b,target=x:80 title=\"run ended, valid\" \
             1700000001001000000\n",
        ]
    );
}

#[test]
fn statsd_gets_counts_and_quantiles_with_tags_or_without() {
    let plain = Statsd::new(&labels(), false);
    let lines = moments(|moment| plain.encode(moment));
    for want in [
        "plimsoll.scheduled:13|c\n",
        "plimsoll.requests.ok:7|c\n",
        "plimsoll.response_ms.p50:5.001215|g\n",
        "plimsoll.connections:50|g\n",
    ] {
        assert!(lines[1].contains(want), "{want} {}", lines[1]);
    }
    assert!(!lines[1].contains("requests.broken"), "nothing was: {}", lines[1]);
    assert!(lines[2].contains("plimsoll.requests.unsent:3|c\n"), "{}", lines[2]);
    let tagged = Statsd::new(&labels(), true);
    let lines = moments(|moment| tagged.encode(moment));
    for want in [
        "plimsoll.requests:7|c|#outcome:ok,run:a b,target:x:80\n",
        "plimsoll.sent:12|c|#run:a b,target:x:80\n",
    ] {
        assert!(lines[1].contains(want), "{want} {}", lines[1]);
    }
}

#[test]
fn events_are_sent_where_the_receiver_knows_them() {
    let stages = [(0, "10/s".to_owned()), (SECOND_NS / 2, "20/s".to_owned())];
    let timetable = Arc::new(Timetable::new(2 * SECOND_NS, stages));
    let influx = Influx::new(&labels());
    let lines = moments_of(&timetable, |moment| influx.encode(moment));
    let tags = "plimsoll_events,run=a\\ b,target=x:80";
    assert_eq!(
        lines[0],
        format!(
            "{tags} title=\"warm-up started\" 1699999998000000000\n\
             {tags} title=\"run started: stage 1 of 2, 10/s\" 1700000000000000000\n"
        )
    );
    let want = format!("{tags} title=\"stage 2 of 2, 20/s started\" 1700000000500000000\n");
    assert!(lines[1].ends_with(&want), "{}", lines[1]);
    let tagged = Statsd::new(&labels(), true);
    let lines = moments_of(&timetable, |moment| tagged.encode(moment));
    for (line, want) in [
        (
            &lines[0],
            "_e{41,19}:plimsoll: run started: stage 1 of 2, 10/s|TAGS|d:1700000000|t:info|#TAGS\n",
        ),
        (
            &lines[1],
            "_e{36,19}:plimsoll: stage 2 of 2, 20/s started|TAGS|d:1700000000|t:info|#TAGS\n",
        ),
        (&lines[2], "_e{26,19}:plimsoll: run ended, valid|TAGS|d:1700000001|t:success|#TAGS\n"),
    ] {
        let want = want.replace("TAGS", "run:a b,target:x:80");
        assert!(line.contains(&want), "{want} {line}");
    }
    let plain = Statsd::new(&labels(), false);
    let lines = moments_of(&timetable, |moment| plain.encode(moment));
    assert!(lines.iter().all(|line| !line.contains("_e{")), "{lines:?}");
}

/// What is dropped has waited by then: response times do not jump when the run ends.
#[test]
fn shed_requests_have_their_response_times_in_the_interval_in_which_they_were_shed() {
    let mut waits = Histogram::new();
    waits.record(5 * SECOND_NS);
    let mut live = LiveFigures::new(&Draft::new(Endpoint::http("x", 80, "/")));
    live.add(&Point { shed_waits: waits.pack(), ..point(0) });
    let mut figures = Figures::default();
    figures.begin(BEGAN_NS, &Arc::default());
    let new = figures.add(BEGAN_NS + SECOND_NS, &live);
    for totals in [&new, &figures.totals] {
        assert_eq!((totals.response.count(), totals.service.count()), (11, 10));
        assert_eq!(totals.response.max_ns(), waits.max_ns());
    }
    figures.end(BEGAN_NS + SECOND_NS, &Ending::of(&result(1)));
    // Three more had not been sent by then.
    assert_eq!(figures.totals.response.count(), 14);
}

#[test]
fn counts_of_a_second_run_add_to_those_of_the_first() {
    let mut figures = Figures::default();
    let mut live = LiveFigures::new(&Draft::new(Endpoint::http("x", 80, "/")));
    live.add(&point(0));
    for run in 1..=2 {
        let began_ns = BEGAN_NS + run * 10 * SECOND_NS;
        figures.begin(began_ns, &Arc::default());
        figures.add(began_ns + SECOND_NS, &live);
        figures.end(began_ns + SECOND_NS, &Ending::of(&result(1)));
        let want = result(1);
        assert_eq!(figures.totals.ledger.sent, run * want.ledger.sent);
        assert_eq!(figures.totals.ledger.unsent, run * want.ledger.unsent);
        assert_eq!(figures.totals.status[&200], run * 7);
        assert_eq!(figures.totals.response.count(), run * want.latency.response.count());
    }
    let ledger = figures.totals.ledger;
    ledger.check().unwrap();
}

#[test]
fn the_end_says_whether_the_run_was_cut_short() {
    let condition = || Some("errors>5%".to_owned());
    for (aborted, interrupted, word) in
        [(None, false, "ended"), (None, true, "interrupted"), (condition(), true, "aborted")]
    {
        let result = RunResult { aborted, interrupted, ..result(1) };
        assert_eq!(Ending::of(&result).word, word);
    }
}
