// What both kinds of streams of k6/experimental/streams are made of: promises that are settled
// from outside, a queue whose chunks have sizes, and how a source or a sink is called.
//
// Written from the Streams standard of the WHATWG.

export class Deferred {
  constructor() {
    this.isSettled = false;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = (value) => {
        this.isSettled = true;
        resolve(value);
      };
      this.reject = (reason) => {
        this.isSettled = true;
        reject(reason);
      };
    });
    // Nobody has to look at it: what fails is told in the state of the stream, too.
    this.promise.catch(() => {});
  }

  static resolved(value) {
    const deferred = new Deferred();
    deferred.resolve(value);
    return deferred;
  }

  static rejected(reason) {
    const deferred = new Deferred();
    deferred.reject(reason);
    return deferred;
  }
}

// Chunks in order, and the sum of what the strategy says of their sizes.
export class Queue {
  constructor(strategy, highWaterMark) {
    const given = objectOf(strategy, 'the queuing strategy');
    const wanted = given.highWaterMark;
    this.highWaterMark = wanted === undefined ? highWaterMark : Number(wanted);
    if (Number.isNaN(this.highWaterMark) || this.highWaterMark < 0) {
      throw new RangeError(`highWaterMark is ${wanted}: give a number from 0 on`);
    }
    this.size = methodOf(given, 'size') || (() => 1);
    this.clear();
  }

  clear() {
    this.chunks = [];
    this.total = 0;
  }

  sizeOf(chunk) {
    const size = Number(this.size(chunk));
    if (!Number.isFinite(size) || size < 0) {
      throw new RangeError(`the size of a chunk is ${size}: give a number from 0 on`);
    }
    return size;
  }

  push(chunk, size) {
    this.chunks.push({ chunk, size });
    this.total += size;
  }

  shift() {
    const { chunk, size } = this.chunks.shift();
    this.total = Math.max(this.total - size, 0);
    return chunk;
  }

  get isEmpty() {
    return this.chunks.length === 0;
  }

  get room() {
    return this.highWaterMark - this.total;
  }
}

// An object, or one without properties if nothing was given.
export function objectOf(value, what) {
  if (value === undefined) return {};
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  if (!isObject) throw new TypeError(`${what} must be an object`);
  return value;
}

// A method bound to its object; undefined if the object lacks it.
export function methodOf(object, name) {
  const method = object[name];
  if (method === undefined) return undefined;
  if (typeof method !== 'function') throw new TypeError(`'${name}' must be a function`);
  return method.bind(object);
}

// The promise of what a method returns; an exception rejects it.
export function invoke(method, ...values) {
  try {
    return Promise.resolve(method && method(...values));
  } catch (error) {
    return Promise.reject(error);
  }
}

// Counts each chunk as one.
export class CountQueuingStrategy {
  #highWaterMark;

  constructor(options) {
    if (options === undefined) throw new TypeError('CountQueuingStrategy needs a highWaterMark');
    const { highWaterMark } = objectOf(options, 'what CountQueuingStrategy is given');
    if (highWaterMark === undefined) {
      throw new TypeError('CountQueuingStrategy needs a highWaterMark');
    }
    this.#highWaterMark = Number(highWaterMark);
  }

  get highWaterMark() {
    return this.#highWaterMark;
  }

  get size() {
    return () => 1;
  }
}
