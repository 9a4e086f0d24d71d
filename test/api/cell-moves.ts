import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import { images } from '#gateway/db/schema/image.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation, showOperation } from '#test/env/api/operations.ts'
import { activeServer, unboundServer } from '#test/env/api/servers.ts'
import { type Cloud, type CloudCell, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

export interface Named {
  readonly id: string
  readonly name: string
}

export const ROOT = '/federation/v1'
const LIMIT_MS = 60_000

export let cloud: Cloud
export let demo: ApiClient
export let admin: ApiClient
export let stranger: ApiClient
export let db: Database
export let north: CloudCell
export let south: CloudCell

/** Gives the tests of a file two cells of a host each and two gateways; afterwards nothing is lost or left over. */
export function useTwoCells(): void {
  beforeAll(async () => {
    cloud = await startCloud({ cells: 2, hostsPerCell: 1, gateways: 2 })
    db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
    demo = cloud.as('demo')
    admin = cloud.as('admin')
    stranger = cloud.as('stranger')
    ;[north, south] = cloud.cells as [CloudCell, CloudCell]
  })
  beforeEach(async () => {
    for (const host of cloud.hosts) host.fail()
  })
  afterAll(async () => {
    await expectInvariants(cloud)
    await db?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
  })
}

export const serverIn = (cell: CloudCell, change: object = {}) =>
  activeServer(cloud, demo, { availability_zone: cell.name, ...change })
export const askToMove = (id: string, body: object = {}) =>
  admin.post<Operation>(`${ROOT}/servers/${id}/move`, body)
export const shown = (id: string) => showOperation(admin, id)
export const ended = (id: string) => endOfOperation(admin, id)
export const waitFor = <T>(what: string, probe: () => Promise<T>) =>
  waitForWithin(what, probe, LIMIT_MS)

export async function moved(id: string, body: object = {}): Promise<Operation> {
  const { status, body: begun } = await askToMove(id, body)
  expect(begun).toMatchObject({ kind: 'server-move', state: 'running' })
  expect(status).toBe(202)
  return ended(begun.id)
}

export async function cellOf(id: string): Promise<string | null> {
  const { servers } = (
    await admin.get<{ servers: readonly (Named & { cell: string | null })[] }>(`${ROOT}/servers`)
  ).body
  return servers.find((each) => each.id === id)!.cell
}

export async function hostOf(cell: CloudCell): Promise<string> {
  const { hosts } = (await admin.get<{ hosts: readonly Named[] }>(`${ROOT}/hosts`)).body
  return hosts.find(({ name }) => name === cell.computes[0]!.name)!.id
}

export const guestsOf = async (cell: CloudCell) =>
  (await Promise.all(cell.computes.map((host) => host.guests()))).flat()
export const imagesNamed = async (by: ApiClient, name: string) =>
  (await by.get<{ images: readonly Named[] }>(`/image/v2/images?name=${name}`)).body.images

/** The images that the server's disk is in, which no request shows. */
export async function saved(id: string) {
  return db.orm.select({ name: images.name }).from(images).where(eq(images.snapshotOf, id))
}
export const untilNothingSaved = (id: string) =>
  waitFor('the images to go', async () => (await saved(id)).length === 0)

export const freeServer = (cell: CloudCell, change: object = {}) =>
  unboundServer(cloud, demo, cell.name, change)

export const imageUsage = async () => {
  const { usage } = (await demo.get<{ usage: object }>('/image/v2/info/usage')).body
  return usage
}
export const usage = async () =>
  (await demo.get<{ limits: { absolute: object } }>('/compute/v2.1/limits')).body.limits.absolute
