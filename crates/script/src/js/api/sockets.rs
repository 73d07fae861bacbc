//! WebSockets of a script, for `k6/ws` and `k6/websockets`: what a socket is opened with, what is
//! sent on it, and the news of it. The two modules are JavaScript, `lib/ws.js` and
//! `lib/websockets.js`.
//!
//! News of a socket comes only where the script listens, one at a time. The rest waits with the
//! engine, which stops reading when that becomes much.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::http::{Request, headers_of};
use super::need_running;
use crate::js::events::Kept;
use crate::js::ffi;
use crate::js::http::{UPGRADE_FIELDS, Url, canonical};
use crate::js::inner::Got;
use crate::js::native::{Call, functions};
use crate::js::step::{Answer, News, Step};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// The most sockets that a virtual user has at a time.
const SOCKETS_MAX: usize = 1000;

/// The most bytes of messages that may wait to be sent on a socket.
const QUEUED_BYTES_MAX: u64 = 64 << 20;

/// Memory for what is sent that is kept for the next message.
const KEPT_BYTES: usize = 16 << 10;

/// What the offer of compression says. Each message stands by itself, so that neither side keeps a
/// window.
const DEFLATE: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"open" 4 => open;
    c"listen" 3 => listen;
    c"next" 2 => next;
    c"send" 2 => send;
    c"ping" 1 => ping;
    c"close" 3 => close;
    c"release" 1 => release;
    c"queued" 1 => queued;
    c"now" 0 => now;
    c"throws" 0 => throws;
};

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    module.define_functions(FUNCTIONS)
}

/// A socket as the script asks for it.
#[derive(Debug, Clone, Default)]
pub struct Dial {
    /// Its URL, as the script gives it.
    pub url: String,
    /// Why it cannot be opened; empty if it can.
    pub fault: String,
    /// The request that opens it, with all fields of WebSocket.
    pub request: Request,
    /// The key in the request, before it was encoded.
    pub nonce: [u8; 16],
    /// The subprotocols in the request.
    pub subprotocols: Vec<String>,
    /// Whether the request offers compression.
    pub offers_deflate: bool,
    /// What frames that answer the server's are masked with.
    pub key: [u8; 4],
    /// Whether the script waits in a call until the socket is over, as with `k6/ws`.
    pub is_blocking: bool,
}

