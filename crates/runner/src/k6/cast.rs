//! From a checked configuration to what the engine carries out.

use std::sync::Arc;

use plimsoll_core::executor::Executor;
use plimsoll_core::schedule::Stripe;
use plimsoll_dialect::k6::metrics::SystemTag;
use plimsoll_dialect::k6::options::{Configuration, DnsTtl, TlsRange, TlsVersion};
use plimsoll_dialect::k6::scenario::Scenario;
use plimsoll_dialect::k6::segment::Part;
use plimsoll_dialect::k6::{ExitCode, Refused};
use plimsoll_engine::vu::{Cast, Dns, HttpDebug, Network, Role};
use plimsoll_io::clock;
use plimsoll_proto::tls::{ClientConfig, ClientOptions, Identity, Verify, Version, Versions};
use plimsoll_script::js::http::HttpOptions;

use super::load::{Test, options_json, refused};

impl Test {
    /// The scenarios that have anything to do in this part of the run.
    pub fn roles(&self) -> impl Iterator<Item = &Scenario> {
        let part = &self.configuration.part;
        self.configuration.scenarios.iter().filter(|scenario| !scenario.needs(part).is_empty())
    }

    /// What the engine carries out.
    ///
    /// # Errors
    /// What options ask for and the engine cannot do; exit code 104.
    pub(super) fn cast(&self) -> Result<Cast, Refused> {
        let configuration = &self.configuration;
        let limits = configuration.limits();
        let part = &configuration.part;
        let roles = self.roles().map(|scenario| self.role(scenario, part)).collect::<Option<_>>();
        let missing = || {
            let what = "a scenario calls a function that the script does not export";
            refused(ExitCode::InvalidConfig, what.to_owned())
        };
        let cpus = clock::allowed_cpus().len().max(1) as u64;
        let workers = self.workers.map_or(cpus, u64::from);
        Ok(Cast {
            program: self.program.clone(),
            roles: roles.ok_or_else(missing)?,
            part: part.stripe().cloned().unwrap_or_default(),
            vus_planned: limits.planned_vus,
            vus_max: limits.max_vus,
            network: self.network()?,
            workers: u32::try_from(workers.min(limits.max_vus.max(1))).unwrap_or(1),
            options_json: options_json(configuration),
            min_iteration_ns: configuration.min_iteration_duration_ns,
        })
    }

    fn role(&self, scenario: &Scenario, part: &Part) -> Option<Role> {
        let own = |part: &Part| part.stripe().cloned().unwrap_or_else(Stripe::default);
        let iterations = match &scenario.executor {
            Executor::SharedIterations { vus, .. } => own(&part.weighted(*vus)),
            _ => own(part),
        };
        let pair = |(name, value): (&String, &String)| (name.clone(), value.clone());
        let system = &self.configuration.system_tags;
        let mut tags = self.configuration.tags.clone();
        if system.has(SystemTag::Scenario) {
            tags.insert("scenario".to_owned(), scenario.name.clone());
        }
        tags.extend(scenario.tags.iter().map(pair));
        Some(Role {
            name: scenario.name.clone(),
            function: self.program.function(scenario.function())?,
            executor: scenario.executor.clone(),
            users: own(part),
            iterations,
            start_ns: scenario.start_ns,
            graceful_stop_ns: scenario.graceful_stop_ns,
            env: scenario.env.iter().map(pair).collect(),
            tags: tags.into_iter().collect(),
            tags_group: system.has(SystemTag::Group),
        })
    }

