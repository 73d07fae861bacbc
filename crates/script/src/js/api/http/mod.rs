//! The module `k6/http`: what a script sends, and what comes back.
//!
//! A call becomes a [`Request`], the script is suspended, and the answer becomes the object that
//! the call returns. Who carries requests out is not known here.

mod constants;
mod form;
mod gjson;
mod go;
mod jar;
mod named_url;
mod request;
mod response;

pub use request::{Expected, Request, ResponseBody};

pub(in crate::js) use form::File;
pub(in crate::js) use jar::{JarObject, SharedJar};
pub(in crate::js) use named_url::NamedUrl;
pub(in crate::js) use request::Callback;
pub(super) use request::timeout_ns;
pub(in crate::js) use response::ResponseObject;
pub(in crate::js::api) use response::headers_of;

use std::sync::atomic::Ordering;

use super::{console, need_running};
use crate::js::events::Kept;
use crate::js::ffi;
use crate::js::http::masked;
use crate::js::native::{Call, functions};
use crate::js::step::{Answer, Level, Step};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// The most requests that a virtual user has at a time, those of a batch that wait included.
const REQUESTS_MAX: usize = 10_000;

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"get" 2 => get;
    c"head" 2 => head;
    c"post" 3 => post;
    c"put" 3 => put;
    c"patch" 3 => patch;
    c"del" 3 => del;
    c"options" 3 => options;
    c"request" 4 => any;
    c"asyncRequest" 4 => asynchronous;
    c"batch" 1 => batch;
    c"url" 1 => named_url::url;
    c"file" 3 => form::file;
    c"expectedStatuses" 1 => request::expected_statuses;
    c"setResponseCallback" 1 => request::set_response_callback;
    c"cookieJar" 0 => jar::cookie_jar;
};

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let context = module.context();
    response::define(context)?;
    named_url::define(context)?;
    jar::fill(module)?;
    constants::fill(module)?;
    module.define_functions(FUNCTIONS)
}

fn get<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    warn_of_body(call, "get")?;
    let none = call.context.undefined();
    send(call.context, "GET", &call.argument(0), &none, &call.argument(1))
}

/// Warns where a request without a body is given one: its parameters are not where they should be.
fn warn_of_body(call: &Call<'_, '_>, name: &str) -> Result<(), Thrown> {
    let has_warned = &call.context.inner().shared.has_warned_of_arguments;
    if call.count() <= 2 || has_warned.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let line = format!(
        "http.{name}(url, params) takes 2 arguments, and was given {}: the others have no effect",
        call.count()
    );
    console::note(call.context, Level::Warn, &line)
}

fn head<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    warn_of_body(call, "head")?;
    let none = call.context.undefined();
    send(call.context, "HEAD", &call.argument(0), &none, &call.argument(1))
}

fn post<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    with_body(call, "POST")
}

fn put<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    with_body(call, "PUT")
}

fn patch<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    with_body(call, "PATCH")
}

fn del<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    with_body(call, "DELETE")
}

fn options<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    with_body(call, "OPTIONS")
}

fn with_body<'js>(call: &Call<'js, '_>, method: &str) -> Outcome<'js> {
    send(call.context, method, &call.argument(0), &call.argument(1), &call.argument(2))
}

fn any<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let method = method(&call.argument(0))?;
    send(call.context, &method, &call.argument(1), &call.argument(2), &call.argument(3))
}

/// A method as it is given; `GET` without any.
fn method(value: &Value<'_>) -> Result<String, Thrown> {
    let method =
        if value.is_nothing() { String::new() } else { value.to_text()?.str().into_owned() };
    Ok(if method.is_empty() { "GET".to_owned() } else { method })
}

/// Sends a request, and waits for its answer.
fn send<'js>(
    context: Context<'js>,
    method: &str,
    url: &Value<'js>,
    body: &Value<'js>,
    params: &Value<'js>,
) -> Outcome<'js> {
    let number = prepare(context, method, url, body, params)?;
    let mut step = Step::Send(number);
    let inner = context.inner();
    while !inner.requests.borrow().is_answered(number) {
        inner.ask(context, step)?;
        // It was another one's answer: this one is still under way.
        step = Step::Wait(None);
    }
    take(context, number)
}

/// Makes a request of the arguments of a call. One that cannot be sent has its answer at once.
fn prepare(
    context: Context<'_>,
    method: &str,
    url: &Value<'_>,
    body: &Value<'_>,
    params: &Value<'_>,
) -> Result<u32, Thrown> {
    need_running(context, "k6/http")?;
    let mut request = Box::new(Request::default());
    request.fill(context, method, url, body, params)?;
    let wrong = request.fault();
    let mut requests = context.inner().requests.borrow_mut();
    let Some(number) = requests.claim(request) else {
        let message = format!("a VU may have {REQUESTS_MAX} requests at a time");
        return Err(context.throw(ErrorKind::Range, message));
    };
    if let Some((error_code, error)) = wrong {
        let answer = Answer { request: number, error: &error, error_code, ..Answer::default() };
        requests.answer(&answer);
    }
    Ok(number)
}

