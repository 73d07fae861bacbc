//! Command lines as glibc's `getopt_long` reads them: operands may stand among the options, `--`
//! ends the options, short ones cluster, long ones may be abbreviated. Errors are in its words.
//!
//! Absent: `POSIXLY_CORRECT` and optional arguments, which no dialect needs.

/// A long option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Long {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// Whether it takes an argument.
    pub takes: bool,
    /// What it is called in [`Item::Option`]. An option whose key is no ASCII is one that the
    /// original does not have: it has to be written out, so that it makes no abbreviation
    /// ambiguous.
    pub key: char,
}

/// What a program understands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec<'a> {
    /// The program's name, for errors.
    pub program: &'a str,
    /// Short options, those that take an argument followed by a colon. A `+` in front ends the
    /// options at the first operand.
    pub short: &'a str,
    /// Long options.
    pub long: &'a [Long],
}

/// A piece of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// An option and its argument.
    Option(char, Option<String>),
    /// Anything else.
    Operand(String),
}

/// Reads the arguments that follow the program's name. Options and operands keep their order; those
/// behind `--` are operands.
///
/// # Errors
/// The line to print for the first option that is not one.
pub(crate) fn parse(arguments: &[String], spec: &Spec<'_>) -> Result<Vec<Item>, String> {
    let (stops_early, short) = match spec.short.strip_prefix('+') {
        Some(short) => (true, short),
        None => (false, spec.short),
    };
    let mut reader = Reader { spec, short, rest: arguments.iter(), items: Vec::new() };
    while let Some(argument) = reader.rest.next() {
        if argument == "--" {
            break;
        }
        if let Some(long) = argument.strip_prefix("--") {
            reader.long(long)?;
        } else if let Some(cluster) = argument.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            reader.cluster(cluster)?;
        } else {
            reader.items.push(Item::Operand(argument.clone()));
            if stops_early {
                break;
            }
        }
    }
    reader.items.extend(reader.rest.cloned().map(Item::Operand));
    Ok(reader.items)
}

struct Reader<'a> {
    spec: &'a Spec<'a>,
    short: &'a str,
    rest: std::slice::Iter<'a, String>,
    items: Vec<Item>,
}

