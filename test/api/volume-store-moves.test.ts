import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import type { Fault } from '#drivers/fake/faults.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation } from '#test/env/api/operations.ts'
import { activeServer, deleteServer } from '#test/env/api/servers.ts'
import {
  makeStored,
  BLOCK_STORAGE as ROOT,
  removeStored,
  type StoredBody,
  showStored,
  untilStored,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { testServices } from '#test/env/services.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: a volume goes to another store of its cell, for an operator or for its type, is the same there and is charged for once;
// where it cannot go it is as it was, and who asked reads why.

interface Place {
  readonly store: string | null
  readonly fault: string | null
  readonly decisions: readonly { readonly level: string; readonly chosen: string | null }[]
}

const FEDERATION = '/federation/v1'
const LIMIT_MS = 60_000
/** The hosts with the stores `bronze` and `gold`. */
const [BRONZE, GOLD] = ['north-1', 'north-2'] as const
let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  const folder = mkdtempSync(join((await testServices()).directory, 'stores-'))
  const storeOf = (name: string, gb: number) => ({
    ...{ volume_store: join(folder, name), volume_store_name: name, volume_store_gb: String(gb) },
  })
  cloud = await startCloud({
    ...{ gateways: 2, cells: 1, hostsPerCell: 2 },
    driverOf: { [BRONZE]: storeOf('bronze', 100), [GOLD]: storeOf('gold', 10) },
  })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  for (const gateway of cloud.gateways.keys())
    await waitFor('both stores', async () => {
      const path = `${ROOT}/scheduler-stats/get_pools`
      const { body } = await admin.get<{ pools: { name: string }[] }>(path, { gateway })
      return body.pools.length === 2
    })
  for (const type of ['any', 'bronze', 'gold']) await typeOf(type)
})
afterEach(async () => {
  for (const host of cloud.hosts) host.fail()
  const volumes = (await demo.get(`${ROOT}/volumes/detail`)).body['volumes'] as StoredBody[]
  for (const { id } of volumes) await removeStored(demo, 'volume', id)
  await expectInvariants(cloud)
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const waitFor = <T>(what: string, probe: () => Promise<T>) => waitForWithin(what, probe, LIMIT_MS)
const show = async (id: string) => (await showStored(demo, 'volume', id))!
const until = (id: string, status: string) => untilStored(demo, 'volume', id, status)
const volume = (fields: object = {}) =>
  makeStored(demo, 'volume', { size: 2, volume_type: 'bronze', ...fields })
const placeOf = async (id: string) =>
  (await admin.get<Place>(`${FEDERATION}/volumes/${id}/trace`)).body
const askToMove = (id: string, body: object) =>
  admin.post<Operation>(`${FEDERATION}/volumes/${id}/move`, body)
const ended = (id: string) => endOfOperation(admin, id)

async function typeOf(store: string, name = store): Promise<void> {
  const extra_specs = store === 'any' ? {} : { volume_backend_name: store }
  await admin.post(`${ROOT}/types`, { volume_type: { name, extra_specs } })
}

async function retype(id: string, new_type: string, migration_policy?: string): Promise<string> {
  const path = `${ROOT}/volumes/${id}/action`
  const body = { 'os-retype': { new_type, ...(migration_policy && { migration_policy }) } }
  const { status, body: answer } = await demo.post(path, body)
  if (status === 202) return '202'
  return `${status} ${(Object.values(answer)[0] as { readonly message: string }).message}`
}

async function usedBy(...types: readonly string[]): Promise<readonly unknown[]> {
  const path = `${ROOT}/os-quota-sets/${await cloud.projectId('demo')}?usage=true`
  type Usage = Readonly<Record<string, { in_use: number }>>
  const { quota_set: set } = (await admin.get<{ quota_set: Usage }>(path)).body
  const names = ['gigabytes', 'volumes', ...types.map((type) => `gigabytes_${type}`)]
  return names.map((name) => set[name]?.in_use)
}

/** Afterwards the host has this fault. */
function fail(host: string, method: Fault['method'], effect: Fault['effect']): void {
  cloud.hosts.find(({ name }) => name === host)!.fail({ method, effect })
}

test('an operator moves a volume to another store, where servers use it, and it is otherwise as before', async () => {
  const command = new WeirCommand(cloud, 'admin')
  const type = { volume_type: 'any', metadata: { role: 'data' } }
  const id = await volume({ ...type, name: 'roaming', imageRef: cloud.catalog.image })
  const before = await show(id)
  expect((await placeOf(id)).store).toBe('bronze')

  const neither = await command.run('volume move roaming')
  expect([neither.code, neither.err]).toEqual([2, expect.stringContaining('--store')])
  const moved = await command.json('volume move roaming --store gold --wait')

  expect(moved).toMatchObject({ kind: 'volume-move', state: 'done', message: null })
  const { updated_at: _, links: __, ...same } = before
  expect(await show(id)).toMatchObject({ ...same, status: 'available' })
  const { store, fault, decisions } = await placeOf(id)
  expect([store, fault]).toEqual(['gold', null])
  expect(decisions.at(-1)).toMatchObject({ level: 'stores', chosen: 'gold' })
  expect(await usedBy('any')).toEqual([2, 1, 2])
  // Its host is the one that reaches the store.
  const disk = { uuid: id, source_type: 'volume', destination_type: 'volume', boot_index: 0 }
  const server = await activeServer(cloud, demo, { imageRef: '', block_device_mapping_v2: [disk] })
  expect(await show(id)).toMatchObject({ status: 'in-use' })
  await deleteServer(demo, server.id)
  await until(id, 'available')
})

test('an administrator has Block Storage move a volume, by the name of cell and store', async () => {
  const id = await volume({ volume_type: 'any' })
  const migrate = async (client: ApiClient, host: string) => {
    const path = `${ROOT}/volumes/${id}/action`
    const action = { host, force_host_copy: false, lock_volume: true }
    const { status, body } = await client.post(path, { 'os-migrate_volume': action })
    return `${status} ${JSON.stringify(body)}`
  }

  expect(await migrate(demo, 'north@gold')).toMatch(/^403/)
  expect(await migrate(admin, 'gold')).toMatch(/^400 .*is not like CELL@STORE/)
  expect(await migrate(admin, 'south@gold')).toMatch(/^400 .*volume move .* --cell south/)
  expect(await migrate(admin, 'north@lead')).toMatch(/^400 .*no store lead/)
  expect(await migrate(admin, 'north@bronze')).toMatch(/^400 .*have snapshots.*bronze already/)
  expect(await migrate(admin, 'north@gold')).toMatch(/^202/)

  await until(id, 'available')
  expect((await placeOf(id)).store).toBe('gold')
})

test('a volume gets a type of another store with it, and counts in both types only on its way', async () => {
  const id = await volume()
  fail(GOLD, 'createVolume', { do: 'hang' })

  expect(await retype(id, 'gold', 'on-demand')).toBe('202')

  expect(await show(id)).toMatchObject({ status: 'retyping', volume_type: 'bronze' })
  expect(await usedBy('bronze', 'gold')).toEqual([2, 1, 2, 2])
  expect(await retype(id, 'gold', 'on-demand')).toContain("but is 'retyping'")
  for (const host of cloud.hosts) host.fail()
  await until(id, 'available')
  expect(await show(id)).toMatchObject({ volume_type: 'gold' })
  expect((await placeOf(id)).store).toBe('gold')
  expect(await usedBy('bronze', 'gold')).toEqual([2, 1, 0, 2])
})

test.each([
  [GOLD, 'createVolume'],
  [BRONZE, 'packVolume'],
] as const)(
  'where %s fails at %s the volume keeps store and type, and an administrator reads why',
  async (host, method) => {
    const id = await volume()
    fail(host, method, { do: 'fail', kind: 'internal', message: 'The disk is broken.' })

    expect(await retype(id, 'gold', 'on-demand')).toBe('202')

    await until(id, 'available')
    expect(await show(id)).toMatchObject({ volume_type: 'bronze' })
    expect(await placeOf(id)).toMatchObject({ store: 'bronze', fault: 'The disk is broken.' })
    expect(await usedBy('bronze', 'gold')).toEqual([2, 1, 2, 0])
  },
)

test('a volume gets a type that encrypts it, and one that does not, in another store each time', async () => {
  const made = await admin.post(`${ROOT}/types`, { volume_type: { name: 'sealed' } })
  const { id: typeId } = made.body['volume_type'] as StoredBody
  const encryption = { provider: 'luks', control_location: 'front-end', key_size: 256 }
  await admin.post(`${ROOT}/types/${typeId}/encryption`, { encryption })
  const id = await volume({ imageRef: cloud.catalog.image })

  expect(await retype(id, 'sealed', 'on-demand')).toBe('202')
  await until(id, 'available')

  expect(await show(id)).toMatchObject({ volume_type: 'sealed', encrypted: true, bootable: 'true' })
  expect((await placeOf(id)).store).toBe('gold')
  expect(await usedBy('bronze', 'sealed')).toEqual([2, 1, 0, 2])
  // Its host opens it with its key alone.
  const disk = { uuid: id, source_type: 'volume', destination_type: 'volume', boot_index: 0 }
  const server = await activeServer(cloud, demo, { imageRef: '', block_device_mapping_v2: [disk] })
  expect(await retype(id, 'bronze', 'on-demand')).toContain('encrypts volumes otherwise')
  await deleteServer(demo, server.id)
  await until(id, 'available')

  expect(await retype(id, 'gold', 'on-demand')).toMatch(
    /^400 .*No other store in the zone .*changes only on the way to another store\. Create a volume/,
  )
  fail(BRONZE, 'createVolume', { do: 'fail', kind: 'internal', message: 'The disk is broken.' })
  expect(await retype(id, 'bronze', 'on-demand')).toBe('202')
  await until(id, 'available')
  expect(await show(id)).toMatchObject({ volume_type: 'sealed', encrypted: true })
  for (const host of cloud.hosts) host.fail()
  expect(await retype(id, 'bronze', 'on-demand')).toBe('202')
  await until(id, 'available')
  expect(await show(id)).toMatchObject({ volume_type: 'bronze', encrypted: false })
  expect((await placeOf(id)).store).toBe('bronze')
  expect(await usedBy('bronze', 'sealed')).toEqual([2, 1, 2, 0])
})

test('a move to another store is cancelled, and the volume is free where it was', async () => {
  const id = await volume({ volume_type: 'any' })
  fail(GOLD, 'createVolume', { do: 'hang' })
  const { status, body } = await askToMove(id, { store: 'gold' })
  expect([status, body.kind, body.is_cancellable]).toEqual([202, 'volume-move', true])
  expect(await show(id)).toMatchObject({ status: 'maintenance' })
  expect((await askToMove(id, { store: 'gold' })).body.id).toBe(body.id)
  expect((await askToMove(id, { store: 'bronze' })).status).toBe(409)

  await admin.post(`${FEDERATION}/operations/${body.id}/cancel`)

  expect(await ended(body.id)).toMatchObject({ state: 'cancelled', message: null })
  expect(await show(id)).toMatchObject({ status: 'available' })
  expect(await placeOf(id)).toMatchObject({ store: 'bronze', fault: null })
})

test('a volume that is deleted by force on its way is gone, and charged for no more', async () => {
  const id = await volume()
  fail(GOLD, 'createVolume', { do: 'hang' })
  await retype(id, 'gold', 'on-demand')

  await admin.post(`${ROOT}/volumes/${id}/action`, { 'os-force_delete': {} })

  await waitFor(
    'it to be gone',
    async () => (await demo.get(`${ROOT}/volumes/${id}`)).status === 404,
  )
  await waitFor('no charge', async () =>
    (await usedBy('bronze', 'gold')).every((used) => used === 0),
  )
})

test('a retype that needs another store is refused as Cinder refuses it', async () => {
  const id = await volume()
  await typeOf('silver')
  const never = /^400 Invalid volume: Retype requires migration but is not allowed\..*on-demand/
  expect(await retype(id, 'gold')).toMatch(never)
  expect(await retype(id, 'gold', 'never')).toMatch(never)
  expect(await retype(id, 'silver', 'on-demand')).toContain('No store in the zone')
  const quota = `${ROOT}/os-quota-sets/${await cloud.projectId('demo')}`
  await admin.put(quota, { quota_set: { gigabytes_gold: 1 } })
  expect(await retype(id, 'gold', 'on-demand')).toContain('413 VolumeSizeExceedsAvailableQuota')
  await admin.delete(quota)
  const large = await volume({ size: 11 })
  expect(await retype(large, 'gold', 'on-demand')).toContain('has room for the 11 GiB')

  const snapshot = await makeStored(demo, 'snapshot', { volume_id: id })
  expect(await retype(id, 'gold', 'on-demand')).toContain('Volume must not have snapshots.')
  await removeStored(demo, 'snapshot', snapshot)

  expect(await show(id)).toMatchObject({ status: 'available', volume_type: 'bronze' })
  expect(await usedBy('bronze', 'gold')).toEqual([13, 2, 13, 0])
})

test('a move that cannot be is refused, and says what to do', async () => {
  const id = await volume()
  const refusal = async (body: object) => {
    const { status, body: answer } = await askToMove(id, body)
    return `${status} ${JSON.stringify(answer)}`
  }

  expect(await refusal({})).toMatch(/^400 .*Name either a cell/)
  expect(await refusal({ cell: 'north', store: 'gold' })).toMatch(/^400 .*Name either a cell/)
  expect(await refusal({ store: 'lead' })).toMatch(/^400 .* no store lead\. It has: \w+, \w+\./)
  expect(await refusal({ store: 'bronze' })).toMatch(/^409 .* in store bronze already/)
  expect(await refusal({ store: 'gold' })).toMatch(/^409 .* store gold is not allowed by its type/)
  const snapshot = await makeStored(demo, 'snapshot', { volume_id: id })
  expect(await refusal({ store: 'gold' })).toMatch(/^409 .* it has snapshots/)
  await removeStored(demo, 'snapshot', snapshot)
  const { status } = await demo.post(`${FEDERATION}/volumes/${id}/move`, { store: 'gold' })
  expect(status).toBe(403)
})
