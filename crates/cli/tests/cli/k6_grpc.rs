//! `k6/net/grpc` in scripts, against the built-in server: what calls return, how they fail, and
//! what is counted of them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::closed::ClosedPort;
use crate::support::{Server, plimsoll, run};

const TESTING: &str = include_str!("../../../grpc/proto/testing.proto");
const HEALTH: &str = include_str!("../../../grpc/proto/health.proto");

/// What a script has logged, and how many samples each metric has by method and status.
struct Made {
    lines: Vec<String>,
    samples: BTreeMap<String, u64>,
}

fn made(server: &Server, script: &str) -> Made {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    let script = format!(
        "import grpc from 'k6/net/grpc'; import {{ check }} from 'k6';
         const A = __ENV.ADDRESS, S = 'grpc.testing.TestService/';
         const say = (what) => {{
           try {{ const got = what(); console.log(JSON.stringify(got === undefined ? null : got)); }}
           catch (error) {{ console.log(error.message); }} }};
         {script}"
    );
    write("script.js", &script);
    std::fs::create_dir(folder.path().join("protos")).expect("a folder");
    write("protos/testing.proto", TESTING);
    write("protos/health.proto", HEALTH);
    let address = server.addresses()[0].to_string();
    let mut command = plimsoll(&["k6", "run", "-q", "--no-summary", "-o", "json=samples.json"]);
    command.arg("script.js").current_dir(folder.path()).env("HOME", folder.path());
    let finished = run(command.env("ADDRESS", address));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let lines = finished.stderr.lines().filter_map(|line| {
        let (_, rest) = line.split_once(" msg=")?;
        let text = rest.strip_suffix(" source=console")?;
        Some(serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()))
    });
    let samples = std::fs::read_to_string(folder.path().join("samples.json")).expect("samples");
    Made { lines: lines.collect(), samples: samples_of(&samples) }
}

fn samples_of(text: &str) -> BTreeMap<String, u64> {
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let metric = line["metric"].as_str().expect("a name");
        if line["type"] == "Point" && metric.starts_with("grpc_") {
            let tag = |name: &str| line["data"]["tags"][name].as_str().unwrap_or("-").to_owned();
            let key = format!("{metric} {} {}", tag("method"), tag("status"));
            *samples.entry(key).or_insert(0) += 1;
        }
    }
    samples
}

#[test]
fn calls_return_what_the_server_says() {
    let made = made(
        &Server::start(&[]),
        "const client = new grpc.Client();
         say(() => client.load(['protos'], 'testing.proto').map((it) => it.name).join());
         say(() => client.load(['protos'], 'nothing.proto'));
         say(() => client.connect(A, { plaintext: true }));
         export default () => {
           say(() => client.invoke(S + 'EmptyCall', {}));
           say(() => client.load(['protos'], 'testing.proto'));
           say(() => client.connect(A, { plaintext: true, timeout: '5s' }));
           say(() => client.invoke(S + 'EmptyCall', {}));
           say(() => client.invoke('/' + S + 'UnaryCall', { responseSize: 3 }).message);
           say(() => client.invoke(S + 'UnaryCall', { responseStatus: { code: 5, message: 'n\\u00e4' } }));
           say(() => client.invoke(S + 'UnimplementedCall', {}).status === grpc.StatusUnimplemented);
           say(() => client.invoke(S + 'UnaryCall', { responseSize: 3 }, { discardResponseMessage: true }).message);
           say(() => client.invoke(S + 'UnaryCall', {}, { tags: { name: 'mine' }, metadata: {
             'x-grpc-test-echo-initial': 'hi', 'x-grpc-test-echo-trailing-bin': new Uint8Array([65, 66]) } }));
           say(() => client.invoke(S + 'Nothing', {}));
           say(() => client.invoke(S + 'UnaryCall', { no: 1 }));
           say(() => client.invoke(S + 'UnaryCall'));
           say(() => client.invoke(S + 'UnaryCall', {}, { headers: {} }));
           say(() => client.invoke(S + 'UnaryCall', {}, { metadata: { a: 1 } }));
           say(() => client.invoke(S + 'UnaryCall', {}, { metadata: { 'a-bin': 'text' } }));
           say(() => client.healthCheck());
           say(() => client.healthCheck('nobody'));
           say(() => client.close());
           say(() => client.invoke(S + 'EmptyCall', {}));
         };",
    );
    let at = made
        .lines
        .iter()
        .rposition(|line| line.starts_with("EmptyCall") || line.starts_with("\"EmptyCall"));
    let lines: Vec<&str> = made.lines[at.expect("methods")..].iter().map(String::as_str).collect();
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let names = "\"EmptyCall,UnaryCall,StreamingOutputCall,StreamingInputCall,FullDuplexCall,\
                 UnimplementedCall\"";
    assert_eq!(lines[0], names);
    assert!(lines[1].contains("no file 'nothing.proto'"), "{}", lines[1]);
    assert!(lines[2].contains("init context is not supported"), "{}", lines[2]);
    assert_eq!(lines[3], "no gRPC connection, you must call connect first");
    assert_eq!(lines[4], "load must be called in the init context");
    assert_eq!(lines[5], "true");
    let empty = json(lines[6]);
    assert_eq!((&empty["status"], &empty["error"]), (&Value::from(0), &Value::Null));
    assert_eq!(empty["message"], serde_json::json!({}));
    assert_eq!(json(lines[7])["payload"]["body"], "AAAA");
    let failed = json(lines[8]);
    assert_eq!(
        failed["error"],
        serde_json::json!({ "code": 5, "message": "n\u{e4}", "details": [] })
    );
    assert_eq!(failed["message"], serde_json::json!({ "payload": null }));
    assert_eq!(&lines[9..11], ["true", "null"]);
    let echoed = json(lines[11]);
    assert_eq!(echoed["headers"]["x-grpc-test-echo-initial"], serde_json::json!(["hi"]));
    assert_eq!(echoed["trailers"]["x-grpc-test-echo-trailing-bin"], serde_json::json!(["AB"]));
    assert_eq!(
        lines[12],
        "method \"/grpc.testing.TestService/Nothing\" not found in file descriptors"
    );
    for (at, start) in [
        (13, "unable to serialise request object to protocol buffer: "),
        (14, "request cannot be nil"),
        (15, "invalid GRPC's client.invoke() parameters: unknown param: \"headers\""),
        (16, "invalid GRPC's client.invoke() parameters: invalid metadata param: \"a\" value must"),
        (
            17,
            "invalid GRPC's client.invoke() parameters: invalid metadata param: \"a-bin\" value must",
        ),
        (18, "{\"status\":1}"),
        (19, "rpc error: code = NotFound desc = there is no such service"),
        (20, "null"),
        (21, "no gRPC connection, you must call connect first"),
    ] {
        assert!(lines[at].starts_with(start), "{at}: {} {lines:#?}", lines[at]);
    }
    let want = [
        ("grpc_req_duration - 0", 1),
        ("grpc_req_duration - 5", 1),
        ("grpc_req_duration EmptyCall 0", 1),
        ("grpc_req_duration UnaryCall 0", 3),
        ("grpc_req_duration UnaryCall 5", 1),
        ("grpc_req_duration UnimplementedCall 12", 1),
    ];
    assert_eq!(made.samples, want.map(|(key, count)| (key.to_owned(), count)).into());
}

