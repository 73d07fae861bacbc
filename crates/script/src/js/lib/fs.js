// The module k6/experimental/fs: files whose content all VUs share. Each VU has a position of its
// own in a file that it has opened.
//
// Written from k6's documentation.

import { openFile } from 'plimsoll:fs/core';
import { File } from 'plimsoll:fs/file';

export const SeekMode = { Start: 0, Current: 1, End: 2 };

export async function open(path) {
  // A URL is what import.meta.resolve() gives.
  const name = String(path).replace(/^file:\/\//, '');
  return new File(name, openFile(name));
}
