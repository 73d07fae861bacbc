//! Command lines as Go's `flag` package reads them: one or two dashes, `-name value` or
//! `-name=value`, switches without a value, and an end at the first operand. Errors are in its
//! words.

use crate::duration;

/// What the value of a flag is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// On or off; a value only after `=`.
    Switch,
    /// Any text.
    Text,
    /// A whole number of 64 bits.
    Integer,
    /// A number.
    Number,
    /// `1m30s`, in ns.
    Duration,
}

/// A flag that a program has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What help calls the value; empty for a switch.
    pub value: &'static str,
    /// What help says it does, with its default.
    pub help: &'static str,
}

/// The value of a flag.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Of [`Kind::Switch`].
    Switch(bool),
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Integer`].
    Integer(i64),
    /// Of [`Kind::Number`].
    Number(f64),
    /// Of [`Kind::Duration`], ns.
    Duration(i64),
}

/// Why a command line cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It asks for help.
    Help,
    /// This line says what is wrong.
    Line(String),
}

/// Flags in the order in which they were given, each with its value.
pub(crate) type Given = Vec<(&'static str, Value)>;

/// Reads flags up to the first operand, and gives the operands.
///
/// # Errors
/// A wish for help, or the first flag that cannot be read.
pub(crate) fn parse<'a>(
    arguments: &'a [String],
    flags: &[Flag],
) -> Result<(Given, &'a [String]), Wrong> {
    let (mut given, mut rest) = (Vec::new(), arguments);
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.strip_prefix('-').filter(|text| !text.is_empty()) else { break };
        rest = after;
        if text == "-" {
            break;
        }
        let text = text.strip_prefix('-').unwrap_or(text);
        if text.is_empty() || text.starts_with(['-', '=']) {
            return Err(Wrong::Line(format!("bad flag syntax: {first}")));
        }
        let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v)));
        let Some(flag) = flags.iter().find(|flag| flag.name == name) else {
            return Err(match name {
                "h" | "help" => Wrong::Help,
                _ => Wrong::Line(format!("flag provided but not defined: -{name}")),
            });
        };
        let value = match (flag.kind, value) {
            (Kind::Switch, value) => switch(name, value)?,
            (_, Some(value)) => of(flag, value)?,
            (_, None) => {
                let needed = || Wrong::Line(format!("flag needs an argument: -{name}"));
                let (value, after) = rest.split_first().ok_or_else(needed)?;
                rest = after;
                of(flag, value)?
            }
        };
        given.push((flag.name, value));
    }
    Ok((given, rest))
}

/// The line about a value that a flag cannot have.
pub(crate) fn invalid(name: &str, value: &str, why: &str) -> String {
    format!("invalid value {value:?} for flag -{name}: {why}")
}

fn switch(name: &str, value: Option<&str>) -> Result<Value, Wrong> {
    let on = match value {
        None | Some("1" | "t" | "T" | "true" | "TRUE" | "True") => true,
        Some("0" | "f" | "F" | "false" | "FALSE" | "False") => false,
        Some(value) => {
            let line = format!("invalid boolean value {value:?} for -{name}: parse error");
            return Err(Wrong::Line(line));
        }
    };
    Ok(Value::Switch(on))
}

fn of(flag: &Flag, text: &str) -> Result<Value, Wrong> {
    let value = match flag.kind {
        Kind::Text | Kind::Switch => Ok(Value::Text(text.to_owned())),
        Kind::Integer => integer(text).map(Value::Integer),
        Kind::Number => text.parse().map(Value::Number).map_err(|_| PARSE),
        Kind::Duration => duration_ns(text).map(Value::Duration).ok_or(PARSE),
    };
    value.map_err(|why| Wrong::Line(invalid(flag.name, text, why)))
}

const PARSE: &str = "parse error";

/// As `strconv.ParseInt` with base 0: decimal, `0x`, `0o` or `0`, and `0b`.
fn integer(text: &str) -> Result<i64, &'static str> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, &lower[..]),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return Err(PARSE);
    }
    let number = i128::from_str_radix(digits, base).map(|number| sign * number);
    number.ok().and_then(|number| i64::try_from(number).ok()).ok_or("value out of range")
}

/// As `time.ParseDuration`, and with days: a number needs a unit, unless it is 0.
fn duration_ns(text: &str) -> Option<i64> {
    match text.parse::<f64>() {
        Ok(_) if text.trim_start_matches(['+', '-']) == "0" => Some(0),
        Ok(_) => None,
        Err(_) => duration::parse_ns(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: [Flag; 5] = [
        Flag { name: "k", kind: Kind::Switch, value: "", help: "" },
        Flag { name: "s", kind: Kind::Text, value: "", help: "" },
        Flag { name: "n", kind: Kind::Integer, value: "", help: "" },
        Flag { name: "qps", kind: Kind::Number, value: "", help: "" },
        Flag { name: "t", kind: Kind::Duration, value: "", help: "" },
    ];

    fn read(words: &str) -> Result<(Given, Vec<String>), Wrong> {
        let arguments: Vec<String> = words.split(' ').map(str::to_owned).collect();
        parse(&arguments, &FLAGS).map(|(given, rest)| (given, rest.to_vec()))
    }

    #[test]
    fn flags_are_read_as_go_reads_them() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (words, flags, rest) in [
            ("-k x", vec![("k", Value::Switch(true))], vec!["x"]),
            ("--k=F -s=a=b", vec![("k", Value::Switch(false)), ("s", text("a=b"))], vec![]),
            ("-k false", vec![("k", Value::Switch(true))], vec!["false"]),
            ("-s -k", vec![("s", text("-k"))], vec![]),
            ("-s= u", vec![("s", text(""))], vec!["u"]),
            ("-n -3 -n=0x1F", vec![("n", Value::Integer(-3)), ("n", Value::Integer(31))], vec![]),
            ("-n 017", vec![("n", Value::Integer(15))], vec![]),
            ("-qps 1e3", vec![("qps", Value::Number(1000.0))], vec![]),
            ("-t 1m0.5s", vec![("t", Value::Duration(60_500_000_000))], vec![]),
            ("-t 1d4h", vec![("t", Value::Duration(100_800_000_000_000))], vec![]),
            ("-t 0", vec![("t", Value::Duration(0))], vec![]),
            ("-t -1s", vec![("t", Value::Duration(-1_000_000_000))], vec![]),
            ("-k -- -k", vec![("k", Value::Switch(true))], vec!["-k"]),
            ("- -k", vec![], vec!["-", "-k"]),
            ("u -k", vec![], vec!["u", "-k"]),
        ] {
            let rest = rest.into_iter().map(str::to_owned).collect();
            assert_eq!(read(words), Ok((flags, rest)), "{words}");
        }
    }

    #[test]
    fn errors_are_in_its_words() {
        for (words, want) in [
            ("-x", "flag provided but not defined: -x"),
            ("--x=1", "flag provided but not defined: -x"),
            ("---k", "bad flag syntax: ---k"),
            ("-=k", "bad flag syntax: -=k"),
            ("-k=maybe", "invalid boolean value \"maybe\" for -k: parse error"),
            ("-s", "flag needs an argument: -s"),
            ("-n x", "invalid value \"x\" for flag -n: parse error"),
            ("-n 0x", "invalid value \"0x\" for flag -n: parse error"),
            ("-n 08", "invalid value \"08\" for flag -n: parse error"),
            (
                "-n 9223372036854775808",
                "invalid value \"9223372036854775808\" for flag -n: value out of range",
            ),
            ("-qps abc", "invalid value \"abc\" for flag -qps: parse error"),
            ("-t 5", "invalid value \"5\" for flag -t: parse error"),
            ("-t 5x", "invalid value \"5x\" for flag -t: parse error"),
        ] {
            assert_eq!(read(words), Err(Wrong::Line(want.to_owned())), "{words}");
        }
        for words in ["-h", "--help", "-k -h"] {
            assert_eq!(read(words), Err(Wrong::Help), "{words}");
        }
    }
}
