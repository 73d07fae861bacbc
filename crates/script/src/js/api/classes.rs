//! Classes of objects that hold a value of Rust, which is dropped when the object is collected.

use std::ffi::{CStr, c_void};
use std::ptr;

use super::crypto::Hasher;
use super::data::SharedRows;
use super::fs::Content;
use super::grpc::MethodObject;
use super::html::Page;
use super::http::{Callback, File, JarObject, NamedUrl, ResponseObject};
use super::metadata::MetadataObject;
use super::metrics::Metric;
use super::tags::TagsObject;
use crate::js::ffi::{self, Raw};
use crate::js::native::Call;
use crate::js::value::{Context, Outcome, Thrown, Value};

/// The numbers of the classes in one runtime.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::js) struct Classes {
    pub metric: u32,
    pub rows: u32,
    pub response: u32,
    pub file: u32,
    pub url: u32,
    pub tags: u32,
    pub metadata: u32,
    pub callback: u32,
    pub hasher: u32,
    pub jar: u32,
    pub page: u32,
    pub content: u32,
    pub method: u32,
}

/// What an object of a class holds.
pub(super) trait Held: 'static {
    /// What the class is called.
    const NAME: &'static CStr;
    /// What makes properties on demand; null if all are plain ones.
    const EXOTIC: *const ffi::Exotic = ptr::null();

    /// The number of the class.
    fn class(classes: &Classes) -> u32;
}

/// Makes the classes known to a new runtime.
pub(super) fn register(context: Context<'_>) -> Result<(), Thrown> {
    let classes = Classes {
        metric: add::<Metric>(context)?,
        rows: add::<SharedRows>(context)?,
        response: add::<ResponseObject>(context)?,
        file: add::<File>(context)?,
        url: add::<NamedUrl>(context)?,
        tags: add::<TagsObject>(context)?,
        metadata: add::<MetadataObject>(context)?,
        callback: add::<Callback>(context)?,
        hasher: add::<Hasher>(context)?,
        jar: add::<JarObject>(context)?,
        page: add::<Page>(context)?,
        content: add::<Content>(context)?,
        method: add::<MethodObject>(context)?,
    };
    context.inner().classes.set(classes);
    Ok(())
}

fn add<T: Held>(context: Context<'_>) -> Result<u32, Thrown> {
    let def = ffi::ClassDef {
        name: T::NAME.as_ptr(),
        finalizer: Some(finalize::<T>),
        gc_mark: None,
        call: None,
        exotic: T::EXOTIC,
    };
    // Objects have what all objects have, such as a text, unless their class gets a prototype.
    let prototype = context.object()?.get("__proto__")?;
    let mut class = 0;
    // SAFETY: the runtime is open; QuickJS copies the definition, which points to constants, and
    // takes over the reference to the prototype.
    let failed = unsafe {
        ffi::JS_NewClassID(context.runtime(), &raw mut class);
        let failed = ffi::JS_NewClass(context.runtime(), class, &raw const def);
        if failed >= 0 {
            ffi::JS_SetClassProto(context.raw(), class, prototype.into_raw());
        }
        failed
    };
    if failed < 0 { Err(Thrown) } else { Ok(class) }
}

unsafe extern "C" fn finalize<T: Held>(_: *mut ffi::Runtime, object: Raw) {
    let mut class = 0;
    // SAFETY: QuickJS finalizes each object once, and `hold` has put the value there, or nothing.
    unsafe {
        let held = ffi::JS_GetAnyOpaque(object, &raw mut class).cast::<T>();
        if !held.is_null() {
            drop(Box::from_raw(held));
        }
    }
}

/// A new object that holds a value; with a prototype of its own, or that of its class.
pub(super) fn hold<'js, T: Held>(
    context: Context<'js>,
    prototype: Option<&Value<'js>>,
    held: T,
) -> Outcome<'js> {
    let class = T::class(&context.inner().classes.get());
    // SAFETY: the class is registered. The object owns the value from here on.
    unsafe {
        let object = match prototype {
            Some(prototype) => ffi::JS_NewObjectProtoClass(context.raw(), prototype.raw(), class),
            None => ffi::JS_NewObjectClass(context.raw(), class),
        };
        let object = context.own(object)?;
        ffi::JS_SetOpaque(object.raw(), Box::into_raw(Box::new(held)).cast::<c_void>());
        Ok(object)
    }
}

/// What an object holds; `None` for one of another class.
pub(super) fn held<'a, T: Held>(value: &'a Value<'_>) -> Option<&'a T> {
    let class = T::class(&value.context().inner().classes.get());
    // SAFETY: objects of the class hold a value of this type for as long as they live.
    unsafe { ffi::JS_GetOpaque(value.raw(), class).cast::<T>().as_ref() }
}

/// Sets the prototype that objects of a class get.
pub(super) fn set_prototype<T: Held>(prototype: Value<'_>) {
    let context = prototype.context();
    let class = T::class(&context.inner().classes.get());
    // SAFETY: the class is registered; QuickJS takes over the reference.
    unsafe { ffi::JS_SetClassProto(context.raw(), class, prototype.into_raw()) };
}

/// A constructor with its prototype, which gets the methods.
pub(super) fn constructor<'js>(
    context: Context<'js>,
    name: &'static CStr,
    length: i32,
    function: ffi::CFunction,
    methods: &'static [ffi::FunctionEntry],
) -> Result<(Value<'js>, Value<'js>), Thrown> {
    // SAFETY: the name ends with a NUL, and the function has the shape of a constructor.
    let constructor = unsafe {
        context.own({
            let kind = ffi::CFUNC_CONSTRUCTOR;
            ffi::JS_NewCFunction2(context.raw(), function, name.as_ptr(), length, kind, 0)
        })
    }?;
    let prototype = context.object()?;
    prototype.define_functions(methods)?;
    // SAFETY: all are alive.
    let failed =
        unsafe { ffi::JS_SetConstructor(context.raw(), constructor.raw(), prototype.raw()) };
    if failed < 0 { Err(Thrown) } else { Ok((constructor, prototype)) }
}

/// A plain object with the prototype of the constructor that `new` was used on.
pub(super) fn plain_of<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    const OBJECT: u32 = 1;
    let context = call.context;
    let prototype = call.this().get("prototype")?;
    // SAFETY: all are alive; the class of plain objects is there in every runtime.
    unsafe { context.own(ffi::JS_NewObjectProtoClass(context.raw(), prototype.raw(), OBJECT)) }
}
