import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { SharedArray } from 'k6/data';
import papaparse from 'https://jslib.k6.io/papaparse/5.1.1/index.js';

const accounts = new SharedArray('accounts', () => papaparse.parse(open('accounts.csv'), { header: true }).data);
const base = __ENV.BASE || 'http://127.0.0.1:8080';

export const options = {
  stages: [
    { duration: '10s', target: 20 },
    { duration: '1m', target: 20 },
    { duration: '5s', target: 0 },
  ],
  thresholds: {
    http_req_duration: ['p(95)<500'],
    http_req_failed: ['rate<0.01'],
  },
};

export default function () {
  const account = accounts[Math.floor(Math.random() * accounts.length)];
  const login = http.post(`${base}/login`, { user: account.user, password: account.password });
  check(login, { 'logged in': (r) => r.status === 200 });
  const token = login.json('token');

  group('orders', () => {
    const params = { headers: { Authorization: `Bearer ${token}` } };
    const orders = http.get(`${base}/orders`, params);
    check(orders, { 'has orders': (r) => r.body.includes('orders') });
    http.get(`${base}/orders/1`, params);
  });
  sleep(1);
}
