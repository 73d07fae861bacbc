// A part of k6/experimental/fs: an open file, and its content for other modules.

export let contentOf;

export class File {
  #content;
  #position = 0;

  constructor(path, content) {
    Object.defineProperty(this, 'path', { value: path, enumerable: true });
    this.#content = content;
  }

  static {
    contentOf = (file) => {
      if (!(file instanceof File)) throw new TypeError('a file of k6/experimental/fs is needed');
      return file.#content;
    };
  }

  async stat() {
    return { name: this.path.split('/').pop(), size: this.#content.size() };
  }

  // Fills a buffer from where the last read ended; null at the end of the file.
  async read(buffer) {
    if (!(buffer instanceof Uint8Array)) throw new TypeError('read() fills a Uint8Array');
    if (buffer.length === 0) throw new TypeError('read() needs a Uint8Array that is not empty');
    const count = this.#content.read(this.#position, buffer);
    this.#position += count;
    return count === 0 ? null : count;
  }

  async seek(offset, whence) {
    const size = this.#content.size();
    const start = [0, this.#position, size][whence];
    if (start === undefined || !Number.isInteger(offset)) {
      throw new TypeError('seek() needs an integer, and a SeekMode');
    }
    const position = start + offset;
    if (position < 0 || position > size) {
      throw new RangeError(`position ${position} is outside of a file of ${size} bytes`);
    }
    this.#position = position;
    return position;
  }
}
