//! `plimsoll proxy`: the reverse proxy, until a signal.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use plimsoll_core::plan::Endpoint;
use plimsoll_io::host::{reachable, resolve};
use plimsoll_proto::tls::{ClientConfig, ClientOptions, ServerName, Verify};
use plimsoll_server::proxy::{
    AccessLog, Forwarded, Health, HealthCheck, HostField, LogThread, ProxyCounters, ProxyLimits,
    ProxyOptions, Rules, RunningProxy, Timeouts, Upstream, UpstreamTls,
};
use plimsoll_server::{TlsConfig, tls_config};

use crate::exit::Exit;
use crate::outputs::is_stdout;
use crate::proxy_args::{ForwardedFlag, HostFlag, ProxyFlags};
use crate::serving::{identity, read, save_certificate, say_where, until_signal};
use crate::url;

/// What clients may choose by ALPN (RFC 7301), the preferred first.
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1", b"http/1.0"];

/// How long a name's addresses have to take a connection, to be preferred over others.
const PROBE_NS: u64 = 1_000_000_000;

/// Proxies until SIGINT or SIGTERM; prints where it listens once it does, and what it did.
///
/// # Errors
/// When an address cannot be listened on, an upstream has no address, or a worker fails.
pub(crate) fn proxy(flags: &ProxyFlags) -> Result<ExitCode, Exit> {
    if flags.json && flags.access_log.as_deref().is_some_and(is_stdout) {
        let text = "--json and --access-log would both go to stdout: give the log a file";
        return Err(Exit::Usage(text.to_owned()));
    }
    let (log, log_thread) = match &flags.access_log {
        Some(path) => open_log(path).map(|(log, thread)| (Some(log), Some(thread)))?,
        None => (None, None),
    };
    let options = options(flags, log)?;
    let scheme = if options.rules.tls.is_some() { "https" } else { "http" };
    let ended = until_signal(options, |running| announce(running, scheme));
    let logged = log_thread.map_or(Ok(()), LogThread::join);
    let counters = ended?;
    show(&counters, flags.json);
    logged.map_err(|error| Exit::CouldNotRun(format!("--access-log: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn options(flags: &ProxyFlags, log: Option<Arc<AccessLog>>) -> Result<ProxyOptions, Exit> {
    let mut rules = Rules::to(upstreams(flags)?);
    rules.balance = flags.balance.clone();
    rules.forwarded = match flags.forwarded {
        ForwardedFlag::Append => Forwarded::Append,
        ForwardedFlag::Replace => Forwarded::Replace,
        ForwardedFlag::Off => Forwarded::Off,
    };
    rules.host = match flags.host {
        HostFlag::Keep => HostField::Keep,
        HostFlag::Upstream => HostField::Upstream,
    };
    rules.via = !flags.no_via;
    rules.timeouts = timeouts(flags);
    rules.limits = limits(flags);
    rules.health = Health {
        failures: flags.fail_after,
        fail_on_5xx: flags.fail_on_5xx,
        aside_ns: flags.aside,
        check: flags.health_path.clone().map(|path| HealthCheck {
            path,
            interval_ns: flags.health_interval,
            timeout_ns: flags.health_timeout,
        }),
    };
    rules.tls = tls(flags)?;
    rules.log = log;
    Ok(ProxyOptions {
        listen: flags.listen.clone(),
        workers: flags.threads as usize,
        driver: flags.driver.into(),
        pin: (!flags.pin.is_empty()).then(|| flags.pin.clone()),
        connections_max: flags.clients,
        rules,
    })
}

fn timeouts(flags: &ProxyFlags) -> Timeouts {
    let given = &flags.timeouts;
    Timeouts {
        connect_ns: given.connect_timeout,
        response_ns: given.response_timeout,
        upstream_idle_ns: given.idle_timeout,
        upstream_keep_alive_ns: given.upstream_keep_alive,
        head_ns: given.head_timeout,
        body_ns: given.idle_timeout,
        body_total_ns: if given.body_timeout == 0 { u64::MAX } else { given.body_timeout },
        send_ns: given.idle_timeout,
        client_slack_ns: given.client_slack,
        keep_alive_ns: given.keep_alive,
        queue_ns: given.queue_timeout,
        drain_ns: given.drain,
    }
}

fn limits(flags: &ProxyFlags) -> ProxyLimits {
    let mut limits = ProxyLimits {
        body_buffer_bytes: flags.body_buffer,
        body_buffers_bytes: flags.body_buffers,
        response_buffer_bytes: flags.response_buffer,
        client_rate: flags.client_rate,
        queue: flags.queue as usize,
        upstream_connections: flags.upstream_connections,
        ..ProxyLimits::default()
    };
    limits.request.body_bytes = flags.body_max.unwrap_or(u64::MAX);
    limits
}

fn upstreams(flags: &ProxyFlags) -> Result<Vec<Upstream>, Exit> {
    let verify = match &flags.upstream_cacert {
        Some(path) => Verify::Roots(read("--upstream-cacert", path)?.into()),
        None if flags.upstream_insecure => Verify::Nothing,
        None => Verify::PublicRoots,
    };
    let has_flag = flags.upstream_cacert.is_some() || flags.upstream_insecure;
    let is_secure =
        |text: &String| text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    if has_flag && !flags.to.iter().any(is_secure) {
        let line = "--upstream-cacert and --upstream-insecure need an upstream with https://";
        return Err(Exit::Usage(line.to_owned()));
    }
    let alpn = vec![b"http/1.1".to_vec()];
    let config = ClientConfig::new(&ClientOptions { verify, alpn, ..ClientOptions::default() })
        .map_err(|error| Exit::CouldNotRun(format!("TLS: {error}")))?;
    flags.to.iter().map(|text| upstream(text, &config)).collect()
}

/// An upstream as it was written, with the first of its addresses that takes a connection now, or
/// simply the first.
fn upstream(text: &str, config: &ClientConfig) -> Result<Upstream, Exit> {
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let Endpoint { scheme, host, port, path } =
        url::parse(&url).map_err(|error| Exit::Usage(format!("--to: {error}")))?;
    if path.reveal() != "/" {
        let line = format!("--to: '{text}' has a path: requests keep theirs, so leave it out");
        return Err(Exit::Usage(line));
    }
    let could_not = |error: &dyn std::fmt::Display| Exit::CouldNotRun(format!("--to: {error}"));
    let addresses = resolve(&host, port).map_err(|error| could_not(&error))?;
    let answers = match addresses.len() {
        1 => 0,
        _ => reachable(&addresses, PROBE_NS).iter().position(Result::is_ok).unwrap_or(0),
    };
    let tls = match scheme.as_str() {
        "https" => {
            let name = ServerName::parse(&host).map_err(|error| could_not(&error))?;
            Some(UpstreamTls { config: config.clone(), name })
        }
        _ => None,
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let is_usual = port == if scheme == "https" { 443 } else { 80 };
    let authority = if is_usual { host } else { format!("{host}:{port}") };
    Ok(Upstream { address: addresses[answers].into(), authority, tls })
}

/// What to speak TLS with; `None` when no flag asks for it.
fn tls(flags: &ProxyFlags) -> Result<Option<TlsConfig>, Exit> {
    if !(flags.tls || flags.cert.is_some() || flags.tls_save.is_some()) {
        return Ok(None);
    }
    let identity = identity(flags.cert.as_deref(), flags.key.as_deref())?;
    if let Some(path) = &flags.tls_save {
        save_certificate(path, &identity)?;
    }
    let config = tls_config(identity, None, PROTOCOLS);
    config.map(Some).map_err(|error| Exit::CouldNotRun(format!("TLS: {error}")))
}

fn open_log(path: &Path) -> Result<(Arc<AccessLog>, LogThread), Exit> {
    let could_not = |error: std::io::Error| {
        Exit::CouldNotRun(format!("--access-log {}: {error}", path.display()))
    };
    if is_stdout(path) {
        return AccessLog::start(std::io::stdout()).map_err(could_not);
    }
    let file = std::fs::File::options().create(true).append(true).open(path).map_err(could_not)?;
    AccessLog::start(file).map_err(could_not)
}

fn announce(running: &RunningProxy, scheme: &str) {
    say_where(running.addresses().iter().map(|address| format!("{scheme}://{address}")));
}

/// Prints what it did: the counts that are not 0, or all of them as JSON.
fn show(counters: &ProxyCounters, as_json: bool) {
    let mut counts = counters.named();
    let names =
        ["responses_1xx", "responses_2xx", "responses_3xx", "responses_4xx", "responses_5xx"];
    counts.extend(names.into_iter().zip(counters.responses));
    let mut out = std::io::stdout().lock();
    if as_json {
        let counts: serde_json::Map<String, serde_json::Value> =
            counts.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
        let _ = writeln!(out, "{}", serde_json::Value::Object(counts));
        return;
    }
    for (name, count) in counts.into_iter().filter(|&(_, count)| count > 0) {
        let _ = writeln!(out, "{count:>14}  {}", name.replace('_', " "));
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Given {
        #[command(flatten)]
        flags: ProxyFlags,
    }

    fn rules(flags: &[&str]) -> Rules {
        let words = ["proxy", "--to", "127.0.0.1:80"].iter().chain(flags);
        let given = Given::try_parse_from(words).expect("flags");
        options(&given.flags, None).expect("options").rules
    }

    #[test]
    fn without_flags_the_rules_are_the_usual_ones() {
        let (found, usual) = (rules(&[]), Rules::to(Vec::new()));
        assert!(!found.health.fail_on_5xx);
        assert_eq!(found.health, usual.health);
        assert_eq!(found.timeouts, usual.timeouts);
        assert_eq!(found.limits, usual.limits);
        assert_eq!(found.forwarded, usual.forwarded);
    }

    #[test]
    fn flags_for_slow_and_hostile_clients_reach_the_rules() {
        const SECOND_NS: u64 = 1_000_000_000;
        let found = rules(&[
            "--fail-on-5xx",
            "--body-timeout=9s",
            "--client-slack=3s",
            "--client-rate=7",
            "--body-buffer=4",
            "--body-buffers=5",
            "--response-buffer=6",
            "--forwarded=off",
        ]);
        assert!(found.health.fail_on_5xx);
        let Timeouts { body_total_ns, client_slack_ns, .. } = found.timeouts;
        assert_eq!((body_total_ns, client_slack_ns), (9 * SECOND_NS, 3 * SECOND_NS));
        let ProxyLimits { client_rate, body_buffer_bytes, body_buffers_bytes, .. } = found.limits;
        assert_eq!((client_rate, body_buffer_bytes, body_buffers_bytes), (7, 4, 5));
        assert_eq!(found.limits.response_buffer_bytes, 6);
        assert_eq!(found.forwarded, Forwarded::Off);
        assert_eq!(rules(&["--body-timeout=0"]).timeouts.body_total_ns, u64::MAX);
    }
}
