import { createHash } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import { firstBytesOf, qcow2Of } from '#common/qcow2/testing.ts'
import { issueTicket } from '#gateway/app/images/ticket.ts'
import { embeddedImages } from '#gateway/app/servers/boot/embedded-images.ts'
import { findBackupParts } from '#gateway/db/backup-parts.ts'
import { images } from '#gateway/db/schema/image.ts'
import { serverProtections } from '#gateway/db/schema/protections.ts'
import { serverIndex } from '#gateway/db/schema/servers.ts'
import { addCell, addServer } from '../env/indexed-servers.ts'
import { type ImageApi, imageApi, SIZE_MAX } from './image-api.ts'

// Goal: of a backup by its changes a whole image is made, or nothing is left of it, and the backup before stays as it is.

const CELL = '6f2f4f2e-6f2f-4f2e-8f2f-4f2e6f2f4f2e'
const KEPT = 2

let api: ImageApi
let cellId: CellId
let serverId: string

beforeAll(async () => {
  api = await imageApi()
  cellId = await addCell(service().db, 'north')
})
afterAll(() => api?.[Symbol.asyncDispose]())
beforeEach(savedServer)

/** A server that is being saved: the gateway keeps images that wait for it. */
async function savedServer(): Promise<void> {
  const { db } = service()
  serverId = await addServer(db, cellId)
  const ours = eq(serverIndex.serverId, serverId)
  await db.orm.update(serverIndex).set({ taskState: 'image_backup' }).where(ours)
}

const service = () => api.http.gateway.images

/** The image of a backup that waits for its content. */
async function ordered(owner = api.demoProject): Promise<string> {
  const imageId = newId<string>()
  const properties = { instance_uuid: serverId, image_type: 'backup', backup_type: 'protection' }
  const about = { name: 'backup', minDiskGb: 0, minRamMb: 0, owner, properties }
  const purpose = { sourceId: serverId, purpose: 'backup', backupsKept: KEPT } as const
  const order = { imageId, ...about, ...purpose }
  await service().db.transaction((tx) => embeddedImages(service()).reserve(tx, order))
  return imageId
}

async function fill(id: string, body: Buffer, since?: string) {
  const { ticketKey, clock } = service()
  const expiresAtMs = clock.now() + 60_000
  const ticket = issueTicket(ticketKey, { use: 'fill', imageId: id, cellId: CELL, expiresAtMs })
  const url = `http://cloud.test:8774/image/internal/images/${id}/file`
  const headers = {
    ...{ 'x-weir-image-ticket': ticket, 'x-weir-disk-format': 'qcow2' },
    ...(since !== undefined && { 'x-weir-changes-of': since }),
    'content-type': 'application/octet-stream',
  }
  const { status } = await api.http.app.request(url, { method: 'PUT', headers, body })
  return status
}

async function whole(clusters = { 0: 1, 1: 2 }): Promise<string> {
  const id = await ordered()
  expect(await fill(id, qcow2Of(clusters))).toBe(204)
  return id
}

const contentOf = async (id: string) =>
  Buffer.from(await (await api.download(api.demo, id)).arrayBuffer())
const rowsOf = async () => service().db.orm.select().from(images)
const partsOf = async () =>
  (await rowsOf()).filter(({ snapshotFor }) => snapshotFor === 'backup-part')
const tidied = () => embeddedImages(service()).tidy()

async function protectWith(lastImageId: string): Promise<void> {
  const at = new Date()
  const about = { projectId: api.demoProject, userId: 'u', everyS: 3_600, keep: KEPT }
  const row = { serverId, ...about, nextAt: at, createdAt: at, lastImageId, toCellId: CELL }
  await service()
    .db.orm.insert(serverProtections)
    .values(row)
    .onDuplicateKeyUpdate({ set: { lastImageId } })
}

test('the image is the disk before with the changes, with checksums of its own, and outlives that', async () => {
  const before = await whole()
  const id = await ordered()
  await protectWith(id)
  expect(await fill(id, qcow2Of({ 1: 9, 5: 3 }), before)).toBe(204)

  const content = await contentOf(id)
  expect(firstBytesOf(content).slice(0, 6)).toEqual([1, 9, 0, 0, 0, 3])
  const sha512 = createHash('sha512').update(content).digest('hex')
  const about = { status: 'active', disk_format: 'qcow2', size: content.length }
  expect((await api.show(api.demo, id)).body).toMatchObject({ ...about, os_hash_value: sha512 })

  const part = (await findBackupParts(service().db, [id])).get(id)
  const { size } = (await api.show(api.demo, before)).body
  expect(part).toMatchObject({ before: { sizeBytes: size } })
  expect((await api.show(api.admin, part!.changes.id)).status).toBe(404)
  await tidied()
  expect((await findBackupParts(service().db, [id])).get(id)).toEqual(part)

  expect((await api.ask(api.demo, 'DELETE', `/images/${before}`)).status).toBe(204)
  expect((await contentOf(id)).equals(content)).toBe(true)
  // A repeat whose first answer was lost.
  expect(await fill(id, qcow2Of({ 1: 7 }), before)).toBe(204)
  expect((await contentOf(id)).equals(content)).toBe(true)
})

