// Calls of gRPC: one message each way, and a stream of both sides. The server tells of its services.
//
//   plimsoll k6 run -e ADDRESS=127.0.0.1:8080 examples/k6/grpc.js

import grpc from 'k6/net/grpc';
import { check } from 'k6';

const client = new grpc.Client();

export const options = {
  vus: 2,
  iterations: 20,
  thresholds: {
    checks: ['rate==1'],
    grpc_streams_msgs_received: ['count==60'],
  },
};

export default function () {
  if (__ITER === 0) {
    client.connect(__ENV.ADDRESS, { plaintext: true, reflect: true });
  }
  const response = client.invoke('fgrpc.PingServer/Ping', { seq: __ITER, payload: 'hello' });
  check(response, {
    'is OK': (r) => r.status === grpc.StatusOK,
    'comes back': (r) => r.message.payload === 'hello',
  });

  const stream = new grpc.Stream(client, 'grpc.testing.TestService/FullDuplexCall');
  let count = 0;
  stream.on('data', () => {
    count += 1;
    if (count === 3) stream.end();
  });
  stream.on('error', (error) => check(error, { 'no error': () => false }));
  for (let size = 1; size <= 3; size += 1) stream.write({ responseParameters: [{ size }] });
}
