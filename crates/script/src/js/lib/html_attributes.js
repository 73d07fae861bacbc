// The methods of k6/html's Element that read an attribute: text, numbers, flags, and addresses.

// Methods by the attribute that they read, where the names differ in more than their case.
const TEXT = {
  id: 'id',
  className: 'class',
  name: 'name',
  type: 'type',
  title: 'title',
  dir: 'dir',
  alt: 'alt',
  rel: 'rel',
  target: 'target',
  media: 'media',
  charset: 'charset',
  content: 'content',
  httpEquiv: 'http-equiv',
  hreflang: 'hreflang',
  htmlFor: 'for',
  placeholder: 'placeholder',
  pattern: 'pattern',
  accept: 'accept',
  min: 'min',
  max: 'max',
  step: 'step',
  label: 'label',
  kind: 'kind',
  srclang: 'srclang',
  srcset: 'srcset',
  sizes: 'sizes',
  useMap: 'usemap',
  coords: 'coords',
  shape: 'shape',
  scope: 'scope',
  headers: 'headers',
  abbr: 'abbr',
  dateTime: 'datetime',
  download: 'download',
  crossOrigin: 'crossorigin',
  accessKey: 'accesskey',
  autocomplete: 'autocomplete',
  autocapitalize: 'autocapitalize',
  acceptCharset: 'accept-charset',
  enctype: 'enctype',
  encoding: 'enctype',
  method: 'method',
  formEnctype: 'formenctype',
  formMethod: 'formmethod',
  formTarget: 'formtarget',
  dirName: 'dirname',
  inputMode: 'inputmode',
  wrap: 'wrap',
  keytype: 'keytype',
  challenge: 'challenge',
  data: 'data',
  preload: 'preload',
  contentEditable: 'contenteditable',
};

const FLAGS = {
  disabled: 'disabled',
  checked: 'checked',
  defaultChecked: 'checked',
  required: 'required',
  readonly: 'readonly',
  multiple: 'multiple',
  selected: 'selected',
  defaultSelected: 'selected',
  hidden: 'hidden',
  autofocus: 'autofocus',
  autoplay: 'autoplay',
  controls: 'controls',
  loop: 'loop',
  async: 'async',
  defer: 'defer',
  noModule: 'nomodule',
  noValidate: 'novalidate',
  formNoValidate: 'formnovalidate',
  isMap: 'ismap',
  open: 'open',
  reversed: 'reversed',
  default: 'default',
  defaultMuted: 'muted',
  typeMustMatch: 'typemustmatch',
};

// With what they are without the attribute.
const NUMBERS = {
  tabIndex: ['tabindex', 0],
  size: ['size', 0],
  maxLength: ['maxlength', -1],
  minLength: ['minlength', -1],
  width: ['width', 0],
  height: ['height', 0],
  span: ['span', 1],
  colSpan: ['colspan', 1],
  rowSpan: ['rowspan', 1],
  rows: ['rows', 2],
  cols: ['cols', 20],
  start: ['start', 1],
};

const ADDRESSES = ['href', 'src', 'action', 'formAction', 'poster', 'cite'];

const PARTS = [
  'hash',
  'host',
  'hostname',
  'origin',
  'password',
  'pathname',
  'port',
  'protocol',
  'search',
  'username',
];

export function defineAttributes(prototype) {
  const define = (name, value) => {
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  };
  for (const [name, attribute] of Object.entries(TEXT)) {
    define(name, function text() {
      return this.getAttribute(attribute) || '';
    });
  }
  for (const [name, attribute] of Object.entries(FLAGS)) {
    define(name, function flag() {
      return this.hasAttribute(attribute);
    });
  }
  for (const [name, [attribute, otherwise]] of Object.entries(NUMBERS)) {
    define(name, function number() {
      const value = parseInt(this.getAttribute(attribute), 10);
      return Number.isNaN(value) ? otherwise : value;
    });
  }
  for (const name of ADDRESSES) {
    define(name, function address() {
      return this.resolved(name.toLowerCase());
    });
  }
  for (const name of PARTS) {
    define(name, function part() {
      return this.urlPart(name);
    });
  }
}
