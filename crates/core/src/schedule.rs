//! When each request is due: pure functions of the plan.
//!
//! A [`Profile`] is a rate over time, piecewise linear. Its integral counts requests, and slot `i`
//! is due when the integral reaches `i`. So every rate gives exactly rate times time requests,
//! spaced evenly over the whole run and not per worker or connection. Poisson arrivals use
//! exponential steps in place of steps of one (the time-rescaling theorem), so they work under
//! ramps too.
//!
//! Positions on the integral are integers (`REQUEST` is one request), so counts are exact. Times
//! are exact to the ns at a constant rate and to a few ns on a ramp.
//!
//! A closed loop has no schedule: a connection sends when it is free.
//!
//! Scenarios of scripts have schedules of their own: [`Arrivals`] of iterations in any unit of
//! time, a [`UserRamp`], and the [`Stripe`] of both that a part of the run does.

mod arrivals;
mod cursor;
mod deal;
mod stripe;
#[cfg(test)]
mod tests;
mod users;

use serde::{Deserialize, Serialize};

use crate::units::{UnitError, format_duration, format_rate, parse_duration_ns, parse_rate_uhz};

pub use arrivals::{ArrivalStage, Arrivals, ArrivalsError};
pub use cursor::{Carry, Cursor, Slot};
pub use deal::{Deal, share};
pub use stripe::Stripe;
pub use users::{UserRamp, UserStage, UserStep};

/// One request, in units of half a µHz·ns (the half keeps the area of a ramp whole).
const REQUEST: u128 = 2_000_000_000_000_000;

/// The highest rate a profile can hold: 1 GHz. With it no arithmetic here can overflow.
pub const RATE_LIMIT_UHZ: u64 = 1_000_000_000_000_000;

/// How arrivals are spread around the rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Evenly spaced.
    #[default]
    Uniform,
    /// A Poisson process: as many independent users would come.
    Poisson,
}

/// A stretch of time over which the rate goes linearly from one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// How long it lasts; `None`: to the end of the run (constant rate only).
    #[serde(rename = "duration_s", with = "crate::serde_units::optional_from_ns")]
    pub duration_ns: Option<u64>,
    /// Rate at its start, millionths of requests per second.
    #[serde(rename = "from_rps", with = "crate::serde_units::rps_from_uhz")]
    pub from_uhz: u64,
    /// Rate at its end.
    #[serde(rename = "to_rps", with = "crate::serde_units::rps_from_uhz")]
    pub to_uhz: u64,
}

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The stretches, one after the other.
    pub stages: Vec<Stage>,
    /// How arrivals are spread around the rate.
    pub arrival: Arrival,
}

/// Why a list of stages cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// A stage without `@`, or empty.
    #[error("stage '{0}' is not DURATION@RATE or DURATION@FROM..TO")]
    Shape(String),
    /// A duration or rate in it cannot be read.
    #[error("stage '{0}': {1}")]
    Unit(String, UnitError),
    /// A rate beyond [`RATE_LIMIT_UHZ`] or a duration of 0.
    #[error("stage '{0}' lasts no time or has a rate above 1G/s")]
    Range(String),
}

/// Reads `10s@100,1m@100..5k,30s@5k`.
///
/// # Errors
/// The first stage that cannot be read, and why.
pub fn parse_stages(text: &str) -> Result<Vec<Stage>, StageError> {
    text.split(',').map(|stage| parse_stage(stage.trim())).collect()
}

fn parse_stage(text: &str) -> Result<Stage, StageError> {
    let unit = |e| StageError::Unit(text.to_owned(), e);
    let (duration, rates) =
        text.split_once('@').ok_or_else(|| StageError::Shape(text.to_owned()))?;
    let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
    let duration_ns = parse_duration_ns(duration).map_err(unit)?;
    let from_uhz = parse_rate_uhz(from).map_err(unit)?;
    let to_uhz = parse_rate_uhz(to).map_err(unit)?;
    if duration_ns == 0 || from_uhz.max(to_uhz) > RATE_LIMIT_UHZ {
        return Err(StageError::Range(text.to_owned()));
    }
    Ok(Stage { duration_ns: Some(duration_ns), from_uhz, to_uhz })
}

impl Stage {
    /// Its rates for people: `100/s`, `100 to 5 000/s`.
    #[must_use]
    pub fn words(&self) -> String {
        let rate = |uhz: u64| format_rate(uhz as f64 / 1e6);
        match self.from_uhz == self.to_uhz {
            true => format!("{}/s", rate(self.from_uhz)),
            false => format!("{} to {}/s", rate(self.from_uhz), rate(self.to_uhz)),
        }
    }
}

impl Profile {
    /// A constant rate, for a time or without end.
    #[must_use]
    pub fn constant(rate_uhz: u64, duration_ns: Option<u64>, arrival: Arrival) -> Self {
        Self { stages: vec![Stage { duration_ns, from_uhz: rate_uhz, to_uhz: rate_uhz }], arrival }
    }

