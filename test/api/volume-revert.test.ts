import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  makeStored,
  BLOCK_STORAGE as ROOT,
  removeStored,
  type StoredBody,
  showStored,
  untilStored,
  type VolumeKind,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume goes back to its newest snapshot, or stays as it was and says why.

const LIMIT_MS = 30_000

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  await storesReported(cloud)
})
afterEach(() => {
  for (const host of cloud.hosts) host.fail()
})
afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const show = (id: string) => showStored(admin, 'volume', id)
const untilAvailable = (id: string) => untilStored(admin, 'volume', id, 'available')
const made = (kind: VolumeKind, fields: object) => makeStored(demo, kind, fields)
const removed = (kind: VolumeKind, id: string) => removeStored(demo, kind, id)

async function revert(
  id: string,
  snapshot_id: string,
  version: '3.39' | '3.40' = '3.40',
): Promise<string> {
  const path = `${ROOT}/volumes/${id}/action`
  const { status, body } = await demo.post(path, { revert: { snapshot_id } }, { version })
  if (status === 202) return '202'
  return `${status} ${(Object.values(body)[0] as { readonly message: string }).message}`
}

test('a volume goes back to its newest snapshot, and to no other', async () => {
  const id = await made('volume', { size: 1 })
  const other = await made('volume', { size: 1 })
  const [older, newer] = [
    await made('snapshot', { volume_id: id }),
    await made('snapshot', { volume_id: id }),
  ]

  expect(await revert(id, newer)).toBe('202')
  await untilAvailable(id)
  expect(await show(id)).toMatchObject({ size: 1, 'weir:fault': null })

  expect(await revert(id, older)).toMatch(/^400 .*not the latest/)
  expect(await revert(other, newer)).toMatch(/^400 .*not the latest/)
  expect(await revert(id, crypto.randomUUID())).toMatch(/^404 Snapshot/)
  expect(await revert(id, newer, '3.39')).toMatch(/^40[04] /)
  for (const each of [newer, older]) await removed('snapshot', each)
  for (const each of [id, other]) await removed('volume', each)
})

test('a volume that is used, offered or at work is not reverted', async () => {
  const id = await made('volume', { size: 1 })
  const snapshot = await made('snapshot', { volume_id: id })
  const { body } = await demo.post(`${ROOT}/volume-transfers`, { transfer: { volume_id: id } })

  expect(await revert(id, snapshot)).toMatch(/^409 .*'awaiting-transfer'/)

  await demo.delete(`${ROOT}/volume-transfers/${(body['transfer'] as StoredBody).id}`)
  expect(await revert(id, snapshot)).toBe('202')
  await untilAvailable(id)
  await removed('snapshot', snapshot)
  await removed('volume', id)
})

test('a volume that its host cannot revert is as it was, and the administrator sees why', async () => {
  const id = await made('volume', { size: 1 })
  const snapshot = await made('snapshot', { volume_id: id })
  const effect = { do: 'fail', kind: 'conflict', message: 'in use' } as const
  for (const host of cloud.hosts) host.fail({ method: 'revertVolume', effect })

  expect(await revert(id, snapshot)).toBe('202')

  await waitFor('a fault', async () => (await show(id))?.['weir:fault'] !== null, LIMIT_MS)
  expect(await show(id)).toMatchObject({ status: 'available' })
  for (const host of cloud.hosts) host.fail()
  expect(await revert(id, snapshot)).toBe('202')
  await waitFor('no fault', async () => (await show(id))?.['weir:fault'] === null, LIMIT_MS)
  await untilAvailable(id)
  await removed('snapshot', snapshot)
  await removed('volume', id)
})
