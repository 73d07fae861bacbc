// The module k6/websockets: WebSockets as browsers have them, whose events the event loop handles.
//
// Written from k6's documentation, and from what k6 does.

import { close, listen, now, open, ping, queued, release, send } from 'plimsoll:sockets/core';
import { checkCompression, closeError } from 'plimsoll:sockets/close';
import { Blob, blobBytes } from 'plimsoll:blob';

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

// Map and ArrayBuffer take memory in each virtual user once code names them, so nothing that every
// script runs names one.
const EVENTS = ['open', 'message', 'error', 'close', 'ping', 'pong'];
const OPTIONS = ['headers', 'tags', 'jar', 'compression'];
const NORMAL = 1000;
const REASON_BYTES_MAX = 123;

// A unit of UTF-16 takes three bytes of UTF-8 at most.
const isLong = (reason) =>
  reason.length * 3 > REASON_BYTES_MAX &&
  new TextEncoder().encode(reason).length > REASON_BYTES_MAX;

function check(args) {
  const [url, , params] = args;
  if (url == null) throw new Error('WebSocket requires a url');
  if (!/^wss?:/i.test(url)) {
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1].toLowerCase() ?? '';
    throw new Error(`WebSocket requires url with scheme ws or wss, but got "${scheme}"`);
  }
  const fragment = url.indexOf('#');
  if (fragment !== -1) {
    throw new Error(`WebSocket requires no url fragment, but got "${url.slice(fragment + 1)}"`);
  }
  if (params == null || typeof params !== 'object') return;
  for (const name of Object.keys(params)) {
    if (!OPTIONS.includes(name)) throw new Error(`unknown WebSocket's option ${name}`);
  }
  checkCompression(params);
}

// The values of a field of the answer that is a list.
function listOf(value) {
  return value === undefined || value === '' ? [] : value.split(/\s*,\s*/);
}

class WebSocket {
  #url;
  #number;
  #state = CONNECTING;
  #protocol = '';
  #extensions = '';
  #binaryType = 'blob';
  // The code and the reason of close().
  #closing = null;
  // By event, where there is a handler.
  #handlers = { __proto__: null };

  constructor(...args) {
    const url = args[0] == null ? args[0] : String(args[0]);
    check([url, ...args.slice(1)]);
    this.#url = url;
    this.#number = open(url, args[1], args[2], false);
    listen(
      this.#number,
      (data) => this.#take(this.#heard, data),
      (news) => this.#take(this.#handle, news),
    );
  }

  get url() {
    return this.#url;
  }

  get readyState() {
    return this.#state;
  }

  get protocol() {
    return this.#protocol;
  }

