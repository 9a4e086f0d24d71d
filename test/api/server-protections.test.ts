import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import { serverProtections } from '#gateway/db/schema/protections.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, activeServer, deleteServer, untilSettled } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: a protected server has backups as its schedule says, and no more of them than it keeps.

interface Protection {
  readonly server_id: string
  readonly every_s: number
  readonly keep: number
  readonly last_image_id: string | null
  readonly last_error: string | null
}
interface Image {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly instance_uuid?: string
}

let cloud: Cloud
let db: Database
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ cells: 2, hostsPerCell: 1 })
  db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 2 })
  demo = cloud.as('demo')
})
afterAll(async () => {
  await expectInvariants(cloud)
  await db?.[Symbol.asyncDispose]()
  await cloud?.[Symbol.asyncDispose]()
})

const waitFor = <T>(what: string, probe: () => Promise<T>) => waitForWithin(what, probe, 60_000)
const path = (id: string) => `/federation/v1/servers/${id}/protection`
const shown = async (id: string) => (await demo.get<Protection>(path(id))).body
const backupsOf = async (id: string) =>
  (await demo.get<{ images: readonly Image[] }>('/image/v2/images?limit=100')).body.images.filter(
    ({ instance_uuid, status }) => instance_uuid === id && status === 'active',
  )

/** As when the time of the schedule has passed. */
const fallDue = (id: string) =>
  db.orm
    .update(serverProtections)
    .set({ nextAt: sql`now(3)` })
    .where(eq(serverProtections.serverId, id))

test('backups are made by the schedule, the oldest go, and none is made any more once it ends', async () => {
  const { id } = await activeServer(cloud, demo, { availability_zone: 'north' })
  const { status, body } = await demo.put<Protection>(path(id), { every_s: 3600, keep: 2 })
  expect([status, body]).toMatchObject([200, { server_id: id, every_s: 3600, keep: 2 }])

  const made: string[] = []
  for (let nth = 0; nth < 3; nth += 1) {
    if (nth > 0) await fallDue(id)
    const imageId = await waitFor('the next backup', async () => {
      const { last_image_id } = await shown(id)
      return last_image_id !== null && !made.includes(last_image_id) ? last_image_id : undefined
    })
    made.push(imageId)
    await waitFor('it to be full', async () =>
      (await backupsOf(id)).some((image) => image.id === imageId),
    )
    await untilSettled(cloud, id)
  }
  await waitFor('the oldest to go', async () => (await backupsOf(id)).length === 2)
  expect((await backupsOf(id)).map((image) => image.id).toSorted()).toEqual(
    made.slice(1).toSorted(),
  )

  expect((await demo.delete(path(id))).status).toBe(204)
  expect((await demo.delete(path(id))).status).toBe(404)
  expect((await demo.get(path(id))).status).toBe(404)
  expect(await backupsOf(id)).toHaveLength(2)
  await deleteServer(demo, id)
})

test('a server that cannot be saved when a backup is due says why, and is saved once it can', async () => {
  const { id } = await activeServer(cloud, demo, { availability_zone: 'north' })
  const [host] = cloud.hosts
  host!.fail({ method: 'snapshot', effect: { do: 'hang' } })
  await act(demo, id, { createImage: { name: 'busy' } })
  await demo.put(path(id), { every_s: 3600, keep: 1 })
  const refused = await waitFor('the refusal', async () => (await shown(id)).last_error)
  expect(refused).toContain('image')

  host!.fail()
  await untilSettled(cloud, id)
  await waitFor('the first image', async () => (await backupsOf(id)).length === 1)
  await fallDue(id)
  const { last_image_id: imageId } = await waitFor('the backup', async () => {
    const protection = await shown(id)
    return protection.last_error === null ? protection : undefined
  })
  await waitFor('it to be full', async () =>
    (await backupsOf(id)).some((image) => image.id === imageId),
  )
  await deleteServer(demo, id)
})

test('a cell without an image cache keeps no backups of another', async () => {
  const { id } = await activeServer(cloud, demo, { availability_zone: 'north' })
  const body = { every_s: 3600, keep: 1, to_cell: 'south' }
  const refused = await cloud.as('admin').put<{ detail: string }>(path(id), body)
  expect(refused.status).toBe(501)
  expect(refused.body.detail).toContain('The cell has no image cache. Set CELL_IMAGE_CACHE_')
  expect((await demo.get(path(id))).status).toBe(404)
  await deleteServer(demo, id)
})

test('a schedule is its project’s own, and goes with its server', async () => {
  const { id } = await activeServer(cloud, demo, { availability_zone: 'north' })
  await demo.put(path(id), { every_s: 3600, keep: 1 })
  const stranger = cloud.as('stranger')
  const listed = async (client: ApiClient) =>
    (await client.get<{ protections: readonly Protection[] }>('/federation/v1/protections')).body
      .protections

  expect((await stranger.get(path(id))).status).toBe(404)
  expect((await stranger.put(path(id), { every_s: 3600, keep: 1 })).status).toBe(404)
  expect((await stranger.delete(path(id))).status).toBe(404)
  expect(await listed(stranger)).toEqual([])
  expect((await listed(demo)).map(({ server_id }) => server_id)).toEqual([id])
  expect((await listed(cloud.as('admin'))).map(({ server_id }) => server_id)).toEqual([id])
  expect((await demo.put(path(id), { every_s: 60, keep: 1 })).status).toBe(400)

  await waitFor('the first backup', async () => (await shown(id)).last_image_id)
  await untilSettled(cloud, id)
  await deleteServer(demo, id)
  expect(await listed(demo)).toEqual([])
  await fallDue(id)
  await waitFor('its row to go', async () => {
    const rows = await db.orm.select().from(serverProtections)
    return rows.every(({ serverId }) => serverId !== id)
  })
})
