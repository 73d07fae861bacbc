//! The arithmetic of calls: how many for each thread, and when. The numbers are those that fortio
//! 1.66 printed for these flags.

use super::command;
use crate::fortio::pace::{Change, Deal, Schedule, TooMany, schedule};

const MS_NS: u64 = 1_000_000;

#[test]
fn calls_are_dealt_as_fortio_deals_them() {
    let lowered = |calls, from| Change::Lowered { calls, from };
    for (flags, threads, calls, more, change, total) in [
        ("-qps 100 -t 1s -c 2", 2, 50, 0, Change::None, Some(100)),
        ("", 4, 10, 0, Change::None, Some(40)),
        ("-qps 9 -t 1s", 4, 2, 0, Change::None, Some(8)),
        ("-qps 7 -t 1s", 3, 2, 0, lowered(7, 4), Some(6)),
        ("-qps 20 -n 5 -c 2", 2, 2, 1, Change::None, Some(5)),
        ("-qps 100 -n 9", 4, 2, 1, Change::None, Some(9)),
        ("-n 3", 1, 3, 0, lowered(3, 4), Some(3)),
        ("-n 1", 1, 2, -1, Change::Raised, Some(1)),
        ("-qps 10 -t 100ms", 1, 2, 0, Change::Raised, Some(2)),
        ("-c 0 -n 9 -qps 100", 4, 2, 1, Change::None, Some(9)),
        ("-n 5 -grpc -c 2 -s 2", 2, 2, 1, lowered(5, 4), Some(5)),
        ("-t 0", 4, 0, 0, Change::None, None),
        ("-t -1s", 4, 0, 0, Change::None, None),
        ("-qps 0", 4, 0, 0, Change::None, None),
        ("-qps -1 -n 11", 4, 2, 3, Change::None, Some(11)),
        ("-qps -1 -n 2", 4, 0, 2, Change::None, Some(2)),
        ("-calc-qps -n 10 -t 1s -c 2", 2, 5, 0, Change::None, Some(10)),
    ] {
        let deal = Deal::of(&command(flags));
        assert_eq!(deal, Deal { threads, calls, more, change }, "{flags}");
        assert_eq!(deal.total(), total, "{flags}");
    }
}

/// In `--as-original`: a thread's last call falls at the end, and threads call at once.
#[test]
fn times_are_fortios_in_its_own_pace() {
    for (flags, want_ms) in [
        ("-qps 20 -n 5 -c 2", &[0, 0, 150, 200, 300][..]),
        ("-qps 10 -t 100ms", &[0, 200]),
        ("-qps 8 -n 4 -c 2", &[0, 0, 500, 500]),
        ("-qps 8 -n 4 -c 2 -uniform", &[0, 125, 500, 625]),
        ("-qps 6 -t 1s -c 2", &[0, 0, 500, 500, 1000, 1000]),
        ("-n 1", &[0]),
    ] {
        let command = command(&format!("-as-original {flags}"));
        let want: Vec<u64> = want_ms.iter().map(|ms| ms * MS_NS).collect();
        let got = schedule(&command, &Deal::of(&command));
        assert_eq!(got, Ok(Schedule::Times(want)), "{flags}");
    }
}

#[test]
fn calls_are_spread_over_the_same_time() {
    for (flags, want) in [
        ("", Schedule::Even { rate_uhz: 7_800_000, gap_ns: 128_205_129 }),
        ("-uniform", Schedule::Even { rate_uhz: 7_800_000, gap_ns: 128_205_129 }),
        ("-qps 20 -n 5 -c 2", Schedule::Even { rate_uhz: 16_000_000, gap_ns: 62_500_000 }),
        ("-qps 10 -t 100ms", Schedule::Even { rate_uhz: 5_000_000, gap_ns: 200_000_000 }),
        ("-qps 10 -t 0", Schedule::Even { rate_uhz: 10_000_000, gap_ns: 100_000_000 }),
        ("-qps 8 -n 1", Schedule::Even { rate_uhz: 8_000_000, gap_ns: 125_000_000 }),
        ("-qps 0", Schedule::Closed),
        ("-qps 0 -as-original", Schedule::Closed),
    ] {
        let command = command(flags);
        assert_eq!(schedule(&command, &Deal::of(&command)), Ok(want), "{flags}");
    }
}

#[test]
fn jitter_moves_calls_by_a_tenth_at_most_and_the_same_each_time() {
    let even = command("-as-original -qps 1000 -t 1s -c 1");
    let varied = command("-jitter -qps 1000 -t 1s -c 1");
    let times = |command| match schedule(command, &Deal::of(command)) {
        Ok(Schedule::Times(times)) => times,
        other => panic!("{other:?}"),
    };
    let (even, moved) = (times(&even), times(&varied));
    assert_eq!(moved, times(&varied));
    assert_eq!((even.len(), moved.len(), moved[0]), (1000, 1000, 0));
    let gap_ns = even[1];
    let by: Vec<u64> = even.iter().zip(&moved).map(|(a, b)| a.abs_diff(*b)).collect();
    assert!(by.iter().all(|by| *by <= gap_ns / 10 + 1));
    assert!(by.iter().filter(|by| **by > gap_ns / 20).count() > 300);
}

#[test]
fn times_without_an_end_are_not_kept() {
    for flags in ["-jitter -t 0", "-as-original -t 0", "-jitter -qps 10000 -t 2h"] {
        let command = command(flags);
        assert_eq!(schedule(&command, &Deal::of(&command)), Err(TooMany), "{flags}");
    }
}
