//! The cryptography of `crypto.subtle`, on bytes. Names, formats of keys and what may be done with
//! them are JavaScript, `lib/subtle.js`.
//!
//! A function that cannot do what it is asked gives `undefined`. Asymmetric keys, salts and nonces
//! of signatures come from the system's randomness, which the library draws from by itself; secret
//! keys follow from the seed.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement;
use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, DecryptionContext, EncryptingKey, EncryptionContext,
    PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OAEP_SHA256_MGF1SHA256, OAEP_SHA384_MGF1SHA384,
    OAEP_SHA512_MGF1SHA512, OaepAlgorithm, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    PrivateDecryptingKey, PublicEncryptingKey,
};
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm, KeyPair, RsaEncoding,
    RsaKeyPair, RsaParameters, UnparsedPublicKey,
};
use aws_lc_rs::{digest, hmac, pbkdf2};
use std::num::NonZeroU32;

use super::crypto::bytes_of;
use crate::js::ffi;
use crate::js::native::{Call, functions};
use crate::js::value::{Outcome, Thrown, Value};

/// The longest secret key that is made, and the longest that is derived, bytes.
const SECRET_BYTES_MAX: f64 = (1 << 20) as f64;

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"digest" 2 => digest;
    c"hmac" 3 => hmac;
    c"hmacVerify" 4 => hmac_verify;
    c"cbc" 4 => cbc;
    c"ctr" 3 => ctr;
    c"gcm" 5 => gcm;
    c"pbkdf2" 5 => pbkdf2;
    c"random" 1 => random;
    c"rsaGenerate" 1 => rsa_generate;
    c"rsaSign" 4 => rsa_sign;
    c"rsaVerify" 5 => rsa_verify;
    c"rsaEncrypt" 4 => rsa_encrypt;
    c"rsaDecrypt" 4 => rsa_decrypt;
    c"ecGenerate" 1 => ec_generate;
    c"ecPoint" 2 => ec_point;
    c"ecSign" 3 => ec_sign;
    c"ecVerify" 4 => ec_verify;
    c"ecdh" 3 => ecdh;
};

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    module.define_functions(FUNCTIONS)
}

fn bytes(call: &Call<'_, '_>, index: usize) -> Result<Vec<u8>, Thrown> {
    bytes_of(&call.argument(index))
}

/// The bytes, or `undefined` without them.
fn give<'js>(call: &Call<'js, '_>, result: Option<impl AsRef<[u8]>>) -> Outcome<'js> {
    match result {
        Some(bytes) => call.context.array_buffer(bytes.as_ref()),
        None => Ok(call.context.undefined()),
    }
}

/// What the library has for each hash.
struct Hash {
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
    oaep: &'static OaepAlgorithm,
    /// Signing and verifying with PKCS #1 v1.5, then with PSS.
    rsa: Option<[(&'static dyn RsaEncoding, &'static RsaParameters); 2]>,
}

fn hash(call: &Call<'_, '_>, index: usize) -> Result<Option<Hash>, Thrown> {
    let name = call.argument(index).to_text()?;
    Ok(match name.bytes() {
        b"SHA-1" => Some(Hash {
            digest: &digest::SHA1_FOR_LEGACY_USE_ONLY,
            hmac: hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            pbkdf2: pbkdf2::PBKDF2_HMAC_SHA1,
            oaep: &OAEP_SHA1_MGF1SHA1,
            rsa: None,
        }),
        b"SHA-256" => Some(Hash {
            digest: &digest::SHA256,
            hmac: hmac::HMAC_SHA256,
            pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256,
            oaep: &OAEP_SHA256_MGF1SHA256,
            rsa: Some([
                (&signature::RSA_PKCS1_SHA256, &signature::RSA_PKCS1_2048_8192_SHA256),
                (&signature::RSA_PSS_SHA256, &signature::RSA_PSS_2048_8192_SHA256),
            ]),
        }),
        b"SHA-384" => Some(Hash {
            digest: &digest::SHA384,
            hmac: hmac::HMAC_SHA384,
            pbkdf2: pbkdf2::PBKDF2_HMAC_SHA384,
            oaep: &OAEP_SHA384_MGF1SHA384,
            rsa: Some([
                (&signature::RSA_PKCS1_SHA384, &signature::RSA_PKCS1_2048_8192_SHA384),
                (&signature::RSA_PSS_SHA384, &signature::RSA_PSS_2048_8192_SHA384),
            ]),
        }),
        b"SHA-512" => Some(Hash {
            digest: &digest::SHA512,
            hmac: hmac::HMAC_SHA512,
            pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512,
            oaep: &OAEP_SHA512_MGF1SHA512,
            rsa: Some([
                (&signature::RSA_PKCS1_SHA512, &signature::RSA_PKCS1_2048_8192_SHA512),
                (&signature::RSA_PSS_SHA512, &signature::RSA_PSS_2048_8192_SHA512),
            ]),
        }),
        _ => None,
    })
}

