import { expect, test } from 'vitest'
import { inspectInWorker } from './inspect-in-worker.ts'

const sample = { head: Buffer.from('plain'), tail: Buffer.from('plain'), sizeBytes: 5 }

test('a content is looked into in another thread, with the same answers', async () => {
  expect(await inspectInWorker('raw', sample)).toBe(5)
  await expect(inspectInWorker('qcow2', sample)).rejects.toMatchObject({
    kind: 'invalid',
    message: 'The uploaded data is not an acceptable qcow2 image: its content is something else.',
  })
})

test('an inspection that does not end is ended, and its content refused', async () => {
  const endless = new URL('data:text/javascript,for(;;);')
  await expect(inspectInWorker('raw', sample, endless, 50)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('takes too long'),
  })
  expect(await inspectInWorker('raw', sample)).toBe(5)
})

test('a thread looks into one content after the other, until it ends', async () => {
  const answers = (end: string) => {
    const count = `let n = 0; parentPort.on('message', () => parentPort.postMessage({ virtualSizeBytes: ++n }))`
    return new URL(
      `data:text/javascript,import { parentPort } from 'node:worker_threads'; ${count}; ${end}`,
    )
  }
  const lasting = answers('')
  expect(await inspectInWorker('raw', sample, lasting)).toBe(1)
  expect(await inspectInWorker('raw', sample, lasting)).toBe(2)

  const brief = answers(`parentPort.on('message', () => setImmediate(() => process.exit()))`)
  expect(await inspectInWorker('raw', sample, brief)).toBe(1)
  // The next is given to it as it ends, or to a new one.
  const next = () => inspectInWorker('raw', sample, brief).catch(() => undefined)
  await expect.poll(next).toBe(1)
})
