import { expect, test } from 'vitest'
import { BODY_BYTES_MAX, readJsonBody } from './json-body.ts'

function read(
  body: string | ReadableStream,
  headers: Readonly<Record<string, string>> = {},
  timeMaxMs?: number,
) {
  const request = new Request('http://cloud.test/', { method: 'POST', body, duplex: 'half' })
  const all: Record<string, string | undefined> = { 'content-type': 'application/json', ...headers }
  const header = (name: string) => all[name]
  return readJsonBody(
    { request, header, peerAddress: undefined, isFramed: false },
    timeMaxMs === undefined ? {} : { timeMaxMs },
  )
}

test('a body is parsed', async () => {
  expect(await read('{"a":[1]}')).toEqual({ a: [1] })
})

test('a character that is written as two escapes is one', async () => {
  expect(await read(String.raw`{"a":"\ud83d\ude00"}`)).toEqual({ a: '😀' })
})

test('an empty body is none', async () => {
  expect(await read('')).toBeUndefined()
})

test.each([
  ['cut off', '{"a":'],
  ['not JSON', '<xml/>'],
  ['too deep', '['.repeat(40) + ']'.repeat(40)],
  ['with half a character', String.raw`{"a":["\ud800"]}`],
  ['with half a character in a key', String.raw`{"\udc00":1}`],
  ['so deep that recursion would end', '['.repeat(200_000) + ']'.repeat(200_000)],
])('a body that is %s is a malformed request', async (_name, text) => {
  await expect(read(text)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('Malformed request body') as string,
  })
})

test('a body longer than it may be is refused before it is read', async () => {
  const headers = { 'content-length': String(BODY_BYTES_MAX + 1) }

  await expect(read('{}', headers)).rejects.toMatchObject({ kind: 'too-large' })
})

test('a body of unknown length is read no further than it may be long', async () => {
  let sent = 0
  const endless = new ReadableStream({
    pull: (controller) => {
      sent += 65_536
      controller.enqueue(new Uint8Array(65_536).fill(32))
    },
  })

  await expect(read(endless)).rejects.toMatchObject({ kind: 'too-large' })
  expect(sent).toBeLessThan(2 * BODY_BYTES_MAX)
})

test.each(['text/plain', 'application/x-www-form-urlencoded'])(
  '%s is not JSON: 415',
  async (type) => {
    await expect(read('{}', { 'content-type': type })).rejects.toMatchObject({ status: 415 })
  },
)

test.each(['application/json; charset=utf-8', 'application/openstack-images-v2.1-json-patch'])(
  '%s is JSON',
  async (type) => {
    expect(await read('{}', { 'content-type': type })).toEqual({})
  },
)

test('a body that does not come is waited for no longer than it may take: 408', async () => {
  const silent = new ReadableStream({ pull: () => new Promise<never>(() => {}) })

  await expect(read(silent, {}, 20)).rejects.toMatchObject({ status: 408 })
})
