//! `k6/net/grpc`: what is asked of the host, and what the script is told.

use std::collections::VecDeque;
use std::sync::Arc;

use super::*;
use crate::js::grpc::{
    CallEnd, CallKind, Coding, Method, Methods, Order, ReadSource, SchemaSource, Schemas, Survey,
    Told,
};

/// A schema whose messages are their JSON.
struct Plain;

struct PlainMethod(&'static str, (bool, bool));

impl Method for PlainMethod {
    fn path(&self) -> &str {
        self.0
    }
    fn package(&self) -> &str {
        "p"
    }
    fn service(&self) -> &str {
        "S"
    }
    fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
    fn streams(&self) -> (bool, bool) {
        self.1
    }
    fn encode(&self, json: &str) -> Result<Vec<u8>, String> {
        if json.contains("wrong") { Err("no such field".to_owned()) } else { Ok(json.into()) }
    }
    fn decode(&self, message: &[u8]) -> Result<String, String> {
        match message {
            [] => Ok("{\"is\":\"empty\"}".to_owned()),
            b"\xff" => Err("no message".to_owned()),
            json => Ok(String::from_utf8_lossy(json).into_owned()),
        }
    }
    fn details(&self, value: &[u8]) -> Option<(String, Vec<String>)> {
        (value == b"det").then(|| ("said".to_owned(), vec!["{\"a\":1}".to_owned()]))
    }
}

struct Ask(usize);

impl Survey for Ask {
    fn path(&self) -> &'static str {
        ["/r.One/Ask", "/r.Two/Ask"][self.0]
    }
    fn question(&self) -> Vec<u8> {
        b"what?".to_vec()
    }
    fn answer(&mut self, answer: &[u8]) -> Result<bool, String> {
        if answer == b"all" { Ok(true) } else { Err("it makes no sense".to_owned()) }
    }
    fn methods(self: Box<Self>) -> Result<Methods, String> {
        Ok(methods())
    }
}

fn methods() -> Methods {
    let all = [("/p.S/Say", (false, false)), ("/p.S/Chat", (true, true))];
    all.into_iter()
        .map(|(path, kind)| Arc::new(PlainMethod(path, kind)) as Arc<dyn Method>)
        .collect()
}

impl Schemas for Plain {
    fn compile(&self, files: &[String], read: ReadSource) -> Result<Methods, String> {
        for file in files {
            if read(file)?.is_none() {
                return Err(format!("there is no file '{file}'"));
            }
        }
        Ok(methods())
    }
    fn of_set(&self, bytes: &[u8]) -> Result<Methods, String> {
        if bytes == b"set" { Ok(methods()) } else { Err("it is none".to_owned()) }
    }
    fn survey(&self, version: usize) -> Option<Box<dyn Survey>> {
        (version < 2).then(|| Box::new(Ask(version)) as Box<dyn Survey>)
    }
}

/// What the host says, in turn.
enum Say {
    Connected(u32),
    Unconnected(u32),
    Message(u32, Vec<u8>),
    Ended(u32, u32, &'static str, &'static str),
}

fn program(script: &str) -> Program {
    let script = format!(
        "import grpc, {{ Client, Stream }} from 'k6/net/grpc';
         const client = new Client();
         client.load(['protos'], 'a.proto');
         const say = (what) => {{ try {{ console.log(JSON.stringify(what()) ?? 'nothing'); }}
           catch (error) {{ console.log(error.message); }} }};
         {script}"
    );
    let schemas = SchemaSource::new(Arc::new(Plain));
    let settings = Settings { schemas, ..Settings::default() };
    let files = [(MAIN, script.as_str()), ("/s/protos/a.proto", ""), ("/s/set", "set")];
    load_with(&files, settings).unwrap_or_else(|failure| panic!("{failure}"))
}

