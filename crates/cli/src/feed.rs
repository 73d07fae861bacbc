//! The feed of a run's figures to where people watch them: from `--out` and the environment to what
//! could not be delivered.
//!
//! The environment stands in where flags say nothing. So the command lines of other testers, which
//! have no place for a flag of ours, have outputs too, and so do the testers that `lab` starts.

use clap::ValueEnum as _;
use plimsoll_core::plan::Endpoint;
use plimsoll_core::secret::percent_decoded;
use plimsoll_core::units::format_duration;
use plimsoll_outputs::{Feed, Label, Names, OUT, Receiver, Style, Wait};

use crate::ending::say;
use crate::exit::Exit;
use crate::feed_args::{FeedFlags, NamesFlag};
use crate::signals::{self, Caught};
use crate::value_args::{receiver_with, variable};

/// The variable with labels, as in `env=staging,team=web`; a comma in a value is `%2C`.
const LABELS: &str = "PLIMSOLL_OUT_LABELS";

/// The variable that says whose names metrics have.
const NAMES: &str = "PLIMSOLL_OUT_NAMES";

/// Looks a variable of the environment up.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Opens the feed that flags or the environment ask for, with labels that tell the run from others.
/// A script has no endpoint, and no label of one.
///
/// # Errors
/// What the environment says wrongly, and what a receiver needs on this host and does not get.
pub(crate) fn open(
    flags: &FeedFlags,
    endpoint: Option<&Endpoint>,
    is_quiet: bool,
) -> Result<Option<Feed>, Exit> {
    let wanted = Wanted::of(flags, &variable).map_err(Exit::Usage)?;
    if wanted.receivers.is_empty() {
        return Ok(None);
    }
    let labels = labels(&wanted.labels, endpoint.map(target).as_deref(), &run_id());
    let style = Style { labels: &labels, names: wanted.names };
    let feed = Feed::begin(&wanted.receivers, style);
    let feed = feed.map_err(|error| Exit::CouldNotRun(error.to_string()))?;
    if !is_quiet {
        let addresses = feed.addresses();
        let notes: Vec<String> =
            addresses.map(|address| format!("figures at http://{address}/metrics")).collect();
        say(&notes);
    }
    Ok(Some(feed))
}

/// Delivers the remaining figures, and reports those that could not be delivered. A wait for a last
/// scrape is announced, and ends at a signal.
pub(crate) fn close(feed: Option<Feed>) {
    let deliveries = feed.map(|feed| feed.finish_telling(waiting)).unwrap_or_default();
    let complaints: Vec<String> =
        deliveries.iter().filter_map(plimsoll_outputs::Delivery::complaint).collect();
    say(&complaints);
}

fn waiting(waits: Vec<Wait>) {
    if !signals::is_seen() {
        let lines = waits.iter().map(|wait| {
            let limit = format_duration(u64::try_from(wait.limit.as_nanos()).unwrap_or(u64::MAX));
            format!(
                "waiting up to {limit} for a last scrape of http://{}/metrics: Ctrl-C ends the \
                 wait, ,linger=1s behind the address shortens it",
                wait.address
            )
        });
        say(&lines.collect::<Vec<_>>());
    }
    // If it cannot be watched for signals, the wait ends by its limit.
    let _ = Caught::watch(move || waits.iter().for_each(Wait::give_up));
}

/// A name that no other run has: the time and the process.
pub(crate) fn run_id() -> String {
    let since = plimsoll_io::clock::wall_time().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs();
    format!("{seconds}-{}", std::process::id())
}

/// What is sent where, and under which names.
#[derive(Debug)]
pub(crate) struct Wanted {
    receivers: Vec<Receiver>,
    /// A later label replaces an earlier one of the same name.
    labels: Vec<Label>,
    names: Names,
}

impl Wanted {
    /// What the flags say; the environment, where they say nothing. Labels of both.
    ///
    /// # Errors
    /// What is wrong with the environment, or labels and names without an output.
    pub(crate) fn of(flags: &FeedFlags, lookup: Lookup<'_>) -> Result<Self, String> {
        let receivers = match flags.out.is_empty() {
            true => receivers(lookup)?,
            false => flags.out.clone(),
        };
        if receivers.is_empty() {
            let given = [
                ("--out-label", !flags.out_label.is_empty()),
                ("--out-names", flags.out_names.is_some()),
            ];
            let lonely = given.iter().find(|(_, is_given)| *is_given);
            return match lonely {
                Some((flag, _)) => Err(format!("{flag} needs an output: give --out, or set {OUT}")),
                None => Ok(Self { receivers, labels: Vec::new(), names: Names::Own }),
            };
        }
        let mut labels = labels_of(lookup)?;
        labels.extend(flags.out_label.iter().cloned());
        let names = match flags.out_names {
            Some(names) => names.into(),
            None => names(lookup)?,
        };
        Ok(Self { receivers, labels, names })
    }

    /// The variables that have another process of this program send its figures there, with more
    /// labels. Those of the user replace labels of the same name.
    pub(crate) fn variables(&self, more: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let receivers: Vec<&str> = self.receivers.iter().map(Receiver::given).collect();
        let own = self.labels.iter().map(|label| (label.name(), label.value()));
        let labels = more.iter().copied().chain(own);
        let labels: Vec<String> =
            labels.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let names = match self.names {
            Names::Own => "plimsoll",
            Names::K6 => "k6",
        };
        vec![(OUT, receivers.join(" ")), (LABELS, labels.join(",")), (NAMES, names.to_owned())]
    }
}

