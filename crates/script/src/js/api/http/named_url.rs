//! What `http.url` makes: a URL with the name under which requests for it are counted.

use std::ffi::CStr;

use super::super::classes::{self, Classes, Held};
use crate::js::ffi;
use crate::js::http::{self, Url};
use crate::js::native::{Call, functions};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// Such a URL.
pub(in crate::js) struct NamedUrl {
    pub(super) url: String,
    pub(super) name: String,
}

impl Held for NamedUrl {
    const NAME: &'static CStr = c"HTTPURL";

    fn class(classes: &Classes) -> u32 {
        classes.url
    }
}

/// Gives such URLs their methods.
pub(super) fn define(context: Context<'_>) -> Result<(), Thrown> {
    let prototype = context.object()?;
    prototype.define_functions(METHODS)?;
    classes::set_prototype::<NamedUrl>(prototype);
    Ok(())
}

/// `` http.url`text ${value} text` ``.
pub(super) fn url<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let parts = call.argument(0);
    let (mut url, mut name) = (String::new(), String::new());
    if !parts.is_array() {
        let text = parts.to_text()?.str().into_owned();
        (url, name) = (text.clone(), text);
    } else {
        for index in 0..parts.length()? {
            let part = parts.at(index)?.to_text()?;
            url.push_str(&part.str());
            name.push_str(&part.str());
            if call.count() > index as usize + 1 {
                url.push_str(&call.argument(index as usize + 1).to_text()?.str());
                name.push_str("${}");
            }
        }
    }
    let clean = clean_text(&url);
    let object = classes::hold(context, None, NamedUrl { url: url.clone(), name: name.clone() })?;
    object.define("name", context.string(name)?)?;
    object.define("url", context.string(url)?)?;
    object.define("clean_url", context.string(clean)?)?;
    Ok(object)
}

const PARTS_METHODS: &[ffi::FunctionEntry] = functions! { c"string" 0 => whole_url; };

const METHODS: &[ffi::FunctionEntry] = functions! {
    c"clean" 0 => clean_url;
    c"getURL" 0 => parts_of_url;
};

fn this_url<'a, 'js>(call: &Call<'js, '_>, value: &'a Value<'js>) -> Result<&'a str, Thrown> {
    let named = classes::held::<NamedUrl>(value).map(|named| &*named.url);
    named.ok_or_else(|| call.context.throw(ErrorKind::Type, "this is a method of http.url"))
}

/// `url.clean()`: without user and password.
fn clean_url<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    call.context.string(clean_text(this_url(call, &object)?))
}

fn clean_text(url: &str) -> String {
    let mut clean = String::new();
    match Url::parse(url) {
        Ok(parsed) if parsed.write_masked(&mut clean) => clean,
        Ok(_) => url.to_owned(),
        Err(_) => http::masked(url),
    }
}

/// `url.getURL()`: its parts, and the whole by `string()`.
fn parts_of_url<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, object) = (call.context, call.this());
    let url = this_url(call, &object)?;
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let parts = context.object()?;
    for (name, part) in [
        ("scheme", scheme),
        ("host", host),
        ("path", path),
        ("raw_query", query),
        ("fragment", fragment),
        ("whole", url),
    ] {
        let part = context.string(part)?;
        if name == "whole" { parts.define_hidden(name, part)? } else { parts.define(name, part)? }
    }
    parts.define_functions(PARTS_METHODS)?;
    Ok(parts)
}

fn whole_url<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    call.this().get("whole")
}
