//! For each target: which responses are expected, and where redirects may lead.

use plimsoll_conn::{Encoding, Hop};
use plimsoll_core::Plan;
use plimsoll_core::plan::Endpoint;
use plimsoll_core::secret::Masks;
use plimsoll_core::template::Template;

use crate::checks::{Checks, Unmet};
use crate::error::RunError;
use crate::exchanges::Exchange;
use crate::inspection::Inspection;
use crate::source::Prepared;

/// An origin with the port, and as the plan writes it.
type OriginNames = [String; 2];

fn names(endpoint: &Endpoint) -> OriginNames {
    [endpoint.host_and_port(), endpoint.authority()]
        .map(|authority| format!("{}://{authority}", endpoint.scheme))
}

/// The expectations of a run's targets.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    checks: Vec<Checks>,
    methods: Vec<String>,
    /// Each origin as a Location may name it.
    origins: Vec<OriginNames>,
    redirects: u32,
    /// Whether 301 and 302 make a GET of any method but HEAD, and not of POST alone.
    makes_gets: bool,
    /// The paths of the targets' requests.
    paths: Vec<Template>,
    masks: Masks,
}

impl Judge {
    /// Makes the plan's expectations ready.
    ///
    /// # Errors
    /// The first that cannot be checked.
    pub(crate) fn new<E: Encoding>(plan: &Plan, prepared: &Prepared<E>) -> Result<Self, RunError> {
        let general = plan.expect.iter();
        let checks = if plan.targets.is_empty() {
            vec![Checks::new(general, &plan.masks)?]
        } else {
            let of = |target| Checks::new(general.clone().chain(target), &plan.masks);
            plan.targets.iter().map(|target| of(&target.expect)).collect::<Result<_, _>>()?
        };
        let endpoint = &plan.endpoint;
        Ok(Self {
            checks,
            methods: plan.requests().map(|request| request.method.clone()).collect(),
            origins: vec![names(endpoint)],
            redirects: plan.redirects,
            makes_gets: plan.joins_redirects,
            paths: prepared.targets().iter().map(|target| target.path.clone()).collect(),
            masks: plan.masks.clone(),
        })
    }

    /// The same, with further origins behind the plan's.
    pub(crate) fn with_origins<'a>(&self, further: impl Iterator<Item = &'a Endpoint>) -> Self {
        let mut judge = self.clone();
        judge.origins.truncate(1);
        judge.origins.extend(further.map(names));
        judge
    }

    /// What is expected of a target's responses.
    #[inline]
    pub(crate) fn checks(&self, target: u32) -> &Checks {
        &self.checks[target as usize]
    }

    /// Where a complete response sends its request on to, if anywhere.
    ///
    /// # Errors
    /// When it leads to another server, or has led too far already.
    pub(crate) fn redirection(
        &self,
        inspection: &Inspection,
        exchange: &Exchange,
        status: u16,
    ) -> Result<Option<Hop>, Unmet> {
        let before = inspection.hop.as_ref().filter(|_| exchange.hops > 0);
        let path = before.map_or_else(|| self.path(exchange), |hop| hop.path.clone());
        let origin = &self.origins[usize::from(exchange.origin)];
        let Some(path) = inspection.redirection(&path, origin, &self.masks)? else {
            return Ok(None);
        };
        if exchange.hops >= self.redirects {
            let text = format!("more than {} redirects for one request", self.redirects);
            return Err(Unmet { kind: "redirect_limit", text });
        }
        // What has become a GET has no body any more.
        let was_get = before.is_some_and(|before| before.as_get);
        let as_get = was_get || self.becomes_get(&self.methods[exchange.target as usize], status);
        Ok(Some(Hop { path, as_get }))
    }

    /// Whether a request is sent on as a GET without a body (RFC 9110 section 15.4): after 303, and
    /// after 301 and 302 where clients do so.
    fn becomes_get(&self, method: &str, status: u16) -> bool {
        match status {
            303 => method != "HEAD",
            301 | 302 if self.makes_gets => method != "HEAD",
            301 | 302 => method == "POST",
            _ => false,
        }
    }

    /// The path that a request was for.
    fn path(&self, exchange: &Exchange) -> String {
        let mut bytes = Vec::new();
        self.paths[exchange.target as usize].fill(exchange.number, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
