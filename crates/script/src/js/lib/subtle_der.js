// Keys of WebCrypto as DER and back: PKCS #8 (RFC 5958), SubjectPublicKeyInfo (RFC 5280), and in
// them PKCS #1 (RFC 8017) and keys of elliptic curves (RFC 5915).
//
// Numbers are big-endian bytes without leading zeros; coordinates have the length of their curve.

const [INTEGER, BIT_STRING, OCTET_STRING, NULL, OID, SEQUENCE, PUBLIC] = [
  2, 3, 4, 5, 6, 0x30, 0xa1,
];

const RSA = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

export const CURVES = {
  'P-256': { oid: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], bytes: 32 },
  'P-384': { oid: [0x2b, 0x81, 0x04, 0x00, 0x22], bytes: 48 },
  'P-521': { oid: [0x2b, 0x81, 0x04, 0x00, 0x23], bytes: 66 },
};

const RSA_PRIVATE = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'];

export class Malformed extends Error {}

export function join(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function tlv(tag, ...parts) {
  const value = join(...parts);
  if (value.length < 0x80) return join([tag, value.length], value);
  const length = [];
  for (let left = value.length; left > 0; left = Math.floor(left / 256)) length.unshift(left % 256);
  return join([tag, 0x80 + length.length, ...length], value);
}

const integer = (bytes) => tlv(INTEGER, bytes.length === 0 || bytes[0] > 0x7f ? [0] : [], bytes);

// The values that follow one another, with their tags.
function children(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes[at];
    let length = bytes[at + 1];
    at += 2;
    if (length > 0x84 || length === 0x80 || length === undefined) throw new Malformed('length');
    if (length > 0x80) {
      const end = at + length - 0x80;
      for (length = 0; at < end; at++) length = length * 256 + bytes[at];
    }
    if (!(at + length <= bytes.length)) throw new Malformed('truncated');
    found.push({ tag, value: bytes.subarray(at, at + length) });
    at += length;
  }
  return found;
}

function take(nodes, index, tag) {
  const node = nodes[index];
  if (node === undefined || node.tag !== tag) throw new Malformed(`no tag ${tag}`);
  return node.value;
}

const within = (bytes) => children(take(children(bytes), 0, SEQUENCE));

function number(nodes, index) {
  const bytes = take(nodes, index, INTEGER);
  let at = 0;
  while (at < bytes.length - 1 && bytes[at] === 0) at++;
  return bytes.slice(at);
}

const isOid = (bytes, oid) =>
  bytes.length === oid.length && oid.every((byte, index) => byte === bytes[index]);

function expectAlgorithm(bytes, oid) {
  const nodes = children(bytes);
  if (!isOid(take(nodes, 0, OID), oid)) throw new Malformed('another algorithm');
  return nodes;
}

function curveOf(bytes) {
  const oid = take(expectAlgorithm(bytes, EC), 1, OID);
  const found = Object.keys(CURVES).find((name) => isOid(oid, CURVES[name].oid));
  if (found === undefined) throw new Malformed('another curve');
  return found;
}

const bits = (bytes) => {
  if (bytes[0] !== 0) throw new Malformed('unused bits');
  return bytes.subarray(1);
};

const rsaAlgorithm = () => tlv(SEQUENCE, tlv(OID, RSA), tlv(NULL, []));
const ecAlgorithm = (curve) => tlv(SEQUENCE, tlv(OID, EC), tlv(OID, CURVES[curve].oid));

export const rsaPkcs1 = ({ n, e }) => tlv(SEQUENCE, integer(n), integer(e));

export const rsaSpki = (key) => tlv(SEQUENCE, rsaAlgorithm(), tlv(BIT_STRING, [0], rsaPkcs1(key)));

export function rsaPkcs8(key) {
  const numbers = RSA_PRIVATE.map((name) => integer(key[name]));
  const inner = tlv(SEQUENCE, integer([0]), ...numbers);
  return tlv(SEQUENCE, integer([0]), rsaAlgorithm(), tlv(OCTET_STRING, inner));
}

export function readRsaSpki(bytes) {
  const nodes = within(bytes);
  expectAlgorithm(take(nodes, 0, SEQUENCE), RSA);
  const key = within(bits(take(nodes, 1, BIT_STRING)));
  return { n: number(key, 0), e: number(key, 1) };
}

export function readRsaPkcs8(bytes) {
  const nodes = within(bytes);
  expectAlgorithm(take(nodes, 1, SEQUENCE), RSA);
  const key = within(take(nodes, 2, OCTET_STRING));
  return Object.fromEntries(RSA_PRIVATE.map((name, index) => [name, number(key, index + 1)]));
}

export const pointOf = ({ x, y }) => join([4], x, y);

export function readPoint(curve, bytes) {
  const { bytes: length } = CURVES[curve];
  if (bytes[0] !== 4 || bytes.length !== 1 + 2 * length) throw new Malformed('point');
  return { curve, x: bytes.slice(1, 1 + length), y: bytes.slice(1 + length) };
}

export const ecSpki = (key) =>
  tlv(SEQUENCE, ecAlgorithm(key.curve), tlv(BIT_STRING, [0], pointOf(key)));

export function ecPkcs8(key) {
  const point = tlv(PUBLIC, tlv(BIT_STRING, [0], pointOf(key)));
  const inner = tlv(SEQUENCE, integer([1]), tlv(OCTET_STRING, key.d), point);
  return tlv(SEQUENCE, integer([0]), ecAlgorithm(key.curve), tlv(OCTET_STRING, inner));
}

export function readEcSpki(bytes) {
  const nodes = within(bytes);
  return readPoint(curveOf(take(nodes, 0, SEQUENCE)), bits(take(nodes, 1, BIT_STRING)));
}

// `findPoint` computes the public point of a key that comes without it.
export function readEcPkcs8(bytes, findPoint) {
  const nodes = within(bytes);
  const curve = curveOf(take(nodes, 1, SEQUENCE));
  const key = within(take(nodes, 2, OCTET_STRING));
  const d = take(key, 1, OCTET_STRING).slice();
  if (d.length !== CURVES[curve].bytes) throw new Malformed('scalar');
  const given = key.find(({ tag }) => tag === PUBLIC);
  const point = given ? bits(take(children(given.value), 0, BIT_STRING)) : findPoint(curve, bytes);
  return { ...readPoint(curve, point), d };
}