impl Dial {
    fn of<'js>(
        context: Context<'js>,
        url: &str,
        protocols: &Value<'js>,
        params: &Value<'js>,
    ) -> Result<Self, Thrown> {
        let inner = context.inner();
        let (first, second, key) = (inner.draw(), inner.draw(), inner.draw());
        let mut dial = Self {
            url: url.to_owned(),
            nonce: (u128::from(first) << 64 | u128::from(second)).to_be_bytes(),
            key: (key as u32).to_be_bytes(),
            ..Self::default()
        };
        dial.request.fill_upgrade(context, url_of_http(url), params)?;
        dial.offers_deflate = params.is_object() && !params.get("compression")?.is_undefined();
        dial.take_subprotocols(protocols)?;
        dial.check();
        dial.add_fields();
        Ok(dial)
    }

    /// The subprotocols are an argument, one or a list, or a field that the script gives.
    fn take_subprotocols(&mut self, protocols: &Value<'_>) -> Result<(), Thrown> {
        if protocols.is_array() {
            for at in 0..protocols.length()? {
                self.subprotocols.push(protocols.at(at)?.to_text()?.str().into_owned());
            }
        } else if !protocols.is_nothing() {
            self.subprotocols.push(protocols.to_text()?.str().into_owned());
        }
        self.subprotocols.retain(|name| !name.is_empty());
        let is_it =
            |(name, _): &&(String, String)| name.eq_ignore_ascii_case("sec-websocket-protocol");
        match self.request.headers.iter().rfind(is_it) {
            Some((_, value)) if self.subprotocols.is_empty() => {
                let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
                self.subprotocols = names.map(str::to_owned).collect();
            }
            Some(_) => {}
            None if self.subprotocols.is_empty() => {}
            None => {
                let names = self.subprotocols.join(", ");
                self.request.headers.push(("Sec-WebSocket-Protocol".to_owned(), names));
            }
        }
        Ok(())
    }

    /// Looks for what k6 takes for no URL of a socket, and for fields that are WebSocket's own.
    fn check(&mut self) {
        let authority = self.request.url.split_once("://").map_or("", |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        if self.request.url.is_empty() || authority.contains('@') {
            "malformed ws or wss URL".clone_into(&mut self.fault);
        }
        let is_own = |(name, _): &&(String, String)| {
            UPGRADE_FIELDS.iter().any(|own| own.eq_ignore_ascii_case(name))
        };
        if let Some((name, _)) = self.request.headers.iter().find(is_own) {
            let name: Vec<u8> = canonical(name.as_bytes()).collect();
            let name = String::from_utf8_lossy(&name);
            self.fault = format!("websocket: duplicate header not allowed: {name}");
        }
    }

    fn add_fields(&mut self) {
        let key = STANDARD.encode(self.nonce);
        let mut add = |name: &str, value: &str| {
            self.request.headers.push((name.to_owned(), value.to_owned()));
        };
        add("Upgrade", "websocket");
        add("Connection", "Upgrade");
        add("Sec-WebSocket-Version", "13");
        add("Sec-WebSocket-Key", &key);
        if self.offers_deflate {
            add("Sec-WebSocket-Extensions", DEFLATE);
        }
    }
}

/// The URL of the request that opens a socket; empty if the given one is no socket's.
fn url_of_http(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return String::new() };
    match scheme.to_ascii_lowercase().as_str() {
        "ws" => format!("http://{rest}"),
        "wss" => format!("https://{rest}"),
        _ => String::new(),
    }
}

/// What is to be sent on a socket.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// What it is.
    pub sends: Sends,
    /// The bytes of a message.
    pub payload: Vec<u8>,
    /// What the frame is masked with.
    pub key: [u8; 4],
}

/// What kind of frame is sent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Sends {
    /// A message of text.
    #[default]
    Text,
    /// A message of bytes.
    Binary,
    /// A ping.
    Ping,
    /// A Close with its code and the reason in words.
    Close(u16, String),
}

/// The sockets of a virtual user.
#[derive(Debug, Default)]
pub(in crate::js) struct Sockets {
    slots: Vec<Option<Slot>>,
    pub outgoing: Outgoing,
    /// The news that has come, until it is taken.
    news: Option<Kind>,
}

#[derive(Debug)]
struct Slot {
    dial: Box<Dial>,
    /// Bytes of messages that waited to be sent when the last one was.
    queued: u64,
    /// Who is told of news; `None` if the script asks for them.
    listener: Option<Listener>,
}

/// Functions of the script that are called with news.
#[derive(Debug)]
struct Listener {
    /// With each message, which is most of the news: its text or bytes.
    message: Kept,
    /// With all else, as an object.
    other: Kept,
}

impl Listener {
    fn release(self, context: Context<'_>) {
        self.message.release(context);
        self.other.release(context);
    }
}

/// News that is kept.
#[derive(Debug)]
enum Kind {
    Open(Opening),
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Ping,
    Pong,
    Over { opening: Opening, code: Option<u16>, reason: String, error: String },
}

impl Kind {
    /// The text or the bytes, if this is a message.
    fn message<'js>(&self, context: Context<'js>) -> Option<Outcome<'js>> {
        match self {
            Self::Text(bytes) => Some(context.string(bytes)),
            Self::Binary(bytes) => Some(context.array_buffer(bytes)),
            _ => None,
        }
    }
}

/// What came of an opening.
#[derive(Debug)]
struct Opening {
    status: u16,
    head: Vec<u8>,
    body: Vec<u8>,
    error: String,
}

