//! Scripts with WebSockets under us, and under k6 if it is here, against our own server: the same
//! events in the same order, the same samples, the same sections of the summary.

use std::path::Path;

use super::k6::{k6_run, labels, samples_of};
use crate::programs::{is_on_path, turn_with};
use crate::support::{Server, plimsoll, run};

/// Scripts, and what they log. `URL` is the server's, `LOG` logs all events of a socket of `k6/ws`.
const SCRIPTS: [(&str, &str, &str); 6] = [
    (
        "a blocking socket",
        "export default function () {
           const r = ws.connect(`${url}/ws`, { tags: { mine: 'yes' } }, (s) => {
             LOG
             s.on('open', () => { s.send('a'); s.ping(); });
             s.on('pong', () => s.sendBinary(new Uint8Array([1, 2]).buffer));
             s.on('binaryMessage', () => s.setTimeout(() => s.close(), 5));
           });
           log(r.status, r.url === `${url}/ws`, r.body === '', r.error === '',
             r.headers['Upgrade'], r.headers.Connection);
         }",
        "open|message a|pong|binary 2|close 1001|101 true true true websocket Upgrade",
    ),
    (
        "ends of a blocking socket",
        "export default function () {
           for (const code of [1000, 1001, 1011, 4000]) {
             ws.connect(`${url}/ws?close-after=1&close-code=${code}`, null, (s) => {
               LOG
               s.on('open', () => s.send('x'));
             });
           }
           ws.connect(`${url}/ws`, null, (s) => {
             LOG
             s.on('open', () => { s.close(4001); s.close(); });
           });
           try {
             ws.connect(`${url}/ws`, null, (s) => { LOG s.on('open', () => { throw new Error('oh'); }); });
           } catch (e) { log('caught', e.message); }
           for (const to of [`${url}/nothing`, 'ws://127.0.0.1:1/', 'http://a/', 'a', 'ws://u:p@a/']) {
             const r = ws.connect(to, null, () => log('never'));
             log(r.status, r.url === '', r.error);
           }
         }",
        "open|message x|close 1000|open|message x|close 1001|\
         open|message x|error websocket: close 1011 (internal server error)|close 1011|\
         open|message x|error websocket: close 4000|close 4000|\
         open|close 4001|open|close 1001|caught oh|\
         404 true |0 true dial tcp 127.0.0.1:1: connect: connection refused|\
         0 true malformed ws or wss URL|0 true malformed ws or wss URL|0 true malformed ws or wss URL",
    ),
    (
        "a socket of the event loop",
        "export default function () {
           const w = open(`${url}/ws`);
           log(w.readyState, w.url === `${url}/ws`, w.binaryType, w.protocol === '');
           w.binaryType = 'arraybuffer';
           w.onopen = () => { w.send('a'); w.ping(); };
           w.onpong = () => { w.send(new Uint8Array([1, 2])); };
           w.addEventListener('message', (e) => {
             if (e.data.byteLength === 2) { w.close(4002, 'enough'); log(w.readyState); } });
         }",
        "0 true blob true|open 1|message 1 a|pong 1|message 1 binary 2|2|\
         error 3 websocket: close 4002|close 3 4002 ",
    ),
    (
        "ends of sockets of the event loop",
        "const tries = [
           () => open(`${url}/ws`).close(),
           () => { const w = open(`${url}/ws`); w.onopen = () => w.close(); },
           () => { const w = open(`${url}/ws?close-after=1&close-code=1001`); w.onopen = () => w.send('x'); },
           () => { const w = open(`${url}/ws?close-after=1&close-code=3000`); w.onopen = () => w.send('x'); },
           () => open(`${url}/nothing`),
           () => open('ws://127.0.0.1:1/'),
           () => { try { open(`${url}/ws#x`); } catch (e) { log(e.message); } },
           () => { const w = open(`${url}/ws`); try { w.send('early'); } catch (e) { log(e.message); }
                   w.onopen = () => w.close(); },
         ];
         export const options = { iterations: 8 };
         export default function () { tries[__ITER](); }",
        "close 3 1000 |open 2|close 3 1000 |open 1|message 1 x|close 3 1001 |\
         open 1|message 1 x|error 3 websocket: close 3000|close 3 3000 |\
         error 3 websocket: bad handshake|close 3 undefined |\
         error 3 dial tcp 127.0.0.1:1: connect: connection refused|close 3 undefined |\
         WebSocket requires no url fragment, but got \"x\"|InvalidStateError|open 2|close 3 1000 ",
    ),
    (
        "tags and groups",
        "export const options = { tags: { run: '1' }, thresholds: {
           'ws_connecting{group:::outer}': ['max<60000'], ws_msgs_sent: ['count==3'] } };
         export default function () {
           group('outer', () => {
             ws.connect(`${url}/ws`, { headers: { 'Sec-WebSocket-Protocol': 'b, a' }, tags: { t: 1 } },
               (s) => { s.on('open', () => s.send('x')); s.on('message', () => s.close()); });
             const w = open(`${url}/ws`, ['a', 'b'], { tags: { name: 'named' } });
             w.onopen = () => { log(w.protocol); w.send('y'); };
             w.onmessage = () => w.close();
           });
         }",
        "a|open 1|message 2 y|close 3 1000 ",
    ),
    (
        "compression",
        "export default function () {
           ws.connect(`${url}/ws`, { compression: 'deflate' }, (s) => {
             s.on('open', () => s.send('x'.repeat(5000)));
             s.on('message', (m) => { log(m.length, m === 'x'.repeat(5000)); s.close(); });
           });
           const w = new WebSocket(`${url}/ws`, null, { compression: 'deflate' });
           w.onopen = () => { log(w.extensions.length); w.send('y'.repeat(50)); };
           w.onmessage = (e) => { log(e.data.length); w.close(); };
           try { new WebSocket(`${url}/ws`, null, { compression: 'x' }); } catch (e) { log(e.message); }
         }",
        "5000 true|unsupported compression algorithm 'x', supported algorithm is 'deflate'|1|50",
    ),
];

