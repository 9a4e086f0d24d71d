import { expect, test } from 'vitest'
import { allowsRequest } from './access-rule.ts'

const allows = (pattern: string, path: string, method = 'GET', service = 'compute') =>
  allowsRequest([{ id: '1', service: 'compute', method: 'GET', path: pattern }], {
    service,
    method,
    path,
  })

test.each([
  ['/v2.1/servers', '/v2.1/servers', true],
  ['/v2.1/servers', '/v2.1/servers/1', false],
  ['/v2.1/servers/*', '/v2.1/servers/1', true],
  ['/v2.1/servers/*', '/v2.1/servers', false],
  ['/v2.1/servers/*', '/v2.1/servers/', false],
  ['/v2.1/servers/*', '/v2.1/servers/1/action', false],
  ['/v2.1/servers/{id}/action', '/v2.1/servers/1/action', true],
  ['/v2.1/**', '/v2.1/servers/1/action', true],
  ['/v2.1/**', '/v2.1', true],
  ['/**/action', '/v2.1/servers/1/action', true],
  ['/**/action', '/v2.1/servers/1/actions', false],
  ['/v2.1/**/a/**/c', '/v2.1/a/b/a/x/c', true],
])('the path %s for %s: %s', (pattern, path, expected) => {
  expect(allows(pattern, path)).toBe(expected)
})

test('another method or service is not allowed', () => {
  expect(allows('/**', '/v2.1', 'POST')).toBe(false)
  expect(allows('/**', '/v2.1', 'GET', 'image')).toBe(false)
})
