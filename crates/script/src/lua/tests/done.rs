//! The statistics that `done` gets, as wrk and as wrk2 compute them.

use super::*;

/// 1 µs to 100 µs, once each, and 100 µs once more.
fn hundred() -> Histogram {
    let mut histogram = Histogram::new();
    for us in 1..=100 {
        histogram.record(us * 1000);
    }
    histogram.record(100_000);
    histogram
}

#[test]
fn done_sees_statistics() {
    let summary = Summary {
        duration_us: 1_000_001,
        requests: 2,
        bytes: 3,
        connect: 4,
        read: 5,
        write: 6,
        status: 7,
        timeout: 8,
    };
    let text = "function done(summary, latency, requests)\n\
          local e = summary.errors\n\
          sum = table.concat({ summary.duration, summary.requests, summary.bytes, e.connect, e.read,\n\
            e.write, e.status, e.timeout }, ' ')\n\
          lat = string.format('%d %d %.2f %.3f %d %d %d %d', latency.min, latency.max, latency.mean,\n\
            latency.stdev, latency:percentile(50), latency:percentile(99.999), latency:percentile(0),\n\
            #latency)\n\
          none = tostring(latency.nothing) .. #requests .. requests.max .. requests:percentile(50)\n\
          if wrk.time_us then some = latency[1] .. ' ' .. latency[50] .. ' ' .. latency[101]\n\
          else some = table.concat({ latency(1) }, ' ') .. ' ' .. table.concat({ latency(100) }, ' ')\n\
            .. ' ' .. table.concat({ latency(101) }, ' ') end\n\
        end";
    for (api, lat, none, some) in [
        (Api::Wrk, "1 100 50.99 29.283 51 100 1 100", "nil000", "1 1 100 2 0 0"),
        (Api::Wrk2, "1 100 50.99 29.138 51 100 1 101", "nil000", "1 50 100"),
    ] {
        let (mut main, mut threads) = load(&ScriptStart { api, ..plain(text) }).unwrap();
        main.done(&mut threads, &summary, &hundred(), &Histogram::new()).unwrap();
        assert_eq!(variable(&main.state, "sum"), "1000001 2 3 4 5 6 7 8");
        assert_eq!(variable(&main.state, "lat"), lat, "{api:?}");
        assert_eq!(variable(&main.state, "none"), none, "{api:?}");
        assert_eq!(variable(&main.state, "some"), some, "{api:?}");
    }
    let (mut main, mut threads) =
        loaded("function done(s, l)\n return l:percentile('x') .. '' end");
    let error = main.done(&mut threads, &summary, &hundred(), &Histogram::new()).unwrap_err();
    assert_eq!(error.to_string(), "s.lua:2: percentile() takes a number, not a string");
}
