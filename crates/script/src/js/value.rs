//! Values of a script and what can be done with them, for the functions that scripts call.
//!
//! A [`Value`] owns a reference, and lives at most as long as the call that it was made in. An
//! operation that raises an exception gives [`Thrown`]: the exception stays with the context, and
//! the function that was called passes it on.

use std::borrow::Cow;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::ptr;

pub(super) use super::context::{Context, ErrorKind};
use super::ffi::{self, Raw};

/// An exception is pending in the context.
#[derive(Debug)]
pub(super) struct Thrown;

/// What most operations come to.
pub(super) type Outcome<'js> = Result<Value<'js>, Thrown>;

/// A value of a script.
pub(super) struct Value<'js> {
    raw: Raw,
    context: Context<'js>,
}

impl Drop for Value<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.raw.tag < 0 {
            // SAFETY: this owns one reference, and the context is open for as long as `'js`.
            unsafe { ffi::JS_FreeValue(self.context.raw(), self.raw) };
        }
    }
}

impl Clone for Value<'_> {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: the value is alive, and the context open.
        let raw = unsafe { ffi::JS_DupValue(self.context.raw(), self.raw) };
        Self { raw, context: self.context }
    }
}

/// The text of a string, as QuickJS lends it. Lone surrogates make it invalid UTF-8.
pub(super) struct Text<'js> {
    pub(super) bytes: *const u8,
    pub(super) len: usize,
    pub(super) context: Context<'js>,
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        // SAFETY: it came from `JS_ToCStringLen2` or `JS_AtomToCStringLen` of this context.
        unsafe { ffi::JS_FreeCString(self.context.raw(), self.bytes.cast()) };
    }
}

impl Text<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: QuickJS lends this many bytes until they are given back.
        unsafe { std::slice::from_raw_parts(self.bytes, self.len) }
    }

    pub(super) fn str(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }
}

impl<'js> Value<'js> {
    /// # Safety
    /// The reference is this value's own, and the context is open for as long as `'js`.
    pub(super) unsafe fn of(raw: Raw, context: Context<'js>) -> Self {
        Self { raw, context }
    }

    #[inline]
    pub(super) fn raw(&self) -> Raw {
        self.raw
    }

