import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { HOST_PAYLOAD_MAX } from '#openapi/wire/host.ts'
import type { Compute } from '../compute.ts'
import { consoleLog } from './console-log.ts'

const asked = { serverId: newId<string>(), maxBytes: 2 ** 20 }

/** A host whose guest has said this. */
const hostWith = (output: Uint8Array) =>
  ({ driver: { consoleLog: { read: async () => output } } }) as unknown as Compute

test.each([
  ['plain text', 'a', 2 ** 20 - 5_000],
  ['bytes above ASCII', '\xff', 500_000],
  ['control characters', '\u001b', 170_000],
])('of %s the newest is kept that the bus takes in one answer', async (_, letter, atLeast) => {
  const output = Buffer.from(`${letter.repeat(2 ** 20 - 4)}END\n`, 'latin1')

  const answer = await consoleLog(hostWith(output), asked)

  expect(Buffer.byteLength(JSON.stringify({ ok: true, value: answer }))).toBeLessThanOrEqual(
    HOST_PAYLOAD_MAX,
  )
  expect(answer.output.endsWith('END\n')).toBe(true)
  expect(answer.output.length).toBeGreaterThan(atLeast)
})

test('a short log is whole', async () => {
  expect(await consoleLog(hostWith(Buffer.from('hello\n')), asked)).toEqual({ output: 'hello\n' })
})
