// `crypto.subtle` of WebCrypto: names of algorithms, formats of keys and what may be done with
// which key. The cryptography itself is the host's.
//
// What is absent on purpose, and refused by name: wrapping keys, HKDF, curves of Edwards, and
// combinations that the host's cryptography does not have (nonces of AES-GCM other than 12 bytes,
// curves with hashes of another size, RSA with SHA-1 signatures).

import encoding from 'k6/encoding';
import * as core from 'plimsoll:subtle/core';
import * as der from 'plimsoll:subtle/der';

const AES = ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'];

// What keys of an algorithm may be used for: secret ones, or private and public ones.
const USAGES = {
  HMAC: { secret: ['sign', 'verify'] },
  'AES-CBC': { secret: AES },
  'AES-CTR': { secret: AES },
  'AES-GCM': { secret: AES },
  PBKDF2: { secret: ['deriveKey', 'deriveBits'] },
  'RSASSA-PKCS1-v1_5': { private: ['sign'], public: ['verify'] },
  'RSA-PSS': { private: ['sign'], public: ['verify'] },
  'RSA-OAEP': { private: ['decrypt', 'unwrapKey'], public: ['encrypt', 'wrapKey'] },
  ECDSA: { private: ['sign'], public: ['verify'] },
  ECDH: { private: ['deriveKey', 'deriveBits'], public: [] },
};

const HASHES = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'];
const CURVE_HASHES = { 'P-256': 'SHA-256', 'P-384': 'SHA-384', 'P-521': 'SHA-512' };
const RSA_PREFIXES = { 'RSASSA-PKCS1-v1_5': 'RS', 'RSA-PSS': 'PS', 'RSA-OAEP': 'RSA-OAEP' };

// The most of a derivation, rounds of the hash: a call is not interrupted.
const ROUNDS_MAX = 10000000;

function failure(name, message) {
  const error = new Error(message);
  error.name = name;
  return error;
}

const unsupported = (message) => failure('NotSupportedError', message);

function done(result, message) {
  if (result === undefined) throw failure('OperationError', message);
  return result;
}

let materialOf;

export class CryptoKey {
  #material;

  constructor(type, extractable, algorithm, usages, material) {
    const value = { type, extractable: Boolean(extractable), algorithm, usages };
    for (const [name, content] of Object.entries(value)) {
      Object.defineProperty(this, name, { value: content, enumerable: true });
    }
    this.#material = material;
  }

  static {
    materialOf = (key) => key.#material;
  }
}

function bytes(data) {
  if (data instanceof ArrayBuffer) return new Uint8Array(data.slice(0));
  if (ArrayBuffer.isView(data)) {
    return new Uint8Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
  }
  throw new TypeError('crypto.subtle needs an ArrayBuffer or a view of one');
}

// What of an algorithm is a number. As Web IDL has it, a text may stand for one.
const NUMBERS = ['length', 'tagLength', 'saltLength', 'modulusLength', 'iterations'];

// An algorithm with its name as it is written in the standard.
function normalized(algorithm, names = Object.keys(USAGES)) {
  const given = typeof algorithm === 'string' ? { name: algorithm } : algorithm;
  const name = given && String(given.name).toUpperCase();
  const found = names.find((known) => known.toUpperCase() === name);
  if (found === undefined) throw unsupported(`algorithm '${given && given.name}' is not supported`);
  const known = { ...given, name: found };
  for (const number of NUMBERS) {
    if (known[number] !== undefined) known[number] = Math.trunc(Number(known[number]));
  }
  return known;
}

const hashOf = (algorithm) => normalized(algorithm, HASHES).name;

function curveOf({ namedCurve }) {
  if (!Object.hasOwn(der.CURVES, namedCurve)) {
    throw unsupported(`curve '${namedCurve}' is not supported`);
  }
  return namedCurve;
}

function check(key, name, usage) {
  if (!(key instanceof CryptoKey)) throw new TypeError('crypto.subtle needs a CryptoKey');
  if (key.algorithm.name !== name) {
    throw failure('InvalidAccessError', `the key is for ${key.algorithm.name}, not for ${name}`);
  }
  if (!key.usages.includes(usage)) {
    throw failure('InvalidAccessError', `the key may not be used to ${usage}`);
  }
  return materialOf(key);
}

