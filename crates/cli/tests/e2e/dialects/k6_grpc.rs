//! `k6/net/grpc` under k6 itself and under us, against the built-in server: what scripts log, what
//! is counted with which tags, and exit codes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::k6::{k6_run, labels};
use crate::programs::turn_with;
use crate::support::{Finished, Server, run};

const TESTING: &str = include_str!("../../../../grpc/proto/testing.proto");

/// What all scripts begin with. Errors are shown by their messages, and objects with their keys in
/// order: k6 has them in none.
const START: &str = "
import grpc from 'k6/net/grpc'; import { check, group } from 'k6';
const A = __ENV.ADDRESS, S = 'grpc.testing.TestService/';
export const options = { vus: 1, iterations: 1 };
const sorted = (it) => it === null || typeof it !== 'object' ? it : Array.isArray(it) ? it.map(sorted)
  : Object.fromEntries(Object.keys(it).sort().map((key) => [key, sorted(it[key])]));
const show = (...all) => console.log(all.map((it) => JSON.stringify(sorted(JSON.parse(JSON.stringify(it ?? null))))).join(' '));
const say = (what) => { try { show(what()); } catch (error) { show(error.message); } };
const client = new grpc.Client();
const methods = client.load(['.'], 'testing.proto');
const connect = (params) => client.connect(A, Object.assign({ plaintext: true }, params));
";

const SCRIPTS: [(&str, &str); 6] = [
    (
        "unary calls",
        "export default () => {
           say(() => methods);
           say(() => client.invoke(S + 'EmptyCall', {}));
           say(() => connect());
           say(() => client.load(['.'], 'testing.proto'));
           say(() => client.invoke(S + 'EmptyCall', {}));
           say(() => client.invoke('/' + S + 'UnaryCall', { responseSize: 5 }));
           say(() => client.invoke(S + 'UnaryCall', { response_size: '5' }));
           say(() => client.invoke(S + 'UnaryCall', { responseStatus: { code: 5, message: 'nä %' } }));
           say(() => client.invoke(S + 'UnaryCall', { responseStatus: { code: 99 } }));
           say(() => client.invoke(S + 'UnimplementedCall', {}));
           say(() => client.invoke(S + 'UnaryCall', { responseSize: 5 }, { discardResponseMessage: true }));
           say(() => client.invoke(S + 'UnaryCall', {}, { metadata: { 'X-Grpc-Test-Echo-Initial': 'v' } }));
           say(() => client.invoke(S + 'UnaryCall', {}, { metadata: {
             'x-grpc-test-echo-trailing-bin': new Uint8Array([65, 66, 67, 68]) } }));
           say(() => client.invoke(S + 'UnaryCall', { responseSize: 5000000 }));
           say(() => client.invoke('fgrpc.PingServer/Ping', {}));
           say(() => client.invoke('', {}));
           say(() => client.invoke(S + 'UnaryCall'));
           say(() => client.invoke(S + 'UnaryCall', {}, { what: 1 }));
           say(() => client.invoke(S + 'UnaryCall', {}, { metadata: { a: 1 } }));
           say(() => client.invoke(S + 'UnaryCall', {}, { metadata: { 'a-bin': 'x' } }));
           say(() => client.invoke(S + 'UnaryCall', {}, { metadata: 'x' }));
           say(() => client.close());
           say(() => client.close());
           say(() => client.invoke(S + 'EmptyCall', {}));
         };",
    ),
    (
        "tags and groups",
        "export default () => {
           group('outer', () => {
             connect();
             client.invoke(S + 'EmptyCall', {}, { tags: { mine: 1, name: 'named', method: 'x' } });
             const stream = new grpc.Stream(client, S + 'StreamingInputCall', { tags: { of: 'stream' } });
             stream.write({}); stream.end();
           });
           check(client.invoke(S + 'EmptyCall', {}), { ok: (r) => r.status === grpc.StatusOK });
         };",
    ),
    (
        "connects that fail",
        "export default () => {
           for (const [address, params] of [[A, { plaintext: 'x' }], [A, { what: 1 }], ['x', {}], ['a:b:1', {}],
             [A, { plaintext: true, timeout: 'x y' }].slice(0, 1).concat({ maxSendSize: -1 }),
             [A, { maxReceiveSize: 'x' }], [A, { reflect: 1 }], [A, { authority: 1 }],
             ['127.0.0.1:1', { plaintext: true, timeout: '2s' }]]) say(() => client.connect(address, params));
           say(() => connect({ maxSendSize: 10 }));
           say(() => client.invoke(S + 'UnaryCall', { payload: { body: 'AAAAAAAAAAAAAAAAAAAA' } }));
           say(() => connect({ maxReceiveSize: 10 }));
           say(() => client.invoke(S + 'UnaryCall', { responseSize: 100 }));
         };",
    ),
    (
        "health",
        "export default () => {
           connect();
           say(() => client.healthCheck());
           say(() => client.healthCheck('grpc.testing.TestService'));
           say(() => client.healthCheck('nobody'));
           show([grpc.HealthCheckUnknown, grpc.HealthCheckServing, grpc.HealthCheckNotServing,
             grpc.HealthCheckServiceUnkown].map(Number));
         };",
    ),
    (
        "streams",
        "const stream = (method, params) => {
           const stream = new grpc.Stream(client, S + method, params);
           stream.on('data', (message) => show(method, 'data', message));
           stream.on('error', (error) => show(method, 'error', error));
           stream.on('end', () => show(method, 'end'));
           return stream;
         };
         export default () => {
           say(() => stream('FullDuplexCall'));
           connect();
           say(() => new grpc.Stream(client, S + 'Nothing'));
           say(() => new grpc.Stream({}, S + 'FullDuplexCall'));
           say(() => new grpc.Stream(client, S + 'FullDuplexCall', { what: 1 }));
           const bare = new grpc.Stream(client, S + 'FullDuplexCall');
           say(() => bare.on('data')); bare.end();
           const out = stream('StreamingOutputCall');
           out.write({ responseParameters: [{ size: 1 }, { size: 2 }] });
           out.end();
           const sum = stream('StreamingInputCall');
           sum.write({ payload: { body: 'AAAA' } }); sum.write({}); sum.end(); sum.write({});
           stream('EmptyCall').write({});
           const both = stream('FullDuplexCall');
           let count = 0;
           both.on('data', () => { if (++count === 3) both.end(); else both.write({ responseParameters: [{ size: count }] }); });
           both.write({ responseParameters: [{ size: 9 }] });
           stream('FullDuplexCall').write({ responseStatus: { code: 9, message: 'no' } });
         };",
    ),
    (
        "promises",
        "export default async () => {
           connect();
           const all = await Promise.all([1, 2, 3].map((responseSize) =>
             client.asyncInvoke(S + 'UnaryCall', { responseSize })));
           show(all.map((it) => it.message));
           try { await client.asyncInvoke(S + 'Nothing', {}); } catch (error) { show(String(error).replace('Error: ', '')); }
         };",
    ),
];

