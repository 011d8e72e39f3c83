import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { SharedArray } from 'k6/data';
import { Trend } from 'k6/metrics';
import { randomIntBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

const BASE = __ENV.BASE_URL || 'http://shop.example:8080';
const users = new SharedArray('users', () => JSON.parse(open('./users.json')).users);
const waiting = new Trend('waiting');

export const options = {
  stages: [
    { duration: '1m30s', target: 20 },
    { duration: '5m', target: 20 },
  ],
  thresholds: {
    http_req_duration: ['p(95)<500', 'p(97)<900'],
    http_req_failed: ['rate<0.01'],
  },
};

function login(user) {
  const res = http.post(`${BASE}/login`, { name: user.name, password: user.password }, { tags: { name: 'log in' } });
  check(res, {
    'logged in': (r) => r.status === 200 || r.status === 302,
    'quick': (r) => r.timings.duration < 200,
  });
  return res.json('token');
}

export function setup() {
  http.get(`${BASE}/reset`);
}

export default function () {
  const user = users[Math.floor(Math.random() * users.length)];
  const token = login(user);
  const params = { headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, timeout: '10s' };
  sleep(1);

  group('browse', () => {
    const list = http.get(`${BASE}/items?page=${randomIntBetween(1, 5)}&q=red%20shoes`, params);
    check(list, {
      'is ok': (r) => r.status === 200,
      'has items': (r) => r.body.includes('items') && r.json().items[0].id !== null,
    });
    sleep(Math.random() * 2 + 1);
    const first = list.json().items[0].id;
    const item = http.get(BASE + '/items/' + first, params);
    waiting.add(item.timings.waiting);
  });

  if (Math.random() < 0.3) {
    const order = http.post(`${BASE}/orders`, JSON.stringify({ user: user.name, amount: 2, at: Date.now() }), params);
    check(order, { created: function (r) { return r.status === 201; } });
  } else {
    http.batch([
      ['GET', `${BASE}/news`],
      { method: 'GET', url: `${BASE}/offers` },
    ]);
  }

  for (let i = 0; i < 3; i++) {
    http.get(`${BASE}/poll`);
  }
  while (true) {
    break;
  }
  http.get(`${BASE}/by-number/${__ITER}`);
}