function usagesFor(name, type, usages) {
  const allowed = USAGES[name][type] || [];
  const wrong = usages.find((usage) => !allowed.includes(usage));
  if (wrong !== undefined) throw failure('SyntaxError', `a ${type} key of ${name} cannot ${wrong}`);
  if (usages.length === 0 && type !== 'public') {
    throw failure('SyntaxError', `a ${type} key needs usages`);
  }
  return [...usages];
}

const blockBits = (hash) => (hash === 'SHA-1' || hash === 'SHA-256' ? 512 : 1024);

function aesLength(length) {
  if (![128, 192, 256].includes(length)) {
    throw failure('OperationError', `AES has keys of 128, 192 and 256 bits, not ${length}`);
  }
  return length;
}

// Counts in the last bits of the block alone, as the standard has it.
function ctr(key, { counter, length }, data) {
  const block = bytes(counter);
  if (block.length !== 16 || !(length >= 1 && length <= 128)) {
    throw failure('OperationError', 'AES-CTR needs a counter of 16 bytes and its length in bits');
  }
  const first = block.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const span = 1n << BigInt(length);
  const left = span - (first % span);
  if (BigInt(Math.ceil(data.length / 16)) > span) {
    throw failure('OperationError', 'the counter of AES-CTR is too short for the data');
  }
  const turn = left * 16n < BigInt(data.length) ? Number(left) * 16 : data.length;
  const run = (start, part) =>
    new Uint8Array(done(core.ctr(key, start, part), 'AES-CTR has failed'));
  if (turn === data.length) return run(block, data).buffer;
  let rest = first - (first % span);
  const wrapped = new Uint8Array(16);
  for (let at = 15; at >= 0; at--) {
    wrapped[at] = Number(rest % 256n);
    rest /= 256n;
  }
  return der.join(run(block, data.subarray(0, turn)), run(wrapped, data.subarray(turn))).buffer;
}

function cipher(encrypts, given, key, data) {
  const algorithm = normalized(given, ['AES-CBC', 'AES-CTR', 'AES-GCM', 'RSA-OAEP']);
  const material = check(key, algorithm.name, encrypts ? 'encrypt' : 'decrypt');
  const failed = `${algorithm.name} cannot ${encrypts ? 'encrypt' : 'decrypt'} this`;
  switch (algorithm.name) {
    case 'AES-CTR':
      return ctr(material, algorithm, data);
    case 'AES-CBC':
      return done(core.cbc(encrypts, material, bytes(algorithm.iv), data), failed);
    case 'AES-GCM': {
      const { iv, additionalData, tagLength = 128 } = algorithm;
      if (tagLength !== 128) throw unsupported('AES-GCM has tags of 128 bits only');
      if (bytes(iv).length !== 12) throw unsupported('AES-GCM has nonces of 12 bytes only');
      const more = additionalData === undefined ? new Uint8Array(0) : bytes(additionalData);
      return done(core.gcm(encrypts, material, bytes(iv), data, more), failed);
    }
    default: {
      const label = algorithm.label === undefined ? new Uint8Array(0) : bytes(algorithm.label);
      const hash = key.algorithm.hash.name;
      const result = encrypts
        ? core.rsaEncrypt(hash, der.rsaSpki(material), data, label)
        : core.rsaDecrypt(hash, der.rsaPkcs8(material), data, label);
      return done(result, failed);
    }
  }
}

const SIGNING = ['HMAC', 'RSASSA-PKCS1-v1_5', 'RSA-PSS', 'ECDSA'];

// The hash of a signature; refuses what the host cannot do.
function signatureHash(algorithm, key) {
  if (algorithm.name === 'ECDSA') {
    const hash = hashOf(algorithm.hash);
    const curve = key.algorithm.namedCurve;
    if (CURVE_HASHES[curve] !== hash) throw unsupported(`ECDSA on ${curve} with ${hash}`);
    return hash;
  }
  const hash = key.algorithm.hash.name;
  if (algorithm.name !== 'HMAC' && hash === 'SHA-1') throw unsupported('RSA with SHA-1');
  const { saltLength } = algorithm;
  if (algorithm.name === 'RSA-PSS' && saltLength * 8 !== Number(hash.slice(4))) {
    throw unsupported(`RSA-PSS has salts as long as ${hash} only`);
  }
  return hash;
}

