// The module k6/net/grpc: clients and streams of gRPC. Schemas, channels and calls are the
// program's; here are the objects of the script, and what their arguments may be.
//
// Written from k6's documentation, and from what k6 does.

import * as core from 'plimsoll:grpc/core';

const UNCONNECTED = 'no gRPC connection, you must call connect first';

const RECEIVED_MAX = 4 * 1024 * 1024;
const SENT_MAX = 2 ** 31 - 1;
const CONNECT_TIMEOUT_NS = 60e9;
const INVOKE_TIMEOUT_NS = 120e9;

export const StatusOK = 0;
export const StatusCanceled = 1;
export const StatusUnknown = 2;
export const StatusInvalidArgument = 3;
export const StatusDeadlineExceeded = 4;
export const StatusNotFound = 5;
export const StatusAlreadyExists = 6;
export const StatusPermissionDenied = 7;
export const StatusResourceExhausted = 8;
export const StatusFailedPrecondition = 9;
export const StatusAborted = 10;
export const StatusOutOfRange = 11;
export const StatusUnimplemented = 12;
export const StatusInternal = 13;
export const StatusUnavailable = 14;
export const StatusDataLoss = 15;
export const StatusUnauthenticated = 16;

export const HealthCheckUnknown = 0;
export const HealthCheckServing = 1;
export const HealthCheckNotServing = 2;
// The name is k6's.
export const HealthCheckServiceUnkown = 3;

const isNothing = (value) => value === undefined || value === null;
const isText = (value) => typeof value === 'string';
const shown = (value) => JSON.stringify(value);

// What keeps what a client is to itself.
let connected;
let methodOf;

// An array of names and values; with -bin names have bytes, others texts.
function metadataOf(value, what) {
  if (isNothing(value)) return [];
  const wrong = (why) => new Error(`invalid ${what} param: ${why}`);
  if (typeof value !== 'object') throw wrong('must be an object with key-value pairs');
  return Object.entries(value).map(([name, value]) => {
    const isBinary = name.toLowerCase().endsWith('-bin');
    if (!/^[0-9A-Za-z_.-]+$/.test(name)) throw wrong(`"${name}" is not a name`);
    if (isBinary && !(value instanceof ArrayBuffer || ArrayBuffer.isView(value))) {
      throw wrong(`"${name}" value must be binary`);
    }
    if (!isBinary && !isText(value)) throw wrong(`"${name}" value must be a string`);
    if (!isBinary && /[^\x20-\x7e]/.test(value)) {
      throw wrong(`"${name}" value must be printable ASCII`);
    }
    return [name, value];
  });
}

function timeoutOf(value) {
  try {
    return core.duration(value);
  } catch (error) {
    throw new Error(`invalid timeout value: ${error.message}`);
  }
}

// The params of a call.
function callParams(given, timeout) {
  const params = { metadata: [], timeout, tags: undefined, discards: false };
  if (isNothing(given)) return params;
  for (const [name, value] of Object.entries(Object(given))) {
    switch (name) {
      case 'metadata': params.metadata = metadataOf(value, 'metadata'); break;
      case 'tags':
        for (const [tag, held] of Object.entries(Object(value))) {
          if (!['string', 'number', 'boolean'].includes(typeof held)) {
            throw new Error(`metric tags: invalid value for metric tag '${tag}': ` +
              'only String, Boolean and Number types are accepted as a metric tag values');
          }
        }
        params.tags = value;
        break;
      case 'timeout': params.timeout = timeoutOf(value); break;
      case 'discardResponseMessage': params.discards = Boolean(value); break;
      default: throw new Error(`unknown param: "${name}"`);
    }
  }
  return params;
}

function within(what, work) {
  try {
    return work();
  } catch (error) {
    throw new Error(`${what}: ${error.message}`);
  }
}

