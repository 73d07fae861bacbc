// The module k6/html: parseHTML(), and the Selection and the Element that k6's documentation
// describes.
//
// A page is parsed by the host; here a node is a number, and numbers are in the order of the
// document. What is absent on purpose: changing a page.

import { parse } from 'plimsoll:html/core';
import {
  ELEMENT,
  Element,
  NONE,
  childElements,
  childNodes,
  element,
  setSelection,
  walk,
} from 'plimsoll:html/element';

const CONTROLS = 'input, select, textarea';

const byNumber = (a, b) => a - b;
const unique = (numbers) => [...new Set(numbers)].sort(byNumber);

class Selection {
  #page;
  #nodes;
  #url;
  // The selection that this one was made from; none of a page's own.
  #before;

  constructor(page, nodes, url, before) {
    this.#page = page;
    this.#nodes = nodes;
    this.#url = url;
    this.#before = before;
    Object.defineProperty(this, 'url', { value: url === undefined ? '' : url, enumerable: true });
  }

  #of(nodes) {
    return new Selection(this.#page, nodes, this.#url, this);
  }

  #element(node) {
    return node === undefined ? undefined : element(this.#page, node, this.#url);
  }

  // A test of nodes by a selector, a function, a selection or an element.
  #test(by) {
    if (typeof by === 'string') return (node) => this.#page.matches(node, by);
    if (typeof by === 'function') return (node, index) => Boolean(by(index, this.#of([node])));
    if (by instanceof Selection) return (node) => by.#nodes.includes(node);
    if (by instanceof Element) return (node) => by.number === node;
    throw new TypeError('a selection is narrowed by a selector, a function or a selection');
  }

  #narrow(nodes, by) {
    return this.#of(by === undefined || by === null ? nodes : nodes.filter(this.#test(by)));
  }

  // What a step leads to from each node, once each.
  #reach(step, by) {
    return this.#narrow(unique(this.#nodes.flatMap(step)), by);
  }

  #reachUntil(step, until, by) {
    const stops = until === undefined || until === null ? () => false : this.#test(until);
    const upTo = (node) => {
      const all = step(node);
      const end = all.findIndex((reached) => stops(reached));
      return end < 0 ? all : all.slice(0, end);
    };
    return this.#reach(upTo, by);
  }

  #elements(name) {
    const page = this.#page;
    const step = (node) => page[name](node);
    return (node) => walk(node, step).filter((other) => page.kind(other) === ELEMENT);
  }

  #first(name) {
    const all = this.#elements(name);
    return (node) => all(node).slice(0, 1);
  }

  find(selector) {
    return this.#of(this.#page.select(this.#nodes, selector));
  }

  // The first node that a selector finds.
  single(selector) {
    return this.#of(this.#page.select(this.#nodes, selector).slice(0, 1));
  }

  // These nodes, and behind them those of a selection or that a selector finds in the page.
  add(by) {
    if (typeof by !== 'string' && !(by instanceof Selection)) {
      throw new TypeError('add() takes a selector or a selection');
    }
    const more = typeof by === 'string' ? this.#page.select(null, by) : by.#nodes;
    return this.#of([...new Set([...this.#nodes, ...more])]);
  }

  end() {
    return this.#before === undefined ? this.#of([]) : this.#before;
  }

  siblings(selector) {
    const page = this.#page;
    return this.#reach((node) => {
      const parent = page.parent(node);
      return parent === NONE ? [] : childElements(page, parent).filter((other) => other !== node);
    }, selector);
  }

  each(callback) {
    this.#nodes.forEach((node, index) => callback(index, this.#element(node)));
    return this;
  }

  map(callback) {
    return this.#nodes.map((node, index) => callback(index, this.#of([node])));
  }

  filter(by) {
    return this.#narrow(this.#nodes, by);
  }

  not(by) {
    const test = this.#test(by);
    return this.#of(this.#nodes.filter((node, index) => !test(node, index)));
  }

  is(by) {
    const test = this.#test(by);
    return this.#nodes.some(test);
  }

  has(by) {
    const inner = typeof by === 'string' ? (node) => this.#page.select([node], by) : null;
    const test = inner === null ? this.#test(by) : null;
    const holds = (node) =>
      inner === null ? this.#page.select([node], '*').some(test) : inner(node).length > 0;
    return this.#of(this.#nodes.filter(holds));
  }

  first() {
    return this.eq(0);
  }

  last() {
    return this.eq(-1);
  }

  eq(index) {
    const node = this.#nodes.at(index);
    return this.#of(node === undefined ? [] : [node]);
  }

  get(index) {
    return index === undefined ? this.toArray() : this.#element(this.#nodes.at(index));
  }

  slice(start, end) {
    return this.#of(this.#nodes.slice(start, end));
  }

  toArray() {
    return this.#nodes.map((node) => this.#of([node]));
  }

  size() {
    return this.#nodes.length;
  }

  // Where the first node is among its siblings, or among the nodes of another selection.
  index(by) {
    const [node] = this.#nodes;
    if (node === undefined) return -1;
    if (by === undefined) return this.#elements('previous')(node).length;
    if (typeof by === 'string') return this.#page.select(null, by).indexOf(node);
    return this.#nodes.findIndex(this.#test(by));
  }

  children(selector) {
    return this.#reach((node) => childElements(this.#page, node), selector);
  }

  contents() {
    return this.#reach((node) => childNodes(this.#page, node));
  }

  closest(selector) {
    const test = this.#test(selector);
    return this.#reach((node) =>
      [node, ...this.#elements('parent')(node)].filter(test).slice(0, 1),
    );
  }

  parent(selector) {
    return this.#reach(this.#first('parent'), selector);
  }

  parents(selector) {
    return this.#reach(this.#elements('parent'), selector);
  }

  parentsUntil(until, selector) {
    return this.#reachUntil(this.#elements('parent'), until, selector);
  }

  next(selector) {
    return this.#reach(this.#first('next'), selector);
  }

  nextAll(selector) {
    return this.#reach(this.#elements('next'), selector);
  }

  nextUntil(until, selector) {
    return this.#reachUntil(this.#elements('next'), until, selector);
  }

  prev(selector) {
    return this.#reach(this.#first('previous'), selector);
  }

  prevAll(selector) {
    return this.#reach(this.#elements('previous'), selector);
  }

  prevUntil(until, selector) {
    return this.#reachUntil(this.#elements('previous'), until, selector);
  }

  attr(name, otherwise) {
    const [node] = this.#nodes;
    const value = node === undefined ? undefined : this.#page.attribute(node, name);
    return value === undefined ? otherwise : value;
  }

  text() {
    return this.#nodes.map((node) => this.#page.text(node)).join('');
  }

  html(otherwise) {
    const [node] = this.#nodes;
    return node === undefined ? otherwise : this.#page.inner(node);
  }

  // The value of a control; of a select with `multiple` the values.
  val() {
    const [node] = this.#nodes;
    return node === undefined ? undefined : valueOf(this.#page, node);
  }

  // The data-* attributes of the first node, or one of them.
  data(name) {
    const [node] = this.#nodes;
    if (node === undefined) return undefined;
    if (name !== undefined) {
      const dashed = String(name).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      const value = this.#page.attribute(node, `data-${dashed}`);
      return value === undefined || value === '' ? undefined : converted(value);
    }
    const all = {};
    for (const [attribute, value] of this.#page.attributes(node)) {
      if (attribute.startsWith('data-') && value !== '') {
        const key = attribute.slice(5).replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());
        all[key] = converted(value);
      }
    }
    return all;
  }

  // Names and values of the controls that a browser would submit.
  serializeArray() {
    const page = this.#page;
    const controls = this.#nodes.flatMap((node) =>
      page.matches(node, CONTROLS) ? [node] : page.select([node], CONTROLS),
    );
    const pairs = [];
    for (const node of unique(controls)) {
      const name = page.attribute(node, 'name');
      if (name !== undefined && name !== '' && isSubmitted(page, node)) {
        const value = valueOf(page, node);
        for (const one of Array.isArray(value) ? value : [value]) pairs.push({ name, value: one });
      }
    }
    return pairs;
  }

  serializeObject() {
    const object = {};
    for (const { name, value } of this.serializeArray()) {
      if (!Object.hasOwn(object, name)) object[name] = value;
      else object[name] = [].concat(object[name], value);
    }
    return object;
  }

  serialize() {
    const encoded = (text) => encodeURIComponent(text).replace(/%20/g, '+');
    return this.serializeArray()
      .map(({ name, value }) => `${encoded(name)}=${encoded(value)}`)
      .join('&');
  }
}

