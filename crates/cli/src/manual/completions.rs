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
    let cli = cli
        .mut_subcommand("find", without_hidden)
        .mut_subcommand("doctor", |doctor| doctor.mut_subcommand("run", without_hidden));
    let cli = usages.into_iter().fold(cli, |cli, (name, usage)| {
        cli.mut_subcommand(name, |command| with_flags(command, &usage.unwrap_or_default()))
    });
    cli.mut_subcommand("fortio", |fortio| {
        fortio.subcommands(FORTIO.map(Command::new)).disable_help_subcommand(true)
    })
}

/// A command with the flags that its help has, as far as completing needs them. The generator
/// offers hidden ones too, and flags that conflict with them cannot be left as they are.
fn without_hidden(command: Command) -> Command {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let args: Vec<Arg> = shown.map(completed_arg).collect();
    let about = command.get_about().cloned().unwrap_or_default();
    Command::new(kept(command.get_name())).about(about).args(args)
}

fn completed_arg(arg: &Arg) -> Arg {
    let names = arg.get_value_names().unwrap_or_default().to_vec();
    let mut completed = Arg::new(arg.get_id().clone())
        .action(arg.get_action().clone())
        .value_parser(arg.get_value_parser().clone())
        .help(arg.get_help().cloned().unwrap_or_default())
        .last(arg.is_last_set());
    if !names.is_empty() && arg.get_action().takes_values() {
        completed = completed.value_names(names);
    }
    completed = arg.get_long().map(kept).into_iter().fold(completed, Arg::long);
    arg.get_short().into_iter().fold(completed, Arg::short)
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

/// The definition keeps names for as long as the program runs.
fn kept(name: &str) -> &'static str {
    name.to_owned().leak()
}

fn flag(name: String) -> Arg {
    let name = kept(&name);
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