/// `digest(hash, data)`.
fn digest<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let data = bytes(call, 1)?;
    give(call, hash(call, 0)?.map(|hash| digest::digest(hash.digest, &data)))
}

/// `hmac(hash, key, data)`.
fn hmac<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (key, data) = (bytes(call, 1)?, bytes(call, 2)?);
    let signed = hash(call, 0)?.map(|hash| hmac::sign(&hmac::Key::new(hash.hmac, &key), &data));
    give(call, signed)
}

/// `hmacVerify(hash, key, signature, data)`.
fn hmac_verify<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (key, signature, data) = (bytes(call, 1)?, bytes(call, 2)?, bytes(call, 3)?);
    let holds = hash(call, 0)?.is_some_and(|hash| {
        hmac::verify(&hmac::Key::new(hash.hmac, &key), &data, &signature).is_ok()
    });
    Ok(call.context.boolean(holds))
}

fn aes(key: &[u8]) -> Option<UnboundCipherKey> {
    let algorithm = match key.len() {
        16 => &AES_128,
        24 => &AES_192,
        32 => &AES_256,
        _ => return None,
    };
    UnboundCipherKey::new(algorithm, key).ok()
}

fn block(bytes: &[u8]) -> Option<FixedLength<16>> {
    FixedLength::try_from(bytes).ok()
}

/// `cbc(encrypts, key, iv, data)`, with the padding of PKCS #7.
fn cbc<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (key, iv, mut data) = (bytes(call, 1)?, bytes(call, 2)?, bytes(call, 3)?);
    if call.argument(0).to_bool()? {
        let encrypted = aes(&key).zip(block(&iv)).and_then(|(key, iv)| {
            let key = PaddedBlockEncryptingKey::cbc_pkcs7(key).ok()?;
            key.less_safe_encrypt(&mut data, EncryptionContext::Iv128(iv)).ok()
        });
        return give(call, encrypted.map(|_| data));
    }
    let decrypted = aes(&key).zip(block(&iv)).and_then(|(key, iv)| {
        let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).ok()?;
        key.decrypt(&mut data, DecryptionContext::Iv128(iv)).ok().map(|plain| plain.to_vec())
    });
    give(call, decrypted)
}

/// `ctr(key, counter, data)`, which encrypts and decrypts.
fn ctr<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (key, counter, mut data) = (bytes(call, 0)?, bytes(call, 1)?, bytes(call, 2)?);
    let done = aes(&key).zip(block(&counter)).and_then(|(key, counter)| {
        let key = EncryptingKey::ctr(key).ok()?;
        key.less_safe_encrypt(&mut data, EncryptionContext::Iv128(counter)).ok()
    });
    give(call, done.map(|_| data))
}

