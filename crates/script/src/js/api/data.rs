//! The module `k6/data`: `SharedArray`.
//!
//! Its elements are kept once for all virtual users, as JSON. Each access parses one element anew,
//! and freezes it: a change would be lost.

use std::ffi::{CStr, c_int};

use super::classes::{self, Classes, Held};
use super::need_sync;
use crate::js::ffi::{self, Raw};
use crate::js::inner::Stage;
use crate::js::native::{Call, native};
use crate::js::store::Rows;
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// The elements of a shared array.
pub(super) struct SharedRows(Rows);

static EXOTIC: ffi::Exotic = ffi::Exotic {
    get_own_property: Some(get_own_property),
    get_own_property_names: Some(get_own_property_names),
    delete_property: None,
    define_own_property: Some(define_own_property),
    has_property: None,
    get_property: None,
    set_property: None,
};

impl Held for SharedRows {
    const NAME: &'static CStr = c"SharedArray";
    const EXOTIC: *const ffi::Exotic = &raw const EXOTIC;

    fn class(classes: &Classes) -> u32 {
        classes.rows
    }
}

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let context = module.context();
    let (constructor, prototype) =
        classes::constructor(context, c"SharedArray", 2, native!(construct), &[])?;
    // The methods of arrays work on whatever has a length and elements.
    let array = context.global().get("Array")?.get("prototype")?;
    let set_prototype = context.global().get("Object")?.get("setPrototypeOf")?;
    set_prototype.call(&context.undefined(), &[prototype, array])?;
    module.define("SharedArray", constructor)
}

/// `new SharedArray(name, function)`: the function makes the elements, the first time that the name
/// is used.
fn construct<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let inner = context.inner();
    if inner.stage.get() != Stage::Init {
        let message = "a SharedArray is made while a script loads only: do it outside of functions";
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let (name, make) = (call.argument(0).to_text()?, call.argument(1));
    if name.bytes().is_empty() || !make.is_function() {
        let message = "a SharedArray needs a name, and a function that returns an array";
        return Err(context.throw(ErrorKind::Type, message));
    }
    need_sync(context, &make, "a SharedArray")?;
    let name = name.str();
    let rows = match inner.shared.store.rows(&name) {
        Some(rows) => rows,
        None => inner.shared.store.add_rows(&name, rows_of(context, &make)?),
    };
    let prototype = call.this().get("prototype")?;
    classes::hold(context, Some(&prototype), SharedRows(rows))
}

fn rows_of(context: Context<'_>, make: &Value<'_>) -> Result<Vec<Box<[u8]>>, Thrown> {
    let made = make.call(&context.undefined(), &[])?;
    if !made.is_array() {
        let message = "the function of a SharedArray has to return an array";
        return Err(context.throw(ErrorKind::Type, message));
    }
    let count = made.length()?;
    let mut rows = Vec::new();
    for index in 0..count {
        let json = made.at(index)?.to_json()?;
        // As in an array: what has no JSON becomes null.
        let row = if json.is_string() { json.to_text()?.bytes().into() } else { (*b"null").into() };
        rows.push(row);
    }
    Ok(rows)
}

/// # Safety
/// QuickJS calls it with an open context and an object of the class, and so the other two.
unsafe extern "C" fn get_own_property(
    context: *mut ffi::Context,
    descriptor: *mut ffi::Descriptor,
    object: Raw,
    atom: u32,
) -> c_int {
    // SAFETY: as the caller says.
    let context = unsafe { Context::new(context) };
    // SAFETY: QuickJS lends the object.
    let object = unsafe { context.lent(object) };
    let Some(SharedRows(rows)) = classes::held::<SharedRows>(&object) else { return 0 };
    let Ok(name) = context.atom_text(atom) else { return -1 };
    let name = name.str();
    let value = if name == "length" {
        Ok(context.number(rows.len() as f64))
    } else {
        // Only the one way to write a number names an element.
        let index = name.parse().ok().filter(|index: &usize| index.to_string() == name);
        let Some(row) = index.and_then(|index| rows.get(index)) else { return 0 };
        element(context, row)
    };
    let Ok(value) = value else { return -1 };
    let none = context.undefined().into_raw();
    let flags = if name == "length" { 0 } else { ffi::PROP_ENUMERABLE | c_int::from(CONFIGURABLE) };
    if !descriptor.is_null() {
        let value = value.into_raw();
        // SAFETY: QuickJS gives room for one.
        unsafe { descriptor.write(ffi::Descriptor { flags, value, getter: none, setter: none }) };
    }
    1
}

const CONFIGURABLE: u8 = ffi::PROP_CONFIGURABLE;

fn element<'js>(context: Context<'js>, row: &[u8]) -> Outcome<'js> {
    let value = context.parse_json(row, c"<SharedArray>")?;
    value.freeze_deep()?;
    Ok(value)
}

unsafe extern "C" fn get_own_property_names(
    context: *mut ffi::Context,
    names: *mut *mut ffi::PropertyName,
    len: *mut u32,
    object: Raw,
) -> c_int {
    // SAFETY: as above.
    let context = unsafe { Context::new(context) };
    // SAFETY: QuickJS lends the object.
    let object = unsafe { context.lent(object) };
    let count = classes::held::<SharedRows>(&object).map_or(0, |SharedRows(rows)| rows.len());
    let wanted: Vec<String> = (0..count).map(|index| index.to_string()).collect();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    super::tags::name_properties(context, &wanted, names, len)
}

unsafe extern "C" fn define_own_property(
    context: *mut ffi::Context,
    _: Raw,
    _: u32,
    _value: Raw,
    _getter: Raw,
    _setter: Raw,
    _flags: c_int,
) -> c_int {
    // SAFETY: as above.
    let context = unsafe { Context::new(context) };
    context.throw(ErrorKind::Type, "a SharedArray cannot be changed");
    -1
}
