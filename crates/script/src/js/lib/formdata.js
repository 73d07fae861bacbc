// What scripts import from jslib.k6.io/formdata: multipart bodies (RFC 7578) with several files of
// one name, which an object given to http.post() cannot have.
//
// Written from the description of the API: append(), body(), boundary.

const BOUNDARY_DIGITS = 30;

function bytesOf(data) {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data))
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return new TextEncoder().encode(String(data));
}

// A name within quotes, as browsers write it.
function quoted(text) {
  const escapes = { '"': '%22', '\r': '%0D', '\n': '%0A' };
  return `"${String(text).replace(/["\r\n]/g, (letter) => escapes[letter])}"`;
}

// A value of http.file(), or what looks like one.
function isFile(value) {
  return value !== null && typeof value === 'object' && 'data' in value;
}

export class FormData {
  constructor() {
    this.boundary = '------FormDataBoundary';
    for (let digit = 0; digit < BOUNDARY_DIGITS; digit++) {
      this.boundary += Math.floor(Math.random() * 36).toString(36);
    }
    this.parts = [];
  }

  // A field; a file if the value is one, or if it has a file's name. A text has no file's name.
  append(name, value, filename) {
    const file = isFile(value);
    const data = file ? value.data : value;
    const isText = typeof value === 'string';
    const part = {
      field: String(name),
      bytes: bytesOf(data),
      filename: filename !== undefined && !isText ? filename : file ? value.filename : undefined,
      contentType: isText ? 'text/plain' : file ? value.content_type : undefined,
    };
    const isBinary = data instanceof ArrayBuffer || ArrayBuffer.isView(data);
    if (part.filename === undefined && (file || isBinary)) part.filename = 'blob';
    this.parts.push(part);
  }

  // The body, as an ArrayBuffer.
  body() {
    const chunks = [];
    const text = (line) => chunks.push(bytesOf(line));
    for (const part of this.parts) {
      let head = `--${this.boundary}\r\nContent-Disposition: form-data; name=${quoted(part.field)}`;
      if (part.filename !== undefined) {
        const type = part.contentType || 'application/octet-stream';
        head += `; filename=${quoted(part.filename)}\r\nContent-Type: ${type}`;
      } else if (part.contentType) {
        head += `\r\nContent-Type: ${part.contentType}`;
      }
      text(`${head}\r\n\r\n`);
      chunks.push(part.bytes);
      text('\r\n');
    }
    text(`--${this.boundary}--\r\n`);
    const body = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      body.set(chunk, at);
      at += chunk.length;
    }
    return body.buffer;
  }
}