#[test]
fn streams_of_every_kind_are_told_and_counted() {
    let made = made(
        &Server::start(&[]),
        "const client = new grpc.Client();
         export default () => {
           client.connect(A, { plaintext: true, reflect: true });
           const stream = (method, params) => {
             const stream = new grpc.Stream(client, S + method, params);
             stream.on('data', (message, { ts }) => console.log(method, 'data', typeof ts,
               JSON.stringify(message.payload ? message.payload.body : message)));
             stream.on('error', (error) => console.log(method, 'error', JSON.stringify(error)));
             stream.on('end', () => console.log(method, 'end'));
             return stream;
           };
           const out = stream('StreamingOutputCall');
           out.write({ responseParameters: [{ size: 1 }, { size: 2 }] });
           const sum = stream('StreamingInputCall');
           for (const body of ['AAAA', 'AA==']) sum.write({ payload: { body } });
           sum.end();
           const both = stream('FullDuplexCall');
           let count = 0;
           both.on('data', () => { if (++count === 2) both.end(); else both.write({ responseParameters: [{ size: 3 }] }); });
           both.write({ responseParameters: [{ size: 3 }] });
           const failing = stream('FullDuplexCall');
           failing.write({ responseStatus: { code: 9, message: 'no' } });
           const late = stream('StreamingOutputCall', { timeout: 200 });
           late.write({ responseParameters: [{ size: 0, intervalUs: 50000000 }] });
           const wrong = new grpc.Stream(client, S + 'FullDuplexCall');
           wrong.on('error', (error) => console.log('wrong', error.code));
           wrong.write({ no: 1 });
           wrong.end();
           wrong.write({});
         };",
    );
    let of = |name: &str| -> Vec<&str> {
        let prefix = format!("{name} ");
        made.lines.iter().filter_map(|line| line.strip_prefix(prefix.as_str())).collect()
    };
    assert_eq!(of("wrong"), ["2"]);
    assert_eq!(of("StreamingInputCall"), ["data number {\"aggregatedPayloadSize\":4}", "end"]);
    let both = of("FullDuplexCall");
    let data = both.iter().filter(|line| line.starts_with("data")).count();
    let ends = both.iter().filter(|line| **line == "end").count();
    let error = "error {\"code\":9,\"message\":\"no\",\"details\":[]}";
    assert!(both.contains(&error) && data == 2 && ends == 2, "{both:?}");
    let out = of("StreamingOutputCall");
    assert!(out.contains(&"data number \"AA==\"") && out.contains(&"data number \"AAA=\""));
    // The server looks at the same clock, and may be the first to say so, without a message.
    let is_late = |line: &&&str| line.starts_with("error {\"code\":4,\"message\":\"");
    assert_eq!(out.iter().filter(is_late).count(), 1, "{out:?}");
    let want = [
        ("grpc_req_duration FullDuplexCall 0", 2),
        ("grpc_req_duration FullDuplexCall 9", 1),
        ("grpc_req_duration StreamingInputCall 0", 1),
        ("grpc_req_duration StreamingOutputCall 0", 1),
        ("grpc_req_duration StreamingOutputCall 4", 1),
        ("grpc_streams FullDuplexCall -", 3),
        ("grpc_streams StreamingInputCall -", 1),
        ("grpc_streams StreamingOutputCall -", 2),
        ("grpc_streams_msgs_received FullDuplexCall -", 2),
        ("grpc_streams_msgs_received StreamingInputCall 0", 1),
        ("grpc_streams_msgs_received StreamingOutputCall -", 2),
        ("grpc_streams_msgs_sent FullDuplexCall -", 3),
        ("grpc_streams_msgs_sent StreamingInputCall -", 2),
        ("grpc_streams_msgs_sent StreamingOutputCall -", 2),
    ];
    assert_eq!(made.samples, want.map(|(key, count)| (key.to_owned(), count)).into());
}

