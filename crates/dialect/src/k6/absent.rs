//! What k6 2.2 has and this has not, by name: commands, outputs, features, and variables of the
//! environment. Each is refused or warned of, with the reason and what to do, so that no test
//! silently does less than it says.
//!
//! The names are k6's. The command line's tests compare them with a list of all names of k6.

use super::exit::{ExitCode, Refused};
use super::options::shortened;

/// A name, and why there is nothing behind it or what to do instead.
type Why = (&'static str, &'static str);

/// Commands.
pub const COMMANDS: [Why; 7] = [
    ("archive", "copy the script with the files that it opens"),
    ("cloud", "nothing is run in Grafana Cloud: use plimsoll k6 run, with -o for its samples"),
    ("login", "nothing is run in Grafana Cloud: use plimsoll k6 run, with -o for its samples"),
    ("completion", "plimsoll manual writes completions"),
    ("deps", "the built-in modules are in the manual, and k6 run names one that is missing"),
    ("features", "there are no features to enable"),
    ("x", "extensions of k6 are programs in Go"),
];

/// Outputs.
const OUTPUTS: [Why; 5] = [
    ("cloud", "nothing is sent to Grafana Cloud"),
    (
        "web-dashboard",
        "no page is served during the test: K6_WEB_DASHBOARD_EXPORT=FILE writes a report as HTML",
    ),
    ("statsd", "plimsoll run SCRIPT --out statsd=HOST:PORT sends figures of each second"),
    (
        "datadog",
        "plimsoll run SCRIPT --out statsd=HOST:PORT,dogstatsd sends figures of each second",
    ),
    ("kafka", "extensions of k6 are programs in Go"),
];

/// The outputs that there are, for messages.
const KNOWN_OUTPUTS: &str = "json, csv, influxdb, opentelemetry or experimental-prometheus-rw";

/// Features that can be enabled in k6.
pub const FEATURES: [Why; 3] = [
    ("freeze-env", "scripts can change __ENV"),
    ("merge-run-tags", "tags of one source replace those of the sources below it"),
    ("native-histograms", "trends go out as the figures of K6_PROMETHEUS_RW_TREND_STATS"),
];

const CLOUD: &str = "nothing is run in Grafana Cloud or sent there";
const BROWSER: &str = "k6/browser is not there";
const EXTENSIONS: &str = "extensions are neither looked up nor built";
const URL_SECRETS: &str = "secrets come from --secret-source mock and file alone";
const NO_PAGE: &str = "no page is served during the test";

/// Variables that have no effect, with all that begin so where a name ends in `*`.
const VARIABLES: [Why; 25] = [
    ("K6_AUTO_EXTENSION_RESOLUTION", EXTENSIONS),
    ("K6_BINARY_PROVISIONING", EXTENSIONS),
    ("K6_BUILD_SERVICE_URL", EXTENSIONS),
    ("K6_DEPENDENCIES_MANIFEST", EXTENSIONS),
    ("K6_ENABLE_COMMUNITY_EXTENSIONS", EXTENSIONS),
    ("K6_PROVISION_*", EXTENSIONS),
    ("K6_BROWSER_*", BROWSER),
    ("K6_INSTANCE_SCENARIOS", BROWSER),
    ("K6_CLOUD_*", CLOUD),
    ("K6_CLOUDRUN_TEST_RUN_ID", CLOUD),
    ("K6_EXIT_ON_RUNNING", CLOUD),
    ("K6_NO_ARCHIVE_UPLOAD", CLOUD),
    ("K6_SHOW_CLOUD_LOGS", CLOUD),
    ("K6_SECRET_SOURCE_URL_*", URL_SECRETS),
    ("K6_STATSD_*", "plimsoll run SCRIPT --out statsd=HOST:PORT sends figures of each second"),
    ("K6_PROFILING_ENABLED", "there is nothing for Go's profiler to look at"),
    ("K6_WEB_DASHBOARD_HOST", NO_PAGE),
    ("K6_WEB_DASHBOARD_OPEN", NO_PAGE),
    ("K6_WEB_DASHBOARD_PERIOD", NO_PAGE),
    ("K6_WEB_DASHBOARD_PORT", NO_PAGE),
    ("K6_WEB_DASHBOARD_RECORD", NO_PAGE),
    ("K6_WEB_DASHBOARD_TAGS", NO_PAGE),
    ("K6_USAGE_REPORT_URL", "usage reports are never sent"),
    ("SSLKEYLOGFILE", "keys of TLS are not written"),
    ("XK6_DASHBOARD_CONFIG", NO_PAGE),
];