impl Opening {
    fn of(answer: &Answer<'_>) -> Self {
        Self {
            status: answer.status,
            head: answer.head.to_owned(),
            body: answer.body.to_owned(),
            error: answer.error.to_owned(),
        }
    }

    /// As `k6/ws` returns it, but for the URL.
    fn object<'js>(&self, context: Context<'js>) -> Outcome<'js> {
        let object = context.object()?;
        object.define("url", context.string("")?)?;
        object.define("status", context.integer(i32::from(self.status)))?;
        object.define("headers", headers_of(context, &self.head)?)?;
        object.define("body", context.string(&self.body)?)?;
        object.define("error", context.string(&self.error)?)?;
        Ok(object)
    }
}

impl Sockets {
    fn claim(&mut self, dial: Box<Dial>) -> Option<u32> {
        let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if free == SOCKETS_MAX {
            return None;
        }
        if free == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[free] = Some(Slot { dial, queued: 0, listener: None });
        Some(free as u32)
    }

    fn slot(&mut self, number: u32) -> Option<&mut Slot> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    pub(in crate::js) fn dial(&self, number: u32) -> &Dial {
        let slot = self.slots.get(number as usize).and_then(Option::as_ref);
        slot.map_or_else(|| panic!("there is no socket {number}"), |slot| &slot.dial)
    }

    /// Whether the event loop has news to wait for.
    pub(in crate::js) fn has_listener(&self) -> bool {
        self.slots.iter().flatten().any(|slot| slot.listener.is_some())
    }

    /// Keeps news until it is taken.
    pub(in crate::js) fn keep(&mut self, _: u32, news: &News<'_>) {
        self.news = Some(match *news {
            News::Open(answer) => Kind::Open(Opening::of(&answer)),
            News::Text(bytes) => Kind::Text(bytes.to_owned()),
            News::Binary(bytes) => Kind::Binary(bytes.to_owned()),
            News::Ping => Kind::Ping,
            News::Pong => Kind::Pong,
            News::Over { answer, code, reason, error } => Kind::Over {
                opening: Opening::of(&answer),
                code,
                reason: reason.to_owned(),
                error: error.to_owned(),
            },
        });
    }
}

/// Forgets all sockets, and frees what was kept for them.
pub(in crate::js) fn forget(context: Context<'_>) {
    let sockets = std::mem::take(&mut *context.inner().sockets.borrow_mut());
    for kept in sockets.slots.into_iter().flatten().filter_map(|slot| slot.listener) {
        kept.release(context);
    }
}

/// Frees the number of a socket.
fn free(context: Context<'_>, number: u32) {
    let mut sockets = context.inner().sockets.borrow_mut();
    let slot = sockets.slots.get_mut(number as usize).and_then(Option::take);
    drop(sockets);
    if let Some(listener) = slot.and_then(|slot| slot.listener) {
        listener.release(context);
    }
}

/// Calls who listens to a socket with the news that has come.
pub(in crate::js) fn deliver(context: Context<'_>, number: u32) -> Result<(), Thrown> {
    let news = context.inner().sockets.borrow_mut().news.take();
    let message = news.as_ref().and_then(|news| news.message(context)).transpose()?;
    let function = {
        let mut sockets = context.inner().sockets.borrow_mut();
        let listener = sockets.slot(number).and_then(|slot| slot.listener.as_ref());
        let kept = listener.map(|it| if message.is_some() { &it.message } else { &it.other });
        kept.map(|kept| kept.value(context))
    };
    // `object` frees the listener with the last news, so it is looked up first.
    let told = message.map_or_else(|| object(context, number, news), Ok)?;
    match function {
        Some(function) => function.call(&context.undefined(), &[told]).map(drop),
        None => Ok(()),
    }
}

