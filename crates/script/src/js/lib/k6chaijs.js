// What scripts import from jslib.k6.io/k6chaijs: describe(), and expect() with Chai's assertions in
// the style of BDD. Each assertion is a check of k6; the first one that fails ends its describe().
//
// Written from k6's and Chai's documentation. Absent on purpose: Chai's assert and should.

import { check, group } from 'k6';
import {
  Assertion,
  AssertionError,
  config,
  shorten,
} from 'https://jslib.k6.io/k6chaijs/assertion.js';
import {
  deepEqual,
  inspect,
  kindOf,
  pathOf,
  valueAt,
} from 'https://jslib.k6.io/k6chaijs/values.js';

export { Assertion, AssertionError, config };

export function expect(subject, label) {
  return new Assertion(subject, label);
}

expect.fail = (...args) => {
  const [actual, expected, message] = args.length > 1 ? args : [undefined, undefined, args[0]];
  throw new AssertionError(message || 'expect.fail()', { actual, expected });
};

// A group of assertions. An exception of it is a failed check; the result is whether all is well. An
// async one goes on behind the group, as in k6, and so do its assertions; a promise of it that is
// rejected ends the iteration.
export function describe(name, body) {
  let isWell = true;
  group(name, () => {
    try {
      body();
    } catch (error) {
      isWell = false;
      if (!(error instanceof AssertionError)) {
        const text = shorten(String(error), config.truncateMsgThreshold).replaceAll('::', ':');
        check(null, { [`Exception raised "${text}"`]: false });
        console.error(
          `Exception raised in test "${name}". Failing the test and continuing. \n${error}`,
        );
      }
    }
  });
  return isWell;
}

const properties = (table) => {
  for (const [names, getter] of Object.entries(table)) {
    for (const name of names.split(' ')) Assertion.addProperty(name, getter);
  }
};
const methods = (table) => {
  for (const [names, method] of Object.entries(table)) {
    for (const name of names.split(' ')) Assertion.addMethod(name, method);
  }
};
const links = (names, method, chained) => {
  for (const name of names.split(' ')) Assertion.addChainableMethod(name, method, chained);
};

function setFlag(name) {
  return function set() {
    this.flags[name] = true;
  };
}

properties({
  'to be been is that which and has have with at of same but does still also': () => {},
  not: setFlag('negate'),
  deep: setFlag('deep'),
  nested: setFlag('nested'),
  own: setFlag('own'),
  ordered: setFlag('ordered'),
  itself: setFlag('itself'),
  any() {
    Object.assign(this.flags, { any: true, all: false });
  },
  all() {
    Object.assign(this.flags, { any: false, all: true });
  },
});

// Assertions of one value: what holds, and how that is written.
const states = {
  ok: [(value) => Boolean(value), 'be truthy', 'be falsy'],
  true: [(value) => value === true, 'be true', 'be false'],
  false: [(value) => value === false, 'be false', 'be true'],
  null: [(value) => value === null, 'be null'],
  undefined: [(value) => value === undefined, 'be undefined'],
  NaN: [(value) => Number.isNaN(value), 'be NaN'],
  exist: [(value) => value !== null && value !== undefined, 'exist', 'not exist'],
  exists: [(value) => value !== null && value !== undefined, 'exist', 'not exist'],
  extensible: [(value) => Object.isExtensible(value), 'be extensible'],
  sealed: [(value) => Object.isSealed(value), 'be sealed'],
  frozen: [(value) => Object.isFrozen(value), 'be frozen'],
  finite: [(value) => Number.isFinite(value), 'be a finite number'],
  empty: [isEmpty, 'be empty'],
};
for (const [name, [holds, words, negated]] of Object.entries(states)) {
  Assertion.addProperty(name, function state() {
    const isSo = holds(this._obj);
    if (isSo === undefined) this.refuse(`.empty was passed non-string primitive ${this._obj}`);
    const otherwise = negated ? `to ${negated}` : `not to ${words}`;
    this.assert(isSo, `expected #{this} to ${words}`, `expected #{this} ${otherwise}`);
  });
}

