// The module k6/experimental/streams: streams that are read and written chunk by chunk. This file
// has those that are read, `streams_writable.js` the others.
//
// Written from the Streams standard of the WHATWG. What is absent on purpose, as in k6: streams of
// bytes, pipes, `tee()` and asynchronous iteration.

import {
  CountQueuingStrategy,
  Deferred,
  Queue,
  invoke,
  methodOf,
  objectOf,
} from 'plimsoll:streams/queue';
import { WritableStream, WritableStreamDefaultWriter } from 'plimsoll:streams/writable';

export { CountQueuingStrategy, WritableStream, WritableStreamDefaultWriter };

// What a stream, its controller and its reader share.
class Core {
  constructor(source, strategy) {
    this.queue = new Queue(strategy, 1);
    const given = objectOf(source, 'the underlying source');
    if (given.type !== undefined) {
      throw new TypeError(`streams of type '${given.type}' are not supported: leave type out`);
    }
    this.pull = methodOf(given, 'pull');
    this.whenCancelled = methodOf(given, 'cancel');
    this.state = 'readable';
    this.reader = null;
    this.hasStarted = false;
    this.isClosing = false;
    this.isPulling = false;
    this.pullsAgain = false;
    this.controller = new ReadableStreamDefaultController(this);
    const start = methodOf(given, 'start');
    Promise.resolve(start && start(this.controller)).then(
      () => {
        this.hasStarted = true;
        this.pullIfNeeded();
      },
      (error) => this.fail(error),
    );
  }

  get desiredSize() {
    if (this.state === 'errored') return null;
    return this.state === 'closed' ? 0 : this.queue.room;
  }

  get takesChunks() {
    return this.state === 'readable' && !this.isClosing;
  }

  needsPull() {
    if (!this.takesChunks || !this.hasStarted) return false;
    return (this.reader !== null && this.reader.reads.length > 0) || this.queue.room > 0;
  }

  pullIfNeeded() {
    if (!this.needsPull()) return;
    if (this.isPulling) {
      this.pullsAgain = true;
      return;
    }
    this.isPulling = true;
    invoke(this.pull, this.controller).then(
      () => {
        this.isPulling = false;
        const pullsAgain = this.pullsAgain;
        this.pullsAgain = false;
        if (pullsAgain) this.pullIfNeeded();
      },
      (error) => this.fail(error),
    );
  }

  enqueue(chunk) {
    if (!this.takesChunks) throw new TypeError('the stream takes no more chunks');
    if (this.reader !== null && this.reader.reads.length > 0) {
      this.reader.reads.shift().resolve({ value: chunk, done: false });
    } else {
      try {
        this.queue.push(chunk, this.queue.sizeOf(chunk));
      } catch (error) {
        this.fail(error);
        throw error;
      }
    }
    this.pullIfNeeded();
  }

  // Ends the stream when what is queued has been read.
  finish() {
    if (!this.takesChunks) throw new TypeError('the stream is closed already');
    this.isClosing = true;
    if (this.queue.isEmpty) this.close();
  }

  close() {
    this.state = 'closed';
    if (this.reader === null) return;
    this.reader.endReads((read) => read.resolve({ value: undefined, done: true }));
    this.reader.closed.resolve();
  }

  fail(error) {
    if (this.state !== 'readable') return;
    this.state = 'errored';
    this.error = error;
    this.queue.clear();
    if (this.reader === null) return;
    this.reader.endReads((read) => read.reject(error));
    this.reader.closed.reject(error);
  }

  read() {
    if (this.state === 'errored') return Promise.reject(this.error);
    if (this.state === 'closed') return Promise.resolve({ value: undefined, done: true });
    if (this.queue.isEmpty) {
      const read = new Deferred();
      this.reader.reads.push(read);
      this.pullIfNeeded();
      return read.promise;
    }
    const chunk = this.queue.shift();
    if (this.isClosing && this.queue.isEmpty) this.close();
    else this.pullIfNeeded();
    return Promise.resolve({ value: chunk, done: false });
  }

  cancel(reason) {
    if (this.state === 'closed') return Promise.resolve();
    if (this.state === 'errored') return Promise.reject(this.error);
    this.queue.clear();
    this.close();
    return invoke(this.whenCancelled, reason).then(() => undefined);
  }
}

class ReadableStreamDefaultController {
  #core;

  constructor(core) {
    this.#core = core;
  }

  get desiredSize() {
    return this.#core.desiredSize;
  }

  enqueue(chunk) {
    this.#core.enqueue(chunk);
  }

  close() {
    this.#core.finish();
  }

  error(reason) {
    this.#core.fail(reason);
  }
}

let coreOf;

export class ReadableStream {
  #core;

  constructor(source, strategy) {
    this.#core = new Core(source, strategy);
  }

  static {
    coreOf = (stream) => {
      if (!(stream instanceof ReadableStream)) throw new TypeError('a ReadableStream is needed');
      return stream.#core;
    };
  }

  get locked() {
    return this.#core.reader !== null;
  }

  cancel(reason) {
    if (this.locked) return Promise.reject(new TypeError('the stream is locked to a reader'));
    return this.#core.cancel(reason);
  }

  getReader(options) {
    const { mode } = objectOf(options, 'what getReader() is given');
    if (mode !== undefined) throw new TypeError(`readers with mode '${mode}' are not supported`);
    return new ReadableStreamDefaultReader(this);
  }
}

// What a reader waits for.
class Waiting {
  constructor() {
    this.reads = [];
    this.closed = new Deferred();
  }

  endReads(settle) {
    const reads = this.reads;
    this.reads = [];
    reads.forEach(settle);
  }
}

export class ReadableStreamDefaultReader {
  #core;

  #waiting = new Waiting();

  constructor(stream) {
    this.#core = coreOf(stream);
    if (this.#core.reader !== null) throw new TypeError('the stream is locked to a reader');
    this.#core.reader = this.#waiting;
    if (this.#core.state === 'closed') this.#waiting.closed.resolve();
    if (this.#core.state === 'errored') this.#waiting.closed.reject(this.#core.error);
  }

  get closed() {
    return this.#waiting.closed.promise;
  }

  read() {
    return this.#core === null ? Promise.reject(released()) : this.#core.read();
  }

  cancel(reason) {
    return this.#core === null ? Promise.reject(released()) : this.#core.cancel(reason);
  }

  releaseLock() {
    if (this.#core === null) return;
    const { closed } = this.#waiting;
    if (closed.isSettled) this.#waiting.closed = Deferred.rejected(released());
    else closed.reject(released());
    this.#waiting.endReads((read) => read.reject(released()));
    this.#core.reader = null;
    this.#core = null;
  }
}

function released() {
  return new TypeError('the reader has released its stream');
}
