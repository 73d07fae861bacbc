// 20 iterations per second, whatever the server does, and what has to come of them.
//
//   plimsoll k6 run -e URL=http://127.0.0.1:8080/ examples/k6/rate.js

import http from 'k6/http';
import { check } from 'k6';

export const options = {
  scenarios: {
    steady: {
      executor: 'constant-arrival-rate',
      rate: 20,
      timeUnit: '1s',
      duration: '2s',
      preAllocatedVUs: 5,
      maxVUs: 50,
    },
  },
  thresholds: {
    checks: ['rate==1'],
    'http_req_duration{name:hello}': ['p(95)<5000'],
  },
};

export default function () {
  const response = http.get(__ENV.URL, { tags: { name: 'hello' } });
  check(response, { 'says hello': (r) => r.body === 'hello world' });
}
