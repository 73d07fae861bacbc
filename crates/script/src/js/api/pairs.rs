//! Objects whose properties are names with texts that are kept outside of the runtime, where
//! samples get them from: `exec.vu.metrics.tags` and `exec.vu.metrics.metadata`. They make a
//! property when the script looks at it.

use std::ffi::c_int;
use std::ptr;

use super::classes::Held;
use crate::js::ffi::{self, Raw};
use crate::js::inner::Inner;
use crate::js::value::{Context, ErrorKind, Text, Thrown, Value};

/// Where the properties of such an object are.
pub(super) trait Pairs: Held {
    /// What one is called, in messages.
    const KIND: &'static str;

    /// The names that there are.
    fn names(inner: &Inner) -> Vec<String>;

    /// Calls `with` with the text of a name, if there is one.
    fn with_value<R>(inner: &Inner, name: &[u8], with: impl FnOnce(&str) -> R) -> Option<R>;

    /// Forgets a name.
    fn remove(inner: &Inner, name: &[u8]);

    /// Sets the text of a name.
    fn put(context: Context<'_>, name: String, value: String) -> Result<(), Thrown>;
}

/// What a class of such objects has QuickJS call.
pub(super) const fn exotic<P: Pairs>() -> ffi::Exotic {
    ffi::Exotic {
        get_own_property: Some(get_own_property::<P>),
        get_own_property_names: Some(get_own_property_names::<P>),
        delete_property: Some(delete_property::<P>),
        define_own_property: Some(define_own_property::<P>),
        has_property: None,
        get_property: None,
        set_property: None,
    }
}

/// The text of a value, which is a string, a number or a boolean.
pub(super) fn text<'js, P: Pairs>(
    context: Context<'js>,
    name: &Text<'_>,
    value: &Value<'js>,
) -> Result<Text<'js>, Thrown> {
    if value.is_string() || value.is_number() || value.is_boolean() {
        return value.to_text();
    }
    let name = name.str();
    let message = format!("{} '{name}' has to be a string, a number or a boolean", P::KIND);
    Err(context.throw(ErrorKind::Type, message))
}

/// # Safety
/// QuickJS calls it with an open context, and so the other three.
unsafe extern "C" fn get_own_property<P: Pairs>(
    context: *mut ffi::Context,
    descriptor: *mut ffi::Descriptor,
    _: Raw,
    atom: u32,
) -> c_int {
    // SAFETY: as the caller says.
    let context = unsafe { Context::new(context) };
    let Ok(name) = context.atom_text(atom) else { return -1 };
    let value = P::with_value(context.inner(), name.bytes(), |value| {
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

unsafe extern "C" fn get_own_property_names<P: Pairs>(
    context: *mut ffi::Context,
    names: *mut *mut ffi::PropertyName,
    len: *mut u32,
    _: Raw,
) -> c_int {
    // SAFETY: as above.
    let context = unsafe { Context::new(context) };
    let wanted = P::names(context.inner());
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    name_properties(context, &wanted, names, len)
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

unsafe extern "C" fn delete_property<P: Pairs>(
    context: *mut ffi::Context,
    _: Raw,
    atom: u32,
) -> c_int {
    // SAFETY: as above.
    let context = unsafe { Context::new(context) };
    let Ok(name) = context.atom_text(atom) else { return -1 };
    P::remove(context.inner(), name.bytes());
    1
}

unsafe extern "C" fn define_own_property<P: Pairs>(
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
    let Ok(value) = text::<P>(context, &name, &value) else { return -1 };
    let (name, value) = (name.str().into_owned(), value.str().into_owned());
    if P::put(context, name, value).is_err() { -1 } else { 1 }
}
