//! The figures that tables show.

use crate::bench::contest::{Column, Run};

const MIB: f64 = 1024.0 * 1024.0;

pub(super) const REQUESTS_PER_S: Column = Column {
    title: "requests/s",
    value: |run| Some(run.measured.requests_per_s),
    digits: 0,
    ratio: true,
};

pub(super) const REQUESTS_PER_S_ALONE: Column = Column { ratio: false, ..REQUESTS_PER_S };

pub(super) const CLIENT_CPU: Column = Column {
    title: "client CPU µs/request",
    value: |run| Some(run.client_cpu.as_secs_f64() * 1e6 / run.measured.requests as f64),
    digits: 2,
    ratio: true,
};

pub(super) const SERVER_CPU: Column = Column {
    title: "server CPU µs/request",
    value: |run| Some(run.server_cpu.as_secs_f64() * 1e6 / run.measured.requests as f64),
    digits: 2,
    ratio: false,
};

pub(super) const P50: Column =
    Column { title: "p50 µs", value: |run| run.measured.p50_us, digits: 0, ratio: false };

pub(super) const P99: Column =
    Column { title: "p99 µs", value: |run| run.measured.p99_us, digits: 0, ratio: false };

pub(super) const P999: Column =
    Column { title: "p99.9 µs", value: |run| run.measured.p999_us, digits: 0, ratio: true };

pub(super) const LATENESS: Column = Column {
    title: "own lateness p99 µs",
    value: |run| run.measured.lateness_p99_us,
    digits: 1,
    ratio: false,
};

pub(super) const DISPERSION: Column = Column {
    title: "arrivals per ms, variance/mean",
    value: |run| run.dispersion,
    digits: 2,
    ratio: false,
};

pub(super) const RSS: Column = Column {
    title: "peak RSS MiB",
    value: |run| Some(run.client_rss_peak_bytes as f64 / MIB),
    digits: 1,
    ratio: false,
};

pub(super) const RSS_EACH: Column = Column {
    title: "KiB each",
    value: |run| {
        let connections = f64::from(run.connections);
        Some(run.client_rss_peak_bytes as f64 / 1024.0 / connections)
    },
    digits: 1,
    ratio: false,
};

pub(super) const RSS_EARLY: Column = Column {
    title: "RSS MiB, early",
    value: |run| {
        let (end, _) = run.resident.last()?;
        let early = run.resident.iter().find(|(at, _)| *at >= *end / 6)?;
        Some(early.1 as f64 / MIB)
    },
    digits: 1,
    ratio: false,
};

pub(super) const RSS_LATE: Column = Column {
    title: "RSS MiB, late",
    value: |run: &Run| run.resident.last().map(|(_, bytes)| *bytes as f64 / MIB),
    digits: 1,
    ratio: false,
};
