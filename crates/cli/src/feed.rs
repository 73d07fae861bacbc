//! `--out`: the feed of a run's figures to where people watch them, from its flags to what could
//! not be delivered.

use plimsoll_core::plan::Endpoint;
use plimsoll_outputs::{Feed, Label, Style};

use crate::ending::say;
use crate::exit::Exit;
use crate::run_args::RunFlags;

/// Opens the feed that flags ask for, with labels that tell the run from others. A script has no
/// endpoint, and no label of one.
///
/// # Errors
/// What a receiver needs on this host and does not get.
pub(crate) fn open(flags: &RunFlags, endpoint: Option<&Endpoint>) -> Result<Option<Feed>, Exit> {
    if flags.out.is_empty() {
        return Ok(None);
    }
    let labels = labels(&flags.out_label, endpoint.map(target).as_deref(), &run_id());
    let style = Style { labels: &labels, names: flags.out_names.into() };
    let feed = Feed::begin(&flags.out, style);
    let feed = feed.map_err(|error| Exit::CouldNotRun(error.to_string()))?;
    if !flags.outputs.quiet {
        let addresses = feed.addresses();
        let notes: Vec<String> =
            addresses.map(|address| format!("figures at http://{address}/metrics")).collect();
        say(&notes);
    }
    Ok(Some(feed))
}

/// Delivers the remaining figures, and reports those that could not be delivered.
pub(crate) fn close(feed: Option<Feed>) {
    let deliveries = feed.map(Feed::finish).unwrap_or_default();
    let complaints: Vec<String> =
        deliveries.iter().filter_map(plimsoll_outputs::Delivery::complaint).collect();
    say(&complaints);
}

/// All labels, each name once: the user's, then those that every run has.
fn labels(given: &[Label], target: Option<&str>, run: &str) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    let own = [("run", Some(run)), ("target", target)];
    let own = own.into_iter().filter_map(|(name, value)| Label::new(name, value?).ok());
    for label in given.iter().rev().cloned().chain(own) {
        if labels.iter().all(|known| known.name() != label.name()) {
            labels.push(label);
        }
    }
    labels.sort();
    labels
}

fn target(endpoint: &Endpoint) -> String {
    match endpoint.host.contains(':') {
        true => format!("[{}]:{}", endpoint.host, endpoint.port),
        false => format!("{}:{}", endpoint.host, endpoint.port),
    }
}

/// A name that no other run has: the time and the process.
fn run_id() -> String {
    let since = plimsoll_io::clock::wall_time().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs();
    format!("{seconds}-{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_of_the_user_replaces_one_that_every_run_has() {
        let given: Vec<Label> =
            ["env=test", "run=a", "run=nightly"].map(|text| text.parse().unwrap()).to_vec();
        let labels = labels(&given, Some("[::1]:80"), "1-2");
        let texts: Vec<(&str, &str)> =
            labels.iter().map(|label| (label.name(), label.value())).collect();
        assert_eq!(texts, [("env", "test"), ("run", "nightly"), ("target", "[::1]:80")]);
    }
}
