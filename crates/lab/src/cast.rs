//! A server and the services beside it: started together, stopped together.

use std::path::Path;

use crate::loading::{CallContext, Variables};
use crate::prepare::Places;
use crate::programs::Ports;
use crate::serving::{Serving, Start};
use crate::suite::{Names, PORTS, Server, Suite};

/// What servers are started with.
pub(crate) struct Setting<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) places: &'a Places,
    /// A folder for logs and the files of loads, empty.
    pub(crate) scratch: &'a Path,
    pub(crate) stopped: &'a dyn Fn() -> bool,
    pub(crate) variables: Variables<'a>,
}

/// What went wrong, with the last lines of the log of who was to blame.
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) log: Option<String>,
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self { reason, log: None }
    }
}

/// A server that is ready and answers as it should.
pub(crate) struct Cast<'a> {
    pub(crate) serving: Serving<'a>,
    pub(crate) services: Services<'a>,
    /// Where loads go.
    pub(crate) url: String,
    /// What placeholders stand for, those of loads too.
    pub(crate) names: Names,
}

/// What runs beside a server.
pub(crate) struct Services<'a>(Vec<Serving<'a>>);

impl<'a> Cast<'a> {
    /// Starts services, then the server, and waits until all of them are ready.
    ///
    /// # Errors
    /// What is wrong with one of them. Those that were started are ended.
    pub(crate) fn start(
        server: &'a Server,
        setting: &Setting<'a>,
        ports: &mut Ports,
    ) -> Result<Self, Failure> {
        let mut names = setting.places.names(server);
        let mut services = Vec::new();
        for name in &server.with {
            let service = setting
                .suite
                .server(name)
                .ok_or_else(|| format!("there is no service '{name}'"))?;
            let port = give_ports(&mut setting.places.names(service), ports)?;
            names.set(&format!("{name}.port"), port.to_string());
            services.push((service, port));
        }
        let port = give_ports(&mut names, ports)?;
        let mut running = Services(Vec::new());
        for (service, port) in services {
            let mut own = setting.places.names(service);
            give_more_ports(&mut own, port, ports)?;
            let started = start(service, own, port, setting).map_err(|failure| Failure {
                reason: format!("its service {}: {}", service.name, failure.reason),
                ..failure
            });
            running.0.push(started?);
        }
        let serving = start(server, names.clone(), port, setting)?;
        let url = serving.url();
        names.set("url", url.clone());
        names.set("scratch", setting.scratch.display().to_string());
        Ok(Self { serving, services: running, url, names })
    }
}

impl Services<'_> {
    /// Stops them in the reverse order, and says which had to be killed.
    pub(crate) fn stop(mut self) -> Vec<String> {
        std::iter::from_fn(|| self.0.pop()).filter_map(|service| service.stop().err()).collect()
    }
}

/// Where a load finds its server.
pub(crate) fn place<'a>(names: &'a Names, url: &'a str, setting: &Setting<'a>) -> CallContext<'a> {
    let plimsoll = setting.places.plimsoll.as_path();
    let variables = (setting.variables)(None);
    CallContext { names, scratch: setting.scratch, plimsoll, url, variables }
}

/// Sets `{port}` and some more.
fn give_ports(names: &mut Names, ports: &mut Ports) -> Result<u16, String> {
    let port = ports.free().ok_or("no port is free on 127.0.0.1")?;
    give_more_ports(names, port, ports)?;
    Ok(port)
}

/// Sets `{port}` to one that is known, and `{port2}` to `{port4}` to others.
fn give_more_ports(names: &mut Names, port: u16, ports: &mut Ports) -> Result<(), String> {
    let [first, others @ ..] = PORTS;
    names.set(first, port.to_string());
    for name in others {
        let port = ports.free().ok_or("no port is free on 127.0.0.1")?;
        names.set(name, port.to_string());
    }
    Ok(())
}

fn start<'a>(
    server: &'a Server,
    names: Names,
    port: u16,
    setting: &Setting<'a>,
) -> Result<Serving<'a>, Failure> {
    let log = setting.scratch.join(format!("{}.log", server.name));
    let plimsoll = &setting.places.plimsoll;
    Serving::start(Start { server, names, port, log, plimsoll }, setting.stopped)
        .map_err(|(reason, log)| Failure { reason, log: Some(log) })
}
