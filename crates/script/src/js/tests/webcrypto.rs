//! WebCrypto: the global `crypto`.

use super::*;

/// What an expression that may await is, with helpers for bytes.
fn value(expression: &str) -> String {
    value_with(
        "import encoding from 'k6/encoding';
         const { subtle } = crypto;
         const utf8 = (text) => new TextEncoder().encode(text);
         const hex = (bytes) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, '0')).join('');
         const unhex = (text) => new Uint8Array(text.match(/../g).map((digits) => parseInt(digits, 16)));
         const raw = (key, algorithm, usages) => subtle.importKey('raw', key, algorithm, true, usages);
         const name = async (promise) => { try { await promise; return 'none'; } catch (e) { return `${e.name}: ${e.message}`; } };
         async function roundTrip(algorithm, key, opener) {
             const sealed = await subtle.encrypt(algorithm, key, utf8('some text'));
             return new TextDecoder().decode(await subtle.decrypt(algorithm, opener || key, sealed));
         }
         async function signed(algorithm, keys) {
             const signature = await subtle.sign(algorithm, keys.privateKey, utf8('text'));
             return [await subtle.verify(algorithm, keys.publicKey, signature, utf8('text')),
                 await subtle.verify(algorithm, keys.publicKey, signature, utf8('other'))];
         }",
        &format!("await ({expression})"),
    )
}

/// Values of the standards: FIPS 180, RFC 4231 (2), SP 800-38A (F.2.1, F.5.1), test case 14 of GCM,
/// RFC 6070 (2).
#[test]
fn values_are_those_of_the_standards() {
    for (expression, want) in [
        (
            "subtle.digest('SHA-1', utf8('abc')).then(hex)",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        ),
        // Numbers that are text, as in the documentation of k6.
        (
            "(async () => { const key = await subtle.generateKey({ name: 'AES-CBC', length: '256' }, true, ['encrypt']);
                 const bits = await subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: utf8('salt'), iterations: '2' },
                     await subtle.importKey('raw', utf8('password'), 'PBKDF2', false, ['deriveBits']), '160');
                 return [key.algorithm.length, hex(bits)]; })()",
            "[256,\"ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957\"]",
        ),
        (
            "subtle.digest({ name: 'sha-256' }, utf8('abc')).then(hex)",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            "subtle.digest('SHA-512', utf8('abc')).then((d) => hex(d).slice(0, 16))",
            "ddaf35a193617aba",
        ),
        (
            "raw(utf8('Jefe'), { name: 'HMAC', hash: 'SHA-256' }, ['sign']) \
             .then((key) => subtle.sign('HMAC', key, utf8('what do ya want for nothing?'))).then(hex)",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            "raw(unhex('2b7e151628aed2a6abf7158809cf4f3c'), 'AES-CBC', ['encrypt']).then((key) => subtle.encrypt( \
             { name: 'AES-CBC', iv: unhex('000102030405060708090a0b0c0d0e0f') }, key, \
             unhex('6bc1bee22e409f96e93d7e117393172a'))).then((c) => hex(c).slice(0, 32))",
            "7649abac8119b246cee98e9b12e9197d",
        ),
        (
            "raw(unhex('2b7e151628aed2a6abf7158809cf4f3c'), 'AES-CTR', ['encrypt']).then((key) => subtle.encrypt( \
             { name: 'AES-CTR', counter: unhex('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'), length: 64 }, key, \
             unhex('6bc1bee22e409f96e93d7e117393172a'))).then(hex)",
            "874d6191b620e3261bef6864990db6ce",
        ),
        (
            "raw(new Uint8Array(32), 'AES-GCM', ['encrypt']).then((key) => subtle.encrypt( \
             { name: 'AES-GCM', iv: new Uint8Array(12) }, key, new Uint8Array(16))).then(hex)",
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919",
        ),
        (
            "raw(utf8('password'), 'HMAC', []).catch(() => subtle.importKey('raw', utf8('password'), 'PBKDF2', \
             false, ['deriveBits'])).then((key) => subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', \
             salt: utf8('salt'), iterations: 2 }, key, 160)).then(hex)",
            "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957",
        ),
    ] {
        let got = value(expression);
        assert!(got.starts_with(want), "{expression}: {got}");
    }
}