struct Made {
    finished: Finished,
    /// In order of their texts: calls at the same time end in any order.
    lines: Vec<String>,
    samples: BTreeMap<String, u64>,
}

fn make(is_ours: bool, folder: &Path, server: &Server) -> Made {
    let mut command = k6_run(is_ours);
    command.args(["-q", "-o", "json=samples.json", "script.js"]).current_dir(folder);
    command.env("HOME", folder).env("ADDRESS", server.addresses()[0].to_string());
    let finished = run(&mut command);
    let mut lines: Vec<String> = finished.stderr.lines().filter_map(logged).collect();
    lines.sort();
    let samples = std::fs::read_to_string(folder.join("samples.json")).unwrap_or_default();
    Made { finished, lines, samples: samples_of(&samples) }
}

/// What a script has logged. Texts that tell of a message or an address are each program's own.
fn logged(line: &str) -> Option<String> {
    let text = line.split_once(" msg=")?.1.strip_suffix(" source=console")?;
    let text: String = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
    Some(text)
}

fn samples_of(text: &str) -> BTreeMap<String, u64> {
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let metric = line["metric"].as_str().expect("a name");
        if line["type"] == "Point" && (metric.starts_with("grpc") || metric == "checks") {
            *samples.entry(format!("{metric} {}", line["data"]["tags"])).or_insert(0) += 1;
        }
    }
    samples
}

#[test]
fn calls_of_scripts_do_under_us_what_they_do_under_k6() {
    let Some(_turn) = turn_with(&["k6"]) else { return };
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("testing.proto"), TESTING).expect("a file");
    for (name, script) in SCRIPTS {
        let script = format!("{START}{script}");
        std::fs::write(folder.path().join("script.js"), script).expect("a script");
        let [theirs, ours] = [false, true].map(|is_ours| make(is_ours, folder.path(), &server));
        let codes = [theirs.finished.code, ours.finished.code];
        assert_eq!(codes, [Some(0); 2], "{name}: {:?} {:?}", theirs.finished, ours.finished);
        assert!(!theirs.lines.is_empty() || name.starts_with("tags"), "{name}");
        assert_eq!(theirs.lines, ours.lines, "{name}");
        assert_eq!(theirs.samples, ours.samples, "{name}");
        assert_eq!(labels(&theirs.finished.stdout), labels(&ours.finished.stdout), "{name}");
    }
}
