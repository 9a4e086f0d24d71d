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