function sign(given, key, data) {
  const algorithm = normalized(given, SIGNING);
  const { name } = algorithm;
  const material = check(key, name, 'sign');
  const hash = signatureHash(algorithm, key);
  if (name === 'HMAC') return done(core.hmac(hash, material, data), 'HMAC has failed');
  const result =
    name === 'ECDSA'
      ? core.ecSign(material.curve, der.ecPkcs8(material), data)
      : core.rsaSign(name === 'RSA-PSS', hash, der.rsaPkcs8(material), data);
  return done(result, `${name} cannot sign with this key`);
}

function verify(given, key, signature, data) {
  const algorithm = normalized(given, SIGNING);
  const { name } = algorithm;
  const material = check(key, name, 'verify');
  const hash = signatureHash(algorithm, key);
  if (name === 'HMAC') return core.hmacVerify(hash, material, signature, data);
  if (name === 'ECDSA') {
    return core.ecVerify(material.curve, der.pointOf(material), signature, data);
  }
  return core.rsaVerify(name === 'RSA-PSS', hash, der.rsaPkcs1(material), signature, data);
}

function derive(given, key, length, usage) {
  const algorithm = normalized(given, ['PBKDF2', 'ECDH']);
  const material = check(key, algorithm.name, usage);
  if (length !== null && length % 8 !== 0)
    throw failure('OperationError', 'bits of whole bytes only');
  if (algorithm.name === 'PBKDF2') {
    const { iterations, salt } = algorithm;
    const hash = hashOf(algorithm.hash);
    const rounds = iterations * Math.ceil(length / 160);
    if (!(iterations >= 1 && length > 0 && rounds <= ROUNDS_MAX)) {
      throw failure('OperationError', `PBKDF2 derives in 1 to ${ROUNDS_MAX} rounds`);
    }
    const result = core.pbkdf2(hash, bytes(salt), iterations, material, length / 8);
    return done(result, 'PBKDF2 has failed');
  }
  const other = algorithm.public;
  if (
    !(other instanceof CryptoKey) ||
    other.algorithm.name !== 'ECDH' ||
    other.type !== 'public' ||
    other.algorithm.namedCurve !== material.curve
  ) {
    throw failure('InvalidAccessError', 'ECDH needs a public key of the same curve');
  }
  const shared = core.ecdh(material.curve, der.ecPkcs8(material), der.pointOf(materialOf(other)));
  const secret = done(shared, 'ECDH cannot agree with this key');
  if (length === null) return secret;
  if (length / 8 > secret.byteLength) throw failure('OperationError', 'ECDH has fewer bits');
  return secret.slice(0, length / 8);
}

// The algorithm and the length of a new secret key.
function secretOf(algorithm) {
  if (algorithm.name !== 'HMAC') {
    const length = aesLength(algorithm.length);
    return { algorithm: { name: algorithm.name, length }, length };
  }
  const hash = { name: hashOf(algorithm.hash) };
  const length = algorithm.length === undefined ? blockBits(hash.name) : algorithm.length;
  if (!(length > 0 && length % 8 === 0)) throw failure('OperationError', 'HMAC needs whole bytes');
  return { algorithm: { name: 'HMAC', hash, length }, length };
}

function pair(algorithm, extractable, usages, material) {
  const { name } = algorithm;
  const only = (type) => usages.filter((usage) => USAGES[name][type].includes(usage));
  const wrong = usages.find((usage) => !only('private').concat(only('public')).includes(usage));
  if (wrong !== undefined) throw failure('SyntaxError', `keys of ${name} cannot ${wrong}`);
  const { d, p, q, dp, dq, qi, ...open } = material;
  return {
    privateKey: new CryptoKey(
      'private',
      extractable,
      algorithm,
      usagesFor(name, 'private', only('private')),
      material,
    ),
    publicKey: new CryptoKey('public', true, algorithm, only('public'), open),
  };
}