// Those that are selected; the first option of a select that shows one if none is.
function selectedOptions(page, node) {
  const options = page.select([node], 'option');
  const selected = options.filter((option) => page.attribute(option, 'selected') !== undefined);
  if (page.attribute(node, 'multiple') !== undefined) return selected;
  return selected.length > 0 ? selected.slice(-1) : options.slice(0, 1);
}

function valueOf(page, node) {
  const name = page.name(node);
  const value = page.attribute(node, 'value');
  if (name === 'textarea') return page.text(node).replace(/^\n/, '');
  if (name === 'option') return value === undefined ? page.text(node).trim() : value;
  if (name === 'select') {
    const values = selectedOptions(page, node).map((option) => valueOf(page, option));
    return page.attribute(node, 'multiple') !== undefined ? values : values[0];
  }
  if (name === 'input' && value === undefined) {
    return page.matches(node, '[type=checkbox], [type=radio]') ? 'on' : '';
  }
  return value;
}

function isSubmitted(page, node) {
  if (page.matches(node, '[disabled], fieldset[disabled] *')) return false;
  if (page.name(node) !== 'input') return true;
  const type = (page.attribute(node, 'type') || 'text').toLowerCase();
  if (type === 'checkbox' || type === 'radio') {
    return page.attribute(node, 'checked') !== undefined;
  }
  return !['submit', 'button', 'image', 'reset', 'file'].includes(type);
}

// A text as the value that it is written like.
function converted(text) {
  const words = { true: true, false: false, null: null };
  if (Object.hasOwn(words, text)) return words[text];
  if (text !== '' && String(Number(text)) === text) return Number(text);
  if (/^[[{]/.test(text)) {
    try {
      return JSON.parse(text);
    } catch (error) {
      return text;
    }
  }
  return text;
}

setSelection((page, node, url) => new Selection(page, [node], url));

// A selection of a whole page. `url` is where it came from, for addresses in it.
export function parseHTML(text, url) {
  return new Selection(parse(String(text)), [0], url);
}