function isArguments() {
  const kind = Object.prototype.toString.call(this._obj).slice(8, -1);
  this.assert(
    kind === 'Arguments',
    `expected #{this} to be arguments got ${kind}`,
    'expected #{this} to not be arguments',
  );
}
properties({ 'arguments Arguments': isArguments });

function isEmpty(value) {
  if (value instanceof Map || value instanceof Set) return value.size === 0;
  if (typeof value === 'string' || Array.isArray(value)) return value.length === 0;
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    return undefined;
  }
  return Object.keys(value).length === 0;
}

function label(assertion, message) {
  if (message !== undefined) assertion.flags.message = message;
}

links('a an', function kind(type, message) {
  label(this, message);
  const wanted = String(type).toLowerCase();
  const article = 'aeiou'.includes(wanted[0]) ? 'an' : 'a';
  this.assert(
    kindOf(this._obj) === wanted,
    `expected #{this} to be ${article} ${wanted}`,
    `expected #{this} not to be ${article} ${wanted}`,
  );
});

function includes(subject, value, flags) {
  const same = flags.deep ? deepEqual : Object.is;
  if (typeof subject === 'string') return subject.includes(value);
  if (Array.isArray(subject)) return subject.some((item) => same(item, value) || item === value);
  if (subject instanceof Set) return [...subject].some((item) => same(item, value));
  if (subject instanceof Map) return [...subject.values()].some((item) => same(item, value));
  return undefined;
}

// An object includes another if it has each of its properties, and each is a check.
function includesObject(assertion, value) {
  if (value === null || typeof value !== 'object') {
    assertion.refuse(
      `the given combination of arguments (${kindOf(assertion._obj)} and ` +
        `${kindOf(value)}) is invalid for this assertion`,
    );
  }
  const names = Object.keys(value);
  const isAnyEnough = assertion.flags.negate && names.length > 1;
  let failed = 0;
  for (const name of names) {
    const one = assertion.other(assertion._obj);
    Object.assign(one.flags, assertion.flags);
    try {
      one.property(name, value[name]);
    } catch (error) {
      failed += 1;
      if (!isAnyEnough || failed === names.length) throw error;
    }
  }
}

links(
  'include includes contain contains',
  function include(value, message) {
    label(this, message);
    const holds = includes(this._obj, value, this.flags);
    if (holds === undefined) return includesObject(this, value);
    const deep = this.flags.deep ? 'deep ' : '';
    return this.assert(
      holds,
      `expected #{this} to ${deep}include #{exp}`,
      `expected #{this} to not ${deep}include #{exp}`,
      value,
    );
  },
  setFlag('contains'),
);

// A property by its name, or by its path if the flags say `nested`.
function lookUp(subject, name, { nested, own }) {
  if (nested) return valueAt(subject, pathOf(String(name)));
  if (subject === null || subject === undefined) return { found: false };
  const found = own ? Object.hasOwn(subject, name) : name in Object(subject);
  return { found, value: found ? subject[name] : undefined };
}

function property(name, ...rest) {
  const [value, message] = rest;
  label(this, message);
  const kinds = ['deep', 'nested', 'own'].filter((flag) => this.flags[flag]);
  const words = `${kinds.map((kind) => `${kind} `).join('')}property ${inspect(name)}`;
  const { found, value: actual } = lookUp(this._obj, name, this.flags);
  if (rest.length === 0 || !this.flags.negate) {
    this.assert(
      found,
      `expected #{this} to have ${words}`,
      `expected #{this} to not have ${words}`,
    );
  }
  if (rest.length > 0) {
    const holds = found && (this.flags.deep ? deepEqual(actual, value) : actual === value);
    this.assert(
      holds,
      `expected #{this} to have ${words} of #{exp}, got #{act}`,
      `expected #{this} to not have ${words} of #{act}`,
      value,
      actual,
    );
  }
  this.flags.object = actual;
}

function equal(value, message) {
  label(this, message);
  if (this.flags.deep) return this.eql(value);
  return this.assert(
    this._obj === value,
    'expected #{this} to equal #{exp}',
    'expected #{this} to not equal #{exp}',
    value,
  );
}