#[test]
fn keys_are_generated_used_and_exchanged() {
    for (expression, want) in [
        (
            "subtle.generateKey({ name: 'AES-CBC', length: 192 }, true, ['encrypt', 'decrypt']) \
             .then((key) => roundTrip({ name: 'AES-CBC', iv: new Uint8Array(16) }, key))",
            "some text",
        ),
        (
            "subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt']) \
             .then((key) => roundTrip({ name: 'AES-GCM', iv: new Uint8Array(12), additionalData: utf8('a') }, key))",
            "some text",
        ),
        (
            "subtle.generateKey({ name: 'AES-CTR', length: 128 }, true, ['encrypt', 'decrypt']).then((key) => \
             roundTrip({ name: 'AES-CTR', counter: new Uint8Array(16).fill(255), length: 4 }, key))",
            "some text",
        ),
        (
            "subtle.generateKey({ name: 'HMAC', hash: 'SHA-1' }, true, ['sign', 'verify']).then(async (key) => \
             [key.algorithm.length, await subtle.verify('HMAC', key, await subtle.sign('HMAC', key, utf8('a')), utf8('a'))])",
            "[512,true]",
        ),
        (
            "subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']) \
             .then((keys) => signed({ name: 'ECDSA', hash: 'SHA-256' }, keys))",
            "[true,false]",
        ),
        (
            "subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-384' }, true, ['sign', 'verify']).then(async (keys) => { \
             const algorithm = { name: 'ECDSA', namedCurve: 'P-384' }; const again = {}; \
             again.privateKey = await subtle.importKey('jwk', await subtle.exportKey('jwk', keys.privateKey), algorithm, true, ['sign']); \
             again.publicKey = await subtle.importKey('spki', await subtle.exportKey('spki', keys.publicKey), algorithm, true, ['verify']); \
             return signed({ name: 'ECDSA', hash: 'SHA-384' }, again); })",
            "[true,false]",
        ),
        (
            "subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-521' }, true, ['sign', 'verify']).then(async (keys) => { \
             const algorithm = { name: 'ECDSA', namedCurve: 'P-521' }; const again = {}; \
             again.privateKey = await subtle.importKey('pkcs8', await subtle.exportKey('pkcs8', keys.privateKey), algorithm, true, ['sign']); \
             again.publicKey = await subtle.importKey('raw', await subtle.exportKey('raw', keys.publicKey), algorithm, true, ['verify']); \
             return signed({ name: 'ECDSA', hash: 'SHA-512' }, again); })",
            "[true,false]",
        ),
        (
            "Promise.all([1, 2].map(() => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveKey', 'deriveBits']))) \
             .then(async ([a, b]) => { \
             const bits = (own, other) => subtle.deriveBits({ name: 'ECDH', public: other.publicKey }, own.privateKey, 256).then(hex); \
             const key = await subtle.deriveKey({ name: 'ECDH', public: b.publicKey }, a.privateKey, { name: 'AES-GCM', length: 256 }, true, ['encrypt']); \
             return [await bits(a, b) === await bits(b, a), hex(await subtle.exportKey('raw', key)) === await bits(a, b)]; })",
            "[true,true]",
        ),
        (
            "raw(unhex('000102030405060708090a0b0c0d0e0f'), 'AES-GCM', ['encrypt']).then((key) => subtle.exportKey('jwk', key))",
            r#"{"kty":"oct","ext":true,"key_ops":["encrypt"],"alg":"A128GCM","k":"AAECAwQFBgcICQoLDA0ODw"}"#,
        ),
        (
            "subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']).then((key) => \
             [key instanceof Object, key.type, key.extractable, key.usages, key.algorithm])",
            r#"[true,"secret",false,["sign"],{"name":"HMAC","hash":{"name":"SHA-256"},"length":512}]"#,
        ),
    ] {
        assert_eq!(value(expression), want, "{expression}");
    }
}

