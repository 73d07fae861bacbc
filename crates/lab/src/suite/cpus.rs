//! Sets of CPUs as `taskset` writes them: `0-3,8`.

use std::fmt;
use std::str::FromStr;

/// CPUs to be tied to; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(Vec<usize>);

/// The greatest number of a CPU that is taken.
const CPU_MAX: usize = 8191;

impl Cpus {
    /// Their numbers, ascending.
    #[must_use]
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("'{text}' is not a list of CPUs: write them as 0-3,8");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<usize>().ok();
            let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
            if first > last || last > CPU_MAX {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Self(cpus))
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = &self.0[..];
        while let Some(&first) = rest.first() {
            let run = rest.iter().zip(first..).take_while(|(cpu, want)| **cpu == *want).count();
            let comma = if rest.len() < self.0.len() { "," } else { "" };
            match run {
                1 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{}", first + run - 1)?,
            }
            rest = &rest[run..];
        }
        Ok(())
    }
}