#[test]
fn connects_that_fail_say_why() {
    let (server, closed) = (Server::start(&["--tls"]), ClosedPort::new());
    let address = format!("127.0.0.1:{}", closed.port());
    let script = "const client = new grpc.Client();
         export default () => {
           for (const [address, params] of [
             ['CLOSED', { plaintext: true }], ['CLOSED', { plaintext: 'yes' }], ['no-port', {}],
             ['a:b:1', {}], [A, { plaintext: true, timeout: '5s' }], [A, { timeout: '5s' }],
             [A, { tls: { cacerts: 'none' } }], [A, { maxReceiveSize: -1 }], [A, { what: 1 }],
           ]) say(() => client.connect(address, params));
         };"
    .replace("CLOSED", &address);
    let made = made(&server, &script);
    let dialling = "connection error: desc = \"transport: error while dialing: ";
    for (line, start) in made.lines.iter().zip([
        format!("{dialling}dial tcp {address}: connect: connection refused\""),
        "invalid grpc.connect() parameters: invalid plaintext value".to_owned(),
        format!("{dialling}address no-port: missing port in address\""),
        format!("{dialling}address a:b:1: too many colons in address\""),
        "connection error: desc = \"error reading server preface: ".to_owned(),
        "connection error: desc = \"transport: authentication handshake failed: ".to_owned(),
        "invalid grpc.connect() parameters: ".to_owned(),
        "invalid grpc.connect() parameters: invalid maxReceiveSize value: '-1".to_owned(),
        "invalid grpc.connect() parameters: unknown connect param: \"what\"".to_owned(),
    ]) {
        assert!(line.starts_with(&start), "{line}\nand not {start}");
    }
    assert_eq!(made.lines.len(), 9, "{:?}", made.lines);
    assert_eq!(made.samples, BTreeMap::new());
}

#[test]
fn calls_go_over_tls_and_side_by_side() {
    let made = made(
        &Server::start(&["--tls"]),
        "export const options = { insecureSkipTLSVerify: true, iterations: 2, vus: 1 };
         const client = new grpc.Client();
         client.load(['./protos'], 'testing.proto', 'health.proto');
         export default async () => {
           if (__ITER === 0) client.connect(A);
           const calls = [1, 2, 3].map((responseSize) => client.asyncInvoke(S + 'UnaryCall', { responseSize }));
           const sizes = (await Promise.all(calls)).map((it) => it.message.payload.body.length);
           console.log(sizes.join());
           try { await client.asyncInvoke(S + 'Nothing', {}); } catch (error) { console.log(error.message); }
         };",
    );
    let missing = "method \"/grpc.testing.TestService/Nothing\" not found in file descriptors";
    assert_eq!(made.lines, ["4,4,4", missing, "4,4,4", missing]);
    assert_eq!(made.samples, [("grpc_req_duration UnaryCall 0".to_owned(), 6)].into());
}

/// The call that goes on when the iteration is cut off ends with it.
#[test]
fn a_cut_off_iteration_ends_its_calls() {
    let made = made(
        &Server::start(&[]),
        "export const options = { scenarios: { one: { executor: 'constant-vus', vus: 1,
           duration: '1s', gracefulStop: '0s' } } };
         const client = new grpc.Client();
         client.load(['protos'], 'testing.proto');
         export default () => {
           client.connect(A, { plaintext: true });
           const stream = new grpc.Stream(client, S + 'FullDuplexCall');
           stream.on('end', () => console.log('end'));
           client.invoke(S + 'EmptyCall', {});
         };",
    );
    assert_eq!(made.lines, [""; 0]);
    assert_eq!(made.samples.get("grpc_req_duration EmptyCall 0"), Some(&1));
    assert_eq!(made.samples.get("grpc_streams FullDuplexCall -"), Some(&1));
}