/// One iteration; `serve` is told of each call that begins and of each message.
fn traced(script: &str, serve: impl Fn(&str, u32, &[u8], bool) -> Vec<Say>) -> Vec<String> {
    let mut host = Host::new(program(script));
    let mut vu = host.vu(1);
    host.trace.clear();
    let function = host.program.function("default").expect("there is one");
    let mut says: VecDeque<Say> = VecDeque::new();
    let mut step = vu.begin(Task::Iterate(function), START_NS);
    loop {
        step = match step {
            Step::Done(Ending::Complete) => return host.trace,
            Step::Done(ending) => {
                host.trace
                    .push(format!("{ending:?} {}", vu.error().map_or(String::new(), |it| it.text)));
                return host.trace;
            }
            Step::Grpc(order) => {
                says.extend(react(&mut host, &vu, order, &serve));
                vu.resume(Reply::Taken, START_NS)
            }
            Step::Wait(_) => match says.pop_front() {
                Some(say) => tell(&mut vu, &say),
                None => {
                    host.trace.push("waits".to_owned());
                    vu.cancel(START_NS);
                    return host.trace;
                }
            },
            step => {
                host.note(&vu, step);
                vu.resume(Reply::Taken, START_NS)
            }
        };
    }
}

fn react(
    host: &mut Host,
    vu: &Vu,
    order: Order,
    serve: &impl Fn(&str, u32, &[u8], bool) -> Vec<Say>,
) -> Vec<Say> {
    let mut note = |line: String| host.trace.push(line);
    match order {
        Order::Connect(number) => {
            let channel = vu.channel(number).expect("it is there");
            let tls = channel.tls.as_ref().map(|tls| (tls.roots.is_some(), tls.identity.is_some()));
            note(format!(
                "connect {}:{} {} {tls:?}",
                channel.host, channel.port, channel.authority
            ));
            if channel.port == 1 {
                vec![Say::Unconnected(number)]
            } else {
                vec![Say::Connected(number)]
            }
        }
        Order::Close(_) => {
            note("close".to_owned());
            Vec::new()
        }
        Order::Begin(number) => {
            let call = vu.call(number).expect("it is there");
            let tags = call.tags.map(|tags| host.worker.tags(tags).to_string()).unwrap_or_default();
            let metadata: Vec<String> = call
                .metadata
                .iter()
                .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value)))
                .collect();
            host.trace.push(format!(
                "begin {} {:?} {} {} {tags}",
                call.path,
                call.timeout_ns,
                metadata.join(","),
                String::from_utf8_lossy(&call.message)
            ));
            let is_unary = call.kind == CallKind::Unary;
            if is_unary { serve(&call.path, number, &call.message, true) } else { Vec::new() }
        }
        Order::Send(number) => {
            let call = vu.call(number).expect("it is there");
            note(format!("send {}", String::from_utf8_lossy(&call.message)));
            serve(&call.path, number, &call.message, false)
        }
        Order::Finish(number) => {
            note("finish".to_owned());
            vec![Say::Ended(number, 0, "", "")]
        }
    }
}

fn tell(vu: &mut Vu, say: &Say) -> Step {
    let told = match say {
        Say::Connected(number) => Told::Connected(*number),
        Say::Unconnected(number) => Told::Unconnected(*number, "refused"),
        Say::Message(number, message) => Told::Message(*number, message),
        Say::Ended(number, code, text, trailers) => Told::Ended(
            *number,
            CallEnd {
                code: *code,
                text: text.as_bytes(),
                head: b"\r\nContent-Type: application/grpc\r\nx-a: 1\r\nx-a: 2\r\nx-bin: QUI\r\n",
                trailers: trailers.as_bytes(),
            },
        ),
    };
    vu.resume(Reply::Grpc(told), START_NS)
}

fn echo(_: &str, number: u32, message: &[u8], _: bool) -> Vec<Say> {
    vec![Say::Message(number, message.to_vec()), Say::Ended(number, 0, "", "")]
}

