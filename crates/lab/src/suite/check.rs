//! What has to hold between the parts of a suite: names stand for something and stand once, and
//! what is in braces will be known.

use std::collections::BTreeSet;

use toml::Spanned;

use super::fill::{Names, is_word};
use super::read::{ExcludeEntry, Fault, LoadEntry, ServerEntry};
use super::{Call, Suite};

/// The ports that a server may ask for.
const PORTS: [&str; 4] = ["port", "port2", "port3", "port4"];

/// That every placeholder of its commands will stand for something.
pub(super) fn known_placeholders(entry: &ServerEntry) -> Result<(), String> {
    let mut names = Names::default();
    for name in ["plimsoll", "dir", "work"] {
        names.set(name, "");
    }
    // It has no ports before it is started.
    let commands = entry.build.iter().map(|line| ("build", line));
    let version = entry.version.iter().map(|line| ("version", line));
    for (key, text) in commands.chain(version) {
        names.fill(text).map_err(|error| format!("{key}: {error}"))?;
    }
    for name in PORTS {
        names.set(name, "");
    }
    for service in &entry.with {
        names.set(&format!("{service}.port"), "");
    }
    let values = entry.env.iter().map(|(key, value)| (key.as_str(), value));
    let targets = entry.files.keys().map(|to| ("files", to));
    let one = [("command", &entry.command)].into_iter();
    for (key, text) in one.chain(values).chain(targets) {
        names.fill(text).map_err(|error| format!("{key}: {error}"))?;
    }
    Ok(())
}

/// Whether the servers and loads that are named exist.
pub(super) fn check_references(
    suite: &Suite,
    excludes: &[Spanned<ExcludeEntry>],
    baseline: Option<&Spanned<String>>,
) -> Result<(), Fault> {
    let is_server = |name: &str| suite.servers.iter().any(|server| server.name == name);
    if let Some(name) = baseline.filter(|name| !is_server(name.get_ref())) {
        return Err((name.span(), format!("baseline: there is no server '{}'", name.get_ref())));
    }
    for exclude in excludes {
        let entry = exclude.get_ref();
        if let Some(name) = entry.server.as_deref().filter(|name| !is_server(name)) {
            return Err((exclude.span(), format!("exclude: there is no server '{name}'")));
        }
        let is_load = |name: &&str| suite.loads.iter().any(|load| load.name == **name);
        if let Some(name) = entry.load.as_deref().filter(|name| !is_load(name)) {
            return Err((exclude.span(), format!("exclude: there is no load '{name}'")));
        }
        if entry.server.is_none() && entry.load.is_none() {
            return Err((exclude.span(), "exclude: name a server, a load or both".to_owned()));
        }
    }
    Ok(())
}

/// Whether services exist, can be spoken of and need none themselves.
pub(super) fn check_services(
    suite: &Suite,
    servers: &[Spanned<ServerEntry>],
    services: &[Spanned<ServerEntry>],
) -> Result<(), Fault> {
    for entry in servers.iter().chain(services) {
        for name in &entry.get_ref().with {
            if !suite.services.iter().any(|service| service.name == *name) {
                return Err((entry.span(), format!("with: there is no [[services]] '{name}'")));
            }
        }
    }
    if let Some(entry) = services.iter().find(|entry| !is_word(&entry.get_ref().name)) {
        let name = &entry.get_ref().name;
        let what = format!("name '{name}': {{{name}.port}} has to be a word in small letters");
        return Err((entry.span(), what));
    }
    if let Some(entry) = services.iter().find(|entry| !entry.get_ref().with.is_empty()) {
        let what = "with: a service has no services of its own; name them all at the server";
        return Err((entry.span(), what.to_owned()));
    }
    Ok(())
}

/// Whether what stands in braces in command lines of testers will be known.
pub(super) fn check_arguments(suite: &Suite, loads: &[Spanned<LoadEntry>]) -> Result<(), Fault> {
    let mut names = Names::default();
    for name in ["plimsoll", "dir", "work", "url", "scratch", "server", "suite"] {
        names.set(name, "");
    }
    PORTS.into_iter().for_each(|name| names.set(name, ""));
    for service in &suite.services {
        names.set(&format!("{}.port", service.name), "");
    }
    for (load, entry) in suite.loads.iter().zip(loads) {
        let Call::Arguments(arguments) = &load.call else { continue };
        for argument in arguments {
            names.fill(argument).map_err(|error| (entry.span(), format!("args: {error}")))?;
        }
    }
    Ok(())
}

/// Whether every name is there once.
pub(super) fn check_unique<'a, T: 'a>(
    entries: impl Iterator<Item = &'a Spanned<T>>,
    name: impl Fn(&T) -> &String,
) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for entry in entries {
        let name = name(entry.get_ref());
        // File names are not told apart by case on every system.
        if !seen.insert(name.to_lowercase()) {
            return Err((entry.span(), format!("name '{name}' is there twice")));
        }
    }
    Ok(())
}
