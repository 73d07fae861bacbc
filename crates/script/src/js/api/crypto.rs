//! The module `k6/crypto`: hashes, HMAC and random bytes. And of the global `crypto` what draws
//! random values; its `subtle` is a library that is loaded when it is first named.

use std::cell::RefCell;
use std::ffi::CStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use hmac::digest::block_api::BlockSizeUser;
use hmac::digest::{Digest, FixedOutputReset};
use hmac::{KeyInit, Mac, SimpleHmac};

use super::classes::{self, Classes, Held};
use crate::js::ffi;
use crate::js::modules;
use crate::js::native::{Call, functions, native};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// The most bytes of one `randomBytes()`.
const RANDOM_BYTES_MAX: f64 = (64 << 20) as f64;

/// The hashes, as they are named in arguments.
const HASHES: &str = "md4, md5, sha1, sha256, sha384, sha512, sha512_224, sha512_256, ripemd160";

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"md4" 2 => md4;
    c"md5" 2 => md5;
    c"sha1" 2 => sha1;
    c"sha256" 2 => sha256;
    c"sha384" 2 => sha384;
    c"sha512" 2 => sha512;
    c"sha512_224" 2 => sha512_224;
    c"sha512_256" 2 => sha512_256;
    c"ripemd160" 2 => ripemd160;
    c"hmac" 4 => hmac;
    c"createHash" 1 => create_hash;
    c"createHMAC" 2 => create_hmac;
    c"randomBytes" 1 => random_bytes;
    c"hexEncode" 1 => hex_encode;
};

const GLOBALS: &[ffi::FunctionEntry] = functions! {
    c"getRandomValues" 1 => get_random_values;
    c"randomUUID" 0 => random_uuid;
};

const METHODS: &[ffi::FunctionEntry] = functions! {
    c"update" 1 => update;
    c"digest" 1 => digest;
};

/// A hash or an HMAC that is being fed.
trait Running {
    fn update(&mut self, bytes: &[u8]);

    /// Of all that was fed so far.
    fn result(&self) -> Vec<u8>;
}

struct Plain<D>(D);

impl<D: Digest + Clone> Running for Plain<D> {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn result(&self) -> Vec<u8> {
        self.0.clone().finalize().to_vec()
    }
}

struct Keyed<D: Digest + BlockSizeUser + FixedOutputReset>(SimpleHmac<D>);

impl<D: Digest + BlockSizeUser + FixedOutputReset + Clone> Running for Keyed<D> {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn result(&self) -> Vec<u8> {
        self.0.clone().finalize().into_bytes().to_vec()
    }
}

/// What `createHash` and `createHMAC` make.
pub(super) struct Hasher(RefCell<Box<dyn Running>>);

impl Held for Hasher {
    const NAME: &'static CStr = c"Hasher";

    fn class(classes: &Classes) -> u32 {
        classes.hasher
    }
}

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let prototype = module.context().object()?;
    prototype.define_functions(METHODS)?;
    classes::set_prototype::<Hasher>(prototype);
    module.define_functions(FUNCTIONS)
}

/// The global `crypto`.
pub(super) fn define(context: Context<'_>) -> Result<(), Thrown> {
    let crypto = context.object()?;
    crypto.define_functions(GLOBALS)?;
    crypto.define_getter("subtle", context.function(c"subtle", 0, native!(subtle))?)?;
    context.global().define("crypto", crypto)
}

/// A hash by its name, or an HMAC if there is a key; `None` for an unknown name.
fn start(name: &[u8], key: Option<&[u8]>) -> Option<Box<dyn Running>> {
    match name {
        b"md4" => make::<md4::Md4>(key),
        b"md5" => make::<md5::Md5>(key),
        b"sha1" => make::<sha1::Sha1>(key),
        b"sha256" => make::<sha2::Sha256>(key),
        b"sha384" => make::<sha2::Sha384>(key),
        b"sha512" => make::<sha2::Sha512>(key),
        b"sha512_224" => make::<sha2::Sha512_224>(key),
        b"sha512_256" => make::<sha2::Sha512_256>(key),
        b"ripemd160" => make::<ripemd::Ripemd160>(key),
        _ => None,
    }
}

fn make<D>(key: Option<&[u8]>) -> Option<Box<dyn Running>>
where
    D: Digest + BlockSizeUser + FixedOutputReset + Clone + 'static,
{
    match key {
        None => Some(Box::new(Plain(D::new()))),
        // Keys of every length are allowed.
        Some(key) => Some(Box::new(Keyed(SimpleHmac::<D>::new_from_slice(key).ok()?))),
    }
}

/// The bytes of text, an `ArrayBuffer` or its view.
pub(super) fn bytes_of(value: &Value<'_>) -> Result<Vec<u8>, Thrown> {
    match value.with_bytes(<[u8]>::to_vec)? {
        Some(bytes) => Ok(bytes),
        None => Ok(value.to_text()?.bytes().to_vec()),
    }
}

