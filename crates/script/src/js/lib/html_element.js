// What every Element of k6/html has. What those of one kind have, such as links and forms, is in
// html_kinds.js.

import { kindOf } from 'plimsoll:html/kinds';

export const ELEMENT = 1;
export const NONE = -1;

const XHTML = 'http://www.w3.org/1999/xhtml';

const TEXT = 3;
const COMMENT = 8;

// The page of an element and the URL of that page.
let hidden;

// How Selections are made, which know Elements.
let selection;
export function setSelection(make) {
  selection = make;
}

// The numbers that a step leads to, until there are no more.
export function walk(from, step) {
  const found = [];
  for (let node = step(from); node !== NONE; node = step(node)) found.push(node);
  return found;
}

export function childNodes(page, node) {
  const first = page.first(node);
  return first === NONE ? [] : [first, ...walk(first, (child) => page.next(child))];
}

export function childElements(page, node) {
  return childNodes(page, node).filter((child) => page.kind(child) === ELEMENT);
}

// A node as an Element of its kind; `undefined` for no node.
export function element(page, node, url) {
  if (node === undefined || node === NONE) return undefined;
  const Kind = kindOf(page.name(node), Element, Inside);
  return new Kind(page, node, url);
}

// What a method of one kind needs of its element.
export class Inside {
  constructor(of) {
    [this.page, this.url] = hidden(of);
    this.node = of.number;
  }

  // An attribute; `undefined` without it.
  attribute(name) {
    return this.page.attribute(this.node, name);
  }

  has(name) {
    return this.attribute(name) !== undefined;
  }

  one(node) {
    return element(this.page, node, this.url);
  }

  all(nodes) {
    return nodes.map((node) => this.one(node));
  }

  // What a selector finds below it, or below another node; `null` stands for the page.
  numbers(selector, from = this.node) {
    return this.page.select(from === null ? null : [from], selector);
  }

  find(selector) {
    return this.all(this.numbers(selector));
  }

  children() {
    return this.all(childElements(this.page, this.node));
  }

  // The innermost element around it that a selector matches; `undefined` for none.
  around(selector) {
    const parents = walk(this.node, (node) => this.page.parent(node));
    return parents.find((node) => this.page.matches(node, selector));
  }

  // It, or the innermost around it.
  closest(selector) {
    return this.page.matches(this.node, selector) ? this.node : this.around(selector);
  }

  // The first element of the page whose attribute has a value.
  whose(name, value, selector = '*') {
    const has = (node) => this.page.attribute(node, name) === value;
    return this.numbers(selector, null).find(has);
  }
}

// As in k6 it has methods for what is known of every attribute.
class Attribute {
  constructor(owner, name, value) {
    this.owner_element = owner;
    this.name = name;
    this.value = value;
  }

  localName() {
    return this.name;
  }

  namespaceURI() {
    return XHTML;
  }

  prefix() {
    return '';
  }
}

export class Element {
  #page;
  #url;