  get extensions() {
    return listOf(this.#extensions);
  }

  get bufferedAmount() {
    return this.#state === OPEN || this.#state === CLOSING ? queued(this.#number) : 0;
  }

  get binaryType() {
    return this.#binaryType;
  }

  set binaryType(type) {
    if (type !== 'blob' && type !== 'arraybuffer') {
      throw new Error(
        `unknown binaryType ${type}, the supported ones are "blob" and "arraybuffer"`,
      );
    }
    this.#binaryType = type;
  }

  addEventListener(event, handler) {
    if (typeof handler !== 'function') {
      throw new Error(`handler for event type "${event ?? ''}" isn't a callable function`);
    }
    if (!EVENTS.includes(event)) {
      console.warn(`can't add event handler: unknown event type: ${event}`);
      return;
    }
    this.#handlersOf(event).listeners.push(handler);
  }

  #handlersOf(event) {
    return (this.#handlers[event] ??= { own: null, listeners: [] });
  }

  send(data) {
    this.#needOpen();
    if (typeof data === 'string') send(this.#number, data);
    else if (data instanceof Blob) send(this.#number, blobBytes(data));
    else if (data instanceof ArrayBuffer || ArrayBuffer.isView(data)) send(this.#number, data);
    else {
      throw new TypeError(
        `unsupported send type ${data === null ? 'null' : typeof data}: a WebSocket sends ` +
          'strings, ArrayBuffers, views of them and Blobs',
      );
    }
  }

  ping() {
    this.#needOpen();
    ping(this.#number);
  }

  close(code, reason) {
    if (this.#state === CLOSING || this.#state === CLOSED) return;
    // k6 takes what is not a number as no code at all.
    const number = Math.trunc(Number(code)) || NORMAL;
    if (number !== NORMAL && !(number >= 3000 && number <= 4999)) {
      throw new Error(
        "InvalidAccessError: Failed to execute 'close' on 'WebSocket': The close code must be " +
          `either 1000, or between 3000 and 4999. ${number} is neither`,
      );
    }
    const why = reason == null ? '' : String(reason);
    if (isLong(why)) {
      throw new Error(
        "SyntaxError: Failed to execute 'close' on 'WebSocket': The message must not be greater " +
          `than ${REASON_BYTES_MAX} bytes`,
      );
    }
    this.#closing = [number, why];
    if (this.#state === OPEN) close(this.#number, number, why);
    this.#state = CLOSING;
  }

  #needOpen() {
    if (this.#state !== OPEN) throw new Error('InvalidStateError');
  }

  // Takes news of the socket. An exception of a handler is an error of the socket too, which ends.
  #take(handle, news) {
    try {
      handle.call(this, news);
    } catch (error) {
      if (this.#state !== CLOSED) this.#fail(error);
      throw error;
    }
  }

  #fail(error) {
    this.#state = CLOSED;
    release(this.#number);
    const code = this.#closing === null ? {} : { code: this.#closing[0] };
    try {
      this.#fire('error', { error: String(error) });
      this.#fire('close', { ...code, reason: '' });
    } catch {
      // The iteration fails with the exception that came first: it is the cause.
    }
  }

  #heard(data) {
    // One that comes after close() is for nobody: the standard of WebSockets in browsers.
    if (this.#state !== OPEN || this.#handlers.message === undefined) return;
    const isText = typeof data === 'string' || this.#binaryType === 'arraybuffer';
    this.#hand({
      type: 'message',
      target: this,
      timestamp: now(),
      data: isText ? data : new Blob([data]),
      origin: this.#url,
    });
  }

  #handle(news) {
    if (news.type === 'open') this.#opened(news.response);
    else if (news.type === 'over') this.#over(news);
    else this.#fire(news.type, {});
  }

  #opened({ headers }) {
    this.#protocol = headers['Sec-Websocket-Protocol'] ?? '';
    this.#extensions = headers['Sec-Websocket-Extensions'];
    // The script has closed it meanwhile.
    if (this.#state === CLOSING) {
      close(this.#number, ...this.#closing);
      return;
    }
    this.#state = OPEN;
    this.#fire('open', {});
  }

  #over({ response, code, reason, error }) {
    this.#state = CLOSED;
    if (code === undefined) {
      this.#fire('error', { error: response.error || 'websocket: bad handshake' });
      this.#fire('close', { reason: '' });
      return;
    }
    const text = error || closeError(code, reason);
    if (text !== '') this.#fire('error', { error: text });
    this.#fire('close', { code, reason });
  }

  #fire(type, details) {
    if (this.#handlers[type] === undefined) return;
    this.#hand({ type, target: this, timestamp: now(), ...details });
  }

  // Calls the handlers of an event. A listener that another listener adds does not get this event.
  #hand(event) {
    const { own, listeners } = this.#handlers[event.type];
    if (own !== null) own(event);
    if (listeners.length > 0) for (const listener of listeners.slice()) listener(event);
  }

  static {
    for (const event of EVENTS) {
      Object.defineProperty(WebSocket.prototype, `on${event}`, {
        enumerable: true,
        get() {
          return this.#handlers[event]?.own ?? null;
        },
        set(handler) {
          if (handler != null && typeof handler !== 'function') {
            throw new Error(`a value for 'on${event}' should be callable`);
          }
          this.#handlersOf(event).own = handler ?? null;
        },
      });
    }
    for (const [name, value] of Object.entries({ CONNECTING, OPEN, CLOSING, CLOSED })) {
      Object.defineProperty(WebSocket, name, { value, enumerable: true });
      Object.defineProperty(WebSocket.prototype, name, { value, enumerable: true });
    }
  }
}

export { Blob, WebSocket };
