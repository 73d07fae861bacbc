// A user who opens a WebSocket, says three things, pings the server, and closes when the echo of
// all three has come. An iteration lasts until its sockets are closed.
//
//   plimsoll serve
//   plimsoll k6 run --vus 2 --iterations 10 -e URL=ws://127.0.0.1:8080/ws examples/k6/sockets.js

import { check } from 'k6';
import { Trend } from 'k6/metrics';
import { WebSocket } from 'k6/websockets';

const echo = new Trend('echo_duration', true);

export const options = {
  thresholds: {
    checks: ['rate==1'],
    ws_connecting: ['p(95)<5000'],
  },
};

export default function () {
  const said = ['tea', 'milk', 'sugar'];
  const heard = [];
  let began;

  const socket = new WebSocket(__ENV.URL, null, { tags: { name: 'echo' } });
  socket.onopen = () => {
    began = Date.now();
    for (const word of said) socket.send(word);
    socket.ping();
  };
  socket.onmessage = (event) => {
    heard.push(event.data);
    if (heard.length === said.length) {
      echo.add(Date.now() - began);
      socket.close();
    }
  };
  socket.onerror = (event) => console.error(event.error);
  socket.onclose = () => {
    check(heard, { 'the echo is whole and in order': (words) => words.join() === said.join() });
  };
}
