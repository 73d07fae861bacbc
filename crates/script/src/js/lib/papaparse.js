// What scripts import from jslib.k6.io/papaparse: parse() and unparse() of Papa Parse 5, for text.
//
// Written from Papa Parse's documentation. Absent on purpose: downloads, files of a browser and
// workers, none of which a script has.

const BYTE_ORDER_MARK = '\ufeff';
const BAD_DELIMITERS = ['\r', '\n', '"', BYTE_ORDER_MARK];
const GUESSED = [',', '\t', '|', ';', '\x1e', '\x1f'];

const NUMBER = /^\s*-?(\d+\.?|\.\d+|\d+\.\d+)([eE][-+]?\d+)?\s*$/;
const ISO_DATE = /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?([+-][0-2]\d:[0-5]\d|Z)$/;
const SAFE_INTEGER = 2 ** 53;

const isFunction = (value) => typeof value === 'function';

// Cuts text into rows of fields. `limit` is the most rows, 0 for all.
class Reader {
  constructor(text, delimiter, newline, config, limit) {
    this.text = text;
    this.delimiter = delimiter;
    this.newline = newline;
    this.quote = config.quoteChar === undefined ? '"' : config.quoteChar;
    this.escape = config.escapeChar === undefined ? this.quote : config.escapeChar;
    this.comments = config.comments === true ? '#' : config.comments || null;
    this.limit = limit;
    this.cursor = 0;
    this.errors = [];
    // What is empty in the end is a row too, so that the end is a state of its own.
    this.isOver = text === '';
    this.rows = 0;
  }

  // The fields of the next row; null at the end.
  next() {
    while (!this.isOver && this.comments && this.text.startsWith(this.comments, this.cursor)) {
      const end = this.text.indexOf(this.newline, this.cursor);
      this.isOver = end < 0;
      this.cursor = end < 0 ? this.text.length : end + this.newline.length;
    }
    if (this.isOver || (this.limit > 0 && this.rows === this.limit)) return null;
    const fields = [];
    while (this.field(fields));
    this.rows += 1;
    return fields;
  }

  // Reads a field; whether another follows in the row.
  field(fields) {
    const { text, delimiter, newline } = this;
    if (this.quote && text.startsWith(this.quote, this.cursor)) return this.quoted(fields);
    const delimiterAt = text.indexOf(delimiter, this.cursor);
    const newlineAt = this.newlineFrom(this.cursor);
    const hasMore = delimiterAt >= 0 && (newlineAt < 0 || delimiterAt < newlineAt);
    const end = hasMore ? delimiterAt : newlineAt < 0 ? text.length : newlineAt;
    fields.push(text.slice(this.cursor, end));
    if (hasMore) this.cursor = end + delimiter.length;
    else this.endRow(end);
    return hasMore;
  }

  // Where the row ends; it is looked for once a row.
  newlineFrom(at) {
    if (this.knownNewline === undefined || this.knownNewline < at) {
      const found = this.text.indexOf(this.newline, at);
      this.knownNewline = found < 0 ? Infinity : found;
    }
    return this.knownNewline === Infinity ? -1 : this.knownNewline;
  }

  endRow(end) {
    this.isOver = end >= this.text.length;
    this.cursor = this.isOver ? this.text.length : end + this.newline.length;
  }

  quoted(fields) {
    const { text, quote, escape, delimiter, newline } = this;
    const start = this.cursor + quote.length;
    let value = '';
    let [from, at] = [start, start];
    for (;;) {
      const close = text.indexOf(quote, at);
      if (close < 0) {
        this.error('MissingQuotes', 'Quoted field unterminated', start);
        fields.push(text.slice(start));
        this.endRow(text.length);
        return false;
      }
      const after = close + quote.length;
      if (escape === quote && text.startsWith(quote, after)) {
        value += text.slice(from, after);
        from = after + quote.length;
        at = from;
      } else if (
        escape !== quote &&
        close > start &&
        text.startsWith(escape, close - escape.length)
      ) {
        value += text.slice(from, close - escape.length) + quote;
        from = after;
        at = from;
      } else {
        // Blanks may stand between the quote and what ends the field.
        const end = after + /^ */.exec(text.slice(after, after + 64))[0].length;
        const isLast = end === text.length || text.startsWith(newline, end);
        if (isLast || text.startsWith(delimiter, end)) {
          fields.push(value + text.slice(from, close));
          if (isLast) this.endRow(end);
          else this.cursor = end + delimiter.length;
          return !isLast;
        }
        this.error('InvalidQuotes', 'Trailing quote on quoted field is malformed', start);
        at = after;
      }
    }
  }

  error(code, message, index) {
    this.errors.push({ type: 'Quotes', code, message, row: this.rows, index });
  }
}

