//! Habits of people who come from curl, hey, oha, bombardier, wrk, ab and k6: flags of theirs that
//! `run` does not have, or has for something else, and the flag that they mean.
//!
//! The table is asked once a command line was refused. A flag of theirs that we read without an
//! error is not in it.

use std::ffi::OsStr;

/// A flag of another program.
struct Habit {
    /// As it is typed, with its dashes.
    flag: &'static str,
    /// Whose it is.
    of: &'static str,
    /// Whether its value tells that it is meant, where `run` has a flag of the same name.
    is_meant: fn(&str) -> bool,
    /// What to write instead.
    instead: &'static str,
}

const fn habit(flag: &'static str, of: &'static str, instead: &'static str) -> Habit {
    Habit { flag, of, is_meant: |_| true, instead }
}

const fn habit_if(
    flag: &'static str,
    of: &'static str,
    is_meant: fn(&str) -> bool,
    instead: &'static str,
) -> Habit {
    Habit { flag, of, is_meant, instead }
}

const BODY: &str = "a body is -b 'TEXT' or -b @FILE";
const BASIC: &str = "name and password are --basic USER:PASS";
const AGENT: &str = "write -H 'User-Agent: NAME'";
const REDIRECTS: &str = "redirects are followed with --redirects 10";
const METHOD: &str = "the method is -X POST";
const PROXY: &str = "a proxy is --proxy http://HOST:PORT";
const NO_KEEPALIVE: &str = "a new connection for each request is --no-keepalive";
const DURATION: &str = "how long is -d 10s";
const JSON: &str = "--json takes a file: --json result.json, or --format json for stdout";

/// The first entry that fits counts.
const HABITS: &[Habit] = &[
    habit_if("-d", "curl, hey and oha", is_body, BODY),
    habit("-D", "hey and oha", "a body from a file is -b @FILE"),
    habit("--data", "curl", BODY),
    habit("--data-raw", "curl", BODY),
    habit("--data-ascii", "curl", BODY),
    habit("--data-binary", "curl", BODY),
    habit("--data-urlencode", "curl", "a field of a form is --form-urlencoded name=value"),
    habit_if("-q", "hey and oha", is_number, "a rate is -r 100, of all connections together"),
    habit("-z", "hey and oha", DURATION),
    habit_if("-m", "hey and oha", |value| !is_number(value), METHOD),
    habit("--max-time", "curl", "the limit for a request is --timeout 5s"),
    habit("-T", "hey and oha", "write -H 'Content-Type: application/json'"),
    habit("-A", "curl, hey and oha", "write -H 'Accept: TYPE' or -H 'User-Agent: NAME'"),
    habit("--user-agent", "curl", AGENT),
    habit("-a", "hey and oha", BASIC),
    habit("-u", "curl", BASIC),
    habit("--user", "curl", BASIC),
    habit("-x", "curl, hey and oha", PROXY),
    habit("--disable-keepalive", "oha", NO_KEEPALIVE),
    habit("-disable-keepalive", "hey", NO_KEEPALIVE),
    habit("--disable-compression", "oha", "no compression is asked for unless you say so"),
    habit("-disable-compression", "hey", "no compression is asked for unless you say so"),
    habit("-disable-redirects", "hey", "redirects are not followed unless you say --redirects"),
    habit("-L", "curl", REDIRECTS),
    habit("--location", "curl", REDIRECTS),
    habit("--request", "curl", METHOD),
    habit("-I", "curl", "the method is -X HEAD"),
    habit("--head", "curl", "the method is -X HEAD"),
    habit_if("--json", "oha", is_url, JSON),
    habit("-j", "oha", JSON),
    habit("--output-format", "oha", "the format is --format json, csv, md or html"),
    habit_if("-o", "hey", |value| value == "csv", "CSV is --format csv"),
    habit("--no-tui", "oha", "no live progress is --no-progress"),
    habit("--latency-correction", "oha", "response time at a rate (-r) has that always"),
    habit("--http2", "curl and oha", "HTTP/2 is --http 2"),
    habit("-h2", "hey", "HTTP/2 is --http 2"),
    habit("--http1.1", "curl", "HTTP/1.1 is the default: leave it out"),
    habit("--compressed", "curl", "write -H 'Accept-Encoding: gzip'"),
    habit("--host", "oha", "write -H 'Host: NAME'"),
    habit("-host", "hey", "write -H 'Host: NAME'"),
    habit("-cpus", "hey", "threads are -t 2"),
    habit(
        "--fail",
        "curl",
        "a status of 400 or more is a failure: gate it with --gate 'errors<1%'",
    ),
    habit("-p", "ab", "a body from a file is -b @FILE"),
];

fn is_number(value: &str) -> bool {
    value.parse::<f64>().is_ok()
}

fn is_url(value: &str) -> bool {
    value.contains("://")
}

/// Whether it is a body and not a duration.
fn is_body(value: &str) -> bool {
    !value.is_empty() && !value.starts_with(|first: char| first.is_ascii_digit())
}

