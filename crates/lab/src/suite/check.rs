//! Checks what has to hold between the parts of a suite: names are unique and refer to something,
//! and placeholders will be known.

use std::collections::BTreeSet;

use toml::Spanned;

use super::fill::{Names, is_word};
use super::read::{ExcludeEntry, Fault, LoadEntry, ServerEntry};
use super::{LoadCall, Suite};

/// The ports that a server may ask for.
pub(crate) const PORTS: [&str; 4] = ["port", "port2", "port3", "port4"];

/// What a server's own placeholders are called, before it has ports.
const OF_SERVER: [&str; 5] = ["plimsoll", "dir", "work", "suite", "server"];

/// What loads have beside them.
const OF_LOAD: [&str; 2] = ["url", "scratch"];

fn names_of(names: impl IntoIterator<Item = &'static str>) -> Names {
    let mut known = Names::default();
    names.into_iter().for_each(|name| known.set(name, ""));
    known
}

/// That every placeholder of its commands will stand for something.
pub(super) fn known_placeholders(entry: &ServerEntry) -> Result<(), String> {
    let mut names = names_of(OF_SERVER);
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
    let values = entry.env.values().map(|value| ("env", value));
    let files = entry.files.iter().flat_map(|(to, from)| [("files", to), ("files", from)]);
    let one = [("command", &entry.command)].into_iter();
    for (key, text) in one.chain(values).chain(files) {
        names.fill(text).map_err(|error| format!("{key}: {error}"))?;
    }
    Ok(())
}

/// Refuses placeholders in keys that the lab does not fill in. Other braces are fine: an answer
/// may well have some.
pub(super) fn no_placeholders(entry: &ServerEntry) -> Result<(), String> {
    let directory = entry.directory.as_ref().and_then(|path| path.to_str());
    let ready = entry.ready.as_ref().and_then(|ready| ready.http.as_deref());
    let path = entry.path.as_deref();
    let lists = [("requires", &entry.requires), ("expect", &entry.expect)];
    let lists = lists.into_iter().flat_map(|(key, list)| {
        let texts = list.iter().map(String::as_str);
        texts.map(move |text| (key, text))
    });
    let ones = [("directory", directory), ("ready.http", ready), ("path", path)];
    let ones = ones.into_iter().filter_map(|(key, text)| Some((key, text?)));
    for (key, text) in ones.chain(lists) {
        if let Some(name) = Names::within(text).find(|name| is_placeholder(name)) {
            return Err(format!(
                "{key}: {{{name}}} is not filled in here, only in build, version, command, env, \
                 files and in loads: write out what it stands for"
            ));
        }
    }
    Ok(())
}

/// Whether a name is one that the lab fills in somewhere.
fn is_placeholder(name: &str) -> bool {
    let known = || OF_SERVER.iter().chain(&OF_LOAD).chain(&PORTS);
    name.ends_with(".port") || known().any(|known| *known == name)
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
    let mut names = names_of(OF_SERVER.into_iter().chain(OF_LOAD).chain(PORTS));
    for service in &suite.services {
        names.set(&format!("{}.port", service.name), "");
    }
    for (load, entry) in suite.loads.iter().zip(loads) {
        let LoadCall::Arguments(arguments) = &load.call else { continue };
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
