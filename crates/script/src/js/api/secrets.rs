//! The module `k6/secrets`: values from sources of the host's. What a script has got this way does
//! not appear in its log.

use std::borrow::Cow;

use crate::js::ffi;
use crate::js::native::{Call, functions};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// What stands in the log for a secret.
const REDACTED: &str = "***SECRET_REDACTED***";

/// Where the name of a source is kept. It is not listed.
const SOURCE: &str = "(source)";

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"get" 1 => get;
    c"source" 1 => source;
};

const METHODS: &[ffi::FunctionEntry] = functions! { c"get" 1 => get; };

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    module.define_functions(FUNCTIONS)
}

/// `secrets.source(name)`.
fn source<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let source = context.object()?;
    source.define_functions(METHODS)?;
    source.define_hidden(SOURCE, context.string(&*call.argument(0).to_text()?.str())?)?;
    Ok(source)
}

/// `secrets.get(name)`: a promise, of a secret of the default source or of that which this is.
fn get<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let name = call.argument(0).to_text()?;
    let this = call.this();
    let source = if this.is_object() { this.get(SOURCE)? } else { context.undefined() };
    let source = if source.is_string() { Some(source.to_text()?) } else { None };
    let source = source.as_ref().map(|text| text.str());
    let secrets = &context.inner().shared.settings.secrets;
    let found = secrets.find(source.as_deref(), &name.str());
    let (promise, [resolve, reject]) = context.promise()?;
    match found {
        Ok(secret) => {
            let value = context.string(&secret)?;
            let mut known = context.inner().secrets.borrow_mut();
            if !secret.is_empty() && !known.contains(&secret) {
                known.push(secret);
            }
            drop(known);
            resolve.call(&context.undefined(), &[value])?;
        }
        Err(why) => {
            let message = format!("cannot get the secret '{}': {why}", name.str());
            context.throw(ErrorKind::Plain, message);
            let error = context.exception();
            reject.call(&context.undefined(), &[error])?;
        }
    }
    Ok(promise)
}

/// A text without the secrets that the script has got.
pub(in crate::js) fn redact<'a>(context: Context<'_>, text: &'a str) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for secret in context.inner().secrets.borrow().iter() {
        if text.contains(secret.as_str()) {
            text = Cow::Owned(text.replace(secret.as_str(), REDACTED));
        }
    }
    text
}
