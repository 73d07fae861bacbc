// A user who looks around and then buys: groups, checks, a metric of the script's own, and data
// that setup() makes for all users.
//
//   plimsoll k6 run --vus 2 --iterations 10 -e URL=http://127.0.0.1:8080 examples/k6/journey.js

import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Trend } from 'k6/metrics';

const total = new Trend('basket_total');

export function setup() {
  return { items: ['tea', 'milk', 'sugar'] };
}

export default function (data) {
  group('look around', () => {
    const page = http.get(`${__ENV.URL}/`);
    check(page, { 'the page is there': (r) => r.status === 200 });
    sleep(0.1);
  });
  group('buy', () => {
    const order = JSON.stringify({ item: data.items[__ITER % data.items.length], count: 2 });
    const answer = http.post(`${__ENV.URL}/echo`, order, {
      headers: { 'Content-Type': 'application/json' },
    });
    check(answer, { 'it is what was ordered': (r) => r.json('count') === 2 });
    total.add(answer.json('count'));
  });
}
