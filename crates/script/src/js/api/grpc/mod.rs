//! The module `k6/net/grpc`, as far as it is not JavaScript (`lib/grpc.js`): schemas, channels and
//! calls.
//!
//! A call that the script waits for suspends it until the end is here. Of others the event loop
//! tells a function that was kept for them.

mod response;
mod slots;

pub(in crate::js) use slots::{Arrived, Slots};

use std::ffi::CStr;
use std::sync::Arc;

use super::classes::{self, Classes, Held};
use super::http::timeout_ns;
use super::{need_running, tags};
use crate::js::events::Kept;
use crate::js::ffi;
use crate::js::grpc::{Call as Asked, CallKind, Channel, ChannelTls, Method, Methods, Order};
use crate::js::inner::Stage;
use crate::js::native::{Call, functions};
use crate::js::resolve::resolve_file;
use crate::js::step::Step;
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};
use slots::End;

/// The names of the codes of gRPC, as Go has them.
const CODES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

/// A status of gRPC.
const UNIMPLEMENTED: u32 = 12;

const HEALTH_PATH: &str = "/grpc.health.v1.Health/Check";

/// How long a call of the program itself may take, ns.
const OWN_TIMEOUT_NS: u64 = 120_000_000_000;

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"load" 2 => load;
    c"loadSet" 1 => load_set;
    c"duration" 1 => duration;
    c"connect" 1 => connect;
    c"survey" 2 => survey;
    c"close" 1 => close;
    c"invoke" 5 => invoke;
    c"open" 5 => open;
    c"send" 2 => send;
    c"finish" 1 => finish;
    c"health" 2 => health;
    c"isInit" 0 => is_init;
};

/// A method of a schema, which objects of the script stand for.
pub(in crate::js) struct MethodObject(Arc<dyn Method>);

impl Held for MethodObject {
    const NAME: &'static CStr = c"GrpcMethod";

    fn class(classes: &Classes) -> u32 {
        classes.method
    }
}

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    module.define_functions(FUNCTIONS)
}

fn plain(context: Context<'_>, message: impl AsRef<str>) -> Thrown {
    context.throw(ErrorKind::Plain, message)
}

fn is_init<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    Ok(call.context.boolean(call.context.inner().stage.get() == Stage::Init))
}

/// The texts of an array; none if it is nothing.
fn texts(value: &Value<'_>) -> Result<Vec<String>, Thrown> {
    let mut texts = Vec::new();
    if value.is_nothing() {
        return Ok(texts);
    }
    for at in 0..value.length()? {
        texts.push(value.at(at)?.to_text()?.str().into_owned());
    }
    Ok(texts)
}

/// The main file: schemas are relative to it, whichever file asks for them. While the script loads.
fn base(context: Context<'_>) -> Result<String, Thrown> {
    let inner = context.inner();
    if inner.stage.get() != Stage::Init {
        return Err(plain(context, "load must be called in the init context"));
    }
    Ok(inner.shared.main.clone())
}

/// `load(paths, files)`: the methods in files, which are looked for in folders.
fn load<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let base = base(context)?;
    let (mut folders, files) = (texts(&call.argument(0))?, texts(&call.argument(1))?);
    if folders.is_empty() {
        folders.push(".".to_owned());
    }
    let key = format!("load\n{base}\n{}\n\n{}", folders.join("\n"), files.join("\n"));
    let shared = &context.inner().shared;
    let methods = shared.store.schema(&key, || {
        let (read, schemas) = (Arc::clone(shared), &shared.settings.schemas.0);
        let schemas = schemas.as_ref().ok_or("there is nothing here that compiles schemas")?;
        let source = move |name: &str| {
            let text = |folder: &String| {
                let path = resolve_file(&format!("{folder}/{name}"), &base).ok()?;
                read.store.file(&path).ok()
            };
            let Some(text) = folders.iter().find_map(text) else { return Ok(None) };
            let text = String::from_utf8(text.to_vec());
            text.map(Some).map_err(|_| "it is not UTF-8 text".to_owned())
        };
        schemas.compile(&files, Box::new(source))
    });
    listed(context, &methods.map_err(|why| plain(context, why))?)
}

