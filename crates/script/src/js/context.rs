//! Where a script runs: what makes values, raises exceptions, and reaches the virtual user.

use std::ffi::CStr;
use std::marker::PhantomData;

use super::ffi::{self, Raw};
use super::inner::Inner;
use super::value::{Outcome, Text, Thrown, Value};

/// Where a script runs.
#[derive(Clone, Copy)]
pub(super) struct Context<'js> {
    raw: *mut ffi::Context,
    _during: PhantomData<&'js Inner>,
}

/// Kinds of errors that functions raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorKind {
    Plain,
    Type,
    Range,
}

impl<'js> Context<'js> {
    /// # Safety
    /// The context is open, and belongs to a virtual user, during `'js`.
    #[inline]
    pub(super) unsafe fn new(raw: *mut ffi::Context) -> Self {
        Self { raw, _during: PhantomData }
    }

    #[inline]
    pub(super) fn raw(self) -> *mut ffi::Context {
        self.raw
    }

    pub(super) fn runtime(self) -> *mut ffi::Runtime {
        // SAFETY: the context is open.
        unsafe { ffi::JS_GetRuntime(self.raw) }
    }

    /// The virtual user that this is the context of.
    #[inline]
    pub(super) fn inner(self) -> &'js Inner {
        // SAFETY: it was set when the context was made, and outlives it.
        unsafe { &*ffi::JS_GetContextOpaque(self.raw).cast::<Inner>() }
    }

    /// Takes over a reference that QuickJS has given, or an exception.
    ///
    /// # Safety
    /// It is one or the other, of this context.
    #[inline]
    pub(super) unsafe fn own(self, raw: Raw) -> Outcome<'js> {
        if raw.tag == ffi::TAG_EXCEPTION {
            return Err(Thrown);
        }
        // SAFETY: as the caller says.
        Ok(unsafe { Value::of(raw, self) })
    }

    /// A value that QuickJS lends.
    ///
    /// # Safety
    /// It is alive, and of this context.
    #[inline]
    pub(super) unsafe fn lent(self, raw: Raw) -> Value<'js> {
        // SAFETY: as the caller says.
        unsafe { Value::of(ffi::JS_DupValue(self.raw, raw), self) }
    }

    fn immediate(self, tag: i64, payload: u64) -> Value<'js> {
        // SAFETY: such a value refers to nothing.
        unsafe { Value::of(Raw { payload, tag }, self) }
    }

    pub(super) fn undefined(self) -> Value<'js> {
        self.immediate(ffi::TAG_UNDEFINED, 0)
    }

    pub(super) fn null(self) -> Value<'js> {
        self.immediate(ffi::TAG_NULL, 0)
    }

    pub(super) fn boolean(self, is: bool) -> Value<'js> {
        self.immediate(ffi::TAG_BOOL, u64::from(is))
    }

    pub(super) fn integer(self, number: i32) -> Value<'js> {
        self.immediate(ffi::TAG_INT, u64::from(number.cast_unsigned()))
    }

    /// A number, as an integer if it is one, which is what scripts mostly do with it.
    pub(super) fn number(self, number: f64) -> Value<'js> {
        let whole = number as i32;
        if f64::from(whole) == number && (whole != 0 || number.is_sign_positive()) {
            self.integer(whole)
        } else {
            self.immediate(ffi::TAG_FLOAT64, number.to_bits())
        }
    }

    /// A string. Bytes that are not UTF-8 become replacement characters.
    pub(super) fn string(self, text: impl AsRef<[u8]>) -> Outcome<'js> {
        let bytes = text.as_ref();
        let text = String::from_utf8_lossy(bytes);
        // SAFETY: QuickJS copies as many bytes as it is told.
        unsafe { self.own(ffi::JS_NewStringLen(self.raw, text.as_ptr().cast(), text.len())) }
    }

    pub(super) fn object(self) -> Outcome<'js> {
        // SAFETY: the context is open.
        unsafe { self.own(ffi::JS_NewObject(self.raw)) }
    }

    pub(super) fn array(self) -> Outcome<'js> {
        // SAFETY: the context is open.
        unsafe { self.own(ffi::JS_NewArray(self.raw)) }
    }

    /// An `ArrayBuffer` with a copy of the bytes.
    pub(super) fn array_buffer(self, bytes: &[u8]) -> Outcome<'js> {
        self.need_typed_arrays()?;
        // SAFETY: QuickJS copies as many bytes as it is told.
        unsafe { self.own(ffi::JS_NewArrayBufferCopy(self.raw, bytes.as_ptr(), bytes.len())) }
    }

    /// A `Uint8Array` with a copy of the bytes.
    pub(super) fn byte_array(self, bytes: &[u8]) -> Outcome<'js> {
        self.need_typed_arrays()?;
        // SAFETY: QuickJS copies as many bytes as it is told.
        unsafe { self.own(ffi::JS_NewUint8ArrayCopy(self.raw, bytes.as_ptr(), bytes.len())) }
    }

    fn need_typed_arrays(self) -> Result<(), Thrown> {
        // SAFETY: the context is open.
        let failed = unsafe { ffi::plimsoll_need_typed_arrays(self.raw) } != 0;
        if failed { Err(Thrown) } else { Ok(()) }
    }

    pub(super) fn global(self) -> Value<'js> {
        // SAFETY: the context is open; the global object always exists.
        unsafe { Value::of(ffi::JS_GetGlobalObject(self.raw), self) }
    }

    /// What JSON stands for. `name` is where the text is from, for messages.
    pub(super) fn parse_json(self, text: &[u8], name: &CStr) -> Outcome<'js> {
        let text = nul_terminated(text);
        // SAFETY: the text ends with a NUL after its length, as QuickJS asks for.
        unsafe {
            self.own(ffi::plimsoll_parse_json(
                self.raw,
                text.as_ptr().cast(),
                text.len() - 1,
                name.as_ptr(),
            ))
        }
    }

    /// A new promise, and what resolves and rejects it.
    pub(super) fn promise(self) -> Result<(Value<'js>, [Value<'js>; 2]), Thrown> {
        let none = self.undefined().into_raw();
        let mut resolving = [none, none];
        // SAFETY: QuickJS writes two values.
        let promise =
            unsafe { self.own(ffi::JS_NewPromiseCapability(self.raw, resolving.as_mut_ptr())) }?;
        // SAFETY: as above.
        Ok((promise, resolving.map(|raw| unsafe { Value::of(raw, self) })))
    }

    /// Raises an error with this message.
    #[cold]
    pub(super) fn throw(self, kind: ErrorKind, message: impl AsRef<str>) -> Thrown {
        let text = nul_terminated(message.as_ref().replace('\0', " ").as_bytes());
        let format = c"%s".as_ptr();
        let text = text.as_ptr();
        // SAFETY: the format takes one string, which ends with a NUL.
        unsafe {
            match kind {
                ErrorKind::Plain => ffi::JS_ThrowPlainError(self.raw, format, text),
                ErrorKind::Type => ffi::JS_ThrowTypeError(self.raw, format, text),
                ErrorKind::Range => ffi::JS_ThrowRangeError(self.raw, format, text),
            }
        };
        Thrown
    }

    /// Raises what no `catch` and no `finally` sees.
    #[cold]
    pub(super) fn throw_uncatchable(self, message: &CStr) -> Thrown {
        // SAFETY: the format takes one string. The exception is taken and put back.
        unsafe {
            ffi::JS_ThrowInternalError(self.raw, c"%s".as_ptr(), message.as_ptr());
            let error = ffi::JS_GetException(self.raw);
            ffi::JS_SetUncatchableError(self.raw, error);
            ffi::JS_Throw(self.raw, error);
        }
        self.poll_soon();
        Thrown
    }

    /// Has the script looked at before it does anything that takes time.
    pub(super) fn poll_soon(self) {
        // SAFETY: the context is open.
        unsafe { ffi::plimsoll_poll_soon(self.raw) };
    }

    /// Raises a value. An exception that was uncatchable still is.
    pub(super) fn throw_value(self, value: Value<'js>) -> Thrown {
        // SAFETY: QuickJS takes over the reference.
        unsafe { ffi::JS_Throw(self.raw, value.into_raw()) };
        Thrown
    }

    /// The exception that is pending; it is no longer.
    pub(super) fn exception(self) -> Value<'js> {
        // SAFETY: the context is open.
        unsafe { Value::of(ffi::JS_GetException(self.raw), self) }
    }

    pub(super) fn function(
        self,
        name: &CStr,
        length: i32,
        function: ffi::CFunction,
    ) -> Outcome<'js> {
        let kind = ffi::CFUNC_GENERIC;
        // SAFETY: the name ends with a NUL, and the function has the generic shape.
        unsafe {
            self.own(ffi::JS_NewCFunction2(self.raw, function, name.as_ptr(), length, kind, 0))
        }
    }

    pub(super) fn atom(self, name: &str) -> u32 {
        // SAFETY: QuickJS reads as many bytes as it is told.
        unsafe { ffi::JS_NewAtomLen(self.raw, name.as_ptr().cast(), name.len()) }
    }

    /// The text of a property's name.
    pub(super) fn atom_text(self, atom: u32) -> Result<Text<'js>, Thrown> {
        let mut len = 0;
        // SAFETY: the atom is alive; QuickJS writes the length.
        let bytes = unsafe { ffi::JS_AtomToCStringLen(self.raw, &raw mut len, atom) };
        if bytes.is_null() {
            Err(Thrown)
        } else {
            Ok(Text { bytes: bytes.cast(), len, context: self })
        }
    }
}

pub(super) fn nul_terminated(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 1);
    text.extend_from_slice(bytes);
    text.push(0);
    text
}