  static {
    hidden = (of) => [of.#page, of.#url];
  }

  constructor(page, node, url) {
    this.#page = page;
    this.#url = url;
    Object.defineProperty(this, 'number', { value: node });
  }

  #other(node) {
    return element(this.#page, node, this.#url);
  }

  #all(nodes) {
    return nodes.map((node) => this.#other(node));
  }

  #sibling(name) {
    const page = this.#page;
    return this.#other(
      walk(this.number, (node) => page[name](node)).find((node) => page.kind(node) === ELEMENT),
    );
  }

  selection() {
    return selection(this.#page, this.number, this.#url);
  }

  nodeName() {
    return this.#page.name(this.number);
  }

  nodeType() {
    return this.#page.kind(this.number);
  }

  nodeValue() {
    const is = [TEXT, COMMENT].includes(this.nodeType());
    return is ? this.#page.text(this.number) : undefined;
  }

  innerHTML() {
    return this.#page.inner(this.number);
  }

  textContent() {
    return this.#page.text(this.number);
  }

  // As in k6, what kind of object it is.
  toString() {
    return `[object ${this.nodeType() === ELEMENT ? 'html.Node' : this.nodeName()}]`;
  }

  id() {
    return this.getAttribute('id') || '';
  }

  className() {
    return this.getAttribute('class');
  }

  lang() {
    return this.getAttribute('lang');
  }

  getAttribute(name) {
    return this.#page.attribute(this.number, name);
  }

  getAttributeNode(name) {
    const value = this.getAttribute(name);
    return value === undefined ? undefined : new Attribute(this, name, value);
  }

  hasAttribute(name) {
    return this.getAttribute(name) !== undefined;
  }

  hasAttributes() {
    return this.#page.attributes(this.number).length > 0;
  }

  attributes() {
    const all = {};
    for (const [name, value] of this.#page.attributes(this.number)) {
      all[name] = new Attribute(this, name, value);
    }
    return all;
  }

  hasChildNodes() {
    return this.#page.first(this.number) !== NONE;
  }

  childNodes() {
    return this.#all(childNodes(this.#page, this.number));
  }

  children() {
    return this.#all(childElements(this.#page, this.number));
  }

  childElementCount() {
    return childElements(this.#page, this.number).length;
  }

  firstChild() {
    return this.#other(this.#page.first(this.number));
  }

  lastChild() {
    return this.#other(childNodes(this.#page, this.number).at(-1));
  }

  firstElementChild() {
    return this.#other(childElements(this.#page, this.number)[0]);
  }

  lastElementChild() {
    return this.#other(childElements(this.#page, this.number).at(-1));
  }

  nextSibling() {
    return this.#other(this.#page.next(this.number));
  }

  previousSibling() {
    return this.#other(this.#page.previous(this.number));
  }

  nextElementSibling() {
    return this.#sibling('next');
  }

  previousElementSibling() {
    return this.#sibling('previous');
  }

  parentNode() {
    return this.#other(this.#page.parent(this.number));
  }

  parentElement() {
    const parent = this.parentNode();
    return parent !== undefined && parent.nodeType() === ELEMENT ? parent : undefined;
  }

  ownerDocument() {
    return this.#other(0);
  }

  querySelector(selector) {
    return this.#other(this.#page.select([this.number], selector)[0]);
  }

  querySelectorAll(selector) {
    return this.#all(this.#page.select([this.number], selector));
  }

  getElementsByTagName(name) {
    const wanted = String(name).toLowerCase();
    const elements = this.querySelectorAll('*');
    return wanted === '*' ? elements : elements.filter((other) => other.nodeName() === wanted);
  }

  // Elements that have all of these classes.
  getElementsByClassName(names) {
    const wanted = String(names).split(/\s+/).filter((name) => name !== '');
    const hasAll = (other) => wanted.every((name) => other.classList().includes(name));
    return wanted.length === 0 ? [] : this.querySelectorAll('*').filter(hasAll);
  }

  matches(selector) {
    return this.#page.matches(this.number, selector);
  }

  // Whether another element is within it, and not it.
  contains(other) {
    if (!(other instanceof Element) || other.#page !== this.#page) return false;
    return walk(other.number, (node) => this.#page.parent(node)).includes(this.number);
  }

  isSameNode(other) {
    return other instanceof Element && this.#page === other.#page && this.number === other.number;
  }

  // As in k6, whether they have the same inside.
  isEqualNode(other) {
    return other instanceof Element && this.innerHTML() === other.innerHTML();
  }

  classList() {
    return (this.getAttribute('class') || '').split(/\s+/).filter((name) => name !== '');
  }

  namespaceURI() {
    return this.#page.namespace(this.number) || XHTML;
  }

  isDefaultNamespace() {
    return this.namespaceURI() === XHTML;
  }
}