/// `loadSet(file)`: the methods in a file that has compiled schemas.
fn load_set<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let base = base(context)?;
    let file = call.argument(0).to_text()?.str().into_owned();
    let shared = &context.inner().shared;
    let methods = shared.store.schema(&format!("set\n{base}\n{file}"), || {
        let path = resolve_file(&file, &base)?;
        let bytes = shared.store.file(&path);
        let bytes = bytes.map_err(|why| format!("couldn't open protoset: {why}"))?;
        let schemas = shared.settings.schemas.0.as_ref();
        let schemas = schemas.ok_or("there is nothing here that reads schemas")?;
        let methods = schemas.of_set(&bytes);
        methods.map_err(|why| format!("couldn't unmarshal protoset file {file}: {why}"))
    });
    listed(context, &methods.map_err(|why| plain(context, why))?)
}

/// An array with what scripts are told of each method, and the method.
fn listed<'js>(context: Context<'js>, methods: &Methods) -> Outcome<'js> {
    let list = context.array()?;
    for (at, method) in (0..).zip(methods.iter()) {
        let facts = context.object()?;
        let (is_client_stream, is_server_stream) = method.streams();
        facts.define("package", context.string(method.package())?)?;
        facts.define("service", context.string(method.service())?)?;
        facts.define("full_method", context.string(method.path())?)?;
        facts.define("name", context.string(method.name())?)?;
        facts.define("is_client_stream", context.boolean(is_client_stream))?;
        facts.define("is_server_stream", context.boolean(is_server_stream))?;
        let entry = context.array()?;
        entry.define_at(0, facts)?;
        let held = MethodObject(Arc::clone(method));
        entry.define_at(1, classes::hold(context, None, held)?)?;
        list.define_at(at, entry)?;
    }
    Ok(list)
}

/// `duration(value)`: how long a timeout is, ns.
fn duration<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    Ok(call.context.number(timeout_ns(call.context, &call.argument(0))? as f64))
}

/// The bytes of a text; `None` if it is not there.
fn optional_bytes(object: &Value<'_>, name: &str) -> Result<Option<Vec<u8>>, Thrown> {
    let value = object.get(name)?;
    if value.is_nothing() { Ok(None) } else { Ok(Some(value.to_text()?.bytes().to_vec())) }
}

fn channel_of(asked: &Value<'_>) -> Result<Channel, Thrown> {
    let text = |name| Ok(asked.get(name)?.to_text()?.str().into_owned());
    let tls = asked.get("tls")?;
    let tls = if tls.is_object() {
        let [roots, chain, key] = ["roots", "cert", "key"].map(|name| optional_bytes(&tls, name));
        Some(ChannelTls { roots: roots?, identity: chain?.zip(key?) })
    } else {
        None
    };
    Ok(Channel {
        host: text("host")?,
        port: asked.get("port")?.to_number()? as u16,
        authority: text("authority")?,
        tls,
        timeout_ns: asked.get("timeout")?.to_number()? as u64,
        received_bytes_max: asked.get("receivedMax")?.to_number()? as u32,
        sent_bytes_max: asked.get("sentMax")?.to_number()? as u32,
    })
}

/// `connect({ host, port, … })`: the number of a channel, once it is open.
fn connect<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    need_running(context, "client.connect()")?;
    let inner = context.inner();
    let channel = channel_of(&call.argument(0))?;
    let Some(number) = inner.grpc.borrow_mut().add_channel(channel) else {
        return Err(plain(context, "a VU has too many gRPC connections: close some"));
    };
    let mut step = Step::Grpc(Order::Connect(number));
    loop {
        let outcome = inner.grpc.borrow().outcome(number);
        match outcome {
            Some(Ok(())) => return Ok(context.number(f64::from(number))),
            Some(Err(why)) => {
                inner.grpc.borrow_mut().remove_channel(number);
                return Err(plain(context, why));
            }
            None => inner.ask(context, step).map(drop)?,
        }
        if inner.grpc.borrow().outcome(number).is_none() {
            step = Step::Wait(None);
        }
    }
}

