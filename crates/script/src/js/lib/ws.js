// The module k6/ws: WebSockets whose call returns when they are over. While it waits, the events of
// its socket are handled and nothing else is.
//
// Written from k6's documentation, and from what k6 does.

import { close, next, now, open, ping, release, send, throws } from 'plimsoll:sockets/core';
import { checkCompression, closeError } from 'plimsoll:sockets/close';

// The code that a script closes with if it names none: it goes away.
const GOING_AWAY = 1001;

let runOf;

class Socket {
  #number;
  #isOver = false;
  // Whether the server has closed, so that nothing is left to do on the socket.
  #isGone = false;
  #handlers = new Map();
  #timers = [];

  constructor(number) {
    this.#number = number;
  }

  static {
    runOf = (socket, setUp) => socket.#run(setUp);
  }

  on(event, handler) {
    if (typeof handler !== 'function') {
      throw new TypeError(`the handler of '${event}' has to be a function`);
    }
    const known = this.#handlers.get(event);
    if (known === undefined) this.#handlers.set(event, [handler]);
    else known.push(handler);
  }

  send(message) {
    this.#transmit(() => send(this.#number, message == null ? '' : String(message)));
  }

  sendBinary(...args) {
    if (args.length === 0) throw new Error('missing argument, expected ArrayBuffer');
    const [message] = args;
    if (!(message instanceof ArrayBuffer)) {
      const what = message == null ? String(message) : message.constructor?.name ?? 'Object';
      throw new Error(`expected ArrayBuffer as argument, received: ${what}`);
    }
    this.#transmit(() => send(this.#number, message));
  }

  ping() {
    this.#transmit(() => ping(this.#number));
  }

  setTimeout(callback, ms) {
    this.#addTimer('setTimeout', callback, ms, false);
  }

  setInterval(callback, ms) {
    this.#addTimer('setInterval', callback, ms, true);
  }

  close(code) {
    if (this.#isOver) return;
    const number = code === undefined ? GOING_AWAY : Math.trunc(Number(code)) || 0;
    if (!this.#isGone) {
      close(this.#number, number, '');
      release(this.#number);
    }
    this.#end(number);
  }

  #end(code) {
    this.#isOver = true;
    this.#fire('close', code);
  }

  #transmit(transmit) {
    if (this.#isOver || this.#isGone) this.#fail('websocket: close sent');
    else transmit();
  }

  #fire(event, ...args) {
    const handlers = this.#handlers.get(event);
    if (handlers === undefined) return;
    for (const handler of handlers.slice()) handler(...args);
  }

  #fail(text) {
    const error = new Error(text);
    error.error = () => text;
    this.#fire('error', error);
  }

  #addTimer(name, callback, ms, repeats) {
    if (typeof callback !== 'function') {
      throw new TypeError(`${name} needs a function to call`);
    }
    const every = ms === undefined ? 0 : Number(ms);
    if (!(every > 0)) {
      throw new Error(
        `${name} requires a >0 timeout parameter, received ${every.toFixed(2)}`,
      );
    }
    if (this.#timers.length >= 10000) throw new RangeError('a socket may have 10000 timers');
    this.#timers.push({ due: now() + every, every: repeats ? every : null, callback });
  }

  // Handles events until the socket is over. An exception closes it.
  #run(setUp) {
    try {
      setUp(this);
      this.#fire('open');
      while (!this.#isOver) this.#step();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #step() {
    let first = null;
    for (const timer of this.#timers) {
      if (first === null || timer.due < first.due) first = timer;
    }
    if (first !== null && first.due <= now()) {
      if (first.every === null) this.#timers.splice(this.#timers.indexOf(first), 1);
      else first.due = now() + first.every;
      first.callback();
      return;
    }
    const news = next(this.#number, first?.due);
    switch (news?.type) {
      case 'message':
        this.#fire(typeof news.data === 'string' ? 'message' : 'binaryMessage', news.data);
        break;
      case 'ping':
      case 'pong':
        this.#fire(news.type);
        break;
      case 'over': {
        this.#isGone = true;
        const text = news.error || closeError(news.code, news.reason);
        if (text !== '') this.#fail(text);
        this.#end(news.code);
        break;
      }
    }
  }
}

export function connect(url, ...rest) {
  if (rest.length === 0) throw new Error('invalid number of arguments to ws.connect');
  const setUp = rest[rest.length - 1];
  if (typeof setUp !== 'function') {
    throw new Error('last argument to ws.connect must be a function');
  }
  const params = rest.length > 1 ? rest[0] : undefined;
  checkCompression(params);
  const number = open(String(url), undefined, params, true);
  const { type, response } = next(number);
  if (type === 'over') {
    if (throws()) throw new Error(response.error || 'websocket: bad handshake');
    return response;
  }
  response.url = String(url);
  runOf(new Socket(number), setUp);
  return response;
}
