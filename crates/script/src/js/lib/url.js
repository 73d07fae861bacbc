// What scripts import from jslib.k6.io/url: URL and URLSearchParams of the WHATWG URL Standard.
//
// Written from the standard. Absent on purpose: host names outside of ASCII, which need the tables
// of IDNA (give them in Punycode), and drive letters of Windows.

import {
  FRAGMENT,
  PORTS,
  USERINFO,
  encode,
  formEncode,
  isSpecial,
  parse,
  parseForm,
  parseHost,
  parsePath,
  parsePort,
  pathText,
  serialize,
  setQuery,
} from 'https://jslib.k6.io/url/parser.js';

export class URLSearchParams {
  #pairs = [];
  #changed = null;

  constructor(init = '') {
    if (init !== null && typeof init === 'object') {
      const pairs = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
      for (const pair of pairs) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length > 0) {
          throw new TypeError('URLSearchParams needs pairs of a name and a value');
        }
        this.#pairs.push([String(name), String(value)]);
      }
    } else {
      this.#pairs = parseForm(String(init).replace(/^\?/, ''));
    }
  }

  // Ties the parameters to what is to learn of changes. Gives a function that replaces them.
  static bind(params, changed) {
    params.#changed = changed;
    return (query) => {
      params.#pairs = parseForm(query);
    };
  }

  #change() {
    if (this.#changed !== null) this.#changed(this.toString());
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    this.#pairs.push([String(name), String(value)]);
    this.#change();
  }

  delete(name, value) {
    this.#pairs = this.#pairs.filter((pair) => !matches(pair, name, value));
    this.#change();
  }

  get(name) {
    const found = this.#pairs.find((pair) => matches(pair, name));
    return found ? found[1] : null;
  }

  getAll(name) {
    return this.#pairs.filter((pair) => matches(pair, name)).map((pair) => pair[1]);
  }

  has(name, value) {
    return this.#pairs.some((pair) => matches(pair, name, value));
  }

  set(name, value) {
    const first = this.#pairs.find((pair) => matches(pair, name));
    if (first) {
      first[1] = String(value);
      this.#pairs = this.#pairs.filter((pair) => pair === first || !matches(pair, name));
    } else {
      this.#pairs.push([String(name), String(value)]);
    }
    this.#change();
  }

  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
    this.#change();
  }

  forEach(callback, self) {
    for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
  }

  *entries() {
    for (const pair of this.#pairs) yield [...pair];
  }

  *keys() {
    for (const [name] of this.#pairs) yield name;
  }

  *values() {
    for (const [, value] of this.#pairs) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    return this.#pairs.map((pair) => pair.map(formEncode).join('=')).join('&');
  }
}

const bindParams = URLSearchParams.bind;
delete URLSearchParams.bind;

function matches(pair, name, value) {
  return pair[0] === String(name) && (value === undefined || pair[1] === String(value));
}

export class URL {
  #url;
  #params = null;
  #replaceParams = null;

  constructor(url, base) {
    this.#url = parse(String(url), base === undefined ? undefined : parse(String(base)));
  }

  static canParse(url, base) {
    return URL.parse(url, base) !== null;
  }

  static parse(url, base) {
    try {
      return new URL(url, base);
    } catch (error) {
      return null;
    }
  }

  // Changes a copy of the parts; one that is refused changes nothing.
  #try(change) {
    const copy = { ...this.#url };
    try {
      if (change(copy) !== false) this.#url = copy;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }

  #hasNoCredentials() {
    return this.#url.host === null || this.#url.host === '' || this.#url.protocol === 'file:';
  }

  get href() {
    return serialize(this.#url);
  }

  set href(text) {
    this.#url = parse(String(text));
    if (this.#replaceParams) this.#replaceParams(this.#url.query || '');
  }

  get origin() {
    const { protocol } = this.#url;
    return isSpecial(protocol) && protocol !== 'file:' ? `${protocol}//${this.host}` : 'null';
  }

  get protocol() {
    return this.#url.protocol;
  }

  set protocol(text) {
    const [scheme] = /^[a-zA-Z][a-zA-Z0-9+.-]*(?=:|$)/.exec(String(text)) || [];
    if (scheme === undefined) return;
    const protocol = `${scheme.toLowerCase()}:`;
    const { port } = this.#url;
    if (isSpecial(protocol) !== isSpecial(this.#url.protocol)) return;
    if (protocol === 'file:' ? this.username || this.password || port !== null : false) return;
    if (this.#url.protocol === 'file:' && this.#url.host === '') return;
    this.#url.protocol = protocol;
    if (port === PORTS[protocol]) this.#url.port = null;
  }

  get username() {
    return this.#url.username;
  }

  set username(text) {
    if (!this.#hasNoCredentials()) this.#url.username = encode(String(text), USERINFO);
  }

  get password() {
    return this.#url.password;
  }

  set password(text) {
    if (!this.#hasNoCredentials()) this.#url.password = encode(String(text), USERINFO);
  }

  get host() {
    return this.hostname + (this.#url.port === null ? '' : `:${this.#url.port}`);
  }

  set host(text) {
    this.#setHost(String(text), true);
  }

  get hostname() {
    return this.#url.host === null ? '' : this.#url.host;
  }

  set hostname(text) {
    this.#setHost(String(text), false);
  }

  #setHost(text, withPort) {
    if (typeof this.#url.path === 'string') return;
    this.#try((url) => {
      const special = isSpecial(url.protocol);
      const [part] = text.split(special ? /[/\\?#]/ : /[/?#]/);
      const [, host, , port] = /^(\[[^\]]*\]|[^:@]*)(:([0-9]*))?/.exec(part);
      if (port !== undefined && !withPort) return false;
      const isFile = url.protocol === 'file:';
      if (isFile && port !== undefined) return false;
      if (host === '' && !isFile && (special || url.username || url.port !== null)) return false;
      url.host = host === '' ? '' : parseHost(host, special, text);
      if (port) url.port = parsePort(url.protocol, port, text);
      return true;
    });
  }

  get port() {
    return this.#url.port === null ? '' : String(this.#url.port);
  }

  set port(text) {
    if (this.#hasNoCredentials()) return;
    const [digits] = /^[0-9]*/.exec(String(text));
    if (digits === '' && String(text) !== '') return;
    this.#try((url) => {
      url.port = parsePort(url.protocol, digits, String(text));
    });
  }

  get pathname() {
    return pathText(this.#url);
  }

  set pathname(text) {
    if (typeof this.#url.path === 'string') return;
    this.#url.path = [];
    const slash = isSpecial(this.#url.protocol) ? /^[/\\]/ : /^\//;
    const path = String(text).replace(/[?#]/g, (letter) => (letter === '?' ? '%3F' : '%23'));
    // Where a host is, a path of nothing is allowed without the rules of http.
    if (path !== '' || isSpecial(this.#url.protocol)) parsePath(this.#url, path.replace(slash, ''));
  }

  get search() {
    return this.#url.query ? `?${this.#url.query}` : '';
  }

  set search(text) {
    const query = String(text).replace(/^\?/, '');
    if (query === '') this.#url.query = null;
    else setQuery(this.#url, query);
    if (this.#replaceParams) this.#replaceParams(query);
  }

  get searchParams() {
    if (this.#params === null) {
      this.#params = new URLSearchParams(this.#url.query || '');
      this.#replaceParams = bindParams(this.#params, (query) => {
        this.#url.query = query === '' ? null : query;
      });
    }
    return this.#params;
  }

  get hash() {
    return this.#url.fragment ? `#${this.#url.fragment}` : '';
  }

  set hash(text) {
    const fragment = String(text).replace(/^#/, '');
    this.#url.fragment = fragment === '' ? null : encode(fragment, FRAGMENT);
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }
}
