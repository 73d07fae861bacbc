// What the assertions of k6chaijs know of values: kinds, deep equality, paths, and how a value is
// written in a message.

// The kind of a value, in small letters: `array`, `null`, `promise`.
export function kindOf(value) {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  if (Array.isArray(value)) return 'array';
  return Object.prototype.toString.call(value).slice(8, -1).toLowerCase();
}

// Whether two values are equal, and all that is in them. NaN equals itself, and 0 is not -0.
export function deepEqual(a, b, seen = new Map()) {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  const kind = kindOf(a);
  if (kind !== kindOf(b)) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (a instanceof Date) return Object.is(a.getTime(), b.getTime());
  if (a instanceof RegExp) return String(a) === String(b);
  if (a instanceof Error || a instanceof Promise) return false;
  if (a instanceof Set || a instanceof Map) {
    return a.size === b.size && sameEntries([...a], [...b], seen);
  }
  if (a instanceof ArrayBuffer) return sameItems(new Uint8Array(a), new Uint8Array(b), seen);
  if (Array.isArray(a) || (ArrayBuffer.isView(a) && a.length !== undefined))
    return sameItems(a, b, seen);
  const [keysA, keysB] = [allKeys(a), allKeys(b)];
  return (
    keysA.length === keysB.length &&
    keysA.every((key) => keysB.includes(key) && deepEqual(a[key], b[key], seen))
  );
}

function allKeys(object) {
  const keys = [];
  for (const key in object) keys.push(key);
  const symbols = Object.getOwnPropertySymbols(object);
  return keys.concat(
    symbols.filter((key) => Object.prototype.propertyIsEnumerable.call(object, key)),
  );
}

function sameItems(a, b, seen) {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (!deepEqual(a[index], b[index], seen)) return false;
  }
  return true;
}

// In any order.
function sameEntries(a, b, seen) {
  const left = [...b];
  return a.every((entry) => {
    const at = left.findIndex((other) => deepEqual(entry, other, seen));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

// The steps of a path such as a.b[1]; a backslash makes a dot or a bracket part of a name.
export function pathOf(text) {
  const steps = [];
  for (const [, index, name] of text.matchAll(/\[(\d+)\]|((?:\\[.[\]]|[^.[\]])+)/g)) {
    steps.push(index !== undefined ? Number(index) : name.replace(/\\([.[\]])/g, '$1'));
  }
  return steps;
}

export function valueAt(subject, steps) {
  let value = subject;
  for (const step of steps) {
    if (value === null || value === undefined || !(step in Object(value))) return { found: false };
    value = value[step];
  }
  return { found: true, value };
}

const DEPTH_MAX = 3;
const ITEMS_MAX = 40;

// A value as a message has it.
export function inspect(value, depth = 0) {
  if (typeof value === 'string') return `'${value.replace(/'/g, "\\'").replace(/\n/g, '\\n')}'`;
  if (typeof value === 'function') return value.name ? `[Function: ${value.name}]` : '[Function]';
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || typeof value !== 'object') return String(value);
  if (value instanceof Error) return `[${value}]`;
  if (value instanceof RegExp) return String(value);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (depth > DEPTH_MAX) return Array.isArray(value) ? '[Array]' : '[Object]';
  if (Array.isArray(value))
    return list(
      '[',
      value.map((item) => () => inspect(item, depth + 1)),
      ']',
    );
  const names = Object.keys(value);
  const pairs = names.map((name) => () => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : inspect(name);
    return `${key}: ${inspect(value[name], depth + 1)}`;
  });
  return list('{', pairs, '}');
}

function list(open, items, close) {
  if (items.length === 0) return `${open}${close}`;
  const texts = items.slice(0, ITEMS_MAX).map((item) => item());
  if (items.length > ITEMS_MAX) texts.push('...');
  return `${open} ${texts.join(', ')} ${close}`;
}
