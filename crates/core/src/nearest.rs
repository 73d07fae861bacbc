//! Suggestions for unknown names: the known name that was probably meant, whether it was mistyped
//! or is another tester's word.

/// What other testers call some of our figures and flags.
const OTHER_WORDS: [(&str, &str); 23] = [
    ("average", "mean"),
    ("avg", "mean"),
    ("concurrency", "connections"),
    ("error_rate", "errors"),
    ("errs", "errors"),
    ("failures", "failed"),
    ("http_errors", "errors"),
    ("http_req_duration", "response"),
    ("http_req_failed", "errors"),
    ("http_reqs", "rate"),
    ("iterations", "requests"),
    ("latency", "response"),
    ("max_latency", "max"),
    ("median", "p50"),
    ("memory", "rss"),
    ("qps", "rate"),
    ("rps", "rate"),
    ("stddev", "stdev"),
    ("throughput", "rate"),
    ("time", "duration"),
    ("timeouts", "timed_out"),
    ("users", "connections"),
    ("vus", "connections"),
];

/// A word longer than this is not a mistyped name.
const CHARS_MAX: usize = 100;

/// The name among `known` that `given` probably meant; `None` when nothing is close.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = letters(given);
    if given.len() > CHARS_MAX {
        return None;
    }
    let word: String = given.iter().collect();
    let meant = OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, name)| *name);
    // One letter in three may be wrong: with more, anything is near anything.
    let most = if given.len() > 1 { (given.len() / 3).max(1) } else { 0 };
    let rated = known.into_iter().filter_map(|name| {
        if meant == Some(name) {
            return Some((0, name));
        }
        let letters = letters(name);
        let is_as_long = letters.len().abs_diff(given.len()) <= most;
        let far = is_as_long.then(|| distance(&letters, &given))?;
        (far <= most).then_some((far, name))
    });
    rated.min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// A name reduced to what is compared: upper case and the separator between words don't matter.
fn letters(name: &str) -> Vec<char> {
    name.to_lowercase().replace('-', "_").chars().collect()
}

/// The end of a message that refuses an unknown name: `: did you mean 'errors'?`. Empty when
/// nothing in `known` is close to `given`.
#[must_use]
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known).map_or_else(String::new, |name| format!(": did you mean '{name}'?"))
}

/// What serde says about an unknown key, with the nearest known one instead of all: `unknown field
/// `weigth`, expected one of `name`, `weight``. `None` for any other message.
#[must_use]
pub fn unknown_key(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown field ")?;
    let mut names = rest.split('`').skip(1).step_by(2);
    let given = names.next()?;
    let known: Vec<&str> = names.collect();
    Some(match nearest(given, known.iter().copied()) {
        Some(meant) => format!("'{given}' is not a key here: did you mean '{meant}'?"),
        None => format!("'{given}' is not a key here: there are {}", known.join(", ")),
    })
}

/// How many letters to insert, delete, replace (Levenshtein) or swap with
/// their neighbour (Damerau's restricted form).
fn distance(one: &[char], other: &[char]) -> usize {
    let mut rows = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            rows[i][j] = match (i, j) {
                (0, far) | (far, 0) => far,
                _ => {
                    let changed = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                    let swapped =
                        i > 1 && j > 1 && (one[i - 1], one[i - 2]) == (other[j - 2], other[j - 1]);
                    let least = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                    if swapped { least.min(rows[i - 2][j - 2] + 1) } else { least }
                }
            };
        }
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_other_words_are_understood_and_nothing_else() {
        let known = ["errors", "rate", "rss", "ok", "mean", "timed_out", "tls", "cpu"];
        for (given, want) in [
            ("error", Some("errors")),
            ("erorrs", Some("errors")),
            ("ERRORS", Some("errors")),
            ("rate", Some("rate")),
            ("timed-out", Some("timed_out")),
            ("timedout", Some("timed_out")),
            ("rps", Some("rate")),
            ("avg", Some("mean")),
            ("cup", Some("cpu")),
            ("speed", None),
            ("x", None),
            ("no", None),
            ("ko", Some("ok")),
            ("", None),
        ] {
            assert_eq!(nearest(given, known), want, "{given:?}");
        }
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest(&"x".repeat(CHARS_MAX + 1), ["x"]), None);
        assert_eq!(did_you_mean("error", known), ": did you mean 'errors'?");
        assert_eq!(did_you_mean("speed", known), "");
    }

    #[test]
    fn an_unknown_key_is_told_with_the_nearest() {
        for (message, want) in [
            (
                "unknown field `weigth`, expected one of `name`, `weight`, `path`",
                Some("'weigth' is not a key here: did you mean 'weight'?"),
            ),
            (
                "unknown field `colour`, expected `name` or `path`",
                Some("'colour' is not a key here: there are name, path"),
            ),
            (
                "unknown field `nmae`, expected `name`",
                Some("'nmae' is not a key here: did you mean 'name'?"),
            ),
            ("missing field `name`", None),
        ] {
            assert_eq!(unknown_key(message).as_deref(), want, "{message}");
        }
    }

    #[test]
    fn a_distance_counts_letters() {
        for (one, other, want) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("kitten", "sitting", 3),
            ("é", "e", 1),
        ] {
            let (one, other) = (letters(one), letters(other));
            assert_eq!(distance(&one, &other), want, "{one:?} {other:?}");
            assert_eq!(distance(&other, &one), want, "{other:?} {one:?}");
        }
    }
}