/// The news that has come, as an object.
fn take(context: Context<'_>, number: u32) -> Outcome<'_> {
    let news = context.inner().sockets.borrow_mut().news.take();
    object(context, number, news)
}

/// News as an object. After the last one the number is free.
fn object(context: Context<'_>, number: u32, news: Option<Kind>) -> Outcome<'_> {
    let Some(news) = news else { return Ok(context.undefined()) };
    let object = context.object()?;
    let name = |name: &str| object.define("type", context.string(name)?);
    if let Some(message) = news.message(context) {
        name("message")?;
        object.define("data", message?)?;
    }
    match news {
        Kind::Text(_) | Kind::Binary(_) => {}
        Kind::Open(opening) => {
            name("open")?;
            object.define("response", opening.object(context)?)?;
        }
        Kind::Ping => name("ping")?,
        Kind::Pong => name("pong")?,
        Kind::Over { opening, code, reason, error } => {
            free(context, number);
            name("over")?;
            object.define("response", opening.object(context)?)?;
            let code =
                code.map_or_else(|| context.undefined(), |code| context.integer(code.into()));
            object.define("code", code)?;
            object.define("reason", context.string(reason)?)?;
            object.define("error", context.string(error)?)?;
        }
    }
    Ok(object)
}

/// `open(url, protocols, params, isBlocking)`: the number of a socket.
fn open<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    need_running(context, "a WebSocket")?;
    let url = call.argument(0).to_text()?;
    let mut dial = Dial::of(context, &url.str(), &call.argument(1), &call.argument(2))?;
    dial.is_blocking = call.argument(3).to_bool()?;
    if !dial.is_blocking
        && let Err(error) = Url::parse(&dial.request.url)
        && !error.counts()
    {
        let message = format!("WebSocket requires valid url, but '{}' {error}", dial.url);
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let claimed = context.inner().sockets.borrow_mut().claim(Box::new(dial));
    let Some(number) = claimed else {
        let message = format!("a VU may have {SOCKETS_MAX} WebSockets at a time");
        return Err(context.throw(ErrorKind::Range, message));
    };
    context.inner().ask(context, Step::Connect(number))?;
    Ok(context.number(f64::from(number)))
}

fn number_of(value: &Value<'_>) -> Result<u32, Thrown> {
    Ok(value.to_number()? as u32)
}

/// `listen(number, onMessage, onOther)`: the event loop calls them with news until the socket is
/// over.
fn listen<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let number = number_of(&call.argument(0))?;
    if let Some(slot) = call.context.inner().sockets.borrow_mut().slot(number) {
        let [message, other] = [1, 2].map(|at| Kept::of(call.argument(at)));
        slot.listener = Some(Listener { message, other });
    }
    Ok(call.context.undefined())
}

/// `next(number, until)`: waits for news of a socket, at most until a time, ms since 1970;
/// `undefined` if it has come first.
fn next<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, number) = (call.context, number_of(&call.argument(0))?);
    let inner = context.inner();
    let until = call.argument(1);
    let until_ns =
        if until.is_nothing() { None } else { Some((until.to_number()? * 1e6).max(0.0) as u64) };
    loop {
        let wait_ns = until_ns.map(|until_ns| until_ns.saturating_sub(inner.now_ns.get()));
        match inner.ask(context, Step::Listen(Some(number), wait_ns))? {
            Got::News(_) => return take(context, number),
            // An answer to a request has come, which is not for this call.
            Got::Ended(_) => {}
            _ => return Ok(context.undefined()),
        }
    }
}

/// Sends something on a socket; gives how many bytes of messages wait to be sent.
fn transmit<'js>(context: Context<'js>, number: u32, sends: Sends, payload: &[u8]) -> Outcome<'js> {
    let inner = context.inner();
    {
        let mut sockets = inner.sockets.borrow_mut();
        let outgoing = &mut sockets.outgoing;
        outgoing.sends = sends;
        outgoing.key = (inner.draw() as u32).to_be_bytes();
        outgoing.payload.clear();
        outgoing.payload.extend_from_slice(payload);
    }
    let got = inner.ask(context, Step::Transmit(number))?;
    inner.sockets.borrow_mut().outgoing.payload.shrink_to(KEPT_BYTES);
    Ok(context.number(note_queued(context, number, got) as f64))
}

