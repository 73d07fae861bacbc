//! What a result keeps of a plan: the one place that decides what of it may be shown.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use super::{DetailsPlan, Draft, Request, Target};
use crate::secret::{Masks, Secret};

/// Bodies above this are not repeated in a result document.
const BODY_KEPT_BYTES: usize = 4096;

/// Targets beyond these are not repeated in a result document.
const TARGETS_KEPT: usize = 1000;

/// What a result keeps of a plan: what its masks hide is masked, bodies are lengths, contents of
/// files are left out, and there is an end to the targets. It is read like a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(Draft);

impl Deref for Record {
    type Target = Draft;

    fn deref(&self) -> &Draft {
        &self.0
    }
}

impl DerefMut for Record {
    fn deref_mut(&mut self) -> &mut Draft {
        &mut self.0
    }
}

impl Draft {
    /// What a result keeps of it. A record of a record is the same.
    #[must_use]
    pub fn record(&self) -> Record {
        let masks = &self.masks;
        let mut draft = Self { targets: Vec::new(), ..self.clone() };
        draft.endpoint.path = Secret::public(masks.url(self.endpoint.path.reveal()));
        draft.request = recorded(&self.request, masks);
        draft.targets =
            self.targets.iter().take(TARGETS_KEPT).map(|it| it.recorded(masks)).collect();
        draft.expect = self.expect.iter().map(|it| masks.expectation(it)).collect();
        if let Some(script) = &mut draft.script {
            let shown = |argument: &Secret| Secret::public(masks.whole(argument.reveal()));
            script.arguments = script.arguments.iter().map(shown).collect();
        }
        draft.vus = self.vus.as_ref().map(|vus| vus.recorded(masks));
        draft.leave_out_contents();
        Record(draft)
    }

    /// Leaves out what came of files, and what only the run itself needs.
    fn leave_out_contents(&mut self) {
        if let Some(script) = &mut self.script {
            script.text = Secret::default();
        }
        if let Some(trace) = &mut self.trace {
            trace.offsets_ns = Vec::new();
        }
        if let Some(proxy) = &mut self.transport.proxy {
            proxy.credentials = None;
        }
        for table in &mut self.tables {
            table.rows = Vec::new();
        }
        if let Some(grpc) = &mut self.grpc {
            grpc.descriptors = Vec::new();
        }
        let tls = &mut self.tls;
        for file in [&mut tls.cacert, &mut tls.cert, &mut tls.key].into_iter().flatten() {
            file.bytes = Secret::default();
        }
        self.details = DetailsPlan::default();
        self.masks = Masks::default();
    }
}

/// What documents keep of a request.
fn recorded(request: &Request, masks: &Masks) -> Request {
    let header = |(name, value): &(String, Secret)| {
        (name.clone(), Secret::public(masks.header(name, value.reveal())))
    };
    Request {
        headers: request.headers.iter().map(header).collect(),
        body: request.body.as_ref().map(|body| body.for_result(masks, BODY_KEPT_BYTES)),
        ..request.clone()
    }
}

impl Target {
    fn recorded(&self, masks: &Masks) -> Self {
        Self {
            name: self.name.clone(),
            path: Secret::public(masks.url(self.path.reveal())),
            request: recorded(&self.request, masks),
            weight: self.weight,
            expect: self.expect.iter().map(|it| masks.expectation(it)).collect(),
        }
    }
}