    #[inline]
    pub(super) fn context(&self) -> Context<'js> {
        self.context
    }

    /// Gives the reference away.
    #[inline]
    pub(super) fn into_raw(self) -> Raw {
        ManuallyDrop::new(self).raw
    }

    pub(super) fn is_undefined(&self) -> bool {
        self.raw.tag == ffi::TAG_UNDEFINED
    }

    pub(super) fn is_null(&self) -> bool {
        self.raw.tag == ffi::TAG_NULL
    }

    /// Whether it is `undefined` or `null`.
    pub(super) fn is_nothing(&self) -> bool {
        self.is_undefined() || self.is_null()
    }

    pub(super) fn is_boolean(&self) -> bool {
        self.raw.tag == ffi::TAG_BOOL
    }

    pub(super) fn is_object(&self) -> bool {
        self.raw.tag == ffi::TAG_OBJECT
    }

    pub(super) fn is_string(&self) -> bool {
        self.raw.tag == ffi::TAG_STRING || self.raw.tag == ffi::TAG_STRING_ROPE
    }

    pub(super) fn is_number(&self) -> bool {
        self.raw.tag == ffi::TAG_INT || self.raw.tag == ffi::TAG_FLOAT64
    }

    pub(super) fn is_function(&self) -> bool {
        // SAFETY: context and value are alive; so in the other questions.
        unsafe { ffi::JS_IsFunction(self.context.raw(), self.raw) }
    }

    pub(super) fn is_async_function(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::JS_IsAsyncFunction(self.raw) }
    }

    /// Whether it is an array to scripts, such as a `SharedArray`.
    pub(super) fn is_array(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::plimsoll_is_array(self.context.raw(), self.raw) }
    }

    pub(super) fn is_error(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::JS_IsError(self.raw) }
    }

    pub(super) fn is_date(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::JS_IsDate(self.raw) }
    }

    pub(super) fn is_map(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::JS_IsMap(self.raw) }
    }

    pub(super) fn is_set(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::JS_IsSet(self.raw) }
    }

    pub(super) fn is_big_int(&self) -> bool {
        matches!(self.raw.tag, ffi::TAG_BIG_INT | ffi::TAG_SHORT_BIG_INT)
    }

    pub(super) fn is_symbol(&self) -> bool {
        self.raw.tag == ffi::TAG_SYMBOL
    }

    pub(super) fn is_array_buffer(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::JS_IsArrayBuffer(self.raw) }
    }

    pub(super) fn is_typed_array(&self) -> bool {
        self.typed_array_type().is_some()
    }

    /// Which kind of typed array it is, if it is one.
    pub(super) fn typed_array_type(&self) -> Option<c_int> {
        // SAFETY: as above.
        let kind = unsafe { ffi::JS_GetTypedArrayType(self.raw) };
        (kind >= 0).then_some(kind)
    }

    pub(super) fn is_promise(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::JS_IsPromise(self.raw) }
    }

    pub(super) fn is_uncatchable(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::JS_IsUncatchableError(self.raw) }
    }

    /// What kind of value it is, in a word.
    pub(super) fn kind(&self) -> &'static str {
        match self.raw.tag {
            ffi::TAG_UNDEFINED | ffi::TAG_NULL => "nothing",
            ffi::TAG_BOOL => "boolean",
            ffi::TAG_INT | ffi::TAG_FLOAT64 => "number",
            ffi::TAG_STRING | ffi::TAG_STRING_ROPE => "string",
            ffi::TAG_SYMBOL => "symbol",
            _ if self.is_array() => "list",
            _ if self.is_function() => "function",
            _ => "object",
        }
    }

    pub(super) fn to_bool(&self) -> Result<bool, Thrown> {
        // SAFETY: context and value are alive.
        match unsafe { ffi::JS_ToBool(self.context.raw(), self.raw) } {
            -1 => Err(Thrown),
            is => Ok(is != 0),
        }
    }

    pub(super) fn to_number(&self) -> Result<f64, Thrown> {
        let mut number = 0.0;
        // SAFETY: context and value are alive; QuickJS writes the number.
        let failed = unsafe { ffi::JS_ToFloat64(self.context.raw(), &raw mut number, self.raw) };
        if failed < 0 { Err(Thrown) } else { Ok(number) }
    }

    pub(super) fn to_text(&self) -> Result<Text<'js>, Thrown> {
        let mut len = 0;
        // SAFETY: context and value are alive; QuickJS writes the length.
        let bytes =
            unsafe { ffi::JS_ToCStringLen2(self.context.raw(), &raw mut len, self.raw, false) };
        if bytes.is_null() {
            return Err(Thrown);
        }
        Ok(Text { bytes: bytes.cast(), len, context: self.context })
    }

    pub(super) fn get(&self, name: &str) -> Outcome<'js> {
        let atom = self.context.atom(name);
        // SAFETY: all are alive; the atom is given back.
        let found = unsafe {
            let found = ffi::JS_GetProperty(self.context.raw(), self.raw, atom);
            ffi::JS_FreeAtom(self.context.raw(), atom);
            found
        };
        // SAFETY: QuickJS has given it.
        unsafe { self.context.own(found) }
    }

    /// The property that a value names, which may be a symbol.
    pub(super) fn get_named(&self, name: &Self) -> Outcome<'js> {
        // SAFETY: all are alive. QuickJS gives the null atom if it runs out of memory; any other
        // atom is given back.
        let found = unsafe {
            let atom = ffi::JS_ValueToAtom(self.context.raw(), name.raw);
            if atom == 0 {
                return Err(Thrown);
            }
            let found = ffi::JS_GetProperty(self.context.raw(), self.raw, atom);
            ffi::JS_FreeAtom(self.context.raw(), atom);
            found
        };
        // SAFETY: QuickJS has given it.
        unsafe { self.context.own(found) }
    }

    pub(super) fn at(&self, index: u32) -> Outcome<'js> {
        // SAFETY: context and value are alive.
        let found = unsafe { ffi::JS_GetPropertyUint32(self.context.raw(), self.raw, index) };
        // SAFETY: QuickJS has given it.
        unsafe { self.context.own(found) }
    }

    /// Assigns, as a script does.
    pub(super) fn set(&self, name: &str, value: Self) -> Result<(), Thrown> {
        let atom = self.context.atom(name);
        // SAFETY: all are alive; QuickJS takes over the value, and the atom is given back.
        let done = unsafe {
            let done = ffi::JS_SetProperty(self.context.raw(), self.raw, atom, value.into_raw());
            ffi::JS_FreeAtom(self.context.raw(), atom);
            done
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Adds an enumerable property of its own.
    pub(super) fn define(&self, name: &str, value: Self) -> Result<(), Thrown> {
        let atom = self.context.atom(name);
        // SAFETY: the atom is given back.
        let defined = self.define_atom(atom, value);
        // SAFETY: it was made above.
        unsafe { ffi::JS_FreeAtom(self.context.raw(), atom) };
        defined
    }

    /// The same, by the name that QuickJS has given.
    pub(super) fn define_atom(&self, atom: u32, value: Self) -> Result<(), Thrown> {
        let (context, flags) = (self.context.raw(), ffi::PROP_C_W_E);
        // SAFETY: all are alive; QuickJS takes over the value.
        let done = unsafe {
            ffi::JS_DefinePropertyValue(context, self.raw, atom, value.into_raw(), flags)
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Adds a property that is not listed.
    pub(super) fn define_hidden(&self, name: &str, value: Self) -> Result<(), Thrown> {
        self.define_with(name, value, 0)
    }

    /// Adds an enumerable property that cannot be assigned to.
    pub(super) fn define_constant(&self, name: &str, value: Self) -> Result<(), Thrown> {
        self.define_with(name, value, ffi::PROP_ENUMERABLE)
    }

    fn define_with(&self, name: &str, value: Self, flags: c_int) -> Result<(), Thrown> {
        let (context, atom) = (self.context.raw(), self.context.atom(name));
        // SAFETY: all are alive; QuickJS takes over the value, and the atom is given back.
        let done = unsafe {
            let value = value.into_raw();
            let done = ffi::JS_DefinePropertyValue(context, self.raw, atom, value, flags);
            ffi::JS_FreeAtom(context, atom);
            done
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Adds an element of an array.
    pub(super) fn define_at(&self, index: u32, value: Self) -> Result<(), Thrown> {
        let (context, flags) = (self.context.raw(), ffi::PROP_C_W_E);
        // SAFETY: all are alive; QuickJS takes over the value.
        let done = unsafe {
            ffi::JS_DefinePropertyValueUint32(context, self.raw, index, value.into_raw(), flags)
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Adds a property that a function computes.
    pub(super) fn define_getter(&self, name: &str, getter: Self) -> Result<(), Thrown> {
        let atom = self.context.atom(name);
        let flags = c_int::from(ffi::PROP_CONFIGURABLE) | ffi::PROP_ENUMERABLE;
        let none = self.context.undefined().into_raw();
        // SAFETY: all are alive; QuickJS takes over the getter, and the atom is given back.
        let done = unsafe {
            let getter = getter.into_raw();
            let context = self.context.raw();
            let done = ffi::JS_DefinePropertyGetSet(context, self.raw, atom, getter, none, flags);
            ffi::JS_FreeAtom(context, atom);
            done
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Adds functions, which QuickJS makes when they are first named.
    pub(super) fn define_functions(
        &self,
        entries: &'static [ffi::FunctionEntry],
    ) -> Result<(), Thrown> {
        // SAFETY: the entries live for ever, as QuickJS asks for.
        let done = unsafe {
            let len = entries.len() as c_int;
            ffi::JS_SetPropertyFunctionList(self.context.raw(), self.raw, entries.as_ptr(), len)
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// The `length` of an array.
    pub(super) fn length(&self) -> Result<u32, Thrown> {
        let mut length = 0;
        // SAFETY: context and value are alive; QuickJS writes the length.
        let failed = unsafe { ffi::JS_GetLength(self.context.raw(), self.raw, &raw mut length) };
        if failed < 0 { Err(Thrown) } else { Ok(u32::try_from(length).unwrap_or(u32::MAX)) }
    }

    /// Each enumerable property of its own, in order.
    pub(super) fn for_each_property(
        &self,
        mut each: impl FnMut(&Text<'js>, Self) -> Result<(), Thrown>,
    ) -> Result<(), Thrown> {
        let (context, flags) = (self.context, ffi::NAMES_STRINGS_ENUMERABLE);
        let (mut names, mut len) = (ptr::null_mut(), 0);
        // SAFETY: QuickJS writes where the names are and how many; they are given back below.
        let failed = unsafe {
            let (names, len) = (&raw mut names, &raw mut len);
            ffi::JS_GetOwnPropertyNames(context.raw(), names, len, self.raw, flags)
        };
        if failed < 0 {
            return Err(Thrown);
        }
        let mut result = Ok(());
        for index in 0..len as usize {
            // SAFETY: there are `len` names.
            let atom = unsafe { (*names.add(index)).atom };
            // SAFETY: context, value and atom are alive.
            let value = unsafe { context.own(ffi::JS_GetProperty(context.raw(), self.raw, atom)) };
            let name = context.atom_text(atom);
            result = value.and_then(|value| each(&name?, value));
            if result.is_err() {
                break;
            }
        }
        // SAFETY: as it came from QuickJS.
        unsafe { ffi::JS_FreePropertyEnum(context.raw(), names, len) };
        result
    }

    pub(super) fn call(&self, this: &Self, arguments: &[Self]) -> Outcome<'js> {
        const FEW: usize = 4;
        let mut few = [this.raw; FEW];
        let many: Vec<Raw>;
        let arguments_raw = if arguments.len() <= FEW {
            for (slot, argument) in few.iter_mut().zip(arguments) {
                *slot = argument.raw;
            }
            &few[..arguments.len()]
        } else {
            many = arguments.iter().map(|argument| argument.raw).collect();
            &many
        };
        // SAFETY: all are alive during the call.
        unsafe {
            self.context.own({
                let (count, first) = (arguments_raw.len() as c_int, arguments_raw.as_ptr());
                ffi::JS_Call(self.context.raw(), self.raw, this.raw, count, first)
            })
        }
    }

    /// As JSON; `undefined` for what has none.
    pub(super) fn to_json(&self) -> Outcome<'js> {
        self.to_json_with(&self.context.undefined())
    }

    /// The same with a replacer, as `JSON.stringify()` takes it.
    pub(super) fn to_json_with(&self, replacer: &Self) -> Outcome<'js> {
        let space = self.context.undefined();
        // SAFETY: all are alive.
        unsafe {
            let context = self.context.raw();
            self.context.own(ffi::JS_JSONStringify(context, self.raw, replacer.raw, space.raw))
        }
    }

    /// Makes it and all that is in it unchangeable.
    pub(super) fn freeze_deep(&self) -> Result<(), Thrown> {
        if !self.is_object() {
            return Ok(());
        }
        self.for_each_property(|_, value| value.freeze_deep())?;
        // SAFETY: context and value are alive.
        let failed = unsafe { ffi::JS_FreezeObject(self.context.raw(), self.raw) };
        if failed < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Hands on the bytes of an `ArrayBuffer`, a typed array or a `DataView`; `None` if it is none
    /// of these. They must not be kept. A buffer that is detached is an exception, as is a view
    /// that lies outside of its buffer.
    pub(super) fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Thrown> {
        self.with_bytes_mut(|bytes| with(bytes))
    }

    /// The same, of bytes that may be changed.
    pub(super) fn with_bytes_mut<R>(
        &self,
        with: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>, Thrown> {
        let (mut bytes, mut len) = (ptr::null_mut(), 0);
        // SAFETY: context and value are alive. Nothing of the script runs in between, so the bytes
        // stay where they are.
        unsafe {
            let (raw, bytes_out, len_out) = (self.context.raw(), &raw mut bytes, &raw mut len);
            match ffi::plimsoll_bytes(raw, self.raw, bytes_out, len_out) {
                0 => Ok(None),
                found if found > 0 => Ok(Some(with(slice(bytes, len)))),
                _ => Err(Thrown),
            }
        }
    }

    /// The state of a promise.
    pub(super) fn promise_state(&self) -> PromiseState<'js> {
        // SAFETY: context and value are alive.
        unsafe {
            let result = || ffi::JS_PromiseResult(self.context.raw(), self.raw);
            match ffi::JS_PromiseState(self.context.raw(), self.raw) {
                1 => PromiseState::Fulfilled(Value { raw: result(), context: self.context }),
                2 => PromiseState::Rejected(Value { raw: result(), context: self.context }),
                _ => PromiseState::Pending,
            }
        }
    }
}

/// What has become of a promise.
pub(super) enum PromiseState<'js> {
    /// Nothing yet, or it is not one.
    Pending,
    Fulfilled(Value<'js>),
    Rejected(Value<'js>),
}

/// # Safety
/// `bytes` is null, or there are `len` of them for as long as the result is used, and nothing else
/// uses them meanwhile.
unsafe fn slice<'a>(bytes: *mut u8, len: usize) -> &'a mut [u8] {
    // SAFETY: as the caller says.
    if bytes.is_null() { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(bytes, len) } }
}
