// Streams of k6/experimental/streams that are written to.
//
// Written from the Streams standard of the WHATWG. What is absent on purpose: the controller's
// `signal`, since nothing else here can be aborted by one.

import { Deferred, Queue, invoke, methodOf, objectOf } from 'plimsoll:streams/queue';

// What stands in the queue for the end of the stream.
const CLOSE = Symbol('close');

// What a stream, its controller and its writer share. The states are those of the standard:
//
//   writable -> erroring -> errored
//   writable, erroring -> closed
class Core {
  constructor(sink, strategy) {
    const given = objectOf(sink, 'the underlying sink');
    if (given.type !== undefined) {
      throw new RangeError(`streams of type '${given.type}' are not supported: leave type out`);
    }
    this.queue = new Queue(strategy, 1);
    this.sink = Object.fromEntries(
      ['start', 'write', 'close', 'abort'].map((name) => [name, methodOf(given, name)]),
    );
    this.state = 'writable';
    this.writer = null;
    // The promises of write() in order, of the chunk and the end that the sink is at, of an end
    // that waits, and of abort().
    this.writes = [];
    this.writing = null;
    this.ending = null;
    this.endAsked = null;
    this.aborting = null;
    this.isFull = this.queue.room <= 0;
    this.hasStarted = false;
    this.controller = new WritableStreamDefaultController(this);
    const started = this.sink.start && this.sink.start(this.controller);
    Promise.resolve(started).then(
      () => {
        this.hasStarted = true;
        this.advance();
      },
      (error) => {
        this.hasStarted = true;
        this.reject(error);
      },
    );
  }

  get isEnding() {
    return this.endAsked !== null || this.ending !== null;
  }

  get desiredSize() {
    if (this.state === 'errored' || this.state === 'erroring') return null;
    return this.state === 'closed' ? 0 : this.queue.room;
  }

  // Tells the writer whether there is room.
  updateFull() {
    const isFull = this.queue.room <= 0;
    if (this.writer !== null && isFull !== this.isFull) {
      if (isFull) this.writer.ready = new Deferred();
      else this.writer.ready.resolve();
    }
    this.isFull = isFull;
  }

  write(chunk) {
    let size = 1;
    try {
      size = this.queue.sizeOf(chunk);
    } catch (error) {
      if (this.state === 'writable') this.startErroring(error);
    }
    if (this.state === 'errored' || this.state === 'erroring') return Promise.reject(this.error);
    if (this.isEnding || this.state === 'closed') {
      return Promise.reject(new TypeError('the stream is closed'));
    }
    const written = new Deferred();
    this.writes.push(written);
    this.queue.push(chunk, size);
    this.updateFull();
    this.advance();
    return written.promise;
  }

  // Hands the next chunk, or the end, to the sink, which is given one at a time.
  advance() {
    if (!this.hasStarted || this.writing !== null) return;
    if (this.state === 'erroring') {
      this.finishErroring();
      return;
    }
    if (this.queue.isEmpty) return;
    if (this.queue.chunks[0].chunk === CLOSE) this.end();
    else this.handOver(this.queue.chunks[0].chunk);
  }

  handOver(chunk) {
    this.writing = this.writes.shift();
    const settle = (settleWrite) => {
      const { writing } = this;
      this.writing = null;
      settleWrite(writing);
    };
    invoke(this.sink.write, chunk, this.controller).then(
      () => {
        settle((writing) => writing.resolve());
        this.queue.shift();
        if (!this.isEnding && this.state === 'writable') this.updateFull();
        this.advance();
      },
      (error) => {
        settle((writing) => writing.reject(error));
        this.reject(error);
      },
    );
  }

  end() {
    this.queue.shift();
    this.ending = this.endAsked;
    this.endAsked = null;
    const settle = (settleEnd) => {
      for (const deferred of [this.ending, this.aborting]) if (deferred) settleEnd(deferred);
      this.ending = null;
      this.aborting = null;
    };
    invoke(this.sink.close).then(
      () => {
        settle((deferred) => deferred.resolve());
        this.state = 'closed';
        if (this.writer !== null) this.writer.closed.resolve();
      },
      (error) => {
        settle((deferred) => deferred.reject(error));
        this.reject(error);
      },
    );
  }

  close() {
    if (this.state === 'closed' || this.state === 'errored' || this.isEnding) {
      return Promise.reject(new TypeError('the stream is closed'));
    }
    this.endAsked = new Deferred();
    const { promise } = this.endAsked;
    if (this.writer !== null && this.isFull && this.state === 'writable') {
      this.writer.ready.resolve();
    }
    this.queue.push(CLOSE, 0);
    this.advance();
    return promise;
  }

