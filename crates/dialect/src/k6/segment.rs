//! Execution segments: which part of a run this process does, so that several do the whole.
//!
//! VUs and iterations are dealt to the segments of a sequence by [`Stripe`]s. Every process deals
//! alike, so each number has one owner without a word between them.

use plimsoll_core::schedule::Stripe;

use super::options::shortened;

/// A share of the run, from 0 to 1, in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ratio {
    over: u64,
    under: u64,
}

impl Ratio {
    const ZERO: Self = Self { over: 0, under: 1 };
    const ONE: Self = Self { over: 1, under: 1 };

    fn new(over: u64, under: u64) -> Option<Self> {
        let common = gcd(over, under);
        (under > 0).then(|| Self { over: over / common, under: under / common })
    }

    /// Reads `10%`, `0.1`, `1/10`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some((over, under)) = text.split_once('/') {
            return Self::new(over.trim().parse().ok()?, under.trim().parse().ok()?);
        }
        let (number, percent) = match text.strip_suffix('%') {
            Some(number) => (number.trim(), 100),
            None => (text, 1),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_number = !(whole.is_empty() && fraction.is_empty())
            && [whole, fraction].iter().all(|part| part.bytes().all(|c| c.is_ascii_digit()));
        if !is_number || whole.len() > 3 || fraction.len() > 12 {
            return None;
        }
        let scale = 10u64.pow(u32::try_from(fraction.len()).ok()?);
        let digits: u64 = format!("{whole}{fraction}").parse().ok()?;
        Self::new(digits, scale.checked_mul(percent)?)
    }

    fn is_below(self, other: Self) -> bool {
        u128::from(self.over) * u128::from(other.under)
            < u128::from(other.over) * u128::from(self.under)
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.under {
            1 => write!(f, "{}", self.over),
            under => write!(f, "{}/{under}", self.over),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A part of the run: `executionSegment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    from: Ratio,
    to: Ratio,
}

impl Segment {
    /// Reads `10%`, `1/3`, `0.2:2/3`; without a start it begins at 0.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let shown = shortened(text);
        let ratio = |part: &str| {
            Ratio::parse(part)
                .ok_or_else(|| format!("'{shown}' is not a segment: write 10%, 1/3 or 0.2:2/3"))
        };
        let (from, to) = match text.split_once(':') {
            Some((from, to)) => (ratio(from)?, ratio(to)?),
            None => (Ratio::ZERO, ratio(text)?),
        };
        Self::new(from, to)
    }

    fn new(from: Ratio, to: Ratio) -> Result<Self, String> {
        if !from.is_below(to) {
            return Err(format!("segment {from}:{to} ends where it starts, or before"));
        }
        if Ratio::ONE.is_below(to) {
            return Err(format!("segment {from}:{to} ends beyond 1"));
        }
        Ok(Self { from, to })
    }

    const WHOLE: Self = Self { from: Ratio::ZERO, to: Ratio::ONE };

    /// Its share of the run, 0 to 1.
    fn share(self) -> f64 {
        let of = |ratio: Ratio| ratio.over as f64 / ratio.under as f64;
        of(self.to) - of(self.from)
    }
}

impl std::fmt::Display for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.from, self.to)
    }
}

/// Segments that follow each other: `executionSegmentSequence`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence(Vec<Segment>);

impl Sequence {
    /// Reads the borders of the segments: `0,1/3,2/3,1`. Empty is the whole run.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self(vec![Segment::WHOLE]));
        }
        let shown = shortened(text);
        let wrong = || format!("'{shown}' is not a sequence of segments: write 0,1/3,2/3,1");
        let borders: Vec<Ratio> =
            text.split(',').map(Ratio::parse).collect::<Option<_>>().ok_or_else(wrong)?;
        if borders.len() < 2 {
            return Err(wrong());
        }
        let segments = borders.windows(2).map(|pair| Segment::new(pair[0], pair[1]));
        Ok(Self(segments.collect::<Result<_, _>>()?))
    }

    /// The sequence that covers the whole run and has this segment in it.
    fn around(segment: Segment) -> Self {
        let before = Segment { from: Ratio::ZERO, to: segment.from };
        let after = Segment { from: segment.to, to: Ratio::ONE };
        let all = [before, segment, after].into_iter();
        Self(all.filter(|segment| segment.from.is_below(segment.to)).collect())
    }
}

impl std::fmt::Display for Sequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = self.0.first().map_or(Ratio::ZERO, |segment| segment.from);
        write!(f, "{first}")?;
        self.0.iter().try_for_each(|segment| write!(f, ",{}", segment.to))
    }
}

/// What this process does of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its share of the run, 0 to 1.
    pub share: f64,
    /// What each segment of the sequence does.
    stripes: Vec<Stripe>,
    /// Which of them is this process's; `None`: it has nothing to do.
    own: Option<usize>,
}

impl Default for Part {
    /// The whole run.
    fn default() -> Self {
        Self { share: 1.0, stripes: vec![Stripe::default()], own: Some(0) }
    }
}

impl Part {
    /// The part that a segment has in a sequence.
    pub(super) fn new(
        segment: Option<Segment>,
        sequence: Option<&Sequence>,
    ) -> Result<Self, String> {
        let (segment, sequence) = match (segment, sequence) {
            (None, None) => return Ok(Self::default()),
            (Some(segment), None) => (segment, Sequence::around(segment)),
            (segment, Some(sequence)) => (segment.unwrap_or(Segment::WHOLE), sequence.clone()),
        };
        let own = sequence.0.iter().position(|it| *it == segment).ok_or_else(|| {
            format!("segment {segment} is not in the sequence {sequence}: name one that is")
        })?;
        let too_fine = || format!("the sequence {sequence} is too fine: give coarser segments");
        let shares = shares(&sequence).ok_or_else(too_fine)?;
        let stripes = Stripe::deal(&shares).ok_or_else(too_fine)?;
        Ok(Self { share: segment.share(), stripes, own: Some(own) })
    }

    /// The numbers that are this process's; `None`: it has none.
    #[must_use]
    pub fn stripe(&self) -> Option<&Stripe> {
        self.stripes.get(self.own?)
    }

    /// How many of the first `total` are this process's.
    #[must_use]
    pub fn scale(&self, total: u64) -> u64 {
        self.stripe().map_or(0, |stripe| stripe.count_below(total))
    }

    /// The part of what is dealt in proportion to how many of the first `total` a segment has. So a
    /// segment without VUs has no iterations, and the others do them.
    #[must_use]
    pub fn weighted(&self, total: u64) -> Self {
        let counts: Vec<u64> =
            self.stripes.iter().map(|stripe| stripe.count_below(total)).collect();
        let own = self.own.filter(|own| counts[*own] > 0);
        match Stripe::deal(&counts) {
            Some(stripes) => {
                let sum: u64 = counts.iter().sum();
                let share = own.map_or(0.0, |own| counts[own] as f64 / sum as f64);
                Self { share, stripes, own }
            }
            None => Self { share: 0.0, stripes: Vec::new(), own: None },
        }
    }
}

/// The lengths of the segments, in whole numbers.
fn shares(sequence: &Sequence) -> Option<Vec<u64>> {
    let borders = sequence.0.iter().flat_map(|segment| [segment.from, segment.to]);
    let common = borders
        .map(|ratio| ratio.under)
        .try_fold(1u64, |common, under| (common / gcd(common, under)).checked_mul(under))?;
    let place = |ratio: Ratio| ratio.over.checked_mul(common / ratio.under);
    let length = |segment: &Segment| place(segment.to)?.checked_sub(place(segment.from)?);
    sequence.0.iter().map(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(segment: &str, sequence: Option<&str>) -> Result<Part, String> {
        let sequence = sequence.map(Sequence::parse).transpose()?;
        Part::new(Some(Segment::parse(segment)?), sequence.as_ref())
    }

    #[test]
    fn segments_are_read() {
        for (text, want) in [
            ("10%", Ok("0:1/10")),
            ("1/3", Ok("0:1/3")),
            ("0.2:2/3", Ok("1/5:2/3")),
            ("33.5%:50%", Ok("67/200:1/2")),
            ("1", Ok("0:1")),
            ("1/2:1/4", Err("segment 1/2:1/4 ends where it starts, or before")),
            ("3", Err("segment 0:3 ends beyond 1")),
            ("1/3:", Err("'1/3:' is not a segment: write 10%, 1/3 or 0.2:2/3")),
            ("-1", Err("'-1' is not a segment: write 10%, 1/3 or 0.2:2/3")),
            ("1/0", Err("'1/0' is not a segment: write 10%, 1/3 or 0.2:2/3")),
            ("", Err("'' is not a segment: write 10%, 1/3 or 0.2:2/3")),
        ] {
            let segment = Segment::parse(text).map(|segment| segment.to_string());
            assert_eq!(segment.as_deref().map_err(|e| e.as_str()), want, "{text:?}");
        }
        let sequence = Sequence::parse("0,1/3,0.5,1").expect("a sequence");
        assert_eq!(sequence.to_string(), "0,1/3,1/2,1");
        assert!(Sequence::parse("0").is_err() && Sequence::parse("0,x").is_err());
        assert!(Sequence::parse("0,1/2,1/3").is_err());
    }

    #[test]
    fn a_segment_must_be_in_its_sequence() {
        let error = part("1/3", Some("0,1/2,1")).expect_err("it is not");
        assert_eq!(error, "segment 0:1/3 is not in the sequence 0,1/2,1: name one that is");
        let error = part("1/99999999999", None).expect_err("too long a round");
        assert_eq!(error, "the sequence 0,1/99999999999,1 is too fine: give coarser segments");
    }

    /// Which of 17 iterations k6 v1.8.1 did in each segment, with 5 VUs.
    #[test]
    fn iterations_follow_the_vus_as_k6_deals_them() {
        let sequence = Some("0,1/2,3/4,1");
        for (segment, vus, iterations) in [
            ("0:1/2", 3, &[0, 2, 4, 5, 7, 9, 10, 12, 14, 15][..]),
            ("1/2:3/4", 1, &[1, 6, 11, 16]),
            ("3/4:1", 1, &[3, 8, 13]),
        ] {
            let part = part(segment, sequence).expect("a part");
            assert_eq!(part.scale(5), vus, "{segment}");
            let own = part.weighted(5);
            let stripe = own.stripe().expect("it has VUs");
            let all: Vec<u64> =
                (0..).map_while(|n| stripe.nth(n)).take_while(|n| *n < 17).collect();
            assert_eq!(all, iterations, "{segment}");
            assert_eq!(own.scale(17), iterations.len() as u64);
        }
        let idle = part("3/4:1", sequence).expect("a part").weighted(1);
        assert_eq!((idle.scale(100), idle.share, idle.stripe()), (0, 0.0, None));
    }
}
