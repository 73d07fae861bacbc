//! What all counts of a run share, and the tags that samples get from it.

use std::collections::BTreeMap;

use plimsoll_dialect::k6::metrics::{MetricId, Registry, SystemTag, SystemTags, TagSet};
use plimsoll_engine::vu::{Place, RequestEnded, SocketTold};

use super::load::ScriptMetrics;
use super::news::{Lines, Points};

/// What all counts of a run have in common.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) registry: Registry,
    pub(super) is_full: bool,
    pub(super) metrics: ScriptMetrics,
    pub(super) system_tags: SystemTags,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) roles: Vec<RoleNames>,
    pub(super) ids: Ids,
    pub(super) lines: Lines,
    pub(super) points: Option<Points>,
    pub(super) is_verbose: bool,
}

/// What samples and lines of a scenario say of it.
#[derive(Debug)]
pub(super) struct RoleNames {
    pub(super) name: String,
    pub(super) executor: &'static str,
    pub(super) tags: BTreeMap<String, String>,
}

/// The numbers of k6's own metrics.
#[derive(Debug)]
pub(super) struct Ids {
    /// Those of each request, in the order in which outputs have them.
    pub(super) request: [MetricId; 9],
    /// Those of a WebSocket: two when it is open, then what happens on it.
    pub(super) session: [MetricId; 2],
    pub(super) sent: MetricId,
    pub(super) received: MetricId,
    pub(super) ping: MetricId,
    pub(super) session_duration: MetricId,
    pub(super) iteration: [MetricId; 2],
    pub(super) data: [MetricId; 2],
    pub(super) vus: [MetricId; 2],
    pub(super) dropped: MetricId,
    pub(super) group: MetricId,
    pub(super) call: CallIds,
}

/// The numbers of the metrics of gRPC.
#[derive(Debug)]
pub(super) struct CallIds {
    pub(super) duration: MetricId,
    pub(super) streams: MetricId,
    pub(super) sent: MetricId,
    pub(super) received: MetricId,
}

impl Ids {
    /// Of a registry that has k6's metrics.
    pub(super) fn new(registry: &Registry) -> Self {
        let find = |name: &str| registry.find(name).expect("every registry has k6's metrics");
        Self {
            request: [
                "http_reqs",
                "http_req_duration",
                "http_req_blocked",
                "http_req_connecting",
                "http_req_tls_handshaking",
                "http_req_sending",
                "http_req_waiting",
                "http_req_receiving",
                "http_req_failed",
            ]
            .map(find),
            session: ["ws_sessions", "ws_connecting"].map(find),
            sent: find("ws_msgs_sent"),
            received: find("ws_msgs_received"),
            ping: find("ws_ping"),
            session_duration: find("ws_session_duration"),
            iteration: ["iteration_duration", "iterations"].map(find),
            data: ["data_sent", "data_received"].map(find),
            vus: ["vus", "vus_max"].map(find),
            dropped: find("dropped_iterations"),
            group: find("group_duration"),
            call: CallIds {
                duration: find("grpc_req_duration"),
                streams: find("grpc_streams"),
                sent: find("grpc_streams_msgs_sent"),
                received: find("grpc_streams_msgs_received"),
            },
        }
    }
}

impl Common {
    /// The tags of a sample: the run's, the scenario's, the group below `root` if it is in one,
    /// those of VU and call, and those that are given last and have a value.
    pub(super) fn tags(
        &self,
        place: &Place<'_>,
        root: Option<&str>,
        call: Option<u32>,
        last: &[(SystemTag, Option<&str>)],
    ) -> TagSet {
        let group = place.group.map(|number| place.names.group(number)).unwrap_or_default();
        let group = root.map(|root| format!("{root}{group}"));
        let own = call.map(|number| place.names.tags(number)).unwrap_or_default();
        let role = place.scenario.and_then(|at| self.roles.get(at as usize));
        let mut all: Vec<(&str, &str)> = Vec::new();
        all.extend(self.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if let Some(role) = role {
            if self.system_tags.has(SystemTag::Scenario) {
                all.push(("scenario", &role.name));
            }
            all.extend(role.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        }
        if let Some(group) = group.as_deref().filter(|_| self.system_tags.has(SystemTag::Group)) {
            all.push(("group", group));
        }
        let has_check = self.system_tags.has(SystemTag::Check);
        all.extend(own.pairs().filter(|(name, _)| has_check || *name != "check"));
        for (tag, value) in last {
            if let Some(value) = value.filter(|_| self.system_tags.has(*tag)) {
                all.push((tag.name(), value));
            }
        }
        TagSet::of(all)
    }

    /// The tags of a request. A name that was given stands in place of the URL too, so that its
    /// values are few.
    pub(super) fn request_tags(
        &self,
        place: &Place<'_>,
        root: &str,
        ended: &RequestEnded<'_>,
    ) -> TagSet {
        let own = ended.tags.map(|number| place.names.tags(number)).unwrap_or_default();
        let tagged = own.pairs().find(|(tag, _)| *tag == "name").map(|(_, value)| value);
        let name = tagged.unwrap_or(ended.name);
        let url = if tagged.is_some() || ended.name != ended.url { name } else { ended.url };
        let status = ended.status.to_string();
        let code = ended.error_code.to_string();
        let expected = ended.is_expected.map(|is| if is { "true" } else { "false" });
        let last = [
            (SystemTag::Method, said(ended.method)),
            (SystemTag::Status, Some(status.as_str())),
            (SystemTag::Proto, said(ended.proto)),
            // A script may have asked for an empty URL.
            (SystemTag::Url, Some(url)),
            (SystemTag::Name, Some(name)),
            (SystemTag::Error, said(ended.error)),
            (SystemTag::ErrorCode, (ended.error_code != 0).then_some(code.as_str())),
            (SystemTag::TlsVersion, said(ended.tls_version)),
            // Plimsoll asks for no OCSP response.
            (SystemTag::OcspStatus, said(ended.tls_version).and(Some("unknown"))),
            (SystemTag::ExpectedResponse, expected),
            (SystemTag::Ip, said(ended.remote_ip)),
        ];
        self.tags(place, Some(root), ended.tags, &last)
    }

    /// The tags of what happens on a WebSocket.
    pub(super) fn socket_tags(
        &self,
        place: &Place<'_>,
        root: &str,
        told: &SocketTold<'_>,
    ) -> TagSet {
        let status = told.status.to_string();
        let last = [
            (SystemTag::Url, said(told.url)),
            (SystemTag::Name, said(told.name)),
            (SystemTag::Ip, said(told.remote_ip)),
            (SystemTag::Status, Some(status.as_str())),
            // A socket without a subprotocol says so.
            (SystemTag::Subproto, Some(told.subprotocol)),
        ];
        // Without an answer there is neither status nor subprotocol.
        let last = if told.status == 0 { &last[..3] } else { &last };
        self.tags(place, Some(root), told.tags, last)
    }
}

/// The value of a tag that a sample has only if there is something to say.
pub(super) fn said(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