/// The variables that keep another process of this program from sending figures.
pub(crate) fn no_variables() -> Vec<(&'static str, String)> {
    vec![(OUT, String::new())]
}

/// No target has a space in it.
fn receivers(lookup: Lookup<'_>) -> Result<Vec<Receiver>, String> {
    let text = lookup(OUT).unwrap_or_default();
    let read = |word| receiver_with(word, lookup).map_err(|error| format!("{OUT}: {error}"));
    text.split_whitespace().map(read).collect()
}

fn labels_of(lookup: Lookup<'_>) -> Result<Vec<Label>, String> {
    let text = lookup(LABELS).unwrap_or_default();
    let read =
        |pair: &str| percent_decoded(pair).parse().map_err(|error| format!("{LABELS}: {error}"));
    text.split(',').map(str::trim).filter(|pair| !pair.is_empty()).map(read).collect()
}

fn names(lookup: Lookup<'_>) -> Result<Names, String> {
    let Some(text) = lookup(NAMES) else { return Ok(Names::Own) };
    let names = NamesFlag::from_str(&text, false);
    names.map(Names::from).map_err(|_| format!("{NAMES} is '{text}': set it to plimsoll or k6"))
}

/// A value as [`LABELS`] has it.
fn encoded(value: &str) -> String {
    value.replace('%', "%25").replace(',', "%2C")
}

/// All labels, each name once: the user's, the last of a name, then those that every run has.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(labels: &[Label]) -> Vec<(&str, &str)> {
        labels.iter().map(|label| (label.name(), label.value())).collect()
    }

    fn given(labels: &[&str]) -> Vec<Label> {
        labels.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// An environment of these variables.
    fn environment<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        move |name| find(name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn a_label_of_the_user_replaces_one_that_every_run_has() {
        let given = given(&["env=test", "run=a", "run=nightly"]);
        let labels = labels(&given, Some("[::1]:80"), "1-2");
        assert_eq!(texts(&labels), [("env", "test"), ("run", "nightly"), ("target", "[::1]:80")]);
    }

    #[test]
    fn the_environment_stands_in_where_flags_say_nothing() {
        let lookup = environment(&[
            (OUT, " statsd=a:1  influx=http://b/load?u=x,y;z "),
            (LABELS, "env=test, note=a%2Cb%25"),
            (NAMES, "k6"),
        ]);
        let wanted = Wanted::of(&FeedFlags::default(), &lookup).unwrap();
        let shown: Vec<&str> = wanted.receivers.iter().map(Receiver::place).collect();
        assert_eq!((shown, wanted.names), (vec!["a:1", "http://b/write"], Names::K6));
        assert_eq!(texts(&wanted.labels), [("env", "test"), ("note", "a,b%")]);
        let out = vec![Receiver::parse("statsd=c:2", &|_| None).unwrap()];
        let out_label = given(&["env=live"]);
        let flags = FeedFlags { out, out_label, out_names: Some(NamesFlag::Plimsoll) };
        let wanted = Wanted::of(&flags, &lookup).unwrap();
        let shown: Vec<&str> = wanted.receivers.iter().map(Receiver::place).collect();
        assert_eq!((shown, wanted.names), (vec!["c:2"], Names::Own));
        let labels = labels(&wanted.labels, None, "1");
        assert_eq!(texts(&labels), [("env", "live"), ("note", "a,b%"), ("run", "1")]);
    }

    #[test]
    fn what_is_wrong_names_its_variable_or_flag() {
        let labeled = FeedFlags { out_label: given(&["a=b"]), ..FeedFlags::default() };
        let none = FeedFlags::default();
        for (flags, variables, want) in [
            (&none, [(OUT, "statsd=a:1 graphite=b")].as_slice(), "PLIMSOLL_OUT: 'graphite' is not"),
            (&none, &[(OUT, "statsd=a:1"), (LABELS, "le=1")], "PLIMSOLL_OUT_LABELS: 'le' is not"),
            (&none, &[(OUT, "statsd=a:1"), (NAMES, "wrk")], "PLIMSOLL_OUT_NAMES is 'wrk': set"),
            (&labeled, &[], "--out-label needs an output: give --out, or set PLIMSOLL_OUT"),
        ] {
            let error = Wanted::of(flags, &environment(variables)).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
    }

    #[test]
    fn another_process_reads_what_is_wanted() {
        let lookup = environment(&[
            (OUT, "statsd=a:1 influx=http://b/load?p=q"),
            (LABELS, "run=mine"),
            (NAMES, "k6"),
        ]);
        let wanted = Wanted::of(&FeedFlags::default(), &lookup).unwrap();
        let variables = wanted.variables(&[("run", "1"), ("server", "a,b%2C")]);
        let pairs: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let read = Wanted::of(&FeedFlags::default(), &environment(&pairs)).unwrap();
        assert_eq!((&read.receivers, read.names), (&wanted.receivers, wanted.names));
        let labels = labels(&read.labels, None, "2");
        assert_eq!(texts(&labels), [("run", "mine"), ("server", "a,b%2C")]);
        let silent = no_variables();
        let pairs: Vec<(&str, &str)> =
            silent.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let read = Wanted::of(&FeedFlags::default(), &environment(&pairs)).unwrap();
        assert!(read.receivers.is_empty());
    }
}
