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

// A value as a message has it, in about `most` characters: what does not fit is counted.
export function inspect(value, most = Infinity, depth = 0) {
  if (typeof value === 'string') return quoted(value, most);
  if (typeof value === 'function') return value.name ? `[Function ${value.name}]` : '[Function]';
  if (value === 0) return Object.is(value, -0) ? '-0' : '+0';
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || typeof value !== 'object') return String(value);
  if (value instanceof Error || value instanceof RegExp) return String(value);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (depth > DEPTH_MAX) return Array.isArray(value) ? '[Array]' : '[Object]';
  const inner = (item, room) => inspect(item, room, depth + 1);
  if (Array.isArray(value)) return list('[', value, inner, ']', most);
  const kind = value.constructor?.name ?? '';
  if (ArrayBuffer.isView(value) && value.length !== undefined)
    return list(`${kind}[`, [...value], String, ']', most);
  if (value instanceof Set) return list('Set{', [...value], inner, '}', most);
  const name = kind === 'Object' ? '' : kind;
  const pair = (key, room) => {
    const text = /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key, Infinity);
    return `${text}: ${inner(value[key], room - text.length - 2)}`;
  };
  return list(`${name}{`, Object.keys(value), pair, '}', most);
}

function quoted(text, most) {
  const whole = text.replace(/'/g, "\\'").replace(/\n/g, '\\n');
  return whole.length + 2 > most ? `'${whole.slice(0, Math.max(most - 3, 0))}\u2026'` : `'${whole}'`;
}

// Items between brackets: all of them, or as many as leave room for the number of the others.
function list(open, items, write, close, most) {
  if (items.length === 0) return `${open}${close}`;
  const room = most - 4;
  let text = '';
  for (const [index, item] of items.entries()) {
    const isLast = index + 1 === items.length;
    const next = text + write(item, room - text.length) + (isLast ? '' : ', ');
    const others = `\u2026(${items.length - index - 1})`;
    if (next.length + (isLast ? 0 : others.length) > room)
      return `${open} ${text}\u2026(${items.length - index}) ${close}`;
    text = next;
  }
  return `${open} ${text} ${close}`;
}