    /// How requests are sent.
    ///
    /// # Errors
    /// What options ask for and the engine cannot do; exit code 104.
    pub(super) fn network(&self) -> Result<Network, Refused> {
        let configuration = &self.configuration;
        let options = &configuration.options;
        let verify = match (options.insecure_skip_tls_verify, &self.roots) {
            (Some(true), _) => Verify::Nothing,
            (_, Some(roots)) => Verify::Roots(Arc::clone(roots)),
            _ => Verify::PublicRoots,
        };
        let versions = options.tls_version.map(versions).transpose()?.unwrap_or_default();
        let mut identities = Vec::new();
        for given in options.tls_auth.iter().flatten() {
            if given.password.as_ref().is_some_and(|password| !password.is_empty()) {
                let what = "a key of tlsAuth has a password: give the key without encryption";
                return Err(refused(ExitCode::InvalidConfig, what.to_owned()));
            }
            let chain = given.certificate.clone().into_bytes();
            let key = given.key.clone().into_bytes();
            let identity = Identity { chain, key };
            let alone = ClientOptions { identity: Some(identity.clone()), ..Default::default() };
            ClientConfig::new(&alone)
                .map_err(|error| refused(ExitCode::InvalidConfig, format!("tlsAuth: {error}")))?;
            identities.push((given.domains.clone(), identity));
        }
        let suites = options.tls_cipher_suites.iter().flatten().map(|suite| suite.id).collect();
        let tls = ClientOptions { verify, versions, suites, ..ClientOptions::default() };
        ClientConfig::new(&tls)
            .map_err(|error| refused(ExitCode::InvalidConfig, error.to_string()))?;
        let addresses = options.local_ips.clone();
        let hosts = options.hosts.clone();
        let names = options.block_hostnames.clone();
        let blocks = options.blacklist_ips.clone();
        Ok(Network {
            call_agent: self.call_agent(),
            http: self.http(),
            fixed_address: hosts.map(|hosts| {
                let lead = move |host: &str, port| hosts.resolve(host, port);
                Arc::new(move |host: &str, port| lead(host, port).map(|to| (to.address, to.port)))
                    as _
            }),
            blocked_name: names.map(|names| Arc::new(move |host: &str| names.contains(host)) as _),
            blocked_address: blocks.map(|blocks| {
                let is_in = move |address| blocks.iter().any(|block| block.contains(address));
                Arc::new(is_in) as _
            }),
            tls,
            identities,
            dns: dns(configuration),
            local_address: addresses.map(|all| Arc::new(move |vu| all.of_vu(vu)) as _),
            reuses_connections: options.no_connection_reuse != Some(true),
            keeps_connections: options.no_vu_connection_reuse != Some(true),
            rps: configuration.rps.unwrap_or(0),
            http_debug: match options.http_debug.as_deref() {
                None | Some("") => HttpDebug::Off,
                Some("full") => HttpDebug::Whole,
                Some(_) => HttpDebug::Heads,
            },
            driver: self.driver,
        })
    }
}

impl Test {
    /// The User-Agent of calls of gRPC.
    fn call_agent(&self) -> String {
        match (&self.configuration.options.user_agent, self.call_agent) {
            (given, None) => given.as_ref().unwrap_or(&self.user_agent).clone(),
            (None, Some(own)) => own.to_owned(),
            (Some(given), Some(own)) => format!("{given} {own}"),
        }
    }

    /// What stands in requests, and how responses are read.
    fn http(&self) -> HttpOptions {
        let configuration = &self.configuration;
        let options = &configuration.options;
        let redirects = u32::try_from(configuration.max_redirects).unwrap_or(u32::MAX);
        HttpOptions {
            user_agent: options.user_agent.clone().unwrap_or_else(|| self.user_agent.clone()),
            redirects_max: (!configuration.has_default_redirects).then_some(redirects),
            proxies: self.proxies.clone(),
            closes_connections: options.no_connection_reuse == Some(true),
            ..HttpOptions::default()
        }
    }
}

fn dns(configuration: &Configuration) -> Dns {
    Dns {
        ttl_ns: match configuration.dns_ttl {
            DnsTtl::Infinite => None,
            DnsTtl::Time(time) => Some(time.unsigned()),
        },
        select: configuration.dns_select,
        policy: configuration.dns_policy,
    }
}

/// The versions that are in a range: there are only 1.2 and 1.3 here.
fn versions(range: TlsRange) -> Result<Versions, Refused> {
    let has = |version| {
        range.min.is_none_or(|min| min <= version) && range.max.is_none_or(|max| version <= max)
    };
    match (has(TlsVersion::V1_2), has(TlsVersion::V1_3)) {
        (true, true) => Ok(Versions::Both),
        (true, false) => Ok(Versions::Only(Version::Tls12)),
        (false, true) => Ok(Versions::Only(Version::Tls13)),
        (false, false) => {
            let what = "tlsVersion asks for 1.0 or 1.1 alone: give tls1.2 or tls1.3";
            Err(refused(ExitCode::InvalidConfig, what.to_owned()))
        }
    }
}
