import { createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { checkTicket, issueTicket } from './ticket.ts'

const key = createSecretKey(Buffer.alloc(32, 7))
const otherKey = createSecretKey(Buffer.alloc(32))
const imageId = '7c1b7a0e-0000-4000-8000-000000000001'
const use = 'read'
const cellId = '7c1b7a0e-0000-4000-8000-00000000000c'
const ticket = issueTicket(key, { use, imageId, cellId, expiresAtMs: 2_000 })

test('a ticket names the cell it was made for until it expires', () => {
  expect(checkTicket(key, { use, ticket, imageId, nowMs: 1_999 })).toBe(cellId)
  expect(() => checkTicket(key, { use, ticket, imageId, nowMs: 2_000 })).toThrow('not valid')
})

test('a ticket is worth nothing for another image or use, under another key, or changed in any part', () => {
  const other = imageId.replace('1', '2')
  const parts = ticket.split('.')
  const changed = [
    [parts[0], '9999', parts[2], parts[3]],
    [parts[0], parts[1], imageId, parts[3]],
    [parts[0], parts[1], parts[2], `A${parts[3]?.slice(1)}`],
    [parts[0], parts[1], parts[2]],
    ['v2', ...parts.slice(1)],
  ].map((each) => each.join('.'))

  expect(() => checkTicket(key, { use: 'fill', ticket, imageId, nowMs: 0 })).toThrow('not valid')
  expect(() => checkTicket(key, { use, ticket, imageId: other, nowMs: 0 })).toThrow('not valid')
  expect(() => checkTicket(otherKey, { use, ticket, imageId, nowMs: 0 })).toThrow('not valid')
  for (const forged of [...changed, '', 'x'.repeat(10_000)])
    expect(() => checkTicket(key, { use, ticket: forged, imageId, nowMs: 0 })).toThrow('not valid')
})
