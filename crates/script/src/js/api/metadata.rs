//! `exec.vu.metrics.metadata`: what a script says of the samples of its virtual user, such as the
//! trace that a request belongs to. As in k6 a value is kept as text. Outputs write them; unlike
//! tags they tell no samples apart, so that each request may have others.

use std::ffi::CStr;
use std::sync::Arc;

use super::classes::{self, Classes, Held};
use super::pairs::{self, Pairs};
use crate::js::ffi;
use crate::js::inner::Inner;
use crate::js::native::Call;
use crate::js::value::{Context, ErrorKind, Outcome, Thrown};

/// Names with their texts. Samples share them until the script changes one.
pub type Metadata = Arc<[(Box<str>, Box<str>)]>;

/// The most that a virtual user may set.
const METADATA_MAX: usize = 32;

/// Where the object is kept once a script has asked for it. It is not listed.
const KEPT: &str = "(metadata)";

/// The getter `metrics.metadata`.
pub(super) fn metadata<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, metrics) = (call.context, call.this());
    let kept = metrics.get(KEPT)?;
    if kept.is_object() {
        return Ok(kept);
    }
    let made = classes::hold(context, None, MetadataObject)?;
    metrics.define_hidden(KEPT, made.clone())?;
    Ok(made)
}

/// The object of the virtual user's metadata.
pub(super) struct MetadataObject;

static EXOTIC: ffi::Exotic = pairs::exotic::<MetadataObject>();

impl Held for MetadataObject {
    const NAME: &'static CStr = c"Metadata";
    const EXOTIC: *const ffi::Exotic = &raw const EXOTIC;

    fn class(classes: &Classes) -> u32 {
        classes.metadata
    }
}

impl Pairs for MetadataObject {
    const KIND: &'static str = "metadata";

    fn names(inner: &Inner) -> Vec<String> {
        all(inner).iter().map(|(name, _)| String::from(&**name)).collect()
    }

    fn with_value<R>(inner: &Inner, name: &[u8], with: impl FnOnce(&str) -> R) -> Option<R> {
        let all = all(inner);
        let found = all.iter().find(|(known, _)| known.as_bytes() == name);
        found.map(|(_, value)| with(value))
    }

    fn remove(inner: &Inner, name: &[u8]) {
        let all = all(inner);
        if all.iter().any(|(known, _)| known.as_bytes() == name) {
            let rest: Metadata =
                all.iter().filter(|(known, _)| known.as_bytes() != name).cloned().collect();
            *inner.metadata.borrow_mut() = (!rest.is_empty()).then_some(rest);
        }
    }

    fn put(context: Context<'_>, name: String, value: String) -> Result<(), Thrown> {
        let inner = context.inner();
        let mut pairs = all(inner).to_vec();
        let (name, value) = (name.into_boxed_str(), value.into_boxed_str());
        if let Some((_, old)) = pairs.iter_mut().find(|(known, _)| *known == name) {
            *old = value;
        } else if pairs.len() == METADATA_MAX {
            let message = format!("a VU may have {METADATA_MAX} metadata");
            return Err(context.throw(ErrorKind::Range, message));
        } else {
            pairs.push((name, value));
        }
        *inner.metadata.borrow_mut() = Some(pairs.into());
        Ok(())
    }
}

fn all(inner: &Inner) -> Metadata {
    inner.metadata.borrow().clone().unwrap_or_default()
}
