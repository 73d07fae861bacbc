//! Tags of values: from the arguments of a call, and those of the virtual user, which are the
//! object `exec.vu.metrics.tags`. It shows those of the scenario and the group too.

use std::collections::BTreeSet;
use std::ffi::CStr;

use super::classes::{Classes, Held};
use super::pairs::{self, Pairs, text};
use crate::js::ffi;
use crate::js::inner::Inner;
use crate::js::value::{Context, ErrorKind, Thrown, Value};
use crate::js::worker::SEPARATOR;

/// The most tags that a virtual user may set.
const TAGS_MAX: usize = 32;

/// The tag that has the group.
const GROUP: &str = "group";

/// The number of a set of tags: those of the virtual user, with those of a call over them, and with
/// `last` over all. `None` without any.
pub(super) fn number(
    context: Context<'_>,
    tags: &Value<'_>,
    last: Option<(&str, &[u8])>,
) -> Result<Option<u32>, Thrown> {
    let inner = context.inner();
    let mut bytes = inner.scratch.take();
    bytes.clear();
    for (name, value) in &*inner.tags.borrow() {
        push(&mut bytes, name.as_bytes(), value.as_bytes());
    }
    let added = add(context, tags, &mut bytes);
    if let Some((name, value)) = last {
        push(&mut bytes, name.as_bytes(), value);
    }
    let number = (!bytes.is_empty()).then(|| inner.worker.tags_number(&bytes));
    *inner.scratch.borrow_mut() = bytes;
    added.map(|()| number)
}

/// The number of the virtual user's own tags; `None` without any.
pub(in crate::js) fn own_number(inner: &Inner) -> Option<u32> {
    let tags = inner.tags.borrow();
    if tags.is_empty() {
        return None;
    }
    let mut bytes = inner.scratch.borrow_mut();
    bytes.clear();
    for (name, value) in &*tags {
        push(&mut bytes, name.as_bytes(), value.as_bytes());
    }
    Some(inner.worker.tags_number(&bytes))
}

fn push(bytes: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, value] {
        bytes.extend(part.iter().filter(|byte| **byte != SEPARATOR));
        bytes.push(SEPARATOR);
    }
}

fn add(context: Context<'_>, tags: &Value<'_>, bytes: &mut Vec<u8>) -> Result<(), Thrown> {
    // What is no object has no tags.
    if !tags.is_object() {
        return Ok(());
    }
    tags.for_each_property(|name, value| {
        let value = text::<TagsObject>(context, name, &value)?;
        push(bytes, name.bytes(), value.bytes());
        Ok(())
    })
}

/// The object of the virtual user's tags.
pub(super) struct TagsObject;

static EXOTIC: ffi::Exotic = pairs::exotic::<TagsObject>();

impl Held for TagsObject {
    const NAME: &'static CStr = c"Tags";
    const EXOTIC: *const ffi::Exotic = &raw const EXOTIC;

    fn class(classes: &Classes) -> u32 {
        classes.tags
    }
}

impl Pairs for TagsObject {
    const KIND: &'static str = "tag";

    fn names(inner: &Inner) -> Vec<String> {
        let (own, execution) = (inner.tags.borrow(), inner.execution.borrow());
        let scenario = execution.scenario.as_deref();
        let inherited = scenario.map_or(&[][..], |scenario| &scenario.tags);
        let mut names: BTreeSet<&str> =
            own.iter().chain(inherited).map(|(name, _)| name.as_str()).collect();
        if scenario.is_some_and(|scenario| scenario.tags_group) {
            names.insert(GROUP);
        }
        names.into_iter().map(str::to_owned).collect()
    }

    /// The value of a tag as samples have it: the virtual user's own, else the group that it is in,
    /// else the scenario's.
    fn with_value<R>(inner: &Inner, name: &[u8], with: impl FnOnce(&str) -> R) -> Option<R> {
        let find =
            |tags: &[(String, String)]| tags.iter().position(|(known, _)| known.as_bytes() == name);
        let own = inner.tags.borrow();
        if let Some(at) = find(&own) {
            return Some(with(&own[at].1));
        }
        let execution = inner.execution.borrow();
        let scenario = execution.scenario.as_deref()?;
        if scenario.tags_group && name == GROUP.as_bytes() {
            return Some(with(&inner.group.borrow()));
        }
        find(&scenario.tags).map(|at| with(&scenario.tags[at].1))
    }

    fn remove(inner: &Inner, name: &[u8]) {
        inner.tags.borrow_mut().retain(|(known, _)| known.as_bytes() != name);
    }

    fn put(context: Context<'_>, name: String, value: String) -> Result<(), Thrown> {
        let mut tags = context.inner().tags.borrow_mut();
        if let Some((_, old)) = tags.iter_mut().find(|(known, _)| *known == name) {
            *old = value;
        } else if tags.len() == TAGS_MAX {
            let message = format!("a VU may have {TAGS_MAX} tags of its own");
            return Err(context.throw(ErrorKind::Range, message));
        } else {
            tags.push((name, value));
        }
        Ok(())
    }
}