#[test]
fn a_call_is_asked_for_and_its_response_returned() {
    let trace = traced(
        "export default () => {
           say(() => client.connect('h.test:5', { plaintext: true }));
           say(() => client.invoke('p.S/Say', { a: 1 }, { timeout: '2s', tags: { t: 1 },
             metadata: { 'X-A': 'v', 'b-bin': new Uint8Array([65]) } }));
           say(() => client.invoke('p.S/Say', { a: 2 }, { discardResponseMessage: true }).message);
           say(() => client.close());
         };",
        echo,
    );
    let response = "{\"message\":{\"a\":1},\"error\":null,\"headers\":{\"content-type\":\
                    [\"application/grpc\"],\"x-a\":[\"1\",\"2\"],\"x-bin\":[\"AB\"]},\"trailers\":{},\
                    \"status\":0}";
    assert_eq!(
        trace,
        [
            "connect h.test:5 h.test:5 None",
            "Info true",
            "begin /p.S/Say Some(2000000000) x-a=v,b-bin=A {\"a\":1} {t:1}",
            &format!("Info {response}"),
            "begin /p.S/Say Some(120000000000)  {\"a\":2} ",
            "Info null",
            "close",
            "Info nothing",
        ]
    );
}

#[test]
fn errors_are_in_the_response_or_thrown() {
    let fail = |_: &str, number: u32, message: &[u8], _: bool| {
        let details = "\r\ngrpc-status: 5\r\ngrpc-status-details-bin: ZGV0\r\n";
        let trailers = if message == b"{\"d\":1}" { details } else { "" };
        vec![Say::Ended(number, 5, "n\u{e4}", trailers)]
    };
    let trace = traced(
        "export default () => {
           say(() => client.invoke('p.S/Say', {}));
           say(() => client.connect('h.test:1', {}));
           say(() => client.connect('h.test:2', { plaintext: true }));
           say(() => client.invoke('p.S/Say', {}));
           say(() => client.invoke('p.S/Say', { d: 1 }).error);
           say(() => client.invoke('p.S/Say', { wrong: 1 }));
           say(() => client.invoke('p.S/Other', {}));
           say(() => client.healthCheck('x'));
         };",
        fail,
    );
    let infos: Vec<&str> = trace.iter().filter_map(|line| line.strip_prefix("Info ")).collect();
    assert_eq!(
        infos,
        [
            "no gRPC connection, you must call connect first",
            "refused",
            "true",
            "{\"message\":{\"is\":\"empty\"},\"error\":{\"code\":5,\"message\":\"n\u{e4}\",\"details\":\
             []},\"headers\":{\"content-type\":[\"application/grpc\"],\"x-a\":[\"1\",\"2\"],\"x-bin\":\
             [\"AB\"]},\"trailers\":{},\"status\":5}",
            "{\"code\":5,\"message\":\"said\",\"details\":[{\"a\":1}]}",
            "unable to serialise request object to protocol buffer: no such field",
            "method \"/p.S/Other\" not found in file descriptors",
            "rpc error: code = NotFound desc = n\u{e4}",
        ]
    );
}