/// `gcm(encrypts, key, nonce, data, additional data)`, with the tag at the end.
fn gcm<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (key, nonce, mut data) = (bytes(call, 1)?, bytes(call, 2)?, bytes(call, 3)?);
    let aad = Aad::from(bytes(call, 4)?);
    let algorithm = match key.len() {
        16 => &aead::AES_128_GCM,
        24 => &aead::AES_192_GCM,
        _ => &aead::AES_256_GCM,
    };
    let key = UnboundKey::new(algorithm, &key).ok().map(LessSafeKey::new);
    let nonce = Nonce::try_assume_unique_for_key(&nonce).ok();
    let Some((key, nonce)) = key.zip(nonce) else { return Ok(call.context.undefined()) };
    if call.argument(0).to_bool()? {
        let sealed = key.seal_in_place_append_tag(nonce, aad, &mut data).ok();
        return give(call, sealed.map(|()| data));
    }
    let opened = key.open_in_place(nonce, aad, &mut data).ok().map(|plain| plain.to_vec());
    give(call, opened)
}

/// `pbkdf2(hash, salt, iterations, password, length in bytes)`.
fn pbkdf2<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (salt, password) = (bytes(call, 1)?, bytes(call, 3)?);
    let iterations = NonZeroU32::new(call.argument(2).to_number()? as u32);
    let length = call.argument(4).to_number()?.clamp(0.0, SECRET_BYTES_MAX);
    let derived = hash(call, 0)?.zip(iterations).map(|(hash, iterations)| {
        let mut derived = vec![0; length as usize];
        pbkdf2::derive(hash.pbkdf2, iterations, &salt, &password, &mut derived);
        derived
    });
    give(call, derived)
}

/// `random(length in bytes)`: a secret key, from the seed.
fn random<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let length = call.argument(0).to_number()?.clamp(0.0, SECRET_BYTES_MAX) as usize;
    let inner = call.context.inner();
    let mut key = Vec::with_capacity(length + 8);
    while key.len() < length {
        key.extend_from_slice(&inner.draw().to_le_bytes());
    }
    key.truncate(length);
    call.context.byte_array(&key)
}

/// `rsaGenerate(bits)`: PKCS #8.
fn rsa_generate<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let size = match call.argument(0).to_number()? as u32 {
        2048 => KeySize::Rsa2048,
        3072 => KeySize::Rsa3072,
        4096 => KeySize::Rsa4096,
        _ => return Ok(call.context.undefined()),
    };
    let key = PrivateDecryptingKey::generate(size).ok();
    let pkcs8 = key.and_then(|key| AsDer::<Pkcs8V1Der<'static>>::as_der(&key).ok());
    give(call, pkcs8.as_deref())
}

/// `rsaSign(whether it is PSS, hash, PKCS #8, data)`.
fn rsa_sign<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let scheme = usize::from(call.argument(0).to_bool()?);
    let (key, data) = (bytes(call, 2)?, bytes(call, 3)?);
    let signed = hash(call, 1)?.and_then(|hash| hash.rsa).and_then(|rsa| {
        let key = RsaKeyPair::from_pkcs8(&key).ok()?;
        let mut signature = vec![0; key.public_modulus_len()];
        key.sign(rsa[scheme].0, &SystemRandom::new(), &data, &mut signature).ok()?;
        Some(signature)
    });
    give(call, signed)
}

/// `rsaVerify(whether it is PSS, hash, PKCS #1, signature, data)`.
fn rsa_verify<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let scheme = usize::from(call.argument(0).to_bool()?);
    let (key, signature, data) = (bytes(call, 2)?, bytes(call, 3)?, bytes(call, 4)?);
    let holds = hash(call, 1)?.and_then(|hash| hash.rsa).is_some_and(|rsa| {
        UnparsedPublicKey::new(rsa[scheme].1, &key).verify(&data, &signature).is_ok()
    });
    Ok(call.context.boolean(holds))
}

/// An empty label is the same as none.
fn label(bytes: &[u8]) -> Option<&[u8]> {
    (!bytes.is_empty()).then_some(bytes)
}

/// `rsaEncrypt(hash, SPKI, data, label)`.
fn rsa_encrypt<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (key, data, mark) = (bytes(call, 1)?, bytes(call, 2)?, bytes(call, 3)?);
    let encrypted = hash(call, 0)?.and_then(|hash| {
        let key = PublicEncryptingKey::from_der(&key).ok()?;
        let key = OaepPublicEncryptingKey::new(key).ok()?;
        let mut room = vec![0; key.ciphertext_size()];
        let encrypted = key.encrypt(hash.oaep, &data, &mut room, label(&mark)).ok()?;
        Some(encrypted.to_vec())
    });
    give(call, encrypted)
}