function generate(given, extractable, usages) {
  const algorithm = normalized(given);
  const { name } = algorithm;
  if (name === 'PBKDF2') throw unsupported('keys of PBKDF2 are imported');
  if (USAGES[name].secret) {
    const secret = secretOf(algorithm);
    const allowed = usagesFor(name, 'secret', usages);
    return new CryptoKey(
      'secret',
      extractable,
      secret.algorithm,
      allowed,
      core.random(secret.length / 8),
    );
  }
  if (name === 'ECDSA' || name === 'ECDH') {
    const namedCurve = curveOf(algorithm);
    const pkcs8 = new Uint8Array(done(core.ecGenerate(namedCurve), 'no key was generated'));
    return pair({ name, namedCurve }, extractable, usages, der.readEcPkcs8(pkcs8, findPoint));
  }
  const exponent = bytes(algorithm.publicExponent);
  const { modulusLength } = algorithm;
  if (exponent.length !== 3 || exponent[0] !== 1 || exponent[1] !== 0 || exponent[2] !== 1) {
    throw unsupported('RSA keys are generated with the exponent 65537 only');
  }
  const pkcs8 = core.rsaGenerate(modulusLength);
  if (pkcs8 === undefined)
    throw unsupported('RSA keys are generated with 2048, 3072 and 4096 bits');
  const full = {
    name,
    modulusLength,
    publicExponent: exponent,
    hash: { name: hashOf(algorithm.hash) },
  };
  return pair(full, extractable, usages, der.readRsaPkcs8(new Uint8Array(pkcs8)));
}

const findPoint = (curve, pkcs8) =>
  new Uint8Array(done(core.ecPoint(curve, pkcs8), 'the key is not valid'));

const toText = (data) => encoding.b64encode(data, 'rawurl');

function fromText(text, name) {
  if (typeof text !== 'string') throw failure('DataError', `the JWK has no '${name}'`);
  return new Uint8Array(encoding.b64decode(text.replace(/=+$/, ''), 'rawurl'));
}

// The material of a key in one of the formats, and its type.
function read(format, data, algorithm) {
  const { name } = algorithm;
  if (USAGES[name].secret) {
    if (format === 'raw') return { type: 'secret', material: bytes(data) };
    if (format === 'jwk' && data.kty === 'oct')
      return { type: 'secret', material: fromText(data.k, 'k') };
    throw unsupported(`keys of ${name} are imported as raw or jwk, not as this ${format}`);
  }
  const isRsa = name.startsWith('RSA');
  if (format === 'spki') {
    return { type: 'public', material: (isRsa ? der.readRsaSpki : der.readEcSpki)(bytes(data)) };
  }
  if (format === 'pkcs8') {
    const material = isRsa
      ? der.readRsaPkcs8(bytes(data))
      : der.readEcPkcs8(bytes(data), findPoint);
    return { type: 'private', material };
  }
  if (format === 'raw' && !isRsa) {
    return { type: 'public', material: der.readPoint(curveOf(algorithm), bytes(data)) };
  }
  if (format !== 'jwk') throw unsupported(`keys of ${name} are not imported as ${format}`);
  if (data.kty !== (isRsa ? 'RSA' : 'EC'))
    throw failure('DataError', `the JWK is of kind '${data.kty}'`);
  const isPrivate = data.d !== undefined;
  const names = isRsa ? ['n', 'e'] : ['x', 'y'];
  if (isPrivate) names.push(...(isRsa ? ['d', 'p', 'q', 'dp', 'dq', 'qi'] : ['d']));
  const material = Object.fromEntries(names.map((part) => [part, fromText(data[part], part)]));
  if (!isRsa) {
    material.curve = curveOf({ namedCurve: data.crv });
    const { bytes: length } = der.CURVES[material.curve];
    const wrong = names.find((part) => material[part].length !== length);
    if (wrong !== undefined) throw failure('DataError', `'${wrong}' of the JWK has another length`);
  }
  return { type: isPrivate ? 'private' : 'public', material };
}

