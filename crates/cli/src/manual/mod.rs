//! `plimsoll manual`: documentation made from the definition of the flags: man pages, shell
//! completions, and the page `docs/run.md`. The help hides it, because packagers need it and people
//! who load servers don't.

#[cfg(test)]
mod blocks;
mod completions;
pub(crate) mod examples;
pub(crate) mod markdown;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::Command;
use plimsoll_core::nearest::did_you_mean;

use crate::args::{ManualFlags, definition};
use crate::exit::{self, Exit};

/// Writes what was asked for to stdout.
///
/// # Errors
/// A command that there is no page of, or a stdout that cannot be written.
pub(crate) fn manual(flags: &ManualFlags) -> Result<ExitCode, Exit> {
    let mut text = Vec::new();
    if let Some(name) = &flags.man {
        man(name, &mut text)?;
    } else if let Some(shell) = flags.completions {
        text = completions::script(shell).into_bytes();
    } else {
        text = markdown::page().into_bytes();
    }
    exit::write(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn man(name: &str, text: &mut Vec<u8>) -> Result<(), Exit> {
    let definition = definition();
    let command = match definition.find_subcommand(name) {
        Some(command) => command,
        None if name == definition.get_name() => &definition,
        None => return Err(Exit::Usage(no_page(name, &definition))),
    };
    let source = concat!("plimsoll ", env!("CARGO_PKG_VERSION"));
    let page = clap_mangen::Man::new(command.clone()).source(source);
    page.render(text).map_err(|error| Exit::CouldNotRun(format!("man page: {error}")))
}

fn no_page(name: &str, definition: &Command) -> String {
    let known: Vec<&str> = definition.get_subcommands().map(Command::get_name).collect();
    let meant = did_you_mean(name, known.iter().copied());
    format!("there is no page of '{name}'{meant}; plimsoll and {} have one", known.join(", "))
}