function tlsOf(value) {
  if (isNothing(value)) return {};
  if (typeof value !== 'object') {
    throw new Error(`invalid tls value: '${shown(value)}', expected (optional) keys: ` +
      'cert, key, password, and cacerts');
  }
  const { cert, key, password, cacerts } = value;
  for (const [name, text] of Object.entries({ cert, key })) {
    if (!isNothing(text) && !isText(text)) {
      throw new Error(`invalid tls ${name} value: it needs to be a PEM formatted string`);
    }
  }
  if (!isNothing(password) && !isText(password)) {
    throw new Error('invalid tls password value: it needs to be a string');
  }
  const roots = isNothing(cacerts) ? [] : Array.isArray(cacerts) ? cacerts : [cacerts];
  if (!roots.every(isText)) {
    throw new Error('invalid tls cacerts value: it needs to be a string or an array of PEM ' +
      'formatted strings');
  }
  return { cert, key, password, roots };
}

// A size in bytes.
function sizeOf(name, value) {
  if (!Number.isInteger(value)) {
    throw new Error(`invalid ${name} value: '${shown(value)}', it needs to be an integer`);
  }
  if (value < 0) {
    throw new Error(`invalid ${name} value: '${value}, it needs to be a positive integer`);
  }
  return Math.min(value, SENT_MAX);
}

function connectParams(given) {
  const params = {
    plaintext: false, reflect: false, reflectMetadata: [], timeout: CONNECT_TIMEOUT_NS, tls: {},
    receivedMax: RECEIVED_MAX, sentMax: SENT_MAX, authority: undefined,
  };
  if (isNothing(given)) return params;
  for (const [name, value] of Object.entries(Object(given))) {
    switch (name) {
      case 'plaintext':
      case 'reflect':
        if (typeof value !== 'boolean') {
          throw new Error(`invalid ${name} value: '${shown(value)}', it needs to be boolean`);
        }
        params[name] = value;
        break;
      case 'reflectMetadata': params.reflectMetadata = metadataOf(value, name); break;
      case 'timeout': params.timeout = timeoutOf(value); break;
      case 'tls': params.tls = tlsOf(value); break;
      case 'maxReceiveSize': params.receivedMax = sizeOf(name, value); break;
      case 'maxSendSize': params.sentMax = sizeOf(name, value); break;
      case 'authority':
        if (!isText(value)) {
          throw new Error(`invalid authority value: '${shown(value)}', it needs to be a string`);
        }
        params.authority = value;
        break;
      default: throw new Error(`unknown connect param: "${name}"`);
    }
  }
  return params;
}

// Host and port of an address. The exception for an invalid one has Go's words.
function addressOf(address) {
  const wrong = (why) => new Error(
    `connection error: desc = "transport: error while dialing: ${why}"`);
  const where = address === '' ? '' : `address ${address}: `;
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):([0-9]+)$/.exec(address);
  if (!match) {
    const colons = address.split(':').length - 1;
    const isBracketed = address.startsWith('[');
    if (colons === 0 || (isBracketed && address.endsWith(']'))) {
      throw wrong(`${where}missing port in address`);
    }
    throw wrong(colons > 1 && !isBracketed ? `${where}too many colons in address`
      : `${where}the port is not a number`);
  }
  const port = Number(match[3]);
  if (port > 65535) throw wrong(`${where}invalid port`);
  return { host: match[1] ?? (match[2] || '127.0.0.1'), port };
}

export class Client {
  #methods = new Map();
  #channel;
  #address = '';