function guessNewline(text, quote) {
  const sample = text.slice(0, 1 << 20);
  const plain = quote
    ? sample
        .split(quote)
        .filter((_, index) => index % 2 === 0)
        .join('')
    : sample;
  const returns = plain.split('\r').length - 1;
  if (returns === 0) return '\n';
  const pairs = plain.split('\r\n').length - 1;
  return pairs * 2 >= returns ? '\r\n' : plain.includes('\n') ? '\n' : '\r';
}

// The delimiter with which the first rows have the most fields and differ least; null if none
// gives two.
function guessDelimiter(text, newline, config) {
  let best = null;
  for (const delimiter of config.delimitersToGuess || GUESSED) {
    const reader = new Reader(text, delimiter, newline, config, 10);
    let [rows, total, delta, before] = [0, 0, 0, null];
    for (let row = reader.next(); row !== null; row = reader.next()) {
      if (isSkipped(row, config.skipEmptyLines)) continue;
      if (before !== null) delta += Math.abs(row.length - before);
      before = row.length;
      total += row.length;
      rows += 1;
    }
    const fields = rows > 0 ? total / rows : 0;
    const isBetter = best === null || (delta <= best.delta && fields > best.fields);
    if (fields > 1.99 && isBetter) best = { delimiter, delta, fields };
  }
  return best && best.delimiter;
}

function typed(value, field, config) {
  const { dynamicTyping } = config;
  let applies = dynamicTyping;
  if (isFunction(dynamicTyping)) applies = dynamicTyping(field);
  else if (typeof dynamicTyping === 'object' && dynamicTyping !== null)
    applies = dynamicTyping[field];
  if (!applies) return value;
  if (value === 'true' || value === 'TRUE') return true;
  if (value === 'false' || value === 'FALSE') return false;
  if (NUMBER.test(value) && Math.abs(parseFloat(value)) < SAFE_INTEGER) return parseFloat(value);
  if (ISO_DATE.test(value)) return new Date(value);
  return value === '' ? null : value;
}

function isSkipped(row, skipEmptyLines) {
  if (skipEmptyLines === 'greedy') return row.join('').trim() === '';
  return Boolean(skipEmptyLines) && row.length === 1 && row[0].length === 0;
}

// Names that occur twice get a number.
function headerOf(row, config, meta) {
  const names = config.transformHeader
    ? row.map((name, index) => config.transformHeader(name, index))
    : row;
  const taken = new Set(names);
  const seen = new Set();
  return names.map((name) => {
    let unique = name;
    for (let count = 1; seen.has(unique); count++) {
      unique = `${name}_${count}`;
      if (taken.has(unique) && !seen.has(unique)) continue;
    }
    if (unique !== name) {
      meta.renamedHeaders = meta.renamedHeaders || {};
      meta.renamedHeaders[unique] = name;
    }
    seen.add(unique);
    return unique;
  });
}

// A row as the result has it, with complaints about its length.
function shape(row, number, fields, config, errors) {
  const value = (text, field) => {
    const changed = config.transform ? config.transform(text, field) : text;
    return typeof changed === 'string' ? typed(changed, field, config) : changed;
  };
  if (fields === null) return row.map(value);
  const shaped = {};
  row.forEach((text, index) => {
    if (index < fields.length) {
      shaped[fields[index]] = value(text, fields[index]);
    } else {
      shaped.__parsed_extra = shaped.__parsed_extra || [];
      shaped.__parsed_extra.push(value(text, '__parsed_extra'));
    }
  });
  if (row.length !== fields.length) {
    const [code, words] =
      row.length < fields.length ? ['TooFewFields', 'few'] : ['TooManyFields', 'many'];
    const counts = `expected ${fields.length} fields but parsed ${row.length}`;
    const message = `Too ${words} fields: ${counts}`;
    errors.push({ type: 'FieldMismatch', code, message, row: number });
  }
  return shaped;
}

export function parse(input, given) {
  const config = { ...given };
  if (config.download || config.worker) {
    throw new Error('papaparse: a script has no downloads and no workers: parse text from open()');
  }
  if (typeof input !== 'string') throw new Error('papaparse: parse() needs text');
  let text = input.startsWith(BYTE_ORDER_MARK) ? input.slice(1) : input;
  const quote = config.quoteChar === undefined ? '"' : config.quoteChar;
  const linebreak = config.newline || guessNewline(text, quote);
  for (let skipped = config.skipFirstNLines || 0; skipped > 0; skipped--) {
    const end = text.indexOf(linebreak);
    text = end < 0 ? '' : text.slice(end + linebreak.length);
  }
  if (isFunction(config.beforeFirstChunk)) text = config.beforeFirstChunk(text) || text;
  const results = { data: [], errors: [], meta: { linebreak, aborted: false, truncated: false } };
  const guessing = [];
  results.meta.delimiter = delimiterOf(text, linebreak, config, guessing);
  readAll(text, config, results);
  results.errors.push(...guessing);
  if (isFunction(config.complete)) config.complete(results);
  return results;
}