#[test]
fn a_stream_has_handlers_and_holds_the_iteration_open() {
    let chat = |_: &str, number: u32, message: &[u8], _: bool| {
        vec![Say::Message(number, message.to_vec())]
    };
    let trace = traced(
        "export default () => {
           client.connect('h.test:2', { plaintext: true });
           const stream = new Stream(client, 'p.S/Chat');
           stream.on('data', (it) => { console.log(JSON.stringify(it)); if (it.n === 2) stream.end(); });
           stream.on('error', (it) => console.log('error', it.code));
           stream.on('end', () => console.log('end'));
           stream.on('other', () => {});
           stream.write({ n: 1 }); stream.write({ n: 2 }); stream.write({ wrong: 1 }); stream.write();
         };",
        chat,
    );
    assert_eq!(
        trace,
        [
            "connect h.test:2 h.test:2 None",
            "begin /p.S/Chat None   ",
            "Warn can't register other event handler: unknown GRPC stream's event type: other",
            "send {\"n\":1}",
            "send {\"n\":2}",
            "Warn can't send empty message: /p.S/Chat",
            "Info error 2",
            "Info {\"n\":1}",
            "Info {\"n\":2}",
            "finish",
            "Info end",
        ]
    );
    let open = traced(
        "export default () => { client.connect('h.test:2', { plaintext: true });
           new Stream(client, 'p.S/Chat'); };",
        chat,
    );
    assert_eq!(open.last().map(String::as_str), Some("waits"));
    let throws = traced(
        "export default () => { client.connect('h.test:2', { plaintext: true });
           const stream = new Stream(client, 'p.S/Chat');
           stream.on('data', () => { throw new Error('mine'); });
           stream.on('error', (it) => { console.log(JSON.stringify(it)); throw new Error('other'); });
           stream.on('end', () => console.log('end')); stream.write({}); };",
        chat,
    );
    let told = "Info {\"code\":2,\"message\":\"Error: mine\",\"details\":[]}".to_owned();
    assert!(throws.contains(&told) && !throws.contains(&"Info end".to_owned()), "{throws:?}");
    assert!(throws.last().is_some_and(|line| line.starts_with("Failed") && line.contains("mine")));
}

#[test]
fn reflection_asks_one_version_after_the_other() {
    let serve = |path: &str, number: u32, _: &[u8], _: bool| match path {
        "/r.One/Ask" => vec![Say::Ended(number, 12, "no such method", "")],
        _ => vec![Say::Message(number, b"all".to_vec())],
    };
    let script = "const other = new Client();
         export default () => {
           say(() => other.connect('h.test:2', { plaintext: true, reflect: true, reflectMetadata: { a: 'b' } }));
           say(() => other.invoke('p.S/Nothing', {}));
         };";
    let trace = traced(script, serve);
    assert_eq!(
        trace,
        [
            "connect h.test:2 h.test:2 None",
            "begin /r.One/Ask Some(120000000000) a=b  ",
            "send what?",
            "begin /r.Two/Ask Some(120000000000) a=b  ",
            "send what?",
            "finish",
            "Info true",
            "Info method \"/p.S/Nothing\" not found in file descriptors",
        ]
    );
    let none = traced(script, |_, number, _, _| vec![Say::Ended(number, 14, "gone", "")]);
    let said = "Info can't list services: rpc error: code = Unavailable desc = gone";
    assert!(none.contains(&said.to_owned()), "{none:?}");
}

#[test]
fn messages_are_read_by_what_they_are() {
    let mut call = crate::js::grpc::Call {
        method: Some(Arc::new(PlainMethod("/p.S/Say", (false, false)))),
        ..Default::default()
    };
    assert_eq!(call.read(b"{}".to_vec(), Coding::Identity), Ok(b"{}".to_vec()));
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut zip, b"{\"a\":1}").expect("memory");
    let zip = zip.finish().expect("memory");
    assert_eq!(call.read(zip.clone(), Coding::Gzip(7)), Ok(b"{\"a\":1}".to_vec()));
    for (message, coding, part) in [
        (zip, Coding::Gzip(6), "larger than max 6"),
        (b"ab".to_vec(), Coding::Gzip(6), "failed to decompress"),
        (b"ab".to_vec(), Coding::Other, "coding that was not asked for"),
        (
            b"\xff".to_vec(),
            Coding::Identity,
            "failed to unmarshal the received message: no message",
        ),
    ] {
        let error = call.read(message, coding).expect_err(part);
        assert!(error.contains(part), "{error}");
    }
    call.discards = true;
    assert_eq!(call.read(b"\xff".to_vec(), Coding::Other), Ok(Vec::new()));
}
