import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  makeStored,
  BLOCK_STORAGE as ROOT,
  removeStored,
  showStored,
  untilStored,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume is in the store of the volumes that its user names, or in another one.

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let north: string
let south: string

const HINTS = 'OS-SCH-HNT:scheduler_hints'
const create = (hints: object, fields: object = {}) =>
  demo.post<Loose>(`${ROOT}/volumes`, { volume: { size: 1, ...fields }, [HINTS]: hints })
const idOf = ({ body }: Awaited<ReturnType<typeof create>>) =>
  (body['volume'] as { readonly id: string }).id
const zoneOf = async (hints: object) => {
  const id = idOf(await create(hints))
  await untilStored(demo, 'volume', id, 'available')
  const zone = (await showStored(demo, 'volume', id))?.['availability_zone']
  await removeStored(demo, 'volume', id)
  return zone
}

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 2, hostsPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  await storesReported(cloud)
  north = await makeStored(demo, 'volume', { size: 1, availability_zone: 'north' })
  south = await makeStored(demo, 'volume', { size: 1, availability_zone: 'south' })
})
afterAll(async () => {
  for (const id of [north, south]) await removeStored(demo, 'volume', id)
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

test.each(['north', 'south'])(
  'a volume is in the store of one in %s, or in none of its',
  async (zone) => {
    const [own, other] = zone === 'north' ? [north, south] : [south, north]

    expect(await zoneOf({ same_host: own })).toBe(zone)
    expect(await zoneOf({ same_host: [own] })).toBe(zone)
    expect(await zoneOf({ different_host: other })).toBe(zone)
    expect(await zoneOf({ same_host: [north, south], different_host: [other] })).toBe(zone)
  },
)

test('hints that no store meets leave the volume in error, and operators see why', async () => {
  const id = idOf(await create({ different_host: [north, south] }))

  await untilStored(demo, 'volume', id, 'error')
  const trace = await admin.get(`/federation/v1/volumes/${id}/trace`)
  expect(JSON.stringify(trace.body)).toContain('has no store that its hints allow')
  await removeStored(demo, 'volume', id)
  const none = idOf(await create({ same_host: [], different_host: [] }))
  await untilStored(demo, 'volume', none, 'available')
  await removeStored(demo, 'volume', none)
})

test('what is no volume of the project, in no store, or no hint is refused with the reason', async () => {
  const foreign = await makeStored(admin, 'volume', { size: 1 })
  const failed = idOf(await create({}, { volume_type: await unplaceable() }))
  await untilStored(demo, 'volume', failed, 'error')
  const absent = newId<string>()
  const refused = async (hints: object) => {
    const { status, body } = await create(hints)
    return `${status} ${(body['badRequest'] as { readonly message: string }).message}`
  }

  for (const hint of ['same_host', 'different_host'])
    for (const id of [foreign, absent])
      expect(await refused({ [hint]: id })).toBe(
        `400 Invalid input received: Scheduler hint '${hint}' names volume ${id}, which could not be found.`,
      )
  expect(await refused({ same_host: [north, failed] })).toContain(
    `names volume ${failed}, which is 'error' and in no store.`,
  )
  expect(await refused({ local_to_instance: absent })).toMatch(
    /local_to_instance.*name the availability zone of the server/,
  )
  expect(await refused({ query: '["=", "$name", "x"]' })).toMatch(
    /query.*a volume type chooses stores/,
  )
  expect(await refused({ near: absent })).toContain("'near' is not known")
  await removeStored(admin, 'volume', foreign)
  await removeStored(demo, 'volume', failed)
})

/** A type that no store offers. */
async function unplaceable(): Promise<string> {
  const extra_specs = { volume_backend_name: 'nowhere' }
  await admin.post(`${ROOT}/types`, { volume_type: { name: 'nowhere', extra_specs } })
  return 'nowhere'
}