test('as many backups are kept as are to be, and changes as long as another cell may need them', async () => {
  let last = await whole()
  const made = [last]
  for (const byte of [3, 4, 5]) {
    const id = await ordered()
    await protectWith(id)
    expect(await fill(id, qcow2Of({ 0: byte }), last)).toBe(204)
    made.push(id)
    last = id
  }
  const listed = await Promise.all(made.map(async (id) => (await api.show(api.demo, id)).status))
  expect(listed).toEqual([404, 404, 200, 200])
  expect(firstBytesOf(await contentOf(last))[0]).toBe(5)

  await tidied()
  expect((await partsOf()).map(({ snapshotOf }) => snapshotOf)).toContain(last)
  expect((await partsOf()).map(({ snapshotOf }) => snapshotOf)).not.toContain(made[2])
  await service().db.orm.delete(serverProtections).where(eq(serverProtections.serverId, serverId))
  await tidied()
  expect((await partsOf()).map(({ snapshotOf }) => snapshotOf)).not.toContain(last)
})

test('changes that cannot be applied are refused, leave nothing, and the whole disk is taken instead', async () => {
  const ofOther = await whole()
  await savedServer()
  const before = await whole()
  const foreign = await ordered(api.adminProject)
  expect(await fill(foreign, qcow2Of({ 0: 1 }))).toBe(204)
  const id = await ordered()
  const changes = qcow2Of({ 0: 9 })
  for (const since of [newId<string>(), ofOther, foreign, id])
    expect(await fill(id, changes, since)).toBe(400)
  expect(await fill(id, qcow2Of({ 0: 9 }, 65), before)).toBe(400)
  expect(await fill(id, Buffer.from('nothing'), before)).toBe(400)
  expect(await fill(id, qcow2Of({}).subarray(0, 3 * 65_536), before)).toBe(400)

  expect((await partsOf()).map(({ snapshotOf }) => snapshotOf)).not.toContain(id)
  expect((await api.show(api.demo, id)).body).toMatchObject({ status: 'queued' })
  expect(await fill(id, qcow2Of({ 0: 7 }))).toBe(204)
  expect(firstBytesOf(await contentOf(id))[0]).toBe(7)
})

test('a whole disk leaves no changes of a try that a gateway did not live to end', async () => {
  const before = await whole()
  const first = await ordered()
  expect(await fill(first, qcow2Of({ 1: 9 }), before)).toBe(204)
  const [part] = (await partsOf()).filter(({ snapshotOf }) => snapshotOf === first)
  const second = await ordered()
  const { db } = service()
  await db.orm.update(images).set({ snapshotOf: second }).where(eq(images.id, part!.id))

  expect(await fill(second, qcow2Of({ 0: 1, 1: 7 }))).toBe(204)

  expect((await findBackupParts(db, [second])).size).toBe(0)
  expect((await partsOf()).map(({ id }) => id)).not.toContain(part!.id)
})

test('an image that gets too large is refused, and the backup before is whole', async () => {
  const before = await whole()
  const most = Math.floor(SIZE_MAX / 65_536)
  const changes = Object.fromEntries(Array.from({ length: most - 6 }, (_, nth) => [nth + 2, 5]))
  const id = await ordered()
  expect(await fill(id, qcow2Of(changes), before)).toBe(413)
  expect((await partsOf()).map(({ snapshotOf }) => snapshotOf)).not.toContain(id)
  expect(firstBytesOf(await contentOf(before)).slice(0, 2)).toEqual([1, 2])
})

// A gateway that is killed does nothing more: neither does one whose database or store fails from then on.
test.each(['the changes', 'the image'])(
  'a gateway that dies while it stores %s leaves what the next try ends, and nothing for ever',
  async (what) => {
    const before = await whole()
    const id = await ordered()
    await protectWith(id)
    const { store } = service()
    const receive = store.receive.bind(store)
    const dies = what === 'the changes' ? 1 : 2
    let received = 0
    const spy = vi.spyOn(store, 'receive').mockImplementation(async () => {
      received += 1
      if (received < dies) return receive()
      spy.mockRestore()
      dead.mockImplementation(() => {
        throw new Error('killed')
      })
      throw new Error('killed')
    })
    const dead = vi.spyOn(service().db, 'transaction')
    expect(await fill(id, qcow2Of({ 0: 8 }), before)).toBe(500)
    dead.mockRestore()
    expect((await partsOf()).filter(({ snapshotOf }) => snapshotOf === id)).toHaveLength(1)

    expect(await fill(id, qcow2Of({ 0: 9 }), before)).toBe(204)
    expect(firstBytesOf(await contentOf(id)).slice(0, 2)).toEqual([9, 2])
    await tidied()
    const own = (await partsOf()).filter(({ snapshotOf }) => snapshotOf === id)
    expect(own).toHaveLength(1)
    expect(own[0]).toMatchObject({
      id: (await findBackupParts(service().db, [id])).get(id)?.changes.id,
    })
    await api.ask(api.demo, 'DELETE', `/images/${id}`)
    await tidied()
    expect((await partsOf()).filter(({ snapshotOf }) => snapshotOf === id)).toEqual([])
  },
)