/// What to write instead of the first flag among these words that is another program's.
pub(crate) fn found(words: &[impl AsRef<OsStr>]) -> Option<String> {
    let words: Vec<&str> =
        words.iter().map(|word| word.as_ref().to_str().unwrap_or_default()).collect();
    let words = words.split(|word| *word == "--").next().unwrap_or_default();
    (0..words.len()).find_map(|at| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let is_it =
            |habit: &&Habit| value_of(habit.flag, words[at], next).is_some_and(habit.is_meant);
        // hey's `-disable-keepalive` is not a body behind `-d`.
        let whole = HABITS.iter().filter(|habit| habit.flag == words[at]).find(is_it);
        let habit = whole.or_else(|| HABITS.iter().find(is_it))?;
        let Habit { flag, of, instead, .. } = habit;
        Some(format!("{flag} is a flag of {of}: here, {instead}"))
    })
}

/// The value that a word gives to a flag, if it is that flag: the word behind it, or the rest of
/// the word, as in `--data=x` and `-d{}`.
fn value_of<'a>(flag: &str, word: &'a str, next: &'a str) -> Option<&'a str> {
    let rest = word.strip_prefix(flag)?;
    let is_long = flag.len() > 2;
    match rest.strip_prefix('=') {
        _ if rest.is_empty() => Some(next),
        Some(value) => Some(value),
        None if is_long || rest.starts_with('-') => None,
        None => Some(rest),
    }
}

/// What to write instead of `--json URL`, which takes the URL for a file.
pub(crate) fn url_for_a_file(path: &std::path::Path) -> Option<&'static str> {
    path.to_str().is_some_and(is_url).then_some(JSON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::definition;
    use crate::exit::Exit;
    use crate::refusal::refusal;

    #[test]
    fn habits_of_other_testers_are_told_our_flag() {
        for (arguments, want) in [
            (&["-d", "{\"a\":1}", "http://a/"][..], "-b 'TEXT'"),
            (&["-d{}", "http://a/"], "-b 'TEXT'"),
            (&["-d", "@body.json", "http://a/"], "-b 'TEXT'"),
            (&["--data", "x", "http://a/"], "-b 'TEXT'"),
            (&["--data=x", "http://a/"], "-b 'TEXT'"),
            (&["--data-binary", "@f", "http://a/"], "-b 'TEXT'"),
            (&["-q", "100", "http://a/"], "-r 100"),
            (&["http://a/", "-q", "100"], "-r 100"),
            (&["-z", "10s", "http://a/"], "-d 10s"),
            (&["-z10s", "http://a/"], "-d 10s"),
            (&["-m", "POST", "http://a/"], "-X POST"),
            (&["--max-time", "5", "http://a/"], "--timeout 5s"),
            (&["-T", "text/plain", "http://a/"], "Content-Type"),
            (&["-A", "text/html", "http://a/"], "-H 'Accept: TYPE'"),
            (&["-u", "me:pw", "http://a/"], "--basic USER:PASS"),
            (&["-a", "me:pw", "http://a/"], "--basic USER:PASS"),
            (&["-x", "http://p:1", "http://a/"], "--proxy"),
            (&["--disable-keepalive", "http://a/"], "--no-keepalive"),
            (&["-disable-keepalive", "http://a/"], "--no-keepalive"),
            (&["-L", "http://a/"], "--redirects 10"),
            (&["--no-tui", "http://a/"], "--no-progress"),
            (&["-j", "http://a/"], "--format json"),
            (&["--json", "http://a/", "--bogus"], "--format json"),
            (&["-I", "http://a/"], "-X HEAD"),
            (&["--http2", "http://a/"], "--http 2"),
        ] {
            let words = [&["plimsoll", "run"], arguments].concat();
            let error = definition().try_get_matches_from(&words).expect_err("it is refused");
            match refusal(&error, &words) {
                Exit::Usage(line) => {
                    assert!(line.contains(want), "{arguments:?}: {line}");
                    assert!(!line.contains("pw") && !line.contains('\n'), "{line}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_we_have_ourselves_is_no_habit() {
        for words in [
            &["run", "-d", "10s", "-r", "fast"][..],
            &["run", "-q", "http://a/", "--bogus"],
            &["run", "--json", "out.json", "--bogus"],
            &["run", "s.lua", "--", "-z", "1"],
            &["run", "http://a/", "-d"],
        ] {
            assert_eq!(found(words), None, "{words:?}");
        }
    }

    #[test]
    fn every_flag_that_is_named_instead_exists() {
        let run = crate::args::run_definition();
        let known: Vec<String> = run
            .get_arguments()
            .flat_map(|arg| {
                let long = arg.get_long().map(|long| format!("--{long}"));
                long.into_iter().chain(arg.get_short().map(|short| format!("-{short}")))
            })
            .collect();
        for habit in HABITS {
            let words = habit.instead.split([' ', ',', ':', ')', '(']);
            let flags = words.filter(|word| word.starts_with('-') && word.len() > 1);
            for flag in flags {
                assert!(known.iter().any(|name| name == flag), "{}: {flag}", habit.flag);
            }
            let is_ours = known.iter().any(|name| name == habit.flag);
            let is_always = ["10s", "file", "7"].iter().all(|value| (habit.is_meant)(value));
            assert!(!is_ours || !is_always, "{} is a flag of ours", habit.flag);
        }
    }
}