/// The response that has come for a request, as the script gets it.
fn take(context: Context<'_>, number: u32) -> Outcome<'_> {
    let answered = context.inner().requests.borrow_mut().release(number);
    let Some(response) = answered else { return Ok(context.undefined()) };
    if !response.error().is_empty() {
        let request = response.request();
        if request.throws {
            return Err(context.throw(ErrorKind::Plain, response.error()));
        }
        let url = if response.url().is_empty() { &request.url } else { response.url() };
        let (error, url) = (response.error(), masked(url));
        let line = format!("request failed: {error}: {} {url}", request.method);
        console::note(context, Level::Warn, &line)?;
    }
    super::classes::hold(context, None, *response)
}

/// `http.asyncRequest(method, url, body, params)`: a promise of the response.
fn asynchronous<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let inner = context.inner();
    let method = method(&call.argument(0))?;
    let (url, body, params) = (call.argument(1), call.argument(2), call.argument(3));
    let number = prepare(context, &method, &url, &body, &params)?;
    let (promise, resolving) = context.promise()?;
    let is_answered = {
        let mut requests = inner.requests.borrow_mut();
        requests.promise(number, resolving.map(Kept::of));
        requests.is_answered(number)
    };
    if !is_answered {
        inner.ask(context, Step::Begin(number))?;
    }
    Ok(promise)
}

/// Settles the promise of a request that was answered.
pub(in crate::js) fn settle(context: Context<'_>, number: u32) -> Result<(), Thrown> {
    let resolving = context.inner().requests.borrow_mut().take_promise(number);
    let Some([resolve, reject]) = resolving else { return Ok(()) };
    let (resolve, reject) = (resolve.release(context), reject.release(context));
    let (function, value) = match take(context, number) {
        Ok(response) => (resolve, response),
        Err(Thrown) => {
            let exception = context.exception();
            if exception.is_uncatchable() {
                return Err(context.throw_value(exception));
            }
            (reject, exception)
        }
    };
    function.call(&context.undefined(), &[value]).map(drop)
}

/// Forgets all requests, and frees what was kept for them.
pub(in crate::js) fn forget(context: Context<'_>) {
    let slots = std::mem::take(&mut *context.inner().requests.borrow_mut()).slots;
    for resolving in slots.into_iter().filter_map(|slot| slot.resolving) {
        for kept in resolving {
            kept.release(context);
        }
    }
}

/// `http.batch(requests)`: sends them at the same time, and returns the responses by the same keys.
fn batch<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    need_running(context, "http.batch()")?;
    let wanted = call.argument(0);
    if !wanted.is_object() {
        let message = "http.batch() needs an array or an object of requests";
        return Err(context.throw(ErrorKind::Type, message));
    }
    let responses = if wanted.is_array() { context.array()? } else { context.object()? };
    let mut numbers = Vec::new();
    wanted.for_each_property(|name, entry| {
        numbers.push((name.str().into_owned(), prepare_entry(context, &entry)?));
        Ok(())
    })?;
    carry_out(context, &numbers)?;
    let mut first_error = None;
    for (name, number) in numbers {
        match take(context, number) {
            Ok(response) => responses.define(&name, response)?,
            Err(Thrown) => {
                let exception = context.exception();
                if exception.is_uncatchable() {
                    return Err(context.throw_value(exception));
                }
                first_error.get_or_insert(exception);
            }
        }
    }
    match first_error {
        Some(exception) => Err(context.throw_value(exception)),
        None => Ok(responses),
    }
}

/// One request of a batch: a URL, `[method, url, body, params]`, or an object with these. As in k6,
/// only the object's method may be written in lower case.
fn prepare_entry(context: Context<'_>, entry: &Value<'_>) -> Result<u32, Thrown> {
    let none = context.undefined();
    let is_url = !entry.is_object() || super::classes::held::<NamedUrl>(entry).is_some();
    let [method_value, url, body, params] = if is_url {
        [none.clone(), entry.clone(), none.clone(), none]
    } else if entry.is_array() {
        [entry.at(0)?, entry.at(1)?, entry.at(2)?, entry.at(3)?]
    } else {
        [entry.get("method")?, entry.get("url")?, entry.get("body")?, entry.get("params")?]
    };
    let mut method = method(&method_value)?;
    let is_named = !is_url && !entry.is_array();
    if is_named {
        method = method.to_uppercase();
    }
    let has_no_body = ["GET", "HEAD"].iter().any(|name| method.eq_ignore_ascii_case(name));
    let body = if has_no_body && is_named { context.undefined() } else { body };
    prepare(context, &method, &url, &body, &params)
}

