//! k6's script for calls of gRPC. A virtual user has one connection and makes one call at a time.
//!
//! `grpc_req_duration` is the latency of calls that the server ended, streams too; those that k6
//! gave up are not in it. Of the messages of streams, k6 reports how many there were. The script
//! counts calls by their status, which k6 gives to the script and does not count.

use serde_json::{Map, Value, json};

use crate::service;
use crate::tool::{Ask, Rpc};
use plimsoll_lab::testers::text::{MARK, TIMEOUT_S, milliseconds};

/// The thresholds that make the figures of the scenario exist; they always hold.
pub(super) fn thresholds() -> [(&'static str, &'static str); 4] {
    [
        ("calls{scenario:load}", "count>=0"),
        ("unavailable{scenario:load}", "count>=0"),
        ("grpc_req_duration{scenario:load}", "max>=0"),
        ("grpc_streams_msgs_received{scenario:load}", "count>=0"),
    ]
}

/// The files that the script needs.
pub(super) fn files() -> [(String, String); 1] {
    [(service::PROTO_FILE.to_owned(), service::PROTO.to_owned())]
}

/// The script. `limit` ends an iteration that is beyond the count.
pub(super) fn script(ask: &Ask, rpc: Rpc, options: &Value, limit: &str) -> String {
    let metadata: Map<String, Value> =
        ask.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let timeout = milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S));
    let params = json!({ "timeout": timeout, "metadata": metadata });
    let address = ask.url.split_once("://").map_or(ask.url.as_str(), |(_, rest)| rest);
    let address = json!(address.split('/').next());
    let (method, message) = (json!(service::method(rpc)), service::MESSAGE);
    let call = match rpc {
        Rpc::Unary => format!("count(client.invoke({method}, {message}, params).status);"),
        Rpc::ServerStream => format!(
            r"const stream = new grpc.Stream(client, {method}, params);
  let status = grpc.StatusOK;
  stream.on('error', (error) => {{ status = error.code; }});
  stream.on('end', () => count(status));
  stream.write({message});
  stream.end();"
        ),
    };
    format!(
        r"import grpc from 'k6/net/grpc';
import exec from 'k6/execution';
import {{ Counter }} from 'k6/metrics';
export const options = {options};
const calls = new Counter('calls');
const timedOut = new Counter('timed_out');
const broken = new Counter('broken');
const failed = new Counter('failed');
const unavailable = new Counter('unavailable');
const params = {params};
const client = new grpc.Client();
client.load([], '{PROTO}');
let isConnected = false;
function count(status) {{
  calls.add(1);
  if (status == grpc.StatusDeadlineExceeded) timedOut.add(1);
  else if (status != grpc.StatusOK) failed.add(1);
  if (status == grpc.StatusUnavailable) unavailable.add(1);
}}
export default function () {{
{limit}  if (!isConnected) {{
    client.connect({address}, {{ plaintext: true }});
    isConnected = true;
  }}
  {call}
}}
export function handleSummary(data) {{
  return {{ stdout: '\n{MARK}' + JSON.stringify(data) + '\n' }};
}}
",
        PROTO = service::PROTO_FILE,
    )
}
