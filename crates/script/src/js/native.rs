//! How functions written here are called by scripts.
//!
//! Each is a plain function of a [`Call`]; the macros give it the shape that QuickJS calls.

use std::ffi::c_int;

use super::ffi::{self, Raw};
use super::value::{Context, Outcome, Value};

/// One call: who is called and with what.
pub(super) struct Call<'js, 'a> {
    pub context: Context<'js>,
    this: Raw,
    arguments: &'a [Raw],
}

impl<'js> Call<'js, '_> {
    /// `this`; for a constructor, what `new` was used on.
    pub(super) fn this(&self) -> Value<'js> {
        // SAFETY: QuickJS lends it during the call, as it does the arguments.
        unsafe { self.context.lent(self.this) }
    }

    /// An argument; `undefined` if there are fewer.
    #[inline]
    pub(super) fn argument(&self, index: usize) -> Value<'js> {
        match self.arguments.get(index) {
            // SAFETY: as above.
            Some(raw) => unsafe { self.context.lent(*raw) },
            None => self.context.undefined(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.arguments.len()
    }

    /// The arguments from one on.
    pub(super) fn rest(&self, from: usize) -> impl Iterator<Item = Value<'js>> {
        // SAFETY: as above.
        self.arguments.iter().skip(from).map(|raw| unsafe { self.context.lent(*raw) })
    }
}

/// What an exception is to QuickJS.
pub(super) const EXCEPTION: Raw = Raw { payload: 0, tag: ffi::TAG_EXCEPTION };

/// Carries out a call of QuickJS.
///
/// # Safety
/// All is as QuickJS hands it to functions: the context is open, and there are `argc` values.
#[inline]
pub(super) unsafe fn enter<'js>(
    context: *mut ffi::Context,
    this: Raw,
    argc: c_int,
    argv: *const Raw,
    function: impl FnOnce(&Call<'js, '_>) -> Outcome<'js>,
) -> Raw {
    let count = usize::try_from(argc).unwrap_or(0);
    // SAFETY: as the caller says.
    let (context, arguments) = unsafe {
        let arguments: &[Raw] =
            if count == 0 { &[] } else { std::slice::from_raw_parts(argv, count) };
        (Context::new(context), arguments)
    };
    function(&Call { context, this, arguments }).map_or(EXCEPTION, Value::into_raw)
}

/// A function in the shape that QuickJS calls.
macro_rules! native {
    ($function:path) => {{
        unsafe extern "C" fn call(
            context: *mut $crate::js::ffi::Context,
            this: $crate::js::ffi::Raw,
            argc: std::ffi::c_int,
            argv: *const $crate::js::ffi::Raw,
        ) -> $crate::js::ffi::Raw {
            // SAFETY: QuickJS calls this as it calls functions.
            unsafe { $crate::js::native::enter(context, this, argc, argv, |call| $function(call)) }
        }
        call as $crate::js::ffi::CFunction
    }};
}

/// A list of functions: name, number of arguments, function.
macro_rules! functions {
    ($($name:literal $length:literal => $function:path;)*) => {
        &[$($crate::js::native::entry($name, $length, $crate::js::native::native!($function)),)*]
    };
}

pub(super) use {functions, native};

/// One function of a list.
pub(super) const fn entry(
    name: &'static std::ffi::CStr,
    length: u8,
    function: ffi::CFunction,
) -> ffi::FunctionEntry {
    ffi::FunctionEntry {
        name: name.as_ptr(),
        flags: ffi::PROP_WRITABLE | ffi::PROP_CONFIGURABLE | ffi::PROP_ENUMERABLE as u8,
        kind: 0,
        magic: 0,
        called: ffi::Called { length, kind: ffi::CFUNC_GENERIC as u8, function },
    }
}
