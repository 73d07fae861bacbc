// What Elements of one kind have in k6/html: a table of facts by the name of the element, as in
// k6 2.2. A method reads an attribute as text, as a number, as a flag, as an address or as one of
// some words; or it is a function.
//
// A class is made when the first element of its kind is looked at.

import { library } from 'plimsoll:html/core';

const REFERRER = ['', 'no-referrer', 'no-referrer-when-downgrade', 'origin',
  'origin-when-cross-origin', 'unsafe-url'];
const COMPLETE = ['on', 'off'];
const ENCODINGS = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'];
const ORIGINS = [undefined, 'anonymous', 'use-credentials'];

const INPUTS = ['text', 'button', 'checkbox', 'color', 'date', 'datetime-local', 'email', 'file',
  'hidden', 'image', 'month', 'number', 'password', 'radio', 'range', 'reset', 'search', 'submit',
  'tel', 'time', 'url', 'week'];

// Kinds of `<input>` that take no list.
const LISTLESS = ['hidden', 'checkbox', 'radio', 'file', 'button'];

const FIELDS = 'input, select, button, textarea';

// Attributes that are not called like their methods in lower case.
const ATTRIBUTES = {
  acceptCharset: 'accept-charset',
  currentSrc: 'src',
  defaultChecked: 'checked',
  defaultMuted: 'muted',
  defaultSelected: 'selected',
  defaultValue: 'value',
  encoding: 'enctype',
  htmlFor: 'for',
  httpEquiv: 'http-equiv',
};

const PORTS = { http: '80', https: '443', ftp: '21' };