const HEAD: &str = "import ws from 'k6/ws';
    import { WebSocket } from 'k6/websockets';
    import { group } from 'k6';
    const url = __ENV.URL;
    const log = (...args) => console.log('|' + args.map(String).join(' ') + '|');
    const open = (...args) => {
      const w = new WebSocket(...args);
      const data = (d) => d instanceof ArrayBuffer ? `binary ${d.byteLength}` : d;
      w.addEventListener('open', () => log('open', w.readyState));
      w.addEventListener('message', (e) => log('message', w.readyState, data(e.data)));
      w.addEventListener('pong', () => log('pong', w.readyState));
      w.addEventListener('error', (e) => log('error', w.readyState, e.error));
      w.addEventListener('close', (e) => log('close', w.readyState, e.code, e.reason));
      return w;
    };\n";

const LOG: &str = "for (const e of ['open', 'message', 'pong', 'close']) \
    s.on(e, (...a) => log(e, ...a));
    s.on('binaryMessage', (b) => log('binary', b.byteLength));
    s.on('error', (e) => log('error', e.error()));";

/// What a run of a script has logged, between bars; its samples; the labels of its summary.
fn made(is_ours: bool, folder: &Path, url: &str) -> (String, Vec<(String, u64)>, Vec<String>) {
    let mut command = k6_run(is_ours);
    command.args(["-q", "-o", "json=samples.json", "script.js"]);
    let finished = run(command.current_dir(folder).env("HOME", folder).env("URL", url));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let lines = finished.stderr.lines().filter(|line| line.contains("source=console"));
    let logged = lines.filter_map(|line| {
        let (_, rest) = line.split_once('|')?;
        Some(rest.rsplit_once('|')?.0.replace("\\\"", "\""))
    });
    let logged: Vec<String> = logged.collect();
    let samples = std::fs::read_to_string(folder.join("samples.json")).expect("samples");
    // Its times are judged by a threshold of their own.
    let samples = samples_of(&samples).into_iter().collect();
    (logged.join("|"), samples, labels(&finished.stdout))
}

#[test]
fn sockets_do_under_us_what_they_do_under_k6() {
    let Some(_turn) = turn_with(&[]) else { return };
    let server = Server::start(&[]);
    let url = server.url("").replace("http://", "ws://");
    let url = url.trim_end_matches('/');
    let folder = tempfile::tempdir().expect("a folder");
    for (name, script, want) in SCRIPTS {
        let text = HEAD.to_owned() + &script.replace("LOG", LOG);
        std::fs::write(folder.path().join("script.js"), text).expect("a script");
        let ours = made(true, folder.path(), url);
        assert_eq!(ours.0, want, "{name}");
        if is_on_path("k6") {
            let theirs = made(false, folder.path(), url);
            assert_eq!(theirs.0, want, "{name}, under k6");
            assert_eq!(ours.1, theirs.1, "{name}");
            assert_eq!(ours.2, theirs.2, "{name}");
        }
    }
}

#[test]
fn the_example_of_sockets_runs() {
    let Some(_turn) = turn_with(&[]) else { return };
    let server = Server::start(&[]);
    let url = server.url("/ws").replace("http://", "ws://");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/k6/sockets.js");
    let mut command = plimsoll(&["k6", "run", "-q", "--vus", "2", "--iterations", "10"]);
    let finished = run(command.args(["-e", &format!("URL={url}")]).arg(example));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for label in ["WEBSOCKET", "ws_sessions", "ws_msgs_sent", "echo_duration"] {
        assert!(finished.stdout.contains(label), "{label}: {finished:?}");
    }
}