function delimiterOf(text, linebreak, config, errors) {
  const { delimiter } = config;
  if (isFunction(delimiter)) return delimiter(text);
  if (delimiter && !BAD_DELIMITERS.includes(delimiter)) return delimiter;
  const guessed = guessDelimiter(text, linebreak, config);
  if (guessed !== null) return guessed;
  const message = "Unable to auto-detect delimiting character; defaulted to ','";
  errors.push({ type: 'Delimiter', code: 'UndetectableDelimiter', message });
  return ',';
}

function readAll(text, config, results) {
  const { meta } = results;
  const preview = config.preview > 0 ? config.preview : 0;
  const reader = new Reader(text, meta.delimiter, meta.linebreak, config, 0);
  const parser = {
    abort: () => {
      meta.aborted = true;
    },
    pause() {},
    resume() {},
    paused: () => false,
  };
  const callback = config.step || config.chunk;
  let fields = null;
  let rows = 0;
  if (config.header) meta.fields = [];
  for (;;) {
    if (meta.aborted) return;
    const row = reader.next();
    results.errors.push(...reader.errors.splice(0));
    meta.cursor = reader.cursor;
    if (row === null) break;
    if (isSkipped(row, config.skipEmptyLines)) continue;
    if (config.header && fields === null) {
      fields = headerOf(row, config, meta);
      meta.fields = fields;
      continue;
    }
    const shaped = shape(row, rows, fields, config, results.errors);
    rows += 1;
    if (isFunction(config.step)) {
      config.step({ data: shaped, errors: results.errors.splice(0), meta }, parser);
    } else {
      results.data.push(shaped);
    }
    if (preview > 0 && rows === preview) {
      meta.truncated = !reader.isOver;
      break;
    }
  }
  if (isFunction(callback) && !isFunction(config.step)) callback(results, parser);
}

// The text of a table: an array of arrays or of objects, `{fields, data}`, or JSON of these.
export function unparse(input, given) {
  const config = {
    quotes: false,
    quoteChar: '"',
    delimiter: ',',
    newline: '\r\n',
    header: true,
    ...given,
  };
  if (config.escapeChar === undefined) config.escapeChar = config.quoteChar;
  if (BAD_DELIMITERS.some((bad) => config.delimiter.includes(bad))) config.delimiter = ',';
  let table = typeof input === 'string' ? JSON.parse(input) : input;
  if (Array.isArray(table)) {
    if (table.length === 0) return '';
    const names = Array.isArray(table[0]) ? null : config.columns || Object.keys(table[0]);
    table = { fields: names, data: table };
  } else if (table === null || typeof table !== 'object') {
    throw new Error('Unable to serialize unrecognized input');
  }
  const data = typeof table.data === 'string' ? JSON.parse(table.data) : table.data || [];
  let names =
    table.fields || (table.meta && (table.meta.fields || table.meta.renamedHeaders)) || null;
  if (!names && data.length > 0 && !Array.isArray(data[0])) names = Object.keys(data[0]);
  if (typeof names === 'string') names = JSON.parse(names);
  const lines = names && config.header ? [line(names, config)] : [];
  for (const row of data) {
    const values = Array.isArray(row) ? row : names.map((name) => row[name]);
    const isEmpty =
      config.skipEmptyLines === 'greedy'
        ? values
            .map((value) => String(value ?? ''))
            .join('')
            .trim() === ''
        : values.length === 0 || (values.length === 1 && String(values[0] ?? '') === '');
    if (!(config.skipEmptyLines && isEmpty)) lines.push(line(values, config));
  }
  return lines.join(config.newline);
}

function line(values, config) {
  return values.map((value, column) => cell(value, column, config)).join(config.delimiter);
}

function cell(value, column, config) {
  if (value === undefined || value === null) return '';
  if (value instanceof Date) return value.toISOString();
  let text = String(value);
  let isQuoted = false;
  const formula = config.escapeFormulae === true ? /^[=+\-@\t\r]/ : config.escapeFormulae;
  if (formula && formula.test(text)) {
    text = `'${text}`;
    isQuoted = true;
  }
  const { quotes, quoteChar, escapeChar, delimiter } = config;
  if (isFunction(quotes)) isQuoted = isQuoted || quotes(value, column);
  else isQuoted = isQuoted || quotes === true || (Array.isArray(quotes) && quotes[column]);
  isQuoted =
    isQuoted ||
    text.includes(delimiter) ||
    text.startsWith(' ') ||
    text.endsWith(' ') ||
    text.includes(quoteChar) ||
    BAD_DELIMITERS.some((bad) => text.includes(bad));
  if (!isQuoted) return text;
  return quoteChar + text.replaceAll(quoteChar, escapeChar + quoteChar) + quoteChar;
}

export default {
  parse,
  unparse,
  RECORD_SEP: '\x1e',
  UNIT_SEP: '\x1f',
  BYTE_ORDER_MARK,
  BAD_DELIMITERS,
  DefaultDelimiter: ',',
};
