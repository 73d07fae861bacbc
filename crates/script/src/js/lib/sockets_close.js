// What k6 says of the end of a WebSocket, for k6/ws and k6/websockets.

// Names of the codes that have one (RFC 6455 7.4.1).
const NAMES = {
  1000: 'normal',
  1001: 'going away',
  1002: 'protocol error',
  1003: 'unsupported data',
  1005: 'no status',
  1006: 'abnormal closure',
  1007: 'invalid payload data',
  1008: 'policy violation',
  1009: 'message too big',
  1010: 'mandatory extension missing',
  1011: 'internal server error',
  1015: 'TLS handshake error',
};

// The error that a close is; empty for one where nothing is wrong.
export function closeError(code, reason) {
  if (code === 1000 || code === 1001) return '';
  const name = NAMES[code] === undefined ? '' : ` (${NAMES[code]})`;
  const why = reason === '' ? '' : `: ${reason}`;
  return `websocket: close ${code}${name}${why}`;
}

// Refuses params that a socket does not have.
export function checkCompression(params) {
  if (params === null || typeof params !== 'object') return;
  const { compression } = params;
  if (compression !== undefined && compression !== 'deflate') {
    throw new Error(
      `unsupported compression algorithm '${compression}', supported algorithm is 'deflate'`,
    );
  }
}