fn number(value: &Value<'_>) -> Result<u32, Thrown> {
    Ok(value.to_number()? as u32)
}

/// `close(channel)`.
fn close<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let inner = call.context.inner();
    let number = number(&call.argument(0))?;
    let is_known = inner.grpc.borrow().channel(number).is_some();
    if is_known {
        inner.ask(call.context, Step::Grpc(Order::Close(number)))?;
        inner.grpc.borrow_mut().remove_channel(number);
    }
    Ok(call.context.undefined())
}

/// Metadata: an array of names with values, which are texts or bytes.
fn metadata_of(value: &Value<'_>) -> Result<Vec<(String, Vec<u8>)>, Thrown> {
    let mut metadata = Vec::new();
    if value.is_nothing() {
        return Ok(metadata);
    }
    for at in 0..value.length()? {
        let entry = value.at(at)?;
        let name = entry.at(0)?.to_text()?.str().to_ascii_lowercase();
        let value = super::crypto::bytes_of(&entry.at(1)?)?;
        metadata.push((name, value));
    }
    Ok(metadata)
}

/// A call from `(channel, method, params, address)`, where params are
/// `{ metadata, timeout, tags, discards }`.
fn asked(call: &Call<'_, '_>, at: usize, kind: CallKind) -> Result<Asked, Thrown> {
    let context = call.context;
    let method = call.argument(at + 1);
    let Some(MethodObject(method)) = classes::held::<MethodObject>(&method) else {
        return Err(plain(context, "it is not a method of gRPC"));
    };
    let params = call.argument(at + 2);
    let address = call.argument(at + 3).to_text()?.str().into_owned();
    let timeout = params.get("timeout")?;
    let timeout_ns = if timeout.is_nothing() { None } else { Some(timeout.to_number()? as u64) };
    Ok(Asked {
        channel: number(&call.argument(at))?,
        kind,
        path: method.path().to_owned(),
        url: address + method.path(),
        metadata: metadata_of(&params.get("metadata")?)?,
        timeout_ns,
        message: Vec::new(),
        tags: tags::number(context, &params.get("tags")?, None)?,
        discards: params.get("discards")?.to_bool()?,
        method: Some(Arc::clone(method)),
    })
}

/// `invoke(channel, method, params, address, request, callback)`: the response or, with a callback
/// that gets it, nothing.
fn invoke<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let mut asked = asked(call, 0, CallKind::Unary)?;
    let request = call.argument(4).to_text()?;
    let encoded = asked.method.as_ref().map(|method| method.encode(&request.str()));
    asked.message = encoded.unwrap_or(Ok(Vec::new())).map_err(|why| {
        plain(context, format!("unable to serialise request object to protocol buffer: {why}"))
    })?;
    let callback = call.argument(5);
    if callback.is_function() {
        begin(context, asked, Some(callback), false)?;
        return Ok(context.undefined());
    }
    let number = begin(context, asked, None, false)?;
    conclude(context, number)?;
    let slot = context.inner().grpc.borrow_mut().remove_call(number);
    slot.map_or(Ok(context.undefined()), |slot| response::response(context, &slot))
}

/// Begins a call, and gives its number.
fn begin<'js>(
    context: Context<'js>,
    asked: Asked,
    callback: Option<Value<'js>>,
    tells_messages: bool,
) -> Result<u32, Thrown> {
    need_running(context, "k6/net/grpc")?;
    let inner = context.inner();
    let callback = callback.map(Kept::of);
    let added = inner.grpc.borrow_mut().add_call(asked, callback, tells_messages);
    let number = added.map_err(|callback| {
        if let Some(kept) = callback {
            kept.release(context);
        }
        plain(context, "a VU has too many gRPC calls at a time")
    })?;
    inner.ask(context, Step::Grpc(Order::Begin(number)))?;
    Ok(number)
}