#[test]
fn rsa() {
    let got = value(
        "subtle.generateKey({ name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, hash: 'SHA-256', \
         publicExponent: new Uint8Array([1, 0, 1]) }, true, ['sign', 'verify']).then(async (keys) => { \
         const results = [await signed('RSASSA-PKCS1-v1_5', keys)]; \
         const as = async (name, usages) => { \
             const algorithm = { name, hash: 'SHA-256' }; \
             const jwk = await subtle.exportKey('jwk', keys.privateKey); \
             const spki = await subtle.exportKey('spki', keys.publicKey); \
             return { privateKey: await subtle.importKey('jwk', jwk, algorithm, true, [usages[0]]), \
                 publicKey: await subtle.importKey('spki', spki, algorithm, true, [usages[1]]) }; }; \
         results.push(await signed({ name: 'RSA-PSS', saltLength: 32 }, await as('RSA-PSS', ['sign', 'verify']))); \
         const oaep = await as('RSA-OAEP', ['decrypt', 'encrypt']); \
         results.push(await roundTrip({ name: 'RSA-OAEP', label: utf8('l') }, oaep.publicKey, oaep.privateKey)); \
         const pkcs8 = await subtle.exportKey('pkcs8', keys.privateKey); \
         const again = await subtle.importKey('pkcs8', pkcs8, { name: 'RSA-PSS', hash: 'SHA-512' }, true, ['sign']); \
         results.push(hex(await subtle.exportKey('pkcs8', again)) === hex(pkcs8), again.algorithm.modulusLength); \
         results.push((await subtle.exportKey('jwk', keys.publicKey)).alg); return results; })",
    );
    assert_eq!(got, r#"[[true,false],[true,false],"some text",true,2048,"RS256"]"#);
}

#[test]
fn what_goes_wrong_is_a_rejection_with_a_name() {
    for (expression, want) in [
        ("subtle.digest('MD5', utf8(''))", "NotSupportedError: algorithm 'MD5' is not supported"),
        ("subtle.digest('SHA-1', 'text')", "TypeError: crypto.subtle needs an ArrayBuffer"),
        ("raw(new Uint8Array(5), 'AES-GCM', ['encrypt'])", "OperationError: AES has keys of 128"),
        (
            "raw(new Uint8Array(16), 'AES-GCM', ['sign'])",
            "SyntaxError: a secret key of AES-GCM cannot sign",
        ),
        ("raw(new Uint8Array(16), 'AES-GCM', [])", "SyntaxError: a secret key needs usages"),
        (
            "raw(new Uint8Array(16), 'AES-GCM', ['encrypt']).then((key) => subtle.decrypt({ name: 'AES-GCM', \
             iv: new Uint8Array(12) }, key, new Uint8Array(20)))",
            "InvalidAccessError: the key may not be used to decrypt",
        ),
        (
            "raw(new Uint8Array(16), 'AES-GCM', ['decrypt']).then((key) => subtle.decrypt({ name: 'AES-GCM', \
             iv: new Uint8Array(12) }, key, new Uint8Array(20)))",
            "OperationError: AES-GCM cannot decrypt this",
        ),
        (
            "raw(new Uint8Array(16), 'AES-CBC', ['encrypt']).then((key) => subtle.encrypt({ name: 'AES-CBC', \
             iv: new Uint8Array(3) }, key, new Uint8Array(20)))",
            "OperationError: AES-CBC cannot encrypt this",
        ),
        (
            "subtle.importKey('spki', new Uint8Array([0x30, 3, 1]), { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify'])",
            "DataError: the key is not valid",
        ),
        (
            "subtle.importKey('jwk', { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify'])",
            "DataError: 'x' of the JWK has another length",
        ),
        (
            "raw(new Uint8Array(16), { name: 'HMAC', hash: 'SHA-1' }, ['sign']).then((key) => subtle.encrypt('AES-CTR', key, utf8('')))",
            "InvalidAccessError: the key is for HMAC, not for AES-CTR",
        ),
        (
            "subtle.importKey('raw', utf8('p'), 'PBKDF2', false, ['deriveBits']).then((key) => subtle.deriveBits( \
             { name: 'PBKDF2', hash: 'SHA-1', salt: utf8('s'), iterations: 1e9 }, key, 160))",
            "OperationError: PBKDF2 derives in 1 to 10000000 rounds",
        ),
        ("subtle.wrapKey()", "NotSupportedError: keys cannot be wrapped"),
        ("subtle.generateKey({ name: 'HKDF' }, true, [])", "NotSupportedError: algorithm 'HKDF'"),
    ] {
        let got = value(&format!("name({expression})"));
        assert!(got.starts_with(want), "{expression}: {got}");
    }
}

/// Every prefix of keys is refused or is a key, without an exception of another kind.
#[test]
fn every_prefix_of_a_key_is_refused() {
    let got = value(
        "subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']).then(async (keys) => { \
         const kinds = new Set(); \
         for (const [format, key] of [['pkcs8', keys.privateKey], ['spki', keys.publicKey]]) { \
             const der = new Uint8Array(await subtle.exportKey(format, key)); \
             for (let end = 0; end < der.length; end++) \
                 kinds.add((await name(subtle.importKey(format, der.slice(0, end), { name: 'ECDSA', namedCurve: 'P-256' }, \
                     true, format === 'spki' ? ['verify'] : ['sign']))).split(':')[0]); } \
         return [...kinds]; })",
    );
    assert_eq!(got, r#"["DataError"]"#);
}