impl Reader<'_> {
    /// One or more short options in one argument.
    fn cluster(&mut self, cluster: &str) -> Result<(), String> {
        let program = self.spec.program;
        let mut letters = cluster.chars();
        while let Some(letter) = letters.next() {
            let known = self.short.find(letter).filter(|_| letter != ':' && letter != ';');
            let Some(place) = known else {
                return Err(format!("{program}: invalid option -- '{letter}'"));
            };
            if !self.short[place + letter.len_utf8()..].starts_with(':') {
                self.items.push(Item::Option(letter, None));
                continue;
            }
            let attached = letters.as_str();
            let value = if attached.is_empty() {
                self.rest.next().cloned()
            } else {
                Some(attached.to_owned())
            };
            let Some(value) = value else {
                return Err(format!("{program}: option requires an argument -- '{letter}'"));
            };
            self.items.push(Item::Option(letter, Some(value)));
            break;
        }
        Ok(())
    }

    /// A long option; `given` is what follows the dashes.
    fn long(&mut self, given: &str) -> Result<(), String> {
        let program = self.spec.program;
        let (name, value) = match given.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (given, None),
        };
        let option = self.find(name, given)?;
        let value = match (option.takes, value) {
            (false, None) => None,
            (false, Some(_)) => {
                return Err(format!(
                    "{program}: option '--{}' doesn't allow an argument",
                    option.name
                ));
            }
            (true, value) => {
                let value = value.or_else(|| self.rest.next().cloned());
                Some(value.ok_or_else(|| {
                    format!("{program}: option '--{}' requires an argument", option.name)
                })?)
            }
        };
        self.items.push(Item::Option(option.key, value));
        Ok(())
    }

    /// The option of that name, or the only one that begins with it.
    fn find(&self, name: &str, given: &str) -> Result<Long, String> {
        let program = self.spec.program;
        if let Some(exact) = self.spec.long.iter().find(|option| option.name == name) {
            return Ok(*exact);
        }
        let mut candidates = self
            .spec
            .long
            .iter()
            .filter(|option| option.key.is_ascii() && option.name.starts_with(name));
        let Some(first) = candidates.next() else {
            return Err(format!("{program}: unrecognized option '--{given}'"));
        };
        // Two names for the same thing are no choice.
        let others: Vec<&Long> = candidates.collect();
        if others.iter().all(|other| (other.key, other.takes) == (first.key, first.takes)) {
            return Ok(*first);
        }
        let possibilities: String = std::iter::once(&first)
            .chain(&others)
            .map(|option| format!(" '--{}'", option.name))
            .collect();
        Err(format!("{program}: option '--{given}' is ambiguous; possibilities:{possibilities}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: [Long; 5] = [
        Long { name: "connections", takes: true, key: 'c' },
        Long { name: "latency", takes: false, key: 'L' },
        Long { name: "late", takes: false, key: 'l' },
        Long { name: "timeout", takes: true, key: 'T' },
        Long { name: "trace", takes: false, key: '\u{100}' },
    ];

    /// Items joined by spaces: `c=1`, `L`, `(operand)`.
    fn read(short: &str, line: &str) -> Result<String, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let items = parse(&arguments, &Spec { program: "wrk", short, long: &LONG })?;
        let words: Vec<String> = items
            .iter()
            .map(|item| match item {
                Item::Option(key, None) => key.to_string(),
                Item::Option(key, Some(value)) => format!("{key}={value}"),
                Item::Operand(operand) => format!("({operand})"),
            })
            .collect();
        Ok(words.join(" "))
    }

    #[test]
    fn what_is_read() {
        for (line, want) in [
            ("", ""),
            ("-c 1 url", "c=1 (url)"),
            ("url -c1 more", "(url) c=1 (more)"),
            ("-Lc1", "L c=1"),
            ("-LLc 1", "L L c=1"),
            ("-c -L", "c=-L"),
            ("-c -- url", "c=-- (url)"),
            ("- url", "(-) (url)"),
            ("-L -- -c --late", "L (-c) (--late)"),
            ("url -- -c 1", "(url) (-c) (1)"),
            ("--connections=1 --latency", "c=1 L"),
            ("--conn 1 --t=2s", "c=1 T=2s"),
            ("--late --latency", "l L"),
            ("--trace --t 1", "\u{100} T=1"),
            ("--timeout=", "T="),
            ("--timeout --late", "T=--late"),
            ("-?", "?"),
        ] {
            assert_eq!(read("c:L?", line).as_deref(), Ok(want), "{line}");
        }
        assert_eq!(read("+c:L", "-L url -c 1").as_deref(), Ok("L (url) (-c) (1)"));
    }

    #[test]
    fn errors_are_in_the_words_of_glibc() {
        for (line, want) in [
            ("-x", "wrk: invalid option -- 'x'"),
            ("-Lé", "wrk: invalid option -- 'é'"),
            ("-:", "wrk: invalid option -- ':'"),
            ("-c", "wrk: option requires an argument -- 'c'"),
            ("-Lc", "wrk: option requires an argument -- 'c'"),
            ("--tr", "wrk: unrecognized option '--tr'"),
            ("--x", "wrk: unrecognized option '--x'"),
            ("--x=1", "wrk: unrecognized option '--x=1'"),
            ("--connections", "wrk: option '--connections' requires an argument"),
            ("--conn", "wrk: option '--connections' requires an argument"),
            ("--latency=1", "wrk: option '--latency' doesn't allow an argument"),
            ("--lat", "wrk: option '--lat' is ambiguous; possibilities: '--latency' '--late'"),
        ] {
            assert_eq!(read("c:L", line), Err(want.to_owned()), "{line}");
        }
    }
}
