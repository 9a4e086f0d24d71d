import { expect, test } from 'vitest'
import { engineEndpoint } from './endpoint.ts'

test.each([
  ['unix:///run/docker.sock', 'http://localhost'],
  ['tcp://127.0.0.1:2375', 'http://127.0.0.1:2375'],
  ['https://engine.example:2376', 'https://engine.example:2376'],
])('engineEndpoint() reaches %s', (endpoint, origin) => {
  expect(engineEndpoint({ endpoint }).origin).toBe(origin)
})

test.each([
  ['an engine elsewhere without TLS', { endpoint: 'tcp://engine.example:2375' }, /tls_ca/],
  ['another protocol', { endpoint: 'ssh://engine.example' }, /endpoint: ssh/],
  ['no address', { endpoint: 'docker' }, /endpoint: docker/],
  [
    'a certificate that is not there',
    { endpoint: 'https://engine.example', tlsCa: '/no/such' },
    /tls_ca: ENOENT/,
  ],
])('engineEndpoint() refuses %s', (_what, settings, message) => {
  expect(() => engineEndpoint(settings)).toThrow(message)
})
