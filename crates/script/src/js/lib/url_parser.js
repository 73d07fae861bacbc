// The parser and the serializer of jslib.k6.io/url: the text of a URL as its parts and back, and
// queries as pairs. Section numbers are those of the WHATWG URL Standard.

export const PORTS = {
  'http:': 80,
  'https:': 443,
  'ws:': 80,
  'wss:': 443,
  'ftp:': 21,
  'file:': null,
};

export const isSpecial = (protocol) => Object.hasOwn(PORTS, protocol);

// The percent-encode sets of the standard, section 1.3: what to encode beside controls and what is
// not ASCII.
export const FRAGMENT = ' "<>`';
const QUERY = ' "#<>';
const PATH = QUERY + '?^`{}';
export const USERINFO = PATH + '/:;=@[\\]|';

const FORBIDDEN_HOST = /[\0\t\n\r #/:<>?@[\\\]^|]/;
const FORBIDDEN_DOMAIN = /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/;

function invalid(text) {
  return new TypeError(`Invalid URL: '${text}'`);
}

export function encode(text, set) {
  let encoded = '';
  for (const letter of text.toWellFormed()) {
    const code = letter.codePointAt(0);
    if (code > 0x7e) {
      encoded += code === 0x7f ? '%7F' : encodeURIComponent(letter);
    } else if (code < 0x20 || set.includes(letter)) {
      encoded += `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
    } else {
      encoded += letter;
    }
  }
  return encoded;
}

// Percent-encoded bytes as text; what is not UTF-8 becomes replacement characters.
function decode(text) {
  if (!text.includes('%')) return text;
  const bytes = new TextEncoder().encode(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const digits = bytes[at] === 0x25 ? String.fromCharCode(bytes[at + 1], bytes[at + 2]) : '';
    if (/^[0-9a-fA-F]{2}$/.test(digits)) {
      bytes[length++] = parseInt(digits, 16);
      at += 2;
    } else {
      bytes[length++] = bytes[at];
    }
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.slice(0, length));
}

// Section 3.5: a part of an IPv4 address; NaN if it is not a number.
function ipv4Number(part) {
  if (part === '') return NaN;
  if (/^0[xX]/.test(part)) return /^0[xX][0-9a-fA-F]*$/.test(part) ? Number(`${part}`) || 0 : NaN;
  if (part.length > 1 && part[0] === '0') return /^[0-7]+$/.test(part) ? parseInt(part, 8) : NaN;
  return /^[0-9]+$/.test(part) ? Number(part) : NaN;
}

function parseIpv4(host, input) {
  const parts = host.split('.');
  if (parts.length > 1 && parts[parts.length - 1] === '') parts.pop();
  const numbers = parts.map(ipv4Number);
  const last = numbers.pop();
  if (parts.length > 4 || Number.isNaN(last) || last >= 256 ** (4 - numbers.length)) {
    throw invalid(input);
  }
  let address = last;
  numbers.forEach((number, index) => {
    if (!(number < 256)) throw invalid(input);
    address += number * 256 ** (3 - index);
  });
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

// Whether the last label is a number, so that the host has to be an IPv4 address.
function endsInNumber(host) {
  const parts = host.split('.');
  if (parts.length > 1 && parts[parts.length - 1] === '') parts.pop();
  const last = parts[parts.length - 1];
  return /^[0-9]+$/.test(last) || !Number.isNaN(ipv4Number(last));
}

function parseIpv6(text, input) {
  let address = text;
  const dotted = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address);
  if (dotted) {
    const bytes = dotted.slice(2).map((part) => {
      if (Number(part) > 255 || (part.length > 1 && part[0] === '0')) throw invalid(input);
      return Number(part);
    });
    const piece = (high, low) => (high * 256 + low).toString(16);
    address = `${dotted[1]}${piece(bytes[0], bytes[1])}:${piece(bytes[2], bytes[3])}`;
  }
  const halves = address.split('::');
  if (halves.length > 2) throw invalid(input);
  const [before, after] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - before.length - (after ? after.length : 0);
  if (after ? missing < 1 : missing !== 0) throw invalid(input);
  const pieces = [...before, ...(after ? [...Array(missing).fill('0'), ...after] : [])];
  const numbers = pieces.map((piece) => {
    if (!/^[0-9a-fA-F]{1,4}$/.test(piece)) throw invalid(input);
    return parseInt(piece, 16);
  });
  return `[${compressed(numbers)}]`;
}

// Section 3.6: the first longest run of zeros is left out.
function compressed(numbers) {
  let [start, length] = [-1, 1];
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (to < 8 && numbers[to] === 0) to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  const text = (part) => part.map((number) => number.toString(16)).join(':');
  if (start < 0) return text(numbers);
  return `${text(numbers.slice(0, start))}::${text(numbers.slice(start + length))}`;
}

export function parseHost(text, special, input) {
  if (text[0] === '[') {
    if (!text.endsWith(']')) throw invalid(input);
    return parseIpv6(text.slice(1, -1), input);
  }
  if (!special) {
    if (FORBIDDEN_HOST.test(text)) throw invalid(input);
    return encode(text, '');
  }
  const host = decode(text).toLowerCase();
  if (/[^\0-\x7f]/.test(host)) {
    throw new TypeError(`Invalid URL: host '${host}' is not ASCII: give it in Punycode (xn--...)`);
  }
  if (host === '' || FORBIDDEN_DOMAIN.test(host)) throw invalid(input);
  return endsInNumber(host) ? parseIpv4(host, input) : host;
}

// Sets credentials, host and port of a record.
function parseAuthority(url, authority, input) {
  const at = authority.lastIndexOf('@');
  if (at >= 0) {
    const credentials = authority.slice(0, at);
    const colon = credentials.indexOf(':');
    url.username = encode(colon < 0 ? credentials : credentials.slice(0, colon), USERINFO);
    url.password = colon < 0 ? '' : encode(credentials.slice(colon + 1), USERINFO);
  }
  const [, host, , port] = /^(\[[^\]]*\]|[^:]*)(:(.*))?$/s.exec(authority.slice(at + 1)) || [];
  if (host === undefined) throw invalid(input);
  const special = isSpecial(url.protocol);
  if (host === '' && (special || at >= 0 || port !== undefined)) throw invalid(input);
  url.host = host === '' ? '' : parseHost(host, special, input);
  url.port = parsePort(url.protocol, port || '', input);
}

export function parsePort(protocol, text, input) {
  if (text === '') return null;
  if (!/^[0-9]+$/.test(text) || Number(text) > 65535) throw invalid(input);
  return Number(text) === PORTS[protocol] ? null : Number(text);
}

// Appends the segments of a text to a path, which may lead up in it.
export function parsePath(url, text) {
  const segments = text.split(isSpecial(url.protocol) ? /[/\\]/ : '/');
  segments.forEach((segment, index) => {
    const isLast = index === segments.length - 1;
    const dots = segment.replace(/%2e/gi, '.');
    if (dots === '..') {
      url.path.pop();
      if (isLast) url.path.push('');
    } else if (dots === '.') {
      if (isLast) url.path.push('');
    } else {
      url.path.push(encode(segment, PATH));
    }
  });
}

export const setQuery = (url, text) => {
  url.query = encode(text, isSpecial(url.protocol) ? `${QUERY}'` : QUERY);
};

// Section 4.4: the parts of a URL. `path` is an array, or a text where it is opaque.
export function parse(input, base) {
  const text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
  const url = {
    protocol: '',
    username: '',
    password: '',
    host: null,
    port: null,
    path: [],
    query: null,
    fragment: null,
  };
  const hash = text.indexOf('#');
  if (hash >= 0) url.fragment = encode(text.slice(hash + 1), FRAGMENT);
  let rest = hash < 0 ? text : text.slice(0, hash);
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(rest);
  if (scheme) {
    url.protocol = scheme[0].toLowerCase();
    rest = rest.slice(scheme[0].length);
    const isRelative = isSpecial(url.protocol) && base && base.protocol === url.protocol;
    if (isRelative && !/^[/\\]{2}/.test(rest)) return relative(url, rest, base);
    if (url.protocol === 'file:' && !/^[/\\]{2}/.test(rest)) {
      rest = `//${/^[/\\]/.test(rest) ? '' : '/'}${rest}`;
    }
    return absolute(url, rest, input);
  }
  if (!base || (typeof base.path === 'string' && (rest !== '' || hash < 0))) throw invalid(input);
  url.protocol = base.protocol;
  const special = isSpecial(url.protocol);
  if (special ? /^[/\\]{2}/.test(rest) : rest.startsWith('//')) return absolute(url, rest, input);
  return relative(url, rest, base);
}

function absolute(url, text, input) {
  const special = isSpecial(url.protocol);
  let rest = text;
  const query = rest.indexOf('?');
  if (query >= 0) {
    setQuery(url, rest.slice(query + 1));
    rest = rest.slice(0, query);
  }
  if (url.protocol === 'file:') {
    rest = rest.slice(2);
    const end = rest.search(/[/\\]|$/);
    const host = rest.slice(0, end);
    url.host = host === '' ? '' : parseHost(host, true, input);
    if (url.host === 'localhost') url.host = '';
    parsePath(url, rest.slice(end + 1));
    return url;
  }
  if (special) {
    rest = rest.replace(/^[/\\]*/, '');
  } else if (!rest.startsWith('//')) {
    if (rest[0] === '/') parsePath(url, rest.slice(1));
    else url.path = encode(rest, '');
    return url;
  } else {
    rest = rest.slice(2);
  }
  const end = rest.search(special ? /[/\\]|$/ : /\/|$/);
  parseAuthority(url, rest.slice(0, end), input);
  if (special || end < rest.length) parsePath(url, rest.slice(end + 1));
  return url;
}

function relative(url, text, base) {
  const slash = isSpecial(url.protocol) ? /^[/\\]/ : /^\//;
  const { username, password, host, port } = base;
  Object.assign(url, { username, password, host, port });
  const query = text.indexOf('?');
  const path = query < 0 ? text : text.slice(0, query);
  if (query >= 0) setQuery(url, text.slice(query + 1));
  if (slash.test(path)) {
    parsePath(url, path.slice(1));
    return url;
  }
  url.path = typeof base.path === 'string' ? base.path : [...base.path];
  if (path !== '') {
    url.path.pop();
    parsePath(url, path);
  } else if (query < 0) {
    url.query = base.query;
  }
  return url;
}

export function pathText(url) {
  return typeof url.path === 'string' ? url.path : url.path.map((part) => `/${part}`).join('');
}

export function serialize(url) {
  let text = url.protocol;
  if (url.host !== null) {
    text += '//';
    if (url.username !== '' || url.password !== '') {
      text += url.username + (url.password === '' ? '' : `:${url.password}`) + '@';
    }
    text += url.host + (url.port === null ? '' : `:${url.port}`);
  } else if (typeof url.path !== 'string' && url.path.length > 1 && url.path[0] === '') {
    // Else the path would be read as a host.
    text += '/.';
  }
  text += pathText(url);
  if (url.query !== null) text += `?${url.query}`;
  return url.fragment === null ? text : `${text}#${url.fragment}`;
}

// Pairs of a query, form-decoded (section 5.1).
export function parseForm(text) {
  return text
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      const part = (escaped) => decode(escaped.replace(/\+/g, ' '));
      return at < 0 ? [part(pair), ''] : [part(pair.slice(0, at)), part(pair.slice(at + 1))];
    });
}

export function formEncode(text) {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()~]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%20/g, '+');
}
