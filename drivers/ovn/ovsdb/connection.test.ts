import { expect, test } from 'vitest'
import { OvsdbConnection, splitMessages } from './connection.ts'

const MESSAGES = [
  { id: 1, result: [{}, { text: 'braces } { and "quotes" \\' }] },
  { id: 2, result: 'grün 🜂 }' },
  { id: 3, result: { deep: { deeper: [{ a: '{' }] } } },
]
const STREAM = Buffer.from(MESSAGES.map((each) => JSON.stringify(each)).join(''))

test.each([1, 2, 3, 7, STREAM.length])(
  'objects without separators are cut apart from chunks of %i bytes',
  (size) => {
    const received: unknown[] = []
    const split = splitMessages((text) => received.push(JSON.parse(text)))

    for (let at = 0; at < STREAM.length; at += size) split(STREAM.subarray(at, at + size))

    expect(received).toEqual(MESSAGES)
  },
)

test('space between objects is passed over', () => {
  const received: unknown[] = []
  splitMessages((text) => received.push(JSON.parse(text)))(Buffer.from('{"a":1}\n \n{"b":2}\n'))

  expect(received).toEqual([{ a: 1 }, { b: 2 }])
})

test.each([
  'tcp:127.0.0.1',
  'tcp:127.0.0.1:0',
  'tcp:127.0.0.1:65536',
  '/run/db.sock',
  'unix:',
  'http://127.0.0.1:6641',
])('%s is no address, and the error says what one looks like', async (address) => {
  const opening = OvsdbConnection.open({ address, onNotification: () => {}, onClosed: () => {} })

  await expect(opening).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('unix:PATH'),
  })
})