/// `send(number, data)`: a string as text; an `ArrayBuffer` or a view of one as bytes.
fn send<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, number) = (call.context, number_of(&call.argument(0))?);
    let data = call.argument(1);
    if data.is_string() {
        let text = data.to_text()?;
        let text = text.str();
        need_room(context, number, text.len())?;
        return transmit(context, number, Sends::Text, text.as_bytes());
    }
    let Some(bytes) = data.with_bytes(<[u8]>::to_vec)? else {
        let message = "a WebSocket sends strings and bytes";
        return Err(context.throw(ErrorKind::Type, message));
    };
    need_room(context, number, bytes.len())?;
    transmit(context, number, Sends::Binary, &bytes)
}

/// Raises an error if too much would wait to be sent. A message alone may be of any length.
fn need_room(context: Context<'_>, number: u32, len: usize) -> Result<(), Thrown> {
    let known = context.inner().sockets.borrow_mut().slot(number).map_or(0, |slot| slot.queued);
    let is_room = |queued: u64| queued == 0 || queued + len as u64 <= QUEUED_BYTES_MAX;
    // What has waited when the last message was sent may have gone since then.
    if is_room(known) || is_room(ask_queued(context, number)?) {
        return Ok(());
    }
    let most = QUEUED_BYTES_MAX >> 20;
    let message = format!(
        "{most} MiB of messages wait to be sent on this WebSocket: the server reads too slowly"
    );
    Err(context.throw(ErrorKind::Range, message))
}

fn ask_queued(context: Context<'_>, number: u32) -> Result<u64, Thrown> {
    let got = context.inner().ask(context, Step::Queued(number))?;
    Ok(note_queued(context, number, got))
}

fn note_queued(context: Context<'_>, number: u32, got: Got) -> u64 {
    let queued = if let Got::Queued(queued) = got { queued } else { 0 };
    if let Some(slot) = context.inner().sockets.borrow_mut().slot(number) {
        slot.queued = queued;
    }
    queued
}

/// `ping(number)`.
fn ping<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    transmit(call.context, number_of(&call.argument(0))?, Sends::Ping, &[])
}

/// `close(number, code, reason)`: the socket is over when the server has closed too.
fn close<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let number = number_of(&call.argument(0))?;
    let code = call.argument(1).to_number()? as u16;
    let reason = call.argument(2).to_text()?.str().into_owned();
    transmit(call.context, number, Sends::Close(code, reason), &[])
}

/// `release(number)`: the script needs the socket no more.
fn release<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, number) = (call.context, number_of(&call.argument(0))?);
    context.inner().ask(context, Step::Release(number))?;
    free(context, number);
    Ok(context.undefined())
}

/// `queued(number)`: how many bytes of messages wait to be sent.
fn queued<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let queued = ask_queued(call.context, number_of(&call.argument(0))?)?;
    Ok(call.context.number(queued as f64))
}

/// The time, ms since 1970, with its fraction.
fn now<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    Ok(call.context.number(call.context.inner().now_ns.get() as f64 / 1e6))
}

/// Whether errors of calls are exceptions: the option `throw`.
fn throws<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    Ok(call.context.boolean(call.context.inner().shared.settings.throws))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_sockets_are_urls_of_http() {
        for (url, want) in [
            ("ws://a/b?c", "http://a/b?c"),
            ("WSS://a:1/", "https://a:1/"),
            ("http://a/", ""),
            ("a", ""),
        ] {
            assert_eq!(url_of_http(url), want, "{url}");
        }
    }
}
