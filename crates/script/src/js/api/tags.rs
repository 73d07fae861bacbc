//! Tags of values: from the arguments of a call, and those of the virtual user, which are the
//! object `exec.vu.metrics.tags`. It shows those of the scenario and the group too.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_int};
use std::ptr;

use super::classes::{Classes, Held};
use crate::js::ffi::{self, Raw};
use crate::js::inner::Inner;
use crate::js::value::{Context, ErrorKind, Text, Thrown, Value};
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
        let value = text(context, name, &value)?;
        push(bytes, name.bytes(), value.bytes());
        Ok(())
    })
}

/// The text of a tag's value, which is a string, a number or a boolean.
fn text<'js>(
    context: Context<'js>,
    name: &Text<'_>,
    value: &Value<'js>,
) -> Result<Text<'js>, Thrown> {
    if value.is_string() || value.is_number() || value.is_boolean() {
        return value.to_text();
    }
    let name = name.str();
    let message = format!("tag '{name}' has to be a string, a number or a boolean");
    Err(context.throw(ErrorKind::Type, message))
}

/// The object of the virtual user's tags. They are not its properties: it makes them on demand.
pub(super) struct TagsObject;

static EXOTIC: ffi::Exotic = ffi::Exotic {
    get_own_property: Some(get_own_property),
    get_own_property_names: Some(get_own_property_names),
    delete_property: Some(delete_property),
    define_own_property: Some(define_own_property),
    has_property: None,
    get_property: None,
    set_property: None,
};

impl Held for TagsObject {
    const NAME: &'static CStr = c"Tags";
    const EXOTIC: *const ffi::Exotic = &raw const EXOTIC;

    fn class(classes: &Classes) -> u32 {
        classes.tags
    }
}

/// # Safety
/// QuickJS calls it with an open context, and so the other three.
unsafe extern "C" fn get_own_property(
    context: *mut ffi::Context,
    descriptor: *mut ffi::Descriptor,
    _: Raw,
    atom: u32,
) -> c_int {
    // SAFETY: as the caller says.
    let context = unsafe { Context::new(context) };
    let Ok(name) = context.atom_text(atom) else { return -1 };
    let value = with_value(context.inner(), name.bytes(), |value| {
        (!descriptor.is_null()).then(|| context.string(value))
    });
    let value = match value {
        None => return 0,
        Some(None) => return 1,
        Some(Some(Err(Thrown))) => return -1,
        Some(Some(Ok(value))) => value,
    };
    let none = context.undefined().into_raw();
    let found = ffi::Descriptor {
        flags: ffi::PROP_C_W_E,
        value: value.into_raw(),
        getter: none,
        setter: none,
    };
    // SAFETY: QuickJS gives room for one.
    unsafe { descriptor.write(found) };
    1
}

unsafe extern "C" fn get_own_property_names(
    context: *mut ffi::Context,
    names: *mut *mut ffi::PropertyName,
    len: *mut u32,
    _: Raw,
) -> c_int {
    // SAFETY: as above.
    let context = unsafe { Context::new(context) };
    let inner = context.inner();
    let (own, execution) = (inner.tags.borrow(), inner.execution.borrow());
    let scenario = execution.scenario.as_deref();
    let inherited = scenario.map_or(&[][..], |scenario| &scenario.tags);
    let mut wanted: BTreeSet<&str> =
        own.iter().chain(inherited).map(|(name, _)| name.as_str()).collect();
    if scenario.is_some_and(|scenario| scenario.tags_group) {
        wanted.insert(GROUP);
    }
    let wanted: Vec<&str> = wanted.into_iter().collect();
    name_properties(context, &wanted, names, len)
}

/// Calls `with` with the value of a tag as samples have it, if there is one: the virtual user's
/// own, else the group that it is in, else the scenario's.
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

/// Answers QuickJS with names of properties.
pub(super) fn name_properties(
    context: Context<'_>,
    wanted: &[&str],
    names: *mut *mut ffi::PropertyName,
    len: *mut u32,
) -> c_int {
    let bytes = wanted.len().max(1) * size_of::<ffi::PropertyName>();
    // SAFETY: as many names are written as room was made for; QuickJS frees them.
    unsafe {
        let room = ffi::js_malloc(context.raw(), bytes).cast::<ffi::PropertyName>();
        if room.is_null() {
            return -1;
        }
        for (index, name) in wanted.iter().enumerate() {
            let atom = ffi::JS_NewAtomLen(context.raw(), name.as_ptr().cast(), name.len());
            room.add(index).write(ffi::PropertyName { is_enumerable: true, atom });
        }
        ptr::write(names, room);
        ptr::write(len, wanted.len() as u32);
    }
    0
}

unsafe extern "C" fn delete_property(context: *mut ffi::Context, _: Raw, atom: u32) -> c_int {
    // SAFETY: as above.
    let context = unsafe { Context::new(context) };
    let Ok(name) = context.atom_text(atom) else { return -1 };
    context.inner().tags.borrow_mut().retain(|(known, _)| known.as_bytes() != name.bytes());
    1
}

unsafe extern "C" fn define_own_property(
    context: *mut ffi::Context,
    _: Raw,
    atom: u32,
    value: Raw,
    _getter: Raw,
    _setter: Raw,
    _flags: c_int,
) -> c_int {
    // SAFETY: as above; QuickJS lends the value.
    let context = unsafe { Context::new(context) };
    // SAFETY: as above.
    let value = unsafe { context.lent(value) };
    let Ok(name) = context.atom_text(atom) else { return -1 };
    let Ok(value) = text(context, &name, &value) else { return -1 };
    let (name, value) = (name.str().into_owned(), value.str().into_owned());
    let mut tags = context.inner().tags.borrow_mut();
    if let Some((_, old)) = tags.iter_mut().find(|(known, _)| *known == name) {
        *old = value;
    } else if tags.len() == TAGS_MAX {
        let message = format!("a VU may have {TAGS_MAX} tags of its own");
        context.throw(ErrorKind::Range, message);
        return -1;
    } else {
        tags.push((name, value));
    }
    1
}