/// Variables of an output that have no effect, if the output is asked for.
const OF_OUTPUTS: [(&str, &str, &str); 5] = [
    ("influxdb", "K6_INFLUXDB_CONCURRENT_WRITES", "batches go out one after another"),
    ("influxdb", "K6_INFLUXDB_PAYLOAD_SIZE", "nothing is sent over UDP"),
    ("influxdb", "K6_INFLUXDB_PROXY", "outputs use no proxy"),
    ("opentelemetry", "K6_OTEL_GRPC_EXPORTER_ENDPOINT", "it is sent over HTTP"),
    ("opentelemetry", "K6_OTEL_GRPC_EXPORTER_INSECURE", "it is sent over HTTP"),
];

/// Why a command of k6 is not there; `None`: k6 has no such command.
#[must_use]
pub fn command(name: &str) -> Option<String> {
    let (name, why) = COMMANDS.iter().find(|(known, _)| *known == name)?;
    Some(format!("k6's command '{name}' is not supported: {why}"))
}

/// Why an output cannot be written.
#[must_use]
pub fn output(name: &str) -> String {
    let why = OUTPUTS.iter().find(|(known, _)| *known == name);
    let why = why.map(|(_, why)| format!("{why}; ")).unwrap_or_default();
    format!("output '{}' is not supported: {why}write {KNOWN_OUTPUTS}", shortened(name))
}

/// A line for each variable that is set and has no effect. `names` are those that are set.
#[must_use]
pub fn variables(names: &[String], outputs: &[String]) -> Vec<String> {
    let kind = |text: &String| text.split('=').next().unwrap_or_default().to_owned();
    let kinds: Vec<String> = outputs.iter().map(kind).collect();
    let is_asked = |output: &str| kinds.iter().any(|kind| kind.ends_with(output));
    let of_outputs = OF_OUTPUTS.iter().filter(|(output, ..)| is_asked(output));
    let of_outputs = of_outputs.map(|(_, name, why)| (*name, *why));
    let all: Vec<Why> = VARIABLES.iter().copied().chain(of_outputs).collect();
    let why = |name: &String| {
        let (_, why) = all.iter().find(|(known, _)| stands_for(known, name))?;
        Some(format!("{name} has no effect: {why}"))
    };
    names.iter().filter_map(why).collect()
}

fn stands_for(known: &str, name: &str) -> bool {
    known.strip_suffix('*').map_or(known == name, |start| name.starts_with(start))
}

/// A line for each feature that was asked for and has no effect, and whether it is an error.
#[must_use]
pub fn features(asked: &[String]) -> Vec<(bool, String)> {
    let names = asked.iter().flat_map(|list| list.split(',')).map(str::trim);
    let said = |name: &str| match FEATURES.iter().find(|(known, _)| *known == name) {
        Some((name, why)) => (false, format!("feature '{name}' has no effect: {why}")),
        None => (true, format!("'{}' is not a feature of k6", shortened(name))),
    };
    names.filter(|name| !name.is_empty()).map(said).collect()
}

/// Refuses a feature that would change what an output sends.
///
/// # Errors
/// Trends as native histograms, if they would go to Prometheus; exit code 255.
pub fn check_features(asked: &[String], outputs: &[String]) -> Result<(), Refused> {
    let has_native =
        asked.iter().flat_map(|list| list.split(',')).any(|it| it.trim() == "native-histograms");
    let is_sent = outputs.iter().any(|output| output.starts_with("experimental-prometheus-rw"));
    match has_native && is_sent {
        true => Err(Refused {
            code: ExitCode::Other,
            what: "feature 'native-histograms' is not supported: choose figures in \
                   K6_PROMETHEUS_RW_TREND_STATS"
                .to_owned(),
        }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_is_warned_of() {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (set, outputs, want) in [
            (
                &["K6_BROWSER_HEADLESS"][..],
                &[][..],
                &["K6_BROWSER_HEADLESS has no effect: k6/browser"][..],
            ),
            (&["K6_VUS", "HOME", "K6_MINE"], &[], &[]),
            (&["K6_INFLUXDB_PROXY"], &["json=a"], &[]),
            (
                &["K6_INFLUXDB_PROXY"],
                &["influxdb=http://a/b"],
                &["K6_INFLUXDB_PROXY has no effect: outputs use no proxy"],
            ),
            (
                &["K6_OTEL_GRPC_EXPORTER_ENDPOINT"],
                &["experimental-opentelemetry"],
                &["K6_OTEL_GRPC_EXPORTER_ENDPOINT has no effect"],
            ),
        ] {
            let lines = variables(&names(set), &names(outputs));
            assert_eq!(lines.len(), want.len(), "{lines:?}");
            assert!(lines.iter().zip(want).all(|(line, want)| line.starts_with(want)), "{lines:?}");
        }
        let lines = features(&names(&["freeze-env, mine", ""]));
        assert_eq!(lines.iter().map(|(is_error, _)| *is_error).collect::<Vec<_>>(), [false, true]);
        assert!(output("cloud").contains("Grafana Cloud; write json"), "{}", output("cloud"));
    }
}
