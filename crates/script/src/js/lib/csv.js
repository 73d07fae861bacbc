// The module k6/experimental/csv: parse() and Parser, for files of k6/experimental/fs.
//
// Written from k6's documentation; what a record is follows RFC 4180. Lines are counted from 0, and
// `toLine` is the last one that is read. An empty line is no record.

import { SharedArray } from 'k6/data';
import { contentOf } from 'plimsoll:fs/file';

// The fields of a record; null if a quote is still open at its end.
function fieldsOf(text, delimiter) {
  const fields = [];
  const line = text.replace(/\r?\n$/, '');
  for (let at = 0; ;) {
    if (line[at] !== '"') {
      const end = line.indexOf(delimiter, at);
      fields.push(end < 0 ? line.slice(at) : line.slice(at, end));
      if (end < 0) return fields;
      at = end + delimiter.length;
      continue;
    }
    let value = '';
    let from = at + 1;
    let close = line.indexOf('"', from);
    while (close >= 0 && line[close + 1] === '"') {
      value += line.slice(from, close + 1);
      from = close + 2;
      close = line.indexOf('"', from);
    }
    if (close < 0) return null;
    fields.push(value + line.slice(from, close));
    if (close + 1 === line.length) return fields;
    if (!line.startsWith(delimiter, close + 1)) {
      throw new Error(
        `CSV: a quoted field has to end before '${line.slice(close + 1, close + 9)}'`,
      );
    }
    at = close + 1 + delimiter.length;
  }
}

// Reads records from a file.
class Records {
  constructor(
    file,
    { delimiter = ',', skipFirstLine = false, asObjects = false, fromLine, toLine },
  ) {
    this.content = contentOf(file);
    this.offset = 0;
    this.line = 0;
    this.delimiter = delimiter;
    this.toLine = toLine === undefined || toLine === null ? Infinity : toLine;
    this.count = undefined;
    if (delimiter.length !== 1 || /["\r\n]/.test(delimiter)) {
      throw new Error('CSV: the delimiter is one character, and neither a quote nor a line break');
    }
    this.names = asObjects ? this.fields() : null;
    if (skipFirstLine && !asObjects) this.fields();
    while (this.line < (fromLine || 0) && this.fields() !== null);
  }

  // The fields of the next record; null at the end.
  fields() {
    let text = '';
    for (;;) {
      const line = this.line <= this.toLine ? this.content.line(this.offset) : null;
      if (line === null) {
        if (text !== '') throw new Error(`CSV: a quote before line ${this.line} has no end`);
        return null;
      }
      [, this.offset] = line;
      this.line += 1;
      text += line[0];
      if (/^\r?\n?$/.test(text)) {
        text = '';
        continue;
      }
      const fields = fieldsOf(text, this.delimiter);
      if (fields === null) continue;
      this.count ??= fields.length;
      if (fields.length === this.count) return fields;
      throw new Error(
        `CSV: the record that ends in line ${this.line - 1} has ${fields.length} fields, ` +
          `the first one has ${this.count}`,
      );
    }
  }

  next() {
    const fields = this.fields();
    if (fields === null || this.names === null) return fields;
    return Object.fromEntries(this.names.map((name, index) => [name, fields[index]]));
  }
}

// All records, kept once for all VUs.
export async function parse(file, options = {}) {
  return new SharedArray(`csv ${file.path} ${JSON.stringify(options)}`, () => {
    const records = new Records(file, options);
    const rows = [];
    for (let row = records.next(); row !== null; row = records.next()) rows.push(row);
    return rows;
  });
}

export class Parser {
  #records;

  constructor(file, options = {}) {
    this.#records = new Records(file, options);
  }

  async next() {
    const value = this.#records.next();
    return value === null ? { done: true, value: undefined } : { done: false, value };
  }
}
