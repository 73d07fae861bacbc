//! Loads that are searches for the load line, as runs: what the check and the warm-up send.

use toml::Table;

/// The keys of a search that a run does not have.
pub const SEARCH_KEYS: [&str; 15] = [
    "slo",
    "closed",
    "from",
    "min-rate",
    "max-rate",
    "step",
    "settle",
    "quick",
    "hold",
    "sustain",
    "confidence",
    "budget",
    "quick-only",
    "no-after-overload",
    "resume",
];

/// The first rate of a search, unless it gives another.
const FROM: &str = "50";

/// The run at the first rate of a search that sends what its probes send.
#[must_use]
pub fn run_of_search(plan: &Table) -> Table {
    let is_of_search = |key: &str| SEARCH_KEYS.contains(&key.replace('_', "-").as_str());
    let mut run: Table = plan.clone();
    run.retain(|key, _| !is_of_search(key));
    let rate = plan.get("from").cloned().unwrap_or_else(|| FROM.into());
    run.insert("rate".to_owned(), rate);
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_no_key_of_the_search() {
        for (search, run) in [
            ("slo = ['p99<1s']\nhold = '30s'\nmethod = 'PUT'", "method = 'PUT'\nrate = '50'"),
            ("slo = 'p99<1s'\nmin_rate = 5\nfrom = 7\nbody = 'x'", "body = 'x'\nrate = 7"),
        ] {
            let [search, run]: [Table; 2] = [search, run].map(|it| toml::from_str(it).unwrap());
            assert_eq!(run_of_search(&search), run);
        }
    }
}