  static {
    connected = (client) => (client.#channel === undefined ? undefined
      : { channel: client.#channel, address: client.#address });
    methodOf = (client, name) => {
      const path = String(name).startsWith('/') ? String(name) : `/${name}`;
      const method = client.#methods.get(path);
      if (!method) throw new Error(`method "${path}" not found in file descriptors`);
      return method;
    };
  }

  #keep(listed) {
    return listed.map(([facts, method]) => {
      this.#methods.set(facts.full_method, method);
      return facts;
    });
  }

  load(importPaths, ...files) {
    return this.#keep(core.load(importPaths ?? [], files));
  }

  loadProtoset(path) {
    return this.#keep(core.loadSet(path));
  }

  connect(address, given) {
    if (core.isInit()) {
      throw new Error('connecting to a gRPC server in the init context is not supported');
    }
    const params = within('invalid grpc.connect() parameters', () => connectParams(given));
    const text = isNothing(address) ? '' : String(address);
    const { host, port } = addressOf(text);
    const { cert, key, password, roots } = params.tls;
    if (password) {
      throw new Error('a key with a password is not supported: give the key without encryption');
    }
    const channel = core.connect({
      host, port, timeout: params.timeout, authority: params.authority ?? text,
      receivedMax: params.receivedMax, sentMax: params.sentMax,
      tls: params.plaintext ? undefined
        : { cert, key, roots: roots?.length ? roots.join('\n') : undefined },
    });
    if (params.reflect) {
      try {
        this.#keep(core.survey(channel, params.reflectMetadata));
      } catch (error) {
        core.close(channel);
        throw error;
      }
    }
    this.close();
    [this.#channel, this.#address] = [channel, text];
    return true;
  }

  #prepare(method, request, given) {
    if (core.isInit()) {
      throw new Error('invoking RPC methods in the init context is not supported');
    }
    if (this.#channel === undefined) throw new Error(UNCONNECTED);
    if (isNothing(method) || method === '') throw new Error('method to invoke cannot be empty');
    const found = methodOf(this, method);
    if (isNothing(request)) throw new Error('request cannot be nil');
    const params = within("invalid GRPC's client.invoke() parameters",
      () => callParams(given, INVOKE_TIMEOUT_NS));
    return [this.#channel, found, params, this.#address, JSON.stringify(request) ?? ''];
  }

  invoke(method, request, params) {
    return core.invoke(...this.#prepare(method, request, params));
  }

  asyncInvoke(method, request, params) {
    return new Promise((resolve) => {
      core.invoke(...this.#prepare(method, request, params), resolve);
    });
  }

  healthCheck(service) {
    if (this.#channel === undefined) throw new Error(UNCONNECTED);
    return { status: core.health(this.#channel, isNothing(service) ? '' : service) };
  }

  close() {
    if (this.#channel !== undefined) core.close(this.#channel);
    this.#channel = undefined;
  }
}

export class Stream {
  #number;
  #path;
  #handlers = { data: [], error: [], end: [] };
  #isFinished = false;

  constructor(client, method, given) {
    if (isNothing(client)) throw new Error("invalid GRPC Stream's client: empty gRPC client");
    if (!(client instanceof Client)) {
      throw new Error("invalid GRPC Stream's client: not a gRPC client");
    }
    const link = connected(client);
    if (!link) throw new Error(`invalid GRPC Stream's client: ${UNCONNECTED}`);
    const found = within("invalid GRPC Stream's method", () => methodOf(client, method));
    const params = within("invalid GRPC Stream's parameters", () => callParams(given));
    this.#path = String(method).startsWith('/') ? String(method) : `/${method}`;
    this.#number = core.open(link.channel, found, params, link.address,
      (what, value) => this.#tell(what, value));
  }

  #tell(what, value) {
    if (what === 'data') {
      this.#receive(value);
      return;
    }
    this.#isFinished = true;
    if (value) this.#emit('error', value);
    this.#emit('end', {});
  }

  // An exception of a handler is an error of the stream, and fails the iteration.
  #receive(message) {
    try {
      this.#emit('data', message);
    } catch (thrown) {
      try {
        this.#emit('error', { code: StatusUnknown, message: String(thrown), details: [] });
      } finally {
        throw thrown;
      }
    }
  }

  #emit(event, value) {
    const facts = { ts: Math.floor(Date.now() / 1000) };
    for (const handler of this.#handlers[event]) handler(value, facts);
  }

  on(event, handler) {
    if (typeof handler !== 'function') {
      throw new Error(`handler for "${event}" event isn't a callable function`);
    }
    if (!Object.hasOwn(this.#handlers, event)) {
      console.warn(`can't register ${event} event handler: unknown GRPC stream's event type: ${event}`);
      return;
    }
    this.#handlers[event].push(handler);
  }

  write(message) {
    if (this.#isFinished) return;
    if (isNothing(message)) {
      console.warn(`can't send empty message: ${this.#path}`);
      return;
    }
    const wrong = core.send(this.#number, JSON.stringify(message) ?? '');
    if (typeof wrong !== 'string') {
      this.#isFinished = wrong === true;
      return;
    }
    const error = {
      code: StatusUnknown, details: [],
      message: `can't serialise request object to protocol buffer: ${wrong}`,
    };
    Promise.resolve().then(() => this.#emit('error', error));
  }

  end() {
    if (this.#isFinished) return;
    this.#isFinished = true;
    core.finish(this.#number);
  }
}
