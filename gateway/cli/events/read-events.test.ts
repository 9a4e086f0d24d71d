import { expect, test } from 'vitest'
import { readEvents } from './read-events.ts'

const message = (id: string) => `id: ${id}\nevent: server.state\ndata: {"id":"${id}"}\n\n`

/** The events read from a stream that sends these pieces and then breaks off. */
async function readAll(...pieces: readonly string[]) {
  const texts = pieces.values()
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => {
      const { value, done } = texts.next()
      if (done === true) controller.error(new TypeError('terminated'))
      else controller.enqueue(new TextEncoder().encode(value))
    },
  })
  const ids: string[] = []
  let upTo = ''
  for await (const part of readEvents(stream, '1')) {
    ids.push(...part.events.map(({ id }) => id))
    upTo = part.upTo
  }
  return { ids, upTo }
}

test('returns every event once and the position after it, however the stream is cut into pieces', async () => {
  const whole = `retry: 1000\n\nid: 4\n\n${message('5')}${message('7')}id: 9\n\n: alive\n\n`
  const ids = ['5', '7']
  expect(await readAll(whole, 'id: 12\n\n')).toEqual({ ids, upTo: '9' })
  expect(await readAll(...whole.split(''))).toEqual({ ids, upTo: '7' })
})

test('continues before a message that was cut off', async () => {
  expect(await readAll(message('5'), 'id: 7\nevent: server.state\nda')).toEqual({
    ids: ['5'],
    upTo: '5',
  })
  expect(await readAll('id: 7\n')).toEqual({ ids: [], upTo: '1' })
})