// An address: scheme, user, host with port, path, query, fragment.
const PIECES =
  /^(?:([a-z][a-z\d+.-]*):)?(?:\/\/(?:([^/?#]*)@)?([^/?#@]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is;

// What names a server, at the beginning of an address, and what comes next.
const SERVER = /^([a-z][a-z\d+.-]*:\/\/)([^/?#]*)(.?)/is;

const text = (it, attribute) => it.attribute(attribute) || '';

// As it is where the page has no URL. As in k6, a server is named as it is written, and gets no
// path.
function address(it, attribute) {
  const value = text(it, attribute);
  if (!it.url || !it.has(attribute)) return value;
  const url = library('https://jslib.k6.io/url/index.js').URL.parse(value, it.url);
  if (url === null) return value;
  const given = SERVER.exec(value);
  if (given === null) return url.href;
  const [, scheme, server, next] = given;
  const path = url.href.slice(url.href.indexOf('/', url.protocol.length + 2));
  return scheme.toLowerCase() + server + (next === '' ? '' : path);
}

function number(it, attribute, otherwise) {
  const value = text(it, attribute);
  return /^[+-]?\d+$/.test(value) ? Number(value) : otherwise;
}

function decoded(part) {
  try {
    return decodeURIComponent(part || '');
  } catch (error) {
    return part;
  }
}

// The parts of the address that a link leads to.
function pieces(it) {
  const [, scheme = '', user = '', host = '', path, query = '', fragment = ''] =
    PIECES.exec(address(it, 'href')) || [];
  const [hostname, port = ''] = host.split(/:(?=\d*$)/);
  const isRooted = path === '' || path.startsWith('/');
  const [username, ...password] = user.split(':');
  return { scheme: scheme.toLowerCase(), username, password: password.join(':'), host, hostname,
    port, path: isRooted ? path : scheme === '' ? `/${path}` : '', query, fragment };
}

function origin(it) {
  const { scheme, host } = pieces(it);
  if (scheme === '') return '';
  return scheme === 'file' ? address(it, 'href') : `${scheme}://${host}`;
}

function host(it) {
  const { scheme, host, hostname, port } = pieces(it);
  return port !== '' && port === PORTS[scheme] ? hostname : host;
}

const content = (it) => it.page.text(it.node);
const valueOrInside = (it) => {
  const value = it.attribute('value');
  return value === undefined ? it.page.inner(it.node) : value;
};
const words = (it, attribute) => (it.has(attribute) ? text(it, attribute).split(' ') : []);
const position = (it, selector, within, otherwise) => {
  const holder = it.around(within);
  return holder === undefined ? otherwise : it.numbers(selector, holder).indexOf(it.node);
};

// The form that an element belongs to, as a node.
function ownerNode(it) {
  const around = it.closest('form');
  return around !== undefined || !it.has('form') ? around : it.whose('id', text(it, 'form'));
}

const owner = { form: (it) => it.one(ownerNode(it)) };

// The labels around an element and for it.
const labels = {
  labels(it) {
    const around = it.closest('label');
    const id = text(it, 'id');
    const named = it.numbers('label', null).filter((node) => it.page.attribute(node, 'for') === id);
    const nodes = [around, ...(id === '' ? [] : named)].filter((node) => node !== undefined);
    return it.all([...new Set(nodes)]);
  },
};

// What a field says of its submission, else its form.
function submission(it, attribute) {
  const own = it.attribute(`form${attribute}`);
  const form = own === undefined ? ownerNode(it) : undefined;
  return form === undefined ? own : it.page.attribute(form, attribute);
}

const LINK = {
  text: 'download rel target type accessKey hrefLang',
  url: 'href',
  pick: { referrerPolicy: REFERRER },
  own: {
    toString: (it) => address(it, 'href'),
    hash: (it) => (pieces(it).fragment ? `#${decoded(pieces(it).fragment)}` : ''),
    host,
    hostname: (it) => pieces(it).hostname,
    port: (it) => pieces(it).port,
    username: (it) => decoded(pieces(it).username),
    password: (it) => decoded(pieces(it).password),
    origin,
    pathname: (it) => decoded(pieces(it).path),
    // As in k6: the scheme without its colon, and a lone colon where the URL has no scheme.
    protocol: (it) => pieces(it).scheme || ':',
    search: (it) => (pieces(it).query ? `?${pieces(it).query}` : ''),
    relList: (it) => words(it, 'rel'),
    text: content,
  },
};

const FIELD = {
  text: 'name',
  own: {
    ...owner,
    ...labels,
    formAction(it) {
      const action = submission(it, 'action');
      if (!it.url) return action || '';
      if (!action) return it.url;
      return address({ url: it.url, attribute: () => action, has: () => true }, 'action');
    },
    formEnctype: (it) => picked(submission(it, 'enctype'), ENCODINGS),
    formMethod: (it) => picked(submission(it, 'method'), ['get', 'post']),
    formNoValidate: (it) => submission(it, 'novalidate') !== undefined,
    formTarget: (it) => submission(it, 'target') || '',
  },
};

const MEDIA = {
  text: 'currentSrc mediaGroup',
  flag: 'autoplay controls loop muted defaultMuted',
  url: 'src',
  pick: { preload: ['auto', 'metadata', 'none'], crossOrigin: ORIGINS },
  own: { textTracks: (it) => it.find('track') },
};

const CHANGE = { text: 'cite datetime' };
const ROWS = { own: { rows: (it) => it.find('tr') } };
const CELL = {
  text: 'headers',
  number: { colSpan: 1, rowSpan: 1 },
  own: { cellIndex: (it) => position(it, 'th, td', 'tr', -1) },
};

function chosen(it) {
  return it.numbers('option[selected]');
}

function share(it, otherwise) {
  const value = parseFloat(text(it, 'value'));
  return value >= 0 ? value / most(it) : otherwise;
}

function most(it) {
  const value = parseFloat(text(it, 'max'));
  return value >= 0 ? value : 1;
}

const child = (it, name) => it.children().find((other) => other.nodeName() === name);

// The text of a `<textarea>` is its value, as browsers have it; k6 looks for an attribute.
const written = (it) => content(it).replace(/^\n/, '');

const KINDS = {
  a: [LINK],
  area: [LINK],
  audio: [MEDIA],
  base: [{ text: 'target', own: { href: (it) => address(it, 'href') || it.url || '' } }],
  button: [FIELD, {
    text: 'accessKey',
    flag: 'autofocus disabled',
    number: { tabIndex: 0 },
    pick: { type: ['submit', 'button', 'menu', 'reset'] },
    own: { value: valueOrInside },
  }],
  canvas: [{ number: { width: 150, height: 150 } }],
  col: [{ own: { span: (it) => Math.max(number(it, 'span', 1), 1) } }],
  data: [{ text: 'value' }],
  datalist: [{ own: { options: (it) => it.find('option') } }],
  del: [CHANGE],
  embed: [{ text: 'height width src type' }],
  fieldset: [{
    text: 'name',
    flag: 'disabled',
    own: {
      ...owner,
      type: () => 'fieldset',
      elements: (it) => it.find(FIELDS),
      validity: () => undefined,
    },
  }],
  form: [{
    text: 'name target acceptCharset',
    flag: 'noValidate',
    url: 'action',
    pick: { enctype: ENCODINGS, encoding: ENCODINGS, autocomplete: COMPLETE,
      method: ['get', 'post'] },
    own: {
      elements: (it) => it.find(`${FIELDS}, fieldset`),
      length: (it) => it.numbers(`${FIELDS}, fieldset`).length,
    },
  }],
  iframe: [{
    text: 'height width name',
    flag: 'allowfullscreen',
    url: 'src',
    pick: { referrerPolicy: REFERRER },
  }],
  img: [{
    text: 'sizes srcset alt name useMap',
    flag: 'isMap',
    number: { height: 0, width: 0 },
    url: 'src currentSrc',
    pick: { crossOrigin: ORIGINS, referrerPolicy: REFERRER },
  }],
  input: [FIELD, {
    text: 'value alt height width accept pattern placeholder min max defaultValue dirName ' +
      'accessKey step',
    flag: 'disabled autofocus required checked defaultChecked readonly multiple',
    number: { tabIndex: 0, maxLength: -1, size: 0 },
    url: 'src',
    pick: { type: INPUTS, autocomplete: COMPLETE },
    own: {
      list(it) {
        if (!text(it, 'list') || LISTLESS.includes(text(it, 'type'))) return undefined;
        return it.one(it.whose('id', text(it, 'list'), 'datalist'));
      },
    },
  }],
  ins: [CHANGE],
  keygen: [{
    text: 'challenge name',
    flag: 'autofocus disabled',
    pick: { keytype: ['RSA', 'DSA', 'EC'] },
    own: { ...owner, ...labels, type: () => 'keygen' },
  }],
  label: [{
    text: 'htmlFor',
    own: {
      ...owner,
      control: (it) => (it.has('for') ? it.one(it.whose('id', text(it, 'for'))) : undefined),
    },
  }],
  legend: [{ text: 'accessKey', own: owner }],
  li: [{
    number: { value: 0 },
    pick: { type: ['', '1', 'a', 'A', 'i', 'I', 'disc', 'square', 'circle'] },
  }],
  link: [{
    text: 'hreflang media rel target type',
    url: 'href',
    pick: { crossOrigin: ORIGINS, referrerPolicy: REFERRER },
    own: { relList: (it) => words(it, 'rel') },
  }],
  map: [{
    text: 'name',
    own: {
      areas: (it) => it.find('area'),
      images(it) {
        const name = it.attribute('id') || it.attribute('name');
        const shows = (node) => it.page.attribute(node, 'usemap') === `#${name}`;
        return it.all(it.numbers('img, object', null).filter(shows));
      },
    },
  }],
  meta: [{
    text: 'content name',
    pick: { httpEquiv: ['content-type', 'default-style', 'refresh'] },
  }],
  meter: [{ number: { min: 0, max: 0, high: 0, low: 0, optimum: 0 }, own: labels }],
  object: [{
    text: 'height name type useMap width',
    flag: 'typeMustMatch',
    number: { tabIndex: 0 },
    url: 'data',
    own: owner,
  }],
  ol: [{ flag: 'reversed', number: { start: 0 }, pick: { type: ['1', 'a', 'A', 'i', 'I'] } }],
  optgroup: [{ text: 'label', flag: 'disabled' }],
  option: [{
    flag: 'selected defaultSelected',
    own: {
      disabled(it) {
        const group = it.around('optgroup');
        const isOff = (node) => it.page.attribute(node, 'disabled') !== undefined;
        return isOff(it.node) || (group !== undefined && isOff(group));
      },
      form(it) {
        const around = it.around('form');
        const select = it.around('select');
        const id = select === undefined ? undefined : it.page.attribute(select, 'form');
        if (around !== undefined || id === undefined) return it.one(around);
        return it.one(it.whose('id', id, 'form'));
      },
      index: (it) => position(it, 'option', 'select, datalist', 0),
      label: (it) => (it.has('label') ? text(it, 'label') : content(it)),
      text: content,
      value: valueOrInside,
    },
  }],
  output: [{
    text: 'htmlFor name',
    own: { ...owner, ...labels, type: () => 'output', value: content, defaultValue: content },
  }],
  param: [{ text: 'name value' }],
  pre: [{ text: 'name value' }],
  progress: [{
    own: {
      ...labels,
      max: most,
      value: (it) => share(it, 0),
      position: (it) => share(it, -1),
    },
  }],
  quote: [{ text: 'cite' }],
  script: [{
    text: 'crossOrigin type charset',
    flag: 'async defer noModule',
    url: 'src',
    own: { text: content },
  }],
  select: [{
    text: 'name',
    flag: 'autofocus disabled multiple required',
    number: { tabIndex: 0 },
    own: {
      ...owner,
      ...labels,
      length: (it) => it.numbers('option').length,
      options: (it) => it.find('option'),
      selectedIndex: (it) => it.numbers('option').indexOf(chosen(it)[0]),
      selectedOptions: (it) => it.all(chosen(it)),
      size: (it) => (it.has('multiple') ? 4 : 1),
      type: (it) => (it.has('multiple') ? 'select-multiple' : 'select'),
      value: (it) => (chosen(it).length > 0 ? it.one(chosen(it)[0]).value() : ''),
    },
  }],
  source: [{ text: 'keySystem media sizes srcset type', url: 'src' }],
  style: [{ text: 'media', own: { type: (it) => text(it, 'type') || 'text/css' } }],
  table: [ROWS, {
    flag: 'sortable',
    own: {
      caption: (it) => child(it, 'caption'),
      tHead: (it) => child(it, 'thead'),
      tFoot: (it) => child(it, 'tfoot'),
      tBodies: (it) => it.find('tbody'),
    },
  }],
  tbody: [ROWS],
  td: [CELL],
  textarea: [{
    text: 'placeholder accessKey',
    flag: 'readOnly required',
    number: { rows: 0, cols: 0, maxLength: 0, tabIndex: 0 },
    pick: {
      autocomplete: COMPLETE,
      autocapitalize: ['sentences', 'none', 'off', 'characters', 'words'],
      wrap: ['soft', 'hard', 'off'],
    },
    own: {
      ...owner,
      ...labels,
      type: () => 'textarea',
      value: written,
      defaultValue: written,
      length: (it) => written(it).length,
    },
  }],
  tfoot: [ROWS],
  th: [CELL, {
    text: 'abbr',
    flag: 'sorted',
    pick: { scope: ['', 'row', 'col', 'colgroup', 'rowgroup'] },
  }],
  thead: [ROWS],
  time: [{ text: 'datetime' }],
  title: [{ own: { text: content } }],
  tr: [{
    own: {
      cells: (it) => it.find('th, td'),
      rowIndex: (it) => position(it, 'tr', 'table', -1),
      sectionRowIndex: (it) => position(it, 'tr', 'thead, tbody, tfoot', -1),
    },
  }],
  track: [{
    text: 'srclang label',
    flag: 'default',
    url: 'src',
    pick: { kind: ['subtitle', 'captions', 'descriptions', 'chapters', 'metadata'] },
  }],
  ul: [{ text: 'type' }],
  video: [MEDIA],
};

// One of some words, else the first of them. As in browsers letter case does not matter, unless
// the words differ in it.
function picked(value, words) {
  if (value === undefined || words.includes(value)) return value === undefined ? words[0] : value;
  const low = value.toLowerCase();
  return words.includes(low) && !words.includes('A') ? low : words[0];
}

const made = new Map();

// The class of the elements with a name.
export function kindOf(name, Element, Inside) {
  if (!Object.hasOwn(KINDS, name)) return Element;
  if (!made.has(name)) {
    const Kind = class extends Element {};
    for (const part of KINDS[name]) fill(Kind.prototype, part, Inside);
    made.set(name, Kind);
  }
  return made.get(name);
}

function fill(prototype, part, Inside) {
  const define = (name, read) => {
    const value = function method() {
      return read(new Inside(this));
    };
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  };
  const each = (names, read) => {
    for (const name of (names || '').split(' ').filter(Boolean)) {
      define(name, (it) => read(it, ATTRIBUTES[name] || name.toLowerCase()));
    }
  };
  each(part.text, text);
  each(part.flag, (it, attribute) => it.has(attribute));
  each(part.url, address);
  for (const [name, otherwise] of Object.entries(part.number || {})) {
    define(name, (it) => number(it, name.toLowerCase(), otherwise));
  }
  for (const [name, words] of Object.entries(part.pick || {})) {
    const attribute = ATTRIBUTES[name] || name.toLowerCase();
    define(name, (it) => picked(it.attribute(attribute), words));
  }
  for (const [name, own] of Object.entries(part.own || {})) define(name, own);
}