// Compares a number or a date, or the length if `lengthOf` came before.
function comparison(words, negated, holds) {
  return function compare(limit, message) {
    label(this, message);
    const hasLength = this.flags.doLength;
    const actual = comparable(this);
    const what = hasLength ? 'to have a length' : 'to be';
    const got = hasLength ? ' got #{act}' : '';
    this.assert(
      holds(actual, limit),
      `expected #{this} ${what} ${words} #{exp}${got}`,
      `expected #{this} ${what} ${negated} #{exp}`,
      limit,
      actual,
    );
  };
}

// What a comparison is about: a number or a date, or the length.
function comparable(assertion) {
  const value = assertion._obj;
  const actual = assertion.flags.doLength ? sizeOf(assertion) : value;
  if (typeof actual !== 'number' && !(actual instanceof Date)) {
    assertion.refuse(`expected ${inspect(value)} to be a number or a date`);
  }
  return actual;
}

function sizeOf(assertion) {
  const value = assertion._obj;
  if (value instanceof Map || value instanceof Set) return value.size;
  assertion.other(value).property('length');
  return value.length;
}

links(
  'length lengthOf',
  function lengthOf(length, message) {
    label(this, message);
    const actual = sizeOf(this);
    this.assert(
      actual === length,
      'expected #{this} to have a length of #{exp} got #{act}',
      'expected #{this} to not have a length of #{act}',
      length,
      actual,
    );
  },
  setFlag('doLength'),
);

function keys(...wanted) {
  const first = wanted.length === 1 ? wanted[0] : wanted;
  let names = Array.isArray(first) ? first : [first];
  if (first !== null && typeof first === 'object' && !Array.isArray(first))
    names = Object.keys(first);
  if (names.length === 0) throw new AssertionError('keys required');
  const subject = this._obj;
  const isKeyed = subject instanceof Map || subject instanceof Set;
  const actual = isKeyed ? [...subject.keys()] : Object.keys(subject);
  const has = (name) =>
    actual.some((known) =>
      isKeyed
        ? known === name || (this.flags.deep && deepEqual(known, name))
        : known === String(name),
    );
  const { any, contains } = this.flags;
  const all = names.every(has) && (contains || actual.length === names.length);
  const list = names.map((name) => inspect(name));
  const words =
    list.length === 1
      ? `key ${list[0]}`
      : `keys ${list.slice(0, -1).join(', ')}, ` + `${any ? 'or' : 'and'} ${list[list.length - 1]}`;
  const verb = contains ? 'contain' : 'have';
  this.assert(
    any ? names.some(has) : all,
    `expected #{this} to ${verb} ${words}`,
    `expected #{this} to not ${verb} ${words}`,
    names,
    actual,
  );
}

function members(wanted, message) {
  label(this, message);
  const { deep, ordered, contains, object: subject } = this.flags;
  this.other(subject).an('array');
  this.other(wanted).an('array');
  const same = deep ? deepEqual : (a, b) => a === b;
  const left = [...subject];
  const take = (item) => {
    const at = left.findIndex((known) => same(known, item));
    if (at >= 0 && !contains) left.splice(at, 1);
    return at >= 0;
  };
  const fits = contains || subject.length === wanted.length;
  const holds = ordered
    ? fits && wanted.every((item, index) => same(subject[index], item))
    : fits && wanted.every(take);
  const kind = ordered ? 'ordered ' : '';
  const words = contains
    ? `be ${ordered ? 'an ordered' : 'a'} superset of #{exp}`
    : `have the same ${kind}members as #{exp}`;
  this.assert(holds, `expected #{this} to ${words}`, `expected #{this} to not ${words}`, wanted);
}

function throws(like, matching, message) {
  label(this, message);
  let [wanted, text] = [like, matching];
  if (typeof like === 'string' || like instanceof RegExp) [wanted, text] = [undefined, like];
  const run = this._obj;
  this.other(run).a('function');
  let caught;
  let hasThrown = false;
  try {
    run();
  } catch (error) {
    [caught, hasThrown] = [error, true];
  }
  const { negate } = this.flags;
  const thrown = caught instanceof Error ? String(caught) : caught;
  const isAny = wanted === undefined && text === undefined;
  if (isAny || !negate) {
    this.assert(
      hasThrown,
      `expected #{this} to throw ${errorName(wanted)}`,
      'expected #{this} to not throw an error #{act} was thrown',
      wanted,
      thrown,
    );
  }
  if (hasThrown && !isAny) judgeThrown(this, wanted, text, caught, thrown);
  this.flags.object = caught;
}