function importNow(format, data, given, extractable, usages) {
  const algorithm = normalized(given);
  const { name } = algorithm;
  let key;
  try {
    key = read(format, data, algorithm);
  } catch (error) {
    if (!(error instanceof der.Malformed)) throw error;
    throw failure('DataError', `the key is not valid: ${error.message}`);
  }
  const { type, material } = key;
  const full = { name };
  if (name.startsWith('AES')) {
    full.length = aesLength(material.length * 8);
  } else if (name === 'HMAC' || name.startsWith('RSA')) {
    full.hash = { name: hashOf(algorithm.hash) };
    if (name === 'HMAC') full.length = material.length * 8;
    else Object.assign(full, { modulusLength: material.n.length * 8, publicExponent: material.e });
    if (material.length === 0) throw failure('DataError', 'HMAC needs a key that is not empty');
  } else if (name.startsWith('EC')) {
    full.namedCurve = curveOf(algorithm);
    if (material.curve !== full.namedCurve)
      throw failure('DataError', `the key is on ${material.curve}`);
  } else if (extractable) {
    throw failure('SyntaxError', `keys of ${name} cannot be extractable`);
  }
  return new CryptoKey(type, extractable, full, usagesFor(name, type, usages), material);
}

function jwkAlgorithm({ name, hash, length }) {
  const digits = hash && hash.name.slice(4);
  if (name === 'HMAC') return `HS${digits}`;
  if (name.startsWith('AES')) return `A${length}${name.slice(4)}`;
  if (name === 'RSA-OAEP') return digits === '1' ? name : `${name}-${digits}`;
  return RSA_PREFIXES[name] && RSA_PREFIXES[name] + digits;
}

function exportNow(format, key) {
  if (!key.extractable) throw failure('InvalidAccessError', 'the key is not extractable');
  const { algorithm, type, usages } = key;
  const material = materialOf(key);
  const isRsa = algorithm.name.startsWith('RSA');
  if (format === 'jwk') {
    const jwk = {
      kty: type === 'secret' ? 'oct' : isRsa ? 'RSA' : 'EC',
      ext: true,
      key_ops: usages,
    };
    const alg = jwkAlgorithm(algorithm);
    if (alg) jwk.alg = alg;
    if (type === 'secret') return { ...jwk, k: toText(material) };
    const { curve, ...parts } = material;
    if (curve) jwk.crv = curve;
    for (const [name, part] of Object.entries(parts)) jwk[name] = toText(part);
    return jwk;
  }
  const writers = {
    secret: { raw: () => material },
    public: { spki: isRsa ? der.rsaSpki : der.ecSpki, raw: isRsa ? undefined : der.pointOf },
    private: { pkcs8: isRsa ? der.rsaPkcs8 : der.ecPkcs8 },
  };
  const write = writers[type][format];
  if (write === undefined) throw unsupported(`a ${type} key is not exported as ${format}`);
  return write(material).slice().buffer;
}

export const subtle = {
  async digest(algorithm, data) {
    return core.digest(hashOf(algorithm), bytes(data));
  },
  async encrypt(algorithm, key, data) {
    return cipher(true, algorithm, key, bytes(data));
  },
  async decrypt(algorithm, key, data) {
    return cipher(false, algorithm, key, bytes(data));
  },
  async sign(algorithm, key, data) {
    return sign(algorithm, key, bytes(data));
  },
  async verify(algorithm, key, signature, data) {
    return verify(algorithm, key, bytes(signature), bytes(data));
  },
  async generateKey(algorithm, extractable, usages) {
    return generate(algorithm, extractable, usages);
  },
  async importKey(format, data, algorithm, extractable, usages) {
    return importNow(format, data, algorithm, extractable, usages);
  },
  async exportKey(format, key) {
    return exportNow(format, key);
  },
  async deriveBits(algorithm, key, length = null) {
    const bits = length === null ? null : Math.trunc(Number(length));
    return derive(algorithm, key, bits, 'deriveBits');
  },
  async deriveKey(algorithm, key, derived, extractable, usages) {
    const target = secretOf(normalized(derived, ['HMAC', 'AES-CBC', 'AES-CTR', 'AES-GCM']));
    const material = derive(algorithm, key, target.length, 'deriveKey');
    return importNow('raw', material, { ...derived, ...target.algorithm }, extractable, usages);
  },
  async wrapKey() {
    throw unsupported('keys cannot be wrapped');
  },
  async unwrapKey() {
    throw unsupported('keys cannot be unwrapped');
  },
};
