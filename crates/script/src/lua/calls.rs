//! The calls on the path of a request: `request()`, `delay()`, `response()`.
//!
//! They use Lua's C interface directly. The safe bindings take a lock, move arguments and results
//! between stacks and add a traceback to errors, which costs more than a short function does.
//! Everything a call needs is at the bottom of a stack of its own: the error handler, the tables
//! that hold the functions, and the names of the functions. A script may replace its functions at
//! any time, so each call looks them up, as wrk does.

use std::ffi::c_int;
use std::slice;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table};

use super::Wants;

// The slots of the stack.
const DESCRIBE: c_int = 1;
const GLOBALS: c_int = 2;
const WRK: c_int = 3;
const REQUEST: c_int = 4;
const RESPONSE: c_int = 5;
const DELAY: c_int = 6;
/// The `response()` that `wants` is about.
const KNOWN: c_int = 7;
const TOP: c_int = KNOWN;

/// Slots that calls use above those: a function, its arguments, a header's name and value.
const SPARE: c_int = 16;

/// Headers that a table is made for; more make it grow.
const HEADERS_HINT: c_int = 12;

/// What went wrong in a call.
#[derive(Debug)]
pub(super) enum Fault {
    /// The script raised an error with this text.
    Raised(String),
    /// `request()` returned something else.
    NotARequest(&'static str),
}

/// Calls functions of a state that its owner keeps open and lets nobody else use meanwhile.
pub(super) struct Caller {
    stack: *mut lua_State,
    wants: Wants,
    /// Whether there was a `response()` when the run began, so that it may be replaced.
    has_response: bool,
}

// SAFETY: a Lua state is bound to no thread, only to one at a time, which `&mut self` of the owner
// grants: `super::Thread` holds caller and state together.
unsafe impl Send for Caller {}

impl Caller {
    /// # Safety
    /// The state outlives the caller, and nothing else uses it during a call.
    ///
    /// # Errors
    /// Lua's, when there is no memory.
    pub(super) unsafe fn new(
        lua: &Lua,
        describe: Function,
        wrk: Table,
        wants: Wants,
    ) -> mlua::Result<Self> {
        let globals = lua.globals();
        let mut stack: *mut lua_State = std::ptr::null_mut();
        // SAFETY: run in protected mode with the three arguments on the stack and room for three
        // more. The new stack is kept from collection by the registry, and has the room it needs.
        unsafe {
            lua.exec_raw::<()>((describe, globals, wrk), |state| {
                stack = ffi::lua_newthread(state);
                ffi::lua_checkstack(stack, TOP + SPARE);
                ffi::luaL_ref(state, ffi::LUA_REGISTRYINDEX);
                ffi::lua_xmove(state, stack, 3);
                for name in [c"request", c"response", c"delay"] {
                    ffi::lua_pushstring(stack, name.as_ptr());
                }
                ffi::lua_pushvalue(stack, RESPONSE);
                ffi::lua_rawget(stack, GLOBALS);
            })?;
        }
        Ok(Self { stack, wants, has_response: wants.response })
    }

    #[inline]
    pub(super) fn wants(&self) -> Wants {
        self.wants
    }

    /// Calls `request()`, or `wrk.request()` if the script has no `request()`.
    #[inline]
    pub(super) fn request(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        // SAFETY: the stack has the slots that `new` made and room for what is pushed here. Without
        // metatables, looking up cannot raise, and the call is protected. The text stays where it
        // is while it is on the stack.
        unsafe {
            if !self.push_function(REQUEST, GLOBALS) {
                self.push_function(REQUEST, WRK);
            }
            self.call(0, 1)?;
            let kind = ffi::lua_type(self.stack, -1);
            if kind != ffi::LUA_TSTRING && kind != ffi::LUA_TNUMBER {
                return Err(self.not_a_request(kind));
            }
            let mut len = 0;
            let text = ffi::lua_tolstring(self.stack, -1, &raw mut len);
            if len == 0 {
                return Err(self.not_a_request(kind));
            }
            out.extend_from_slice(slice::from_raw_parts(text.cast(), len));
            ffi::lua_settop(self.stack, TOP);
        }
        self.look_again();
        Ok(())
    }

    /// Calls `delay()`; its result in ns.
    pub(super) fn delay_ns(&mut self) -> Result<u64, Fault> {
        // SAFETY: as in `request`.
        let ms = unsafe {
            if !self.push_function(DELAY, GLOBALS) {
                return Ok(0);
            }
            self.call(0, 1)?;
            let ms = ffi::lua_tonumber(self.stack, -1);
            ffi::lua_settop(self.stack, TOP);
            ms
        };
        self.look_again();
        // The cast makes what is negative or not a number 0.
        Ok((ms * 1e6) as u64)
    }

