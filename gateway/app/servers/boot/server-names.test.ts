import { expect, test } from 'vitest'
import { sanitizeHostname, serverName } from './server-request.ts'

const ID = '01234567-89ab-4cde-8f01-23456789abcd'

test.each([
  ['web', 'web'],
  ['Web Server_1.example', 'web-server-1-example'],
  ['-.dashes-', 'dashes'],
  ['grüße', 'gre'],
  ['日本', ''],
  ['x'.repeat(80), 'x'.repeat(63)],
  [`${'x'.repeat(62)} y`, 'x'.repeat(62)],
])('sanitizeHostname() of %j is %j', (name, hostname) => {
  expect(sanitizeHostname(name)).toBe(hostname)
})

test('serverName() leaves the name of a single server alone', () => {
  const asked = { name: 'Web 1', hostname: null }
  expect(serverName(asked, ID, 0, 1)).toEqual({ name: 'Web 1', hostname: 'web-1' })
})

test('serverName() numbers several servers from 1, host names too', () => {
  const asked = { name: 'Web', hostname: null }
  expect(serverName(asked, ID, 1, 3)).toEqual({ name: 'Web-2', hostname: 'web-2' })
})

test('serverName() takes a host name as it was asked for', () => {
  const asked = { name: 'Web', hostname: 'Shop_1.example.org' }
  expect(serverName(asked, ID, 0, 1)).toEqual({ name: 'Web', hostname: 'Shop_1.example.org' })
})

test('serverName() makes a host name of the id when the name leaves nothing', () => {
  const asked = { name: '日本', hostname: null }
  expect(serverName(asked, ID, 0, 1).hostname).toBe(`server-${ID}`)
})
