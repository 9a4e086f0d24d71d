import { expect, test } from 'vitest'
import { pauseAfter } from './deliver.ts'
import { signature } from './receiver.ts'
import { checkWebhookUrl } from './webhook-url.ts'

const check = (url: string, networks: readonly string[] = []) => checkWebhookUrl(url, { networks })

test.each([
  'ftp://a.example/',
  'a.example',
  'https://user:secret@a.example/',
  'http://127.0.0.1/',
  'http://10.0.0.1:8774/',
  'http://169.254.169.254/latest',
  'http://192.168.1.1/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://[::1]/',
  'http://[fe80::1]/',
  'http://[fd00::1]/',
  'http://[::ffff:10.0.0.1]/',
])('%s is refused', (url) => {
  expect(() => check(url)).toThrow('Events cannot be sent to this URL')
})

test('other URLs are not, nor addresses that operators allow', () => {
  expect(check('https://hooks.example.com:8443/a?b=c').port).toBe('8443')
  expect(check('http://10.1.2.3/', ['10.1.0.0/16']).hostname).toBe('10.1.2.3')
  expect(() => check('http://10.2.2.3/', ['10.1.0.0/16'])).toThrow('is not public')
})

test('pauses between attempts double, up to five minutes', () => {
  expect([1, 2, 3, 9, 10, 99].map(pauseAfter)).toEqual([
    1_000, 2_000, 4_000, 256_000, 300_000, 300_000,
  ])
})

test('a signature is the HMAC of the time and the body', () => {
  // The answer of: printf '1700000000.{}' | openssl dgst -sha256 -hmac key
  const digest = '9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae'
  expect(signature(['key'], 1_700_000_000, '{}')).toBe(`t=1700000000,v1=${digest}`)
})