  abort(reason) {
    if (this.state === 'closed' || this.state === 'errored') return Promise.resolve();
    if (this.aborting !== null) return this.aborting.promise;
    this.aborting = new Deferred();
    this.aborting.reason = reason;
    this.aborting.isLate = this.state === 'erroring';
    const { promise } = this.aborting;
    if (this.state === 'writable') this.startErroring(reason);
    return promise;
  }

  // The sink has failed.
  reject(error) {
    if (this.state === 'writable') this.startErroring(error);
    else this.finishErroring();
  }

  startErroring(reason) {
    this.state = 'erroring';
    this.error = reason;
    if (this.writer !== null) this.writer.failReady(reason);
    if (this.writing === null && this.ending === null && this.hasStarted) this.finishErroring();
  }

  finishErroring() {
    this.state = 'errored';
    this.queue.clear();
    for (const written of this.writes.splice(0)) written.reject(this.error);
    const { aborting } = this;
    this.aborting = null;
    if (aborting === null) {
      this.failEnd();
      return;
    }
    if (aborting.isLate) {
      aborting.reject(this.error);
      this.failEnd();
      return;
    }
    invoke(this.sink.abort, aborting.reason)
      .then(() => aborting.resolve(), aborting.reject)
      .then(() => this.failEnd());
  }

  failEnd() {
    if (this.endAsked !== null) this.endAsked.reject(this.error);
    this.endAsked = null;
    if (this.writer !== null) this.writer.closed.reject(this.error);
  }
}

class WritableStreamDefaultController {
  #core;

  constructor(core) {
    this.#core = core;
  }

  error(reason) {
    if (this.#core.state === 'writable') this.#core.startErroring(reason);
  }
}

let coreOf;

export class WritableStream {
  #core;

  constructor(sink, strategy) {
    this.#core = new Core(sink, strategy);
  }

  static {
    coreOf = (stream) => {
      if (!(stream instanceof WritableStream)) throw new TypeError('a WritableStream is needed');
      return stream.#core;
    };
  }

  get locked() {
    return this.#core.writer !== null;
  }

  abort(reason) {
    return this.locked ? Promise.reject(locked()) : this.#core.abort(reason);
  }

  close() {
    return this.locked ? Promise.reject(locked()) : this.#core.close();
  }

  getWriter() {
    return new WritableStreamDefaultWriter(this);
  }
}

// What a writer waits for.
class Waiting {
  constructor(core) {
    this.closed = new Deferred();
    this.ready = new Deferred();
    if (core.state === 'erroring' || core.state === 'errored') this.ready.reject(core.error);
    else if (core.state === 'closed' || core.isEnding || !core.isFull) this.ready.resolve();
    if (core.state === 'closed') this.closed.resolve();
    if (core.state === 'errored') this.closed.reject(core.error);
  }

  failReady(reason) {
    if (this.ready.isSettled) this.ready = Deferred.rejected(reason);
    else this.ready.reject(reason);
  }

  failClosed(reason) {
    if (this.closed.isSettled) this.closed = Deferred.rejected(reason);
    else this.closed.reject(reason);
  }
}

export class WritableStreamDefaultWriter {
  #core;

  #waiting;

  constructor(stream) {
    this.#core = coreOf(stream);
    if (this.#core.writer !== null) throw locked();
    this.#waiting = new Waiting(this.#core);
    this.#core.writer = this.#waiting;
  }

  get closed() {
    return this.#waiting.closed.promise;
  }

  get ready() {
    return this.#waiting.ready.promise;
  }

  get desiredSize() {
    if (this.#core === null) throw released();
    return this.#core.desiredSize;
  }

  write(chunk) {
    return this.#core === null ? Promise.reject(released()) : this.#core.write(chunk);
  }

  close() {
    return this.#core === null ? Promise.reject(released()) : this.#core.close();
  }

  abort(reason) {
    return this.#core === null ? Promise.reject(released()) : this.#core.abort(reason);
  }

  releaseLock() {
    if (this.#core === null) return;
    this.#waiting.failReady(released());
    this.#waiting.failClosed(released());
    this.#core.writer = null;
    this.#core = null;
  }
}

function locked() {
  return new TypeError('the stream is locked to a writer');
}

function released() {
  return new TypeError('the writer has released its stream');
}
