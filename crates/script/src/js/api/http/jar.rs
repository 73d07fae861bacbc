//! Cookie jars as scripts see them: `http.cookieJar()` and `new http.CookieJar()`.

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;

use super::super::classes::{self, Classes, Held};
use crate::js::ffi;
use crate::js::jar::{Cookie, Jar, date_ms};
use crate::js::native::{Call, functions, native};
use crate::js::value::{ErrorKind, Outcome, Thrown, Value};

/// A jar that several may hold: the virtual user, scripts, and requests under way.
pub(in crate::js) type SharedJar = Rc<RefCell<Jar>>;

/// A jar in a script's hands.
pub(in crate::js) struct JarObject(pub(super) SharedJar);

impl Held for JarObject {
    const NAME: &'static CStr = c"CookieJar";

    fn class(classes: &Classes) -> u32 {
        classes.jar
    }
}

const METHODS: &[ffi::FunctionEntry] = functions! {
    c"cookiesForURL" 1 => cookies_for_url;
    c"set" 4 => set;
    c"clear" 1 => clear;
    c"delete" 2 => delete;
};

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let context = module.context();
    let (constructor, prototype) =
        classes::constructor(context, c"CookieJar", 0, native!(construct), METHODS)?;
    classes::set_prototype::<JarObject>(prototype);
    module.define("CookieJar", constructor)
}

fn construct<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    classes::hold(call.context, None, JarObject(SharedJar::default()))
}

/// `http.cookieJar()`: the jar of the iteration.
pub(super) fn cookie_jar<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    super::super::need_running(call.context, "http.cookieJar()")?;
    let jar = Rc::clone(&call.context.inner().jar.borrow());
    classes::hold(call.context, None, JarObject(jar))
}

fn this<'js>(call: &Call<'js, '_>) -> Result<SharedJar, Thrown> {
    match classes::held::<JarObject>(&call.this()) {
        Some(JarObject(jar)) => Ok(Rc::clone(jar)),
        None => Err(call.context.throw(ErrorKind::Type, "this is a method of cookie jars")),
    }
}

/// An argument as text; empty for `null` and `undefined`.
fn text(call: &Call<'_, '_>, index: usize) -> Result<String, Thrown> {
    let value = call.argument(index);
    Ok(if value.is_nothing() { String::new() } else { value.to_text()?.str().into_owned() })
}

/// `jar.cookiesForURL(url)`: values by name.
fn cookies_for_url<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let (jar, url) = (this(call)?, text(call, 0)?);
    let jar = jar.borrow();
    let cookies = context.object()?;
    for cookie in jar.matching(&url, context.inner().now_ns.get()) {
        let list = cookies.get(&cookie.name)?;
        let list = if list.is_array() { list } else { context.array()? };
        list.define_at(list.length()?, context.string(&cookie.value)?)?;
        cookies.define(&cookie.name, list)?;
    }
    Ok(cookies)
}

/// `jar.set(url, name, value, {domain, path, expires, max_age, secure, http_only})`.
fn set<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let (jar, url) = (this(call)?, text(call, 0)?);
    let mut cookie = Cookie { name: text(call, 1)?, value: text(call, 2)?, ..Cookie::default() };
    let now_ns = context.inner().now_ns.get();
    let options = call.argument(3);
    if options.is_object() {
        options.for_each_property(|name, value| {
            if value.is_nothing() {
                return Ok(());
            }
            match name.bytes() {
                b"domain" => {
                    let domain = value.to_text()?;
                    domain.str().trim_start_matches('.').clone_into(&mut cookie.domain);
                }
                b"path" => cookie.path = value.to_text()?.str().into_owned(),
                b"secure" => cookie.is_secure = value.to_bool()?,
                b"max_age" => {
                    let age_ns = (value.to_number()?.max(0.0) * 1e9) as u64;
                    cookie.expires_ns =
                        Some(if age_ns == 0 { 0 } else { now_ns.saturating_add(age_ns) });
                }
                b"expires" => {
                    let date = value.to_text()?;
                    let Some(ms) = date_ms(&date.str()) else {
                        let date = date.str();
                        let message = format!(
                            "expires '{date}' is not a date such as 'Mon, 02 Jan 2006 15:04:05 MST'"
                        );
                        return Err(context.throw(ErrorKind::Plain, message));
                    };
                    cookie.expires_ns = Some((ms.max(0.0) * 1e6) as u64);
                }
                _ => {}
            }
            Ok(())
        })?;
    }
    jar.borrow_mut().set(&url, cookie, now_ns);
    // As in k6, also where the URL is of no host and nothing is set.
    Ok(context.boolean(true))
}

/// `jar.clear(url)`.
fn clear<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (jar, url) = (this(call)?, text(call, 0)?);
    jar.borrow_mut().remove(&url, None, call.context.inner().now_ns.get());
    Ok(call.context.undefined())
}

/// `jar.delete(url, name)`.
fn delete<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (jar, url, name) = (this(call)?, text(call, 0)?, text(call, 1)?);
    jar.borrow_mut().remove(&url, Some(&name), call.context.inner().now_ns.get());
    Ok(call.context.undefined())
}
