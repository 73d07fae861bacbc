// The core of k6chaijs: one assertion, which is a check of k6, and how its name is made of a template,
// its label and its values. What can be asserted is added by k6chaijs.js.

import { check } from 'k6';
import exec from 'k6/execution';
import { inspect } from 'https://jslib.k6.io/k6chaijs/values.js';

export const config = {
  // Characters of a check's name.
  truncateMsgThreshold: 300,
  // Characters of a value in it, as Chai writes it and at most.
  truncateThreshold: 40,
  truncateVariableThreshold: 100,
  // Whether actual values are left out of names, so that iterations share their checks.
  aggregateChecks: true,
  logFailures: false,
  // Whether the first assertion that fails ends the test.
  exitOnError: false,
  includeStack: false,
  showDiff: true,
};

export class AssertionError extends Error {
  constructor(message, { actual, expected } = {}) {
    super(message);
    this.name = 'AssertionError';
    this.actual = actual;
    this.expected = expected;
    this.showDiff = config.showDiff;
  }
}

export function shorten(text, most) {
  return text.length > most ? `${text.slice(0, Math.max(most - 3, 0))}...` : text;
}

const shown = (value) => shorten(display(value), config.truncateVariableThreshold);

function display(value) {
  const most = config.truncateThreshold || Infinity;
  const text = inspect(value, most);
  if (text.length < most) return text;
  if (Array.isArray(value)) return `[ Array(${value.length}) ]`;
  if (Object.prototype.toString.call(value) !== '[object Object]') return text;
  const names = Object.keys(value);
  const some = names.length > 2 ? `${names.slice(0, 2).join(', ')}, ...` : names.join(', ');
  return `{ Object (${some}) }`;
}

// A template with its values.
function fill(template, { expected }, subject, actual) {
  return template
    .replace(/#\{this\}/g, () => subject)
    .replace(/#\{exp\}/g, () => shown(expected))
    .replace(/#\{act\}/g, () => actual);
}

export class Assertion {
  constructor(subject, label) {
    this.flags = { object: subject, message: label };
  }

  get _obj() {
    return this.flags.object;
  }

  // Records whether a condition holds, and raises an error if it does not.
  assert(holds, template, negated, expected, actual) {
    const { object: subject, message: label, negate } = this.flags;
    const passed = Boolean(negate ? !holds : holds);
    const values = { expected, actual: arguments.length > 4 ? actual : subject };
    const chosen = (negate ? negated : template) || template;
    // Checks of all iterations have the same name if it leaves out what differs between them.
    const message = () => fill(chosen, values, shown(subject), shown(values.actual));
    const name = config.aggregateChecks
      ? fill(chosen, values, label || '${this}', '${actual}')
      : `${label ? `${label}: ` : ''}${message()}`;
    // Two colons would name a group.
    const isolated = name.replaceAll('::', ':');
    check(null, { [shorten(isolated, config.truncateMsgThreshold)]: passed });
    if (passed) return;
    if (config.exitOnError) exec.test.abort(message());
    if (config.logFailures) console.warn(message());
    throw new AssertionError(message(), values);
  }

  // An error that is no check: the assertion makes no sense for its subject.
  refuse(message) {
    const { message: label } = this.flags;
    throw new AssertionError(label ? `${label}: ${message}` : message);
  }

  // An assertion of another value under the same label, such as that it is an array.
  other(subject) {
    return new Assertion(subject, this.flags.message);
  }

  static addProperty(name, getter) {
    Object.defineProperty(Assertion.prototype, name, {
      get() {
        const result = getter.call(this);
        return result === undefined ? this : result;
      },
      configurable: true,
    });
  }

  static addMethod(name, method) {
    Object.defineProperty(Assertion.prototype, name, {
      value(...args) {
        const result = method.apply(this, args);
        return result === undefined ? this : result;
      },
      configurable: true,
      writable: true,
    });
  }

  // A method that is a link of the chain as well, such as `include`.
  static addChainableMethod(name, method, chained) {
    Object.defineProperty(Assertion.prototype, name, {
      get() {
        const assertion = this;
        if (chained) chained.call(assertion);
        const link = (...args) => {
          const result = method.apply(assertion, args);
          return result === undefined ? assertion : result;
        };
        // These would hide assertions of the same names.
        delete link.length;
        delete link.name;
        return Object.setPrototypeOf(link, assertion);
      },
      configurable: true,
    });
  }
}
