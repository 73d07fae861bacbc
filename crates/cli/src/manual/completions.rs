//! The definition that shells complete by. The command lines of other testers are read by parsers
//! of their own, so their flags are taken from their help.

use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;
use plimsoll_dialect::wrk::Flavour;
use plimsoll_dialect::{UsageText, ab, fortio, wrk};

use crate::args::definition_within;
use crate::explain;
use crate::k6;

/// The width of a help that is not shown.
const COLUMNS: usize = 100;

/// The first words of fortio's command lines.
const FORTIO: [&str; 10] = [
    "load", "curl", "nc", "grpcping", "server", "report", "redirect", "proxies", "tcp-echo",
    "udp-echo",
];

/// The completions for a shell.
pub(super) fn script(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut completed(), "plimsoll", &mut text);
    let mut script = String::from_utf8_lossy(&text).into_owned();
    if shell == Shell::Fish {
        // The generator leaves the values of arguments without a flag out.
        let codes = explain::completions().into_iter().collect::<Vec<_>>().join(" ");
        let when = "__fish_seen_subcommand_from explain";
        script += &format!("complete -c plimsoll -n \"{when}\" -f -a \"{codes}\"\n");
    }
    script
}

/// The whole command line.
fn completed() -> Command {
    let help = |flag: &str| vec![flag.to_owned()];
    let usages = [
        ("wrk", wrk::parse(Flavour::Wrk, "wrk", &help("--help")).err()),
        ("wrk2", wrk::parse(Flavour::Wrk2, "wrk2", &help("--help")).err()),
        ("ab", ab::parse("ab", &help("-h")).err()),
        ("fortio", fortio::parse(&["load".to_owned(), "-h".to_owned()]).err()),
    ];
    let cli = definition_within(COLUMNS).mut_subcommand("k6", |_| k6::definition().name("k6"));
    let cli = usages.into_iter().fold(cli, |cli, (name, usage)| {
        cli.mut_subcommand(name, |command| with_flags(command, &usage.unwrap_or_default()))
    });
    cli.mut_subcommand("fortio", |fortio| {
        fortio.subcommands(FORTIO.map(Command::new)).disable_help_subcommand(true)
    })
}

/// A command with the flags that a help lists at the beginnings of its lines.
fn with_flags(command: Command, usage: &UsageText) -> Command {
    let text = format!("{}{}", usage.stdout, usage.stderr);
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let words = line.split_whitespace().map(|word| word.trim_end_matches(','));
        let flags = words.take_while(|word| word.starts_with('-') && word.len() > 1);
        for name in flags.map(|flag| flag.trim_start_matches('-').to_owned()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    command.args(names.into_iter().map(flag))
}

fn flag(name: String) -> Arg {
    // The definition keeps names for as long as the program runs.
    let name: &'static str = name.leak();
    let arg = Arg::new(name).action(ArgAction::SetTrue);
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => arg.short(letter),
        _ => arg.long(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_complete_codes_and_flags_of_other_testers() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for word in [
                "late_tail",
                "exit-4",
                "suspect",
                "beyond",
                "timed_out",
                "connections",
                "u_latency",
                "grpcping",
                "summary-export",
                "json-result",
                "abort-on",
            ] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }

    #[test]
    fn each_tester_has_flags() {
        let cli = completed();
        for (name, flag) in [("wrk", "latency"), ("wrk2", "rate"), ("fortio", "qps")] {
            let command = cli.find_subcommand(name).unwrap();
            assert!(command.get_arguments().any(|arg| arg.get_long() == Some(flag)), "{name}");
        }
        let ab = cli.find_subcommand("ab").unwrap();
        assert!(ab.get_arguments().any(|arg| arg.get_short() == Some('c')));
    }
}