/// `rsaDecrypt(hash, PKCS #8, data, label)`.
fn rsa_decrypt<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (key, data, mark) = (bytes(call, 1)?, bytes(call, 2)?, bytes(call, 3)?);
    let decrypted = hash(call, 0)?.and_then(|hash| {
        let key = PrivateDecryptingKey::from_pkcs8(&key).ok()?;
        let key = OaepPrivateDecryptingKey::new(key).ok()?;
        let mut room = vec![0; key.min_output_size()];
        let decrypted = key.decrypt(hash.oaep, &data, &mut room, label(&mark)).ok()?;
        Some(decrypted.to_vec())
    });
    give(call, decrypted)
}

/// What the library has for each curve.
struct Curve {
    signing: &'static EcdsaSigningAlgorithm,
    verifying: &'static EcdsaVerificationAlgorithm,
    agreement: &'static agreement::Algorithm,
}

fn curve(call: &Call<'_, '_>) -> Result<Option<Curve>, Thrown> {
    let name = call.argument(0).to_text()?;
    Ok(match name.bytes() {
        b"P-256" => Some(Curve {
            signing: &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            verifying: &signature::ECDSA_P256_SHA256_FIXED,
            agreement: &agreement::ECDH_P256,
        }),
        b"P-384" => Some(Curve {
            signing: &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            verifying: &signature::ECDSA_P384_SHA384_FIXED,
            agreement: &agreement::ECDH_P384,
        }),
        b"P-521" => Some(Curve {
            signing: &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
            verifying: &signature::ECDSA_P521_SHA512_FIXED,
            agreement: &agreement::ECDH_P521,
        }),
        _ => None,
    })
}

/// `ecGenerate(curve)`: PKCS #8.
fn ec_generate<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let pkcs8 = curve(call)?.and_then(|curve| {
        let key = EcdsaKeyPair::generate(curve.signing).ok()?;
        key.to_pkcs8v1().ok()
    });
    give(call, pkcs8)
}

/// `ecPoint(curve, PKCS #8)`: the public point, uncompressed.
fn ec_point<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let pkcs8 = bytes(call, 1)?;
    let point = curve(call)?.and_then(|curve| {
        let key = EcdsaKeyPair::from_pkcs8(curve.signing, &pkcs8).ok()?;
        Some(key.public_key().as_ref().to_vec())
    });
    give(call, point)
}

/// `ecSign(curve, PKCS #8, data)`, with the curve's own hash.
fn ec_sign<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (pkcs8, data) = (bytes(call, 1)?, bytes(call, 2)?);
    let signed = curve(call)?.and_then(|curve| {
        let key = EcdsaKeyPair::from_pkcs8(curve.signing, &pkcs8).ok()?;
        key.sign(&SystemRandom::new(), &data).ok()
    });
    give(call, signed)
}

/// `ecVerify(curve, point, signature, data)`.
fn ec_verify<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (point, signature, data) = (bytes(call, 1)?, bytes(call, 2)?, bytes(call, 3)?);
    let holds = curve(call)?.is_some_and(|curve| {
        UnparsedPublicKey::new(curve.verifying, &point).verify(&data, &signature).is_ok()
    });
    Ok(call.context.boolean(holds))
}

/// `ecdh(curve, PKCS #8, the other's point)`: what both share.
fn ecdh<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (pkcs8, point) = (bytes(call, 1)?, bytes(call, 2)?);
    let shared = curve(call)?.and_then(|curve| {
        let key = agreement::PrivateKey::from_private_key_der(curve.agreement, &pkcs8).ok()?;
        let other = agreement::UnparsedPublicKey::new(curve.agreement, &point);
        agreement::agree(&key, other, (), |shared| Ok(shared.to_vec())).ok()
    });
    give(call, shared)
}
