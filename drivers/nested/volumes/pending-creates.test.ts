import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Cloud } from '../cloud/cloud.ts'
import type { NestedSettings } from '../settings.ts'
import { PendingCreates } from './pending-creates.ts'

const SETTLES_MS = 300
const LOST = new Failure('unavailable', 'The nested cloud does not answer.')

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-pending-'))
})
afterEach(() => rm(directory, { recursive: true }))

const open = (isWeir: boolean, createSettlesMs = SETTLES_MS) =>
  PendingCreates.open(
    directory,
    { isWeir } as unknown as Cloud,
    { createSettlesMs } as unknown as NestedSettings,
  )
const kept = () => readdir(join(directory, 'volumes'))
const signal = () => AbortSignal.timeout(5_000)
/** Sends a request that is answered so; returns the key that it was sent with. */
async function send(pending: PendingCreates, id: string, answer?: Failure): Promise<string> {
  let sent = 'nothing was sent'
  await pending.send(id, 'volume', signal(), (key) => {
    sent = key
    return answer === undefined ? Promise.resolve() : Promise.reject(answer)
  })
  return sent
}

test('a request that was answered is forgotten, and another one has another key', async () => {
  const pending = await open(true)
  const id = newId()

  const keys = [await send(pending, id), await send(pending, id)]

  expect(new Set(keys).size).toBe(2)
  expect(await kept()).toEqual([])
})

test('a request that was refused has made nothing', async () => {
  const pending = await open(false)
  const id = newId()
  const refused = new Failure('no-capacity', 'No room.')

  await expect(send(pending, id, refused)).rejects.toBe(refused)

  await pending.refusePending(id, 'volume')
  expect(await kept()).toEqual([])
})

test('an OpenStack is asked again only once an earlier request can make nothing, also after a restart', async () => {
  const id = newId()
  await expect(send(await open(false), id, LOST)).rejects.toBe(LOST)
  const again = await open(false)

  const asked = expect.objectContaining({
    kind: 'unavailable',
    message: 'The nested cloud has not answered whether it created the volume.',
  })
  await expect(send(again, id)).rejects.toEqual(asked)
  await expect(again.refusePending(id, 'volume')).rejects.toEqual(asked)
  const settled = () =>
    again.refusePending(id, 'volume').then(
      () => true,
      () => false,
    )
  await expect.poll(settled).toBe(true)

  await send(again, id)
  expect(await kept()).toEqual([])
})

test('another Weir is asked again at once, under the same key', async () => {
  const pending = await open(true)
  const id = newId()
  let first = ''
  const lost = pending.send(id, 'volume', signal(), (key) => {
    first = key
    return Promise.reject(LOST)
  })
  await expect(lost).rejects.toBe(LOST)

  expect(await send(await open(true), id)).toBe(first)
})

test('a later refusal leaves an earlier request pending', async () => {
  const pending = await open(true, 60_000)
  const id = newId()
  const refused = new Failure('conflict', 'It is being made.')
  await expect(send(pending, id, LOST)).rejects.toBe(LOST)

  await expect(send(pending, id, refused)).rejects.toBe(refused)

  await expect(pending.refusePending(id, 'volume')).rejects.toMatchObject({ kind: 'unavailable' })
})