function errorName(wanted) {
  if (wanted === undefined) return 'an error';
  return typeof wanted === 'function' ? wanted.name : '#{exp}';
}

// Compares what was thrown with the class or the error and with the text that the script names.
function judgeThrown(assertion, wanted, text, caught, thrown) {
  const { negate } = assertion.flags;
  const isLike = typeof wanted === 'function' ? caught instanceof wanted : caught === wanted;
  const said =
    caught !== null && typeof caught === 'object' ? String(caught.message) : String(caught);
  const isMatching = text instanceof RegExp ? text.test(said) : said.includes(text);
  const failsLike = wanted !== undefined && isLike === Boolean(negate);
  const failsText = text !== undefined && isMatching === Boolean(negate);
  // What must be thrown has to fit in both; what must not be thrown would have to fit in both.
  const needsBoth = negate && wanted !== undefined && text !== undefined;
  if (needsBoth && !(failsLike && failsText)) return;
  if (failsLike) {
    const name = errorName(wanted);
    assertion.assert(
      negate,
      `expected #{this} to throw ${name} #{act} was thrown`,
      `expected #{this} to not throw ${name} #{act} was thrown`,
      wanted,
      thrown,
    );
  }
  if (failsText) {
    const verb = text instanceof RegExp ? 'matching' : 'including';
    assertion.assert(
      negate,
      `expected #{this} to throw error ${verb} #{exp} got #{act}`,
      `expected #{this} to throw error not ${verb} #{exp}`,
      text,
      said,
    );
  }
}

// What a value changes by while the subject runs.
function changing(verb, holds) {
  return function change(object, name, message) {
    label(this, message);
    const run = this._obj;
    this.other(run).a('function');
    if (name === undefined) this.other(object).a('function');
    else this.other(object).property(name);
    const value = () => (name === undefined ? object() : object[name]);
    const before = value();
    if (verb !== 'change') this.other(before).a('number');
    run();
    const after = value();
    const what = name === undefined ? String(before) : `.${name}`;
    Object.assign(this.flags, { change: { what, verb, by: after - before } });
    this.assert(
      holds(before, after),
      `expected ${what} to ${verb}`,
      `expected ${what} to not ${verb}`,
    );
  };
}