    /// Calls `response()`, if there is one, with what it reads.
    #[inline]
    pub(super) fn response<'h>(
        &mut self,
        status: u16,
        headers: impl Iterator<Item = (&'h [u8], &'h [u8])>,
        body: &[u8],
    ) -> Result<(), Fault> {
        let Wants { response, headers: wants_headers, body: wants_body } = self.wants;
        if !response {
            return Ok(());
        }
        // SAFETY: as in `request`. Making tables and strings is outside of the protected call: it
        // fails only where there is no memory, or where a finalizer of the script's own raises an
        // error, and LuaJIT ends the process then.
        unsafe {
            if !self.push_function(RESPONSE, GLOBALS) {
                self.look_again();
                return Ok(());
            }
            ffi::lua_pushinteger(self.stack, status.into());
            if wants_headers {
                self.push_headers(headers);
            } else if wants_body {
                ffi::lua_pushnil(self.stack);
            }
            if wants_body {
                self.push_text(body);
            }
            let arguments = 1 + c_int::from(wants_headers || wants_body) + c_int::from(wants_body);
            self.call(arguments, 0)?;
        }
        self.look_again();
        Ok(())
    }

    /// Pushes the function of this name in this table. If it is not a function, pushes nothing and
    /// returns `false`.
    ///
    /// # Safety
    /// Both are slots of the stack, which has room for one value more.
    #[inline]
    unsafe fn push_function(&mut self, name: c_int, table: c_int) -> bool {
        // SAFETY: the table is one, so that a lookup without metatables cannot raise.
        unsafe {
            ffi::lua_pushvalue(self.stack, name);
            ffi::lua_rawget(self.stack, table);
            let is_function = ffi::lua_type(self.stack, -1) == ffi::LUA_TFUNCTION;
            if !is_function {
                ffi::lua_settop(self.stack, TOP);
            }
            is_function
        }
    }

    /// # Safety
    /// The stack has room for three values more.
    #[inline]
    unsafe fn push_headers<'h>(&mut self, headers: impl Iterator<Item = (&'h [u8], &'h [u8])>) {
        // SAFETY: the table is where it was pushed, two below a name and a value.
        unsafe {
            ffi::lua_createtable(self.stack, 0, HEADERS_HINT);
            for (name, value) in headers {
                self.push_text(name);
                self.push_text(value);
                ffi::lua_rawset(self.stack, -3);
            }
        }
    }

    /// # Safety
    /// The stack has room for one value more.
    #[inline]
    unsafe fn push_text(&mut self, text: &[u8]) {
        // SAFETY: the bytes are copied before the call returns. (Without the underscore it is the
        // bindings' own function, which also asks for the string's address.)
        unsafe { ffi::lua_pushlstring_(self.stack, text.as_ptr().cast(), text.len()) };
    }

    /// # Safety
    /// A function and that many arguments are on top of the stack.
    #[inline]
    unsafe fn call(&mut self, arguments: c_int, results: c_int) -> Result<(), Fault> {
        // SAFETY: the call is protected, with the function for errors in its slot.
        let status = unsafe { ffi::lua_pcall(self.stack, arguments, results, DESCRIBE) };
        if status == ffi::LUA_OK { Ok(()) } else { Err(self.raised()) }
    }

    /// The error on top of the stack, which it leaves.
    #[cold]
    fn raised(&mut self) -> Fault {
        // SAFETY: a failed call leaves one value; what is no text is not converted.
        unsafe {
            let mut text = String::from("error without a message");
            if ffi::lua_type(self.stack, -1) == ffi::LUA_TSTRING {
                let mut len = 0;
                let bytes = ffi::lua_tolstring(self.stack, -1, &raw mut len);
                text = String::from_utf8_lossy(slice::from_raw_parts(bytes.cast(), len)).into();
            }
            ffi::lua_settop(self.stack, TOP);
            Fault::Raised(text)
        }
    }

    #[cold]
    fn not_a_request(&mut self, kind: c_int) -> Fault {
        // SAFETY: the stack has at least the slots that are kept.
        unsafe { ffi::lua_settop(self.stack, TOP) };
        Fault::NotARequest(match kind {
            ffi::LUA_TSTRING => "an empty string",
            ffi::LUA_TNIL => "nothing",
            ffi::LUA_TBOOLEAN => "a boolean",
            ffi::LUA_TTABLE => "a table",
            ffi::LUA_TFUNCTION => "a function",
            _ => "some other value",
        })
    }

    /// Sees whether the script has replaced its `response()`. What the new one reads is not looked
    /// into: code that ran already may have been changed by the compiler.
    #[inline]
    fn look_again(&mut self) {
        if !self.has_response {
            return;
        }
        // SAFETY: as in `request`; one value is pushed, and put into the slot or dropped.
        unsafe {
            ffi::lua_pushvalue(self.stack, RESPONSE);
            ffi::lua_rawget(self.stack, GLOBALS);
            if ffi::lua_rawequal(self.stack, -1, KNOWN) != 0 {
                ffi::lua_settop(self.stack, TOP);
                return;
            }
            let is_function = ffi::lua_type(self.stack, -1) == ffi::LUA_TFUNCTION;
            ffi::lua_replace(self.stack, KNOWN);
            self.wants = Wants { response: is_function, headers: is_function, body: is_function };
        }
    }
}
