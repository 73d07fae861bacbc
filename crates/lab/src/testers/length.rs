//! How long a tester will run, according to its command line.

use plimsoll_core::units::parse_duration_ns;

use super::Tester;

impl Tester {
    /// How long it loads with these arguments, ns. `None` where they say a number of requests, or a
    /// script decides; of our own, whose plan says it.
    #[must_use]
    pub fn length_ns(self, arguments: &[String]) -> Option<u64> {
        const SECOND_NS: u64 = 1_000_000_000;
        let (flags, usual_s): (&[&str], _) = match self {
            Self::Plimsoll => return None,
            Self::Wrk | Self::Wrk2 => (&["-d", "--duration"], Some(10)),
            Self::Ab => (&["-t"], None),
            Self::Fortio => (&["-t", "--t"], Some(5)),
            Self::Hey | Self::Oha => (&["-z"], None),
            Self::K6 | Self::PlimsollK6 => (&["-d", "--duration"], None),
        };
        if self == Self::Fortio && value(arguments, &["-n", "--n"]).is_some() {
            return None;
        }
        match value(arguments, flags) {
            Some(text) => duration_ns(text).filter(|ns| *ns > 0),
            None => usual_s.map(|s: u64| s * SECOND_NS),
        }
    }
}

/// What a flag is given: in the next word, behind `=`, or glued to a short one.
fn value<'a>(arguments: &'a [String], flags: &[&str]) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(i, word)| {
        flags.iter().find_map(|flag| {
            let rest = word.strip_prefix(flag)?;
            let is_glued =
                flag.len() == 2 && rest.starts_with(|first: char| first.is_ascii_digit());
            match rest.strip_prefix('=') {
                Some(value) => Some(value),
                None if rest.is_empty() => arguments.get(i + 1).map(String::as_str),
                None => is_glued.then_some(rest),
            }
        })
    })
}

/// A number without a unit is of seconds.
fn duration_ns(text: &str) -> Option<u64> {
    let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
    let text = if has_unit { text.to_owned() } else { format!("{text}s") };
    parse_duration_ns(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_say_how_long_they_take() {
        for (tester, line, want_s) in [
            (Tester::Wrk, "-c100 -t1 -d5s --latency {url}", Some(5)),
            (Tester::Wrk, "-c100 --duration=2m {url}", Some(120)),
            (Tester::Wrk, "-c100 {url}", Some(10)),
            (Tester::Wrk2, "-d 7 -R100 {url}", Some(7)),
            (Tester::Ab, "-c100 -n100000 {url}", None),
            (Tester::Ab, "-t 3 {url}", Some(3)),
            (Tester::Fortio, "load -c 100 -qps 10000 -t 4s {url}", Some(4)),
            (Tester::Fortio, "load {url}", Some(5)),
            (Tester::Fortio, "load -n 100 {url}", None),
            (Tester::Fortio, "load -t 0 {url}", None),
            (Tester::Hey, "-z 2s {url}", Some(2)),
            (Tester::Oha, "-n 5 {url}", None),
            (Tester::K6, "run -e SECONDS=5 x.js {url}", None),
            (Tester::K6, "run -d 5s x.js {url}", Some(5)),
            (Tester::Wrk, "-d soon {url}", None),
            (Tester::Wrk, "{url} -d", Some(10)),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let length_ns = tester.length_ns(&words);
            assert_eq!(length_ns, want_s.map(|s: u64| s * 1_000_000_000), "{tester} {line}");
        }
    }
}
