//! What k6 does unless told otherwise, as data. k6's own request headers are not among it: the
//! program sends a User-Agent of its own.

use std::ops::RangeInclusive;

use plimsoll_core::dns::{DnsPolicy, DnsSelect};

use super::options::{DnsTtl, Ns};

/// How long a request may take.
pub const REQUEST_TIMEOUT: Ns = Ns(60_000_000_000);

/// How long it may take to connect.
pub const DIAL_TIMEOUT: Ns = Ns(30_000_000_000);

/// How long `setup()` and `teardown()` may take.
pub const LIFE_CYCLE_TIMEOUT: Ns = Ns(60_000_000_000);

/// How long `handleSummary()` may take.
pub const HANDLE_SUMMARY_TIMEOUT: Ns = Ns(120_000_000_000);

/// How often thresholds are evaluated.
pub const THRESHOLDS_PERIOD: Ns = Ns(2_000_000_000);

/// How often the numbers of VUs become samples.
pub const VUS_PERIOD: Ns = Ns(1_000_000_000);

/// Redirects that are followed.
pub const MAX_REDIRECTS: u64 = 10;

/// Requests of a batch at one time, and idle connections of a VU.
pub const BATCH: u64 = 20;

/// Requests of a batch to one host at one time, and idle connections of a VU to it.
pub const BATCH_PER_HOST: u64 = 6;

/// Statuses of responses that are not failures.
pub const EXPECTED_STATUSES: RangeInclusive<u16> = 200..=399;

/// How long a looked-up address is used.
pub const DNS_TTL: DnsTtl = DnsTtl::Time(Ns(300_000_000_000));

/// Which of several addresses is taken.
pub const DNS_SELECT: DnsSelect = DnsSelect::Random;

/// Which families of addresses are taken.
pub const DNS_POLICY: DnsPolicy = DnsPolicy::PreferIpv4;