methods({
  'equal equals eq': equal,
  'eql eqls'(value, message) {
    label(this, message);
    this.assert(
      deepEqual(this._obj, value),
      'expected #{this} to deeply equal #{exp}',
      'expected #{this} to not deeply equal #{exp}',
      value,
    );
  },
  'above gt greaterThan': comparison('above', 'at most', (a, b) => a > b),
  'least gte greaterThanOrEqual': comparison('at least', 'below', (a, b) => a >= b),
  'below lt lessThan': comparison('below', 'at least', (a, b) => a < b),
  'most lte lessThanOrEqual': comparison('at most', 'above', (a, b) => a <= b),
  within(low, high, message) {
    label(this, message);
    const actual = comparable(this);
    const what = this.flags.doLength ? 'have a length' : 'be';
    this.assert(
      actual >= low && actual <= high,
      `expected #{this} to ${what} within ${low}..${high}`,
      `expected #{this} to not ${what} within ${low}..${high}`,
    );
  },
  'instanceof instanceOf'(constructor, message) {
    label(this, message);
    this.assert(
      this._obj instanceof constructor,
      `expected #{this} to be an instance of ${constructor.name}`,
      `expected #{this} to not be an instance of ${constructor.name}`,
    );
  },
  property,
  'ownProperty haveOwnProperty'(...args) {
    this.flags.own = true;
    property.apply(this, args);
  },
  'match matches'(pattern, message) {
    label(this, message);
    this.assert(
      pattern.exec(this._obj) !== null,
      `expected #{this} to match ${pattern}`,
      `expected #{this} not to match ${pattern}`,
    );
  },
  string(text, message) {
    label(this, message);
    this.other(this._obj).a('string');
    this.assert(
      String(this._obj).includes(text),
      'expected #{this} to contain #{exp}',
      'expected #{this} to not contain #{exp}',
      text,
    );
  },
  'key keys': keys,
  members,
  'throw throws Throw': throws,
  'respondTo respondsTo'(name, message) {
    label(this, message);
    const owner =
      typeof this._obj === 'function' && !this.flags.itself ? this._obj.prototype : this._obj;
    this.assert(
      typeof owner[name] === 'function',
      `expected #{this} to respond to ${inspect(name)}`,
      `expected #{this} to not respond to ${inspect(name)}`,
    );
  },
  'satisfy satisfies'(matcher, message) {
    label(this, message);
    this.assert(
      matcher(this._obj),
      `expected #{this} to satisfy ${inspect(matcher)}`,
      `expected #{this} to not satisfy ${inspect(matcher)}`,
    );
  },
  'closeTo approximately'(value, delta, message) {
    label(this, message);
    this.other(this._obj).a('number');
    this.assert(
      Math.abs(this._obj - value) <= delta,
      `expected #{this} to be close to ${value} +/- ${delta}`,
      `expected #{this} not to be close to ${value} +/- ${delta}`,
    );
  },
  oneOf(list, message) {
    label(this, message);
    const { contains, deep } = this.flags;
    this.other(list).an('array');
    const same = deep ? deepEqual : (a, b) => a === b;
    const holds = contains
      ? list.some((item) => this._obj.includes(item))
      : list.some((item) => same(this._obj, item));
    this.assert(
      holds,
      `expected #{this} to be one of #{exp}`,
      `expected #{this} to not be one of #{exp}`,
      list,
    );
  },
  'change changes': changing('change', (before, after) => before !== after),
  'increase increases': changing('increase', (before, after) => after > before),
  'decrease decreases': changing('decrease', (before, after) => after < before),
  by(amount, message) {
    label(this, message);
    const { what, verb, by } = this.flags.change;
    const changed = verb === 'change' ? Math.abs(by) : verb === 'increase' ? by : -by;
    this.assert(
      changed === Math.abs(amount),
      `expected ${what} to ${verb} by ${amount}`,
      `expected ${what} to not ${verb} by ${amount}`,
    );
  },
  'ownPropertyDescriptor haveOwnPropertyDescriptor'(name, ...rest) {
    const [wanted, message] = rest;
    label(this, message);
    const actual = Object.getOwnPropertyDescriptor(Object(this._obj), name);
    const words = `own property descriptor for ${inspect(name)}`;
    if (rest.length === 0 || actual === undefined) {
      this.assert(
        actual !== undefined,
        `expected #{this} to have an ${words}`,
        `expected #{this} to not have an ${words}`,
      );
    } else {
      this.assert(
        deepEqual(wanted, actual),
        `expected the ${words} on #{this} to match #{exp}, got #{act}`,
        `expected the ${words} on #{this} to not match #{exp}`,
        wanted,
        actual,
      );
    }
    this.flags.object = actual;
  },
  // The subject is a response of k6/http.
  validJsonBody() {
    let isValid = true;
    try {
      JSON.parse(this._obj.body);
    } catch (error) {
      isValid = false;
    }
    this.assert(
      isValid && this._obj.body !== null,
      'has valid json body',
      'has no valid json body',
    );
  },
  matchSchema() {
    throw new Error('matchSchema() is not supported: check the properties that matter one by one');
  },
});

const util = {
  flag(assertion, name, ...value) {
    if (value.length > 0) [assertion.flags[name]] = value;
    return assertion.flags[name];
  },
  inspect,
  eql: deepEqual,
  type: kindOf,
};

export const chai = { Assertion, AssertionError, config, expect, describe, util, version: '4.3.4' };
chai.use = (plugin) => {
  plugin(chai, util);
  return chai;
};

export default chai;
