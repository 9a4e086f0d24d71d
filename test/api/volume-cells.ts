import { afterAll, afterEach, beforeAll } from 'vitest'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation } from '#test/env/api/operations.ts'
import { type Cloud, type CloudCell, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

export interface Body {
  readonly id: string
  readonly status: string
  readonly [field: string]: unknown
}

export const ROOT = '/volume/v3'
export const FEDERATION = '/federation/v1'
export const STORE_GB = 100
const LIMIT_MS = 60_000
/** Two gateways, and two cells of two processes and a host each, start in this process. */
const START_MS = 300_000

export let cloud: Cloud
export let demo: ApiClient
export let admin: ApiClient
export let north: CloudCell
export let south: CloudCell

/** Gives the tests of a file two cells with a store each, and two gateways. After each test its faults and volumes are gone, and nothing is lost or left over. */
export function useTwoStores(): void {
  beforeAll(async () => {
    cloud = await startCloud({
      ...{ cells: 2, hostsPerCell: 1, gateways: 2 },
      driver: { volume_store_gb: String(STORE_GB) },
    })
    demo = cloud.as('demo')
    admin = cloud.as('admin')
    ;[north, south] = cloud.cells as [CloudCell, CloudCell]
    await storesReported(cloud)
  }, START_MS)
  afterEach(async () => {
    for (const host of cloud.hosts) host.fail()
    await waitFor('no image', async () => (await images()).length === 0)
    await expectInvariants(cloud)
    for (const { id } of await volumes()) await demo.delete(`${ROOT}/volumes/${id}`)
    await waitFor('no volume', async () => (await volumes()).length === 0)
  })
  afterAll(() => cloud?.[Symbol.asyncDispose]())
}

export const waitFor = <T>(what: string, probe: () => Promise<T>) =>
  waitForWithin(what, probe, LIMIT_MS)
export const volumes = async () =>
  (await demo.get(`${ROOT}/volumes/detail`)).body['volumes'] as readonly Body[]
export const images = async () =>
  (await demo.get<{ images: readonly Body[] }>('/image/v2/images?visibility=private')).body.images
export const show = async (id: string) =>
  (await demo.get(`${ROOT}/volumes/${id}`)).body['volume'] as Body
export const untilVolume = (id: string, status: string) =>
  waitFor(`${id} to be ${status}`, async () => (await show(id)).status === status)
export const cancel = (id: string) => admin.post(`${FEDERATION}/operations/${id}/cancel`)
export const ended = (id: string) => endOfOperation(admin, id)