/// Waits for the end of a call.
fn conclude(context: Context<'_>, number: u32) -> Result<(), Thrown> {
    let inner = context.inner();
    let is_open = || inner.grpc.borrow_mut().slot(number).is_some_and(|slot| slot.end.is_none());
    while is_open() {
        inner.ask(context, Step::Wait(None))?;
    }
    Ok(())
}

/// `open(channel, method, params, address, callback)`: the number of a stream. The callback gets
/// `('data', message)` and `('end', error)`.
fn open<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let asked = asked(call, 0, CallKind::Stream)?;
    let number = begin(call.context, asked, Some(call.argument(4)), true)?;
    Ok(call.context.number(f64::from(number)))
}

/// `send(stream, request)`: sends a message. Returns an error text if the request does not fit the
/// method, or true if the method takes no further message.
fn send<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, inner) = (call.context, call.context.inner());
    let number = number(&call.argument(0))?;
    let method = inner.grpc.borrow().call(number).and_then(|call| call.method.clone());
    // It has ended: what is sent now goes nowhere.
    let Some(method) = method else { return Ok(context.undefined()) };
    match method.encode(&call.argument(1).to_text()?.str()) {
        Ok(message) => {
            if let Some(slot) = inner.grpc.borrow_mut().slot(number) {
                slot.call.message = message;
            }
            inner.ask(context, Step::Grpc(Order::Send(number)))?;
            let (takes_more, _) = method.streams();
            if !takes_more {
                inner.ask(context, Step::Grpc(Order::Finish(number)))?;
            }
            Ok(context.boolean(!takes_more))
        }
        Err(why) => context.string(why),
    }
}

/// `finish(stream)`: nothing follows.
fn finish<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let inner = call.context.inner();
    let number = number(&call.argument(0))?;
    let is_open = inner.grpc.borrow().call(number).is_some();
    if is_open {
        inner.ask(call.context, Step::Grpc(Order::Finish(number)))?;
    }
    Ok(call.context.undefined())
}

/// What Go says of a call that failed.
fn rpc_error(end: &End) -> String {
    let code = CODES
        .get(end.code as usize)
        .map_or_else(|| format!("Code({})", end.code), |name| (*name).to_owned());
    format!("rpc error: code = {code} desc = {}", String::from_utf8_lossy(&end.text))
}

/// `health(channel, service)`: the status that a server gives of a service.
fn health<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let service = call.argument(1).to_text()?;
    let mut message = Vec::new();
    if !service.bytes().is_empty() {
        // A HealthCheckRequest has one field, a text.
        message.push(0x0a);
        write_varint(&mut message, service.bytes().len() as u64);
        message.extend_from_slice(service.bytes());
    }
    let asked = Asked {
        channel: number(&call.argument(0))?,
        path: HEALTH_PATH.to_owned(),
        timeout_ns: Some(OWN_TIMEOUT_NS),
        tags: tags::number(context, &context.undefined(), None)?,
        message,
        ..Asked::default()
    };
    let number = begin(context, asked, None, false)?;
    conclude(context, number)?;
    let Some(slot) = context.inner().grpc.borrow_mut().remove_call(number) else {
        return Ok(context.undefined());
    };
    match slot.end {
        Some(end) if end.code != 0 => Err(plain(context, rpc_error(&end))),
        _ => {
            let message = slot.message.unwrap_or_default();
            // A HealthCheckResponse has one field, a small number.
            let status = if let [0x08, status, ..] = message[..] { status } else { 0 };
            Ok(context.number(f64::from(status)))
        }
    }
}

fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// `survey(channel, metadata)`: the methods that a server tells of.
fn survey<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let shared = &context.inner().shared;
    let channel = number(&call.argument(0))?;
    let metadata = metadata_of(&call.argument(1))?;
    let mut refusal = "the server has no reflection".to_owned();
    for version in 0.. {
        let schemas = shared.settings.schemas.0.as_ref();
        let Some(mut survey) = schemas.and_then(|schemas| schemas.survey(version)) else { break };
        let asked = Asked {
            channel,
            kind: CallKind::Survey,
            path: survey.path().to_owned(),
            metadata: metadata.clone(),
            timeout_ns: Some(OWN_TIMEOUT_NS),
            tags: tags::number(context, &context.undefined(), None)?,
            ..Asked::default()
        };
        let number = begin(context, asked, None, false)?;
        let surveyed = carry_out(context, number, survey.as_mut());
        let slot = context.inner().grpc.borrow_mut().remove_call(number);
        match surveyed? {
            Ok(()) => {
                let methods = survey.methods().map_err(|why| plain(context, why))?;
                return listed(context, &methods);
            }
            Err(why) => refusal = why,
        }
        let end = slot.and_then(|slot| slot.end);
        if end.is_none_or(|end| end.code != UNIMPLEMENTED) {
            break;
        }
    }
    Err(plain(context, format!("can't list services: {refusal}")))
}

/// Asks question after question; gives why the last one was not answered.
fn carry_out(
    context: Context<'_>,
    number: u32,
    survey: &mut dyn crate::js::grpc::Survey,
) -> Result<Result<(), String>, Thrown> {
    let inner = context.inner();
    loop {
        if let Some(slot) = inner.grpc.borrow_mut().slot(number) {
            slot.call.message = survey.question();
        }
        inner.ask(context, Step::Grpc(Order::Send(number)))?;
        loop {
            let mut slots = inner.grpc.borrow_mut();
            let Some(slot) = slots.slot(number) else { return Ok(Err("it was given up".into())) };
            if let Some(answer) = slot.message.take() {
                drop(slots);
                match survey.answer(&answer) {
                    Ok(true) => {
                        inner.ask(context, Step::Grpc(Order::Finish(number)))?;
                        conclude(context, number)?;
                        return Ok(Ok(()));
                    }
                    Ok(false) => break,
                    Err(why) => return Ok(Err(why)),
                }
            }
            if let Some(end) = &slot.end {
                return Ok(Err(rpc_error(end)));
            }
            drop(slots);
            inner.ask(context, Step::Wait(None))?;
        }
    }
}

/// Tells the function that was kept for a call what has arrived.
pub(in crate::js) fn tell(
    context: Context<'_>,
    (number, arrived): (u32, Arrived),
) -> Result<(), Thrown> {
    let inner = context.inner();
    match arrived {
        Arrived::Message(json) => {
            let callback = {
                let mut slots = inner.grpc.borrow_mut();
                let Some(slot) = slots.slot(number) else { return Ok(()) };
                slot.callback.as_ref().map(|kept| kept.value(context))
            };
            let Some(callback) = callback else { return Ok(()) };
            let message = context.parse_json(&json, c"message")?;
            callback.call(&context.undefined(), &[context.string("data")?, message]).map(drop)
        }
        Arrived::Ended => {
            let Some(mut slot) = inner.grpc.borrow_mut().remove_call(number) else {
                return Ok(());
            };
            let Some(callback) = slot.callback.take() else { return Ok(()) };
            let callback = callback.release(context);
            if !slot.tells_messages {
                let response = response::response(context, &slot)?;
                return callback.call(&context.undefined(), &[response]).map(drop);
            }
            let end = slot.end.unwrap_or_default();
            let error = response::error(context, &end, slot.call.method.as_deref())?;
            callback.call(&context.undefined(), &[context.string("end")?, error]).map(drop)
        }
    }
}

/// Forgets all calls, and frees what was kept for them.
pub(in crate::js) fn forget(context: Context<'_>) {
    let calls: Vec<_> = context.inner().grpc.borrow_mut().clear().collect();
    for kept in calls.into_iter().filter_map(|slot| slot.callback) {
        kept.release(context);
    }
}