/// Begins the requests of a batch, as many at a time as the settings allow, until all have ended.
/// Those that the end of the task finds waiting are kept, so that they are counted.
fn carry_out(context: Context<'_>, numbers: &[(String, u32)]) -> Result<(), Thrown> {
    let inner = context.inner();
    let mut waiting: Vec<u32> = numbers.iter().map(|(_, number)| *number).collect();
    waiting.retain(|number| !inner.requests.borrow().is_answered(*number));
    let asked_ns = inner.now_ns.get();
    let carried_out = take_turns(context, &mut waiting, asked_ns);
    if carried_out.is_err() {
        let waited_ns = inner.now_ns.get().saturating_sub(asked_ns);
        let mut requests = inner.requests.borrow_mut();
        let cut_off = waiting.into_iter().filter_map(|number| requests.withdraw(number));
        let cut_off = cut_off.map(|request| Request { waited_ns, ..request });
        inner.unsent.borrow_mut().extend(cut_off);
    }
    carried_out
}

/// Begins requests that wait, each when it is its turn, until all have ended.
fn take_turns(context: Context<'_>, waiting: &mut Vec<u32>, asked_ns: u64) -> Result<(), Thrown> {
    let inner = context.inner();
    let settings = &inner.shared.settings;
    let limit = |most: u32| if most == 0 { usize::MAX } else { most as usize };
    let (most, most_per_host) = (limit(settings.batch_max), limit(settings.batch_per_host_max));
    let mut open: Vec<u32> = Vec::new();
    while !waiting.is_empty() || !open.is_empty() {
        let next = {
            let requests = inner.requests.borrow();
            let host = |number: &u32| requests.request(*number).host().to_owned();
            let has_room = |number: &u32| {
                let mine = host(number);
                open.iter().filter(|other| host(other) == mine).count() < most_per_host
            };
            if open.len() < most { waiting.iter().position(has_room) } else { None }
        };
        if let Some(at) = next {
            let number = waiting.remove(at);
            open.push(number);
            let waited_ns = inner.now_ns.get().saturating_sub(asked_ns);
            inner.requests.borrow_mut().has_waited(number, waited_ns);
            inner.ask(context, Step::Begin(number))?;
        } else {
            inner.ask(context, Step::Wait(None))?;
        }
        open.retain(|number| !inner.requests.borrow().is_answered(*number));
    }
    Ok(())
}

/// The requests of a virtual user that are under way, or answered and not taken.
#[derive(Debug, Default)]
pub(in crate::js) struct Requests {
    slots: Vec<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    state: State,
    /// What settles the promise of an asynchronous one.
    resolving: Option<[Kept; 2]>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Free,
    Open(Box<Request>),
    Answered(Box<ResponseObject>),
}

impl Requests {
    /// Keeps a request; `None` if there are too many.
    fn claim(&mut self, request: Box<Request>) -> Option<u32> {
        let is_free = |slot: &Slot| matches!(slot.state, State::Free);
        let at = self.slots.iter().position(is_free).unwrap_or(self.slots.len());
        if at == REQUESTS_MAX {
            return None;
        }
        if at == self.slots.len() {
            self.slots.push(Slot::default());
        }
        self.slots[at].state = State::Open(request);
        Some(at as u32)
    }

    /// Takes an answer in. One to a request that is not open is ignored.
    pub(in crate::js) fn answer(&mut self, answer: &Answer<'_>) {
        let Some(slot) = self.slots.get_mut(answer.request as usize) else { return };
        slot.state = match std::mem::take(&mut slot.state) {
            State::Open(request) => State::Answered(Box::new(ResponseObject::new(request, answer))),
            state => state,
        };
    }

    pub(in crate::js) fn request(&self, number: u32) -> &Request {
        match &self.slots[number as usize].state {
            State::Open(request) => request,
            State::Answered(response) => response.request(),
            State::Free => panic!("there is no request {number}"),
        }
    }

    /// Takes a request back that was not begun.
    fn withdraw(&mut self, number: u32) -> Option<Request> {
        match std::mem::take(&mut self.slots.get_mut(number as usize)?.state) {
            State::Open(request) => Some(*request),
            _ => None,
        }
    }

    fn has_waited(&mut self, number: u32, waited_ns: u64) {
        if let State::Open(request) = &mut self.slots[number as usize].state {
            request.waited_ns = waited_ns;
        }
    }

    fn is_answered(&self, number: u32) -> bool {
        let slot = self.slots.get(number as usize);
        slot.is_none_or(|slot| !matches!(slot.state, State::Open(_)))
    }

    fn release(&mut self, number: u32) -> Option<Box<ResponseObject>> {
        match std::mem::take(&mut self.slots.get_mut(number as usize)?.state) {
            State::Answered(response) => Some(response),
            _ => None,
        }
    }

    fn promise(&mut self, number: u32, resolving: [Kept; 2]) {
        self.slots[number as usize].resolving = Some(resolving);
    }

    fn take_promise(&mut self, number: u32) -> Option<[Kept; 2]> {
        self.slots.get_mut(number as usize)?.resolving.take()
    }

    /// The first one with a promise that was answered.
    pub(in crate::js) fn arrived(&self) -> Option<u32> {
        let is_here =
            |slot: &Slot| slot.resolving.is_some() && matches!(slot.state, State::Answered(_));
        self.slots.iter().position(is_here).map(|at| at as u32)
    }

    /// Whether the event loop has none to wait for.
    pub(in crate::js) fn is_idle(&self) -> bool {
        self.slots.iter().all(|slot| slot.resolving.is_none())
    }
}
