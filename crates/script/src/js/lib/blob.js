// The class Blob of k6/websockets: bytes that do not change.
//
// Written from k6's documentation and from the File API of browsers.

function bytesOf(part) {
  if (typeof part === 'string') return new TextEncoder().encode(part);
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  if (ArrayBuffer.isView(part)) {
    return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  }
  if (part instanceof Blob) return blobBytes(part);
  throw new TypeError('the parts of a Blob are strings, ArrayBuffers, views of them and Blobs');
}

function clamp(at, size, unset) {
  if (at === undefined) return unset;
  const whole = Math.trunc(Number(at)) || 0;
  return whole < 0 ? Math.max(size + whole, 0) : Math.min(whole, size);
}

export let blobBytes;

export class Blob {
  #bytes;

  constructor(parts = [], options = {}) {
    if (parts === null || typeof parts !== 'object' || !(Symbol.iterator in parts)) {
      throw new TypeError('the parts of a Blob are an array');
    }
    if (options === null || typeof options !== 'object') {
      throw new TypeError('the options of a Blob are an object');
    }
    const pieces = Array.from(parts, bytesOf);
    const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.#bytes = new Uint8Array(size);
    let at = 0;
    for (const piece of pieces) {
      this.#bytes.set(piece, at);
      at += piece.length;
    }
    const type = options.type === undefined ? '' : String(options.type);
    Object.defineProperty(this, 'size', { value: size, enumerable: true });
    Object.defineProperty(this, 'type', { value: type, enumerable: true });
  }

  static {
    blobBytes = (blob) => blob.#bytes;
  }

  async text() {
    return new TextDecoder().decode(this.#bytes);
  }

  async arrayBuffer() {
    return this.#bytes.slice().buffer;
  }

  async bytes() {
    return this.#bytes.slice();
  }

  slice(start, end, type = '') {
    const from = clamp(start, this.size, 0);
    const to = clamp(end, this.size, this.size);
    return new Blob([this.#bytes.subarray(from, Math.max(from, to))], { type });
  }

  stream() {
    throw new Error('streams of a Blob are not supported: use bytes() or slice()');
  }

  get [Symbol.toStringTag]() {
    return 'Blob';
  }
}
