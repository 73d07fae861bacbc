// The core of k6chaijs: one assertion, which is a check of k6, and how its name is made of a template,
// its label and its values. What can be asserted is added by k6chaijs.js.

import { check } from 'k6';
import { inspect } from 'https://jslib.k6.io/k6chaijs/values.js';

export const config = {
  // Characters of a check's name.
  truncateMsgThreshold: 300,
  // Characters of a value in it.
  truncateVariableThreshold: 100,
  // Whether actual values are left out of names, so that iterations share their checks.
  aggregateChecks: true,
  logFailures: false,
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

const shown = (value) => shorten(inspect(value), config.truncateVariableThreshold);

// A template with its values; without those that differ from one iteration to the next if
// `aggregates`.
function fill(template, { subject, label, expected, actual }, aggregates) {
  const value = (text, name) => (aggregates ? `\${${name}}` : shown(text));
  return template
    .replace(/#\{this\}/g, () => label || value(subject, 'this'))
    .replace(/#\{exp\}/g, () => shown(expected))
    .replace(/#\{act\}/g, () => value(actual, 'actual'));
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
    const values = { subject, label, expected, actual: arguments.length > 4 ? actual : subject };
    const chosen = (negate ? negated : template) || template;
    // Two colons would name a group.
    const name = fill(chosen, values, config.aggregateChecks).replaceAll('::', ':');
    check(null, { [shorten(name, config.truncateMsgThreshold)]: passed });
    if (passed) return;
    const message = fill(chosen, values, false);
    if (config.logFailures) console.warn(message);
    throw new AssertionError(message, values);
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
