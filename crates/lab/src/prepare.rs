//! Prepares servers and testers before the first run: are their requirements there, are they built,
//! which version are they? A server with something missing is left out, with the reason; the rest
//! of the suite continues.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_core::secret::Masks;

use crate::programs::{find, last_line, shell};
use crate::suite::{Names, Server, Suite};
use crate::testers::Tester;

/// How long one step of a build may take.
const BUILD_LIMIT: Duration = Duration::from_secs(1800);
/// How long a program may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// What is known of a server or tester before it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    /// What it says its version is.
    pub version: Option<String>,
    /// Why it cannot be used.
    pub skipped: Option<String>,
}

/// Where things are.
#[derive(Debug, Clone)]
pub struct Places {
    /// This program.
    pub plimsoll: PathBuf,
    /// The folder under which each server has its own, kept between runs of the lab.
    pub work: PathBuf,
    /// The suite's folder.
    pub suite: PathBuf,
}

impl Places {
    /// A server's own folder.
    #[must_use]
    pub fn work_of(&self, server: &Server) -> PathBuf {
        self.work.join(&server.name)
    }

    /// What placeholders of a server stand for before it has a port.
    #[must_use]
    pub fn names(&self, server: &Server) -> Names {
        let mut names = Names::default();
        names.set("plimsoll", self.plimsoll.display().to_string());
        names.set("dir", server.directory.display().to_string());
        names.set("work", self.work_of(server).display().to_string());
        names.set("suite", self.suite.display().to_string());
        names.set("server", server.name.clone());
        names
    }
}

/// Prepares every server that `wanted` names, and the services they need.
pub fn servers(
    suite: &Suite,
    places: &Places,
    wanted: &[&str],
    builds: bool,
    stopped: &dyn Fn() -> bool,
    say: &mut dyn FnMut(&str),
) -> BTreeMap<String, Installed> {
    let mut all: BTreeMap<String, Installed> = BTreeMap::new();
    for name in wanted {
        let Some(server) = suite.server(name) else { continue };
        for name in server.with.iter().chain([&server.name]) {
            let Some(one) = suite.server(name) else { continue };
            if !all.contains_key(name) {
                let prepared = prepare(one, places, builds, stopped, say);
                all.insert(name.clone(), prepared);
            }
        }
        let broken = server.with.iter().find_map(|name| {
            let reason = all.get(name)?.skipped.as_ref()?;
            Some(format!("its service {name}: {reason}"))
        });
        if let (Some(reason), Some(prepared)) = (broken, all.get_mut(&server.name)) {
            prepared.skipped.get_or_insert(reason);
        }
    }
    all
}

/// The programs it needs that are not on this machine. A path starts from its directory.
#[must_use]
pub fn missing(server: &Server) -> Vec<&str> {
    let is_there = |name: &str| match name.contains('/') {
        true => server.directory.join(name).to_str().and_then(find).is_some(),
        false => find(name).is_some(),
    };
    server.requires.iter().map(String::as_str).filter(|name| !is_there(name)).collect()
}

fn prepare(
    server: &Server,
    places: &Places,
    builds: bool,
    stopped: &dyn Fn() -> bool,
    say: &mut dyn FnMut(&str),
) -> Installed {
    let skipped = |reason: String| Installed { version: None, skipped: Some(reason) };
    let missing = missing(server);
    if !missing.is_empty() {
        return skipped(format!("not on this machine: {}", missing.join(", ")));
    }
    match make(server, places, builds, stopped, say) {
        Ok(version) => Installed { version, skipped: None },
        Err(reason) => skipped(reason),
    }
}

/// Builds it and asks for its version.
fn make(
    server: &Server,
    places: &Places,
    builds: bool,
    stopped: &dyn Fn() -> bool,
    say: &mut dyn FnMut(&str),
) -> Result<Option<String>, String> {
    let work = places.work_of(server);
    let cannot = |error: io::Error| format!("{}: {error}", work.display());
    fs::create_dir_all(&work).map_err(cannot)?;
    let names = places.names(server);
    let log = work.join("build.log");
    fs::write(&log, "").map_err(cannot)?;
    let steps = if builds { server.build.as_slice() } else { &[] };
    for step in steps {
        let line = names.fill(step).map_err(|error| format!("build: {error}"))?;
        let shown = Masks::default().text(&line);
        say(&format!("build {}: {shown}", server.name));
        let ended = shell(&line, &server.directory, &log, BUILD_LIMIT, stopped)
            .map_err(|error| format!("build: sh: {error}"))?
            .ok_or_else(|| format!("build: `{shown}` was stopped, or took over {BUILD_LIMIT:?}"))?;
        if !ended.succeeded {
            let last = last_line(&ended.output).unwrap_or("it said nothing");
            return Err(format!("build: `{shown}` failed: {last} (see {})", log.display()));
        }
    }
    let Some(version) = &server.version else { return Ok(None) };
    let line = names.fill(version).map_err(|error| format!("version: {error}"))?;
    Ok(first_line(&line, &server.directory, &log))
}

/// The first line that a command prints; its exit code does not matter, since
/// `nginx -v` may fail.
fn first_line(line: &str, folder: &Path, log: &Path) -> Option<String> {
    let ended = shell(line, folder, log, VERSION_LIMIT, &|| false).ok()??;
    let first = ended.output.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(first.chars().take(200).collect())
}

/// Whether a tester is there, and which.
#[must_use]
pub fn tester(tester: Tester, places: &Places) -> Installed {
    if tester.program() == "plimsoll" {
        let version = Some(format!("plimsoll {}", env!("CARGO_PKG_VERSION")));
        return Installed { version, skipped: None };
    }
    let Some(program) = find(tester.program()) else {
        let reason = format!("not on this machine: {tester}");
        return Installed { version: None, skipped: Some(reason) };
    };
    let arguments = tester.version_arguments();
    if arguments.is_empty() {
        return Installed::default();
    }
    let _ = fs::create_dir_all(&places.work);
    let line = format!("'{}' {}", program.display(), arguments.join(" "));
    let version = first_line(&line, &places.work, &places.work.join("versions.log"));
    Installed { version, skipped: None }
}