fn named(
    context: Context<'_>,
    name: &Value<'_>,
    key: Option<&[u8]>,
) -> Result<Box<dyn Running>, Thrown> {
    let name = name.to_text()?;
    start(name.bytes(), key).ok_or_else(|| {
        let message = format!("'{}' is not one of {HASHES}", name.str());
        context.throw(ErrorKind::Plain, message)
    })
}

/// A result in the encoding that an argument names; hexadecimal if it names none.
fn encode<'js>(context: Context<'js>, result: &[u8], encoding: &Value<'js>) -> Outcome<'js> {
    if encoding.is_nothing() {
        return context.string(hex(result));
    }
    let name = encoding.to_text()?;
    match name.bytes() {
        b"hex" => context.string(hex(result)),
        b"base64" => context.string(STANDARD.encode(result)),
        b"base64url" => context.string(URL_SAFE.encode(result)),
        b"base64rawurl" => context.string(URL_SAFE_NO_PAD.encode(result)),
        b"binary" => context.array_buffer(result),
        _ => {
            let message = format!(
                "encoding '{}' is not one of hex, base64, base64url, base64rawurl, binary",
                name.str()
            );
            Err(context.throw(ErrorKind::Plain, message))
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn at_once<'js>(call: &Call<'js, '_>, name: &str) -> Outcome<'js> {
    let bytes = bytes_of(&call.argument(0))?;
    let Some(mut running) = start(name.as_bytes(), None) else {
        return Ok(call.context.undefined());
    };
    running.update(&bytes);
    encode(call.context, &running.result(), &call.argument(1))
}

fn md4<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "md4")
}

fn md5<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "md5")
}

fn sha1<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "sha1")
}

fn sha256<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "sha256")
}

fn sha384<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "sha384")
}

fn sha512<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "sha512")
}

fn sha512_224<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "sha512_224")
}

fn sha512_256<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "sha512_256")
}

fn ripemd160<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    at_once(call, "ripemd160")
}

/// `hmac(hash, key, data, encoding)`.
fn hmac<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let key = bytes_of(&call.argument(1))?;
    let mut running = named(call.context, &call.argument(0), Some(&key))?;
    running.update(&bytes_of(&call.argument(2))?);
    encode(call.context, &running.result(), &call.argument(3))
}

fn create_hash<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let running = named(call.context, &call.argument(0), None)?;
    classes::hold(call.context, None, Hasher(RefCell::new(running)))
}

fn create_hmac<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let key = bytes_of(&call.argument(1))?;
    let running = named(call.context, &call.argument(0), Some(&key))?;
    classes::hold(call.context, None, Hasher(RefCell::new(running)))
}

fn this<'a, 'js>(call: &Call<'js, '_>, value: &'a Value<'js>) -> Result<&'a Hasher, Thrown> {
    classes::held(value)
        .ok_or_else(|| call.context.throw(ErrorKind::Type, "this is a method of hashers"))
}

fn update<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let bytes = bytes_of(&call.argument(0))?;
    let object = call.this();
    this(call, &object)?.0.borrow_mut().update(&bytes);
    Ok(object)
}

fn digest<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let result = this(call, &object)?.0.borrow().result();
    encode(call.context, &result, &call.argument(0))
}

/// `randomBytes(count)`: they follow from the seed, and are no secret.
fn random_bytes<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let count = call.argument(0).to_number()?;
    if !(1.0..=RANDOM_BYTES_MAX).contains(&count) {
        let message = format!("randomBytes() gives 1 to {RANDOM_BYTES_MAX} bytes");
        return Err(call.context.throw(ErrorKind::Range, message));
    }
    let inner = call.context.inner();
    let mut bytes = Vec::with_capacity(count as usize + 8);
    while bytes.len() < count as usize {
        bytes.extend_from_slice(&inner.draw().to_le_bytes());
    }
    bytes.truncate(count as usize);
    call.context.array_buffer(&bytes)
}

/// `crypto.getRandomValues(array)`: fills it.
fn get_random_values<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let array = call.argument(0);
    let inner = call.context.inner();
    let filled = array.with_bytes_mut(|bytes| {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&inner.draw().to_le_bytes()[..chunk.len()]);
        }
    })?;
    if filled.is_none() {
        let message = "crypto.getRandomValues() fills typed arrays";
        return Err(call.context.throw(ErrorKind::Type, message));
    }
    Ok(array)
}

/// `crypto.randomUUID()`: version 4 (RFC 9562).
fn random_uuid<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let inner = call.context.inner();
    let (high, low) = (inner.draw() & !0xf000 | 0x4000, inner.draw() >> 2 | 1 << 63);
    let digits = format!("{high:016x}{low:016x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    call.context.string(parts.join("-"))
}

/// `crypto.subtle`.
fn subtle<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    modules::library(call.context, "plimsoll:subtle")?.get("subtle")
}

fn hex_encode<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    call.context.string(hex(&bytes_of(&call.argument(0))?))
}