    /// How long all stages last; `None` when the last has no end.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        self.stages.iter().map(|stage| stage.duration_ns).sum()
    }

    /// The rate at the start, µHz.
    #[must_use]
    pub fn initial_uhz(&self) -> u64 {
        self.stages.first().map_or(0, |stage| stage.from_uhz)
    }

    /// The highest rate, µHz.
    #[must_use]
    pub fn peak_uhz(&self) -> u64 {
        self.stages.iter().map(|stage| stage.from_uhz.max(stage.to_uhz)).max().unwrap_or(0)
    }

    /// When slot `index` of a uniform arrival is due, ns after the start; the end of the profile
    /// for slots beyond it.
    #[must_use]
    pub fn due_ns(&self, index: u64) -> u64 {
        let position = u128::from(index) * REQUEST;
        segments(&self.stages).iter().find(|segment| position < segment.area_end).map_or_else(
            || self.duration_ns().unwrap_or(u64::MAX),
            |segment| segment.due_ns(position),
        )
    }

    /// The rate averaged over the stages, requests per second; that of the start without an end.
    #[must_use]
    pub fn mean_rps(&self) -> f64 {
        let placed = segments(&self.stages);
        match (self.duration_ns(), placed.last()) {
            (Some(duration_ns), Some(last)) if duration_ns > 0 => {
                last.area_end as f64 / REQUEST as f64 * 1e9 / duration_ns as f64
            }
            _ => self.initial_uhz() as f64 / 1e6,
        }
    }

    /// How many slots of a uniform arrival are due before `time_ns`; under Poisson arrivals the
    /// number to expect.
    #[must_use]
    pub fn total_before(&self, time_ns: u64) -> u64 {
        let area = area_at(&segments(&self.stages), time_ns);
        u64::try_from(area.div_ceil(REQUEST)).unwrap_or(u64::MAX)
    }

    /// How many requests are due before `time_ns`, with the fraction of the one that is next.
    #[must_use]
    pub fn expected_before(&self, time_ns: u64) -> f64 {
        area_at(&segments(&self.stages), time_ns) as f64 / REQUEST as f64
    }

    /// Requests the profile asks for: how many slots of a uniform arrival are due before its end;
    /// `None` when it has no end. Under Poisson arrivals it is the expected number, rounded up.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.duration_ns()?;
        let area = segments(&self.stages).last().map_or(0, |segment| segment.area_end);
        u64::try_from(area.div_ceil(REQUEST)).ok()
    }
}

impl Stage {
    /// The rate averaged over it, requests per second.
    #[must_use]
    pub fn mean_rps(&self) -> f64 {
        (self.from_uhz as f64 + self.to_uhz as f64) / 2e6
    }
}

impl std::fmt::Display for Stage {
    /// As `--stages` takes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(duration_ns) = self.duration_ns {
            write!(f, "{}@", format_duration(duration_ns))?;
        }
        let rate = |uhz: u64| format_rate(uhz as f64 / 1e6);
        f.write_str(&rate(self.from_uhz))?;
        if self.to_uhz != self.from_uhz {
            write!(f, "..{}", rate(self.to_uhz))?;
        }
        Ok(())
    }
}

/// A stage placed on the time axis and on the integral of the rate.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start_ns: u64,
    duration_ns: u64,
    from_uhz: u64,
    to_uhz: u64,
    area_start: u128,
    area_end: u128,
}

fn segments(stages: &[Stage]) -> Vec<Segment> {
    let mut start_ns = 0u64;
    let mut area_start = 0u128;
    let mut placed = Vec::with_capacity(stages.len());
    for stage in stages {
        let duration_ns = stage.duration_ns.unwrap_or(u64::MAX - start_ns);
        let area =
            (u128::from(stage.from_uhz) + u128::from(stage.to_uhz)) * u128::from(duration_ns);
        let area_end = area_start + area;
        placed.push(Segment {
            start_ns,
            duration_ns,
            from_uhz: stage.from_uhz,
            to_uhz: stage.to_uhz,
            area_start,
            area_end,
        });
        start_ns += duration_ns;
        area_start = area_end;
    }
    placed
}

impl Segment {
    /// When the integral reaches `area`, which lies in this segment.
    fn due_ns(&self, area: u128) -> u64 {
        let inside = area - self.area_start;
        let offset_ns = if self.from_uhz == self.to_uhz {
            divide(inside, 2 * self.from_uhz)
        } else {
            self.ramp_offset_ns(inside)
        };
        self.start_ns + offset_ns.min(self.duration_ns - 1)
    }

    /// Solves `2 a t + (b - a) t² / T = inside` for `t`, in the form that does not cancel.
    fn ramp_offset_ns(&self, inside: u128) -> u64 {
        let (from, to) = (self.from_uhz as f64, self.to_uhz as f64);
        let area = inside as f64;
        let slope = (to - from) / self.duration_ns as f64;
        let root = (from * from + slope * area).max(0.0).sqrt();
        if from + root == 0.0 { 0 } else { (area / (from + root)) as u64 }
    }
}

/// A wide number by a narrow one; nearly all of them fit the one-instruction case.
fn divide(area: u128, by: u64) -> u64 {
    match u64::try_from(area) {
        Ok(narrow) => narrow / by,
        Err(_) => u64::try_from(area / u128::from(by)).unwrap_or(u64::MAX),
    }
}

/// The integral of the rate up to a time.
fn area_at(segments: &[Segment], now_ns: u64) -> u128 {
    let Some(segment) = segments.iter().rev().find(|segment| segment.start_ns <= now_ns) else {
        return 0;
    };
    let offset_ns = (now_ns - segment.start_ns).min(segment.duration_ns);
    if segment.from_uhz == segment.to_uhz {
        return segment.area_start + 2 * u128::from(segment.from_uhz) * u128::from(offset_ns);
    }
    let (from, to) = (segment.from_uhz as f64, segment.to_uhz as f64);
    let reached = from + (to - from) * offset_ns as f64 / segment.duration_ns as f64;
    segment.area_start + ((from + reached) * offset_ns as f64) as u128
}
