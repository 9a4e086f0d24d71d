import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { images } from '#gateway/db/schema/image.ts'
import { act, deleteServer, showServer, untilStatus } from '#test/env/api/servers.ts'
import type { CloudCell } from '#test/env/cloud.ts'
import { storeWritesDuring } from '#test/env/store-writes.ts'
import {
  admin,
  askToMove,
  cellOf,
  cloud,
  db,
  demo,
  ended,
  freeServer,
  imageUsage,
  north,
  south,
  untilNothingSaved,
  useTwoCells,
  waitFor,
} from './cell-moves.ts'

// Goal: the disk of a server that changes cells goes from host to host, and no host keeps what no image has.

useTwoCells()

const hosted = (cell: CloudCell) => cell.computes[0]!
const keptAt = (cell: CloudCell) =>
  readdir(join(hosted(cell).process.setting('COMPUTE_STATE_DIRECTORY'), 'kept-disks')).catch(
    () => [],
  )
const untilNothingKept = (cell: CloudCell) =>
  waitFor('the host to remove what it kept', async () => (await keptAt(cell)).length === 0)
const imagesOf = (id: string) => db.orm.select().from(images).where(eq(images.snapshotOf, id))

/** What every gateway gives of an image, or the part of it. */
async function downloads(id: string, range?: string): Promise<readonly Buffer[]> {
  const headers = { 'x-auth-token': await admin.token(), ...(range && { range }) }
  return Promise.all(
    cloud.endpoints.map(async (endpoint) => {
      const response = await fetch(`${endpoint}/image/v2/images/${id}/file`, { headers })
      expect(response.status).toBe(range === undefined ? 200 : 206)
      return Buffer.from(await response.arrayBuffer())
    }),
  )
}

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex')

test('the disk stays at its host until the other cell has the server, and gateways store nothing', async () => {
  const { id } = await freeServer(north, { name: 'streamed' })
  await act(demo, id, { 'os-stop': null })
  await untilStatus(demo, id, 'SHUTOFF')
  const before = await imageUsage()
  hosted(south).fail({ method: 'spawn', effect: { do: 'hang' } })

  const written = await storeWritesDuring(cloud, async () => {
    const { body: begun } = await askToMove(id, { cell: south.name })
    await waitFor('the other cell to have it', async () => (await cellOf(id)) === south.name)
    const [image] = await imagesOf(id)
    expect(image).toMatchObject({ status: 'active', hostId: hosted(north).id, sizeBytes: 512 })
    for (const content of await downloads(image!.id)) expect(digestOf(content)).toBe(image!.sha256)
    expect((await downloads(image!.id, 'bytes=5-8')).map(String)).toEqual(['disk', 'disk'])
    expect(await keptAt(north)).toEqual([image!.id])

    // It is read again from a host that has started since.
    await hosted(north).process.kill()
    await hosted(north).process.start()
    for (const content of await downloads(image!.id)) expect(digestOf(content)).toBe(image!.sha256)
    hosted(south).fail()
    expect(await ended(begun.id)).toMatchObject({ state: 'done' })
    await untilNothingSaved(id)
    await untilNothingKept(north)
  })

  expect(written).toEqual([])
  expect(await showServer(demo, id)).toMatchObject({ status: 'SHUTOFF' })
  expect(await imageUsage()).toEqual(before)
  await deleteServer(demo, id)
})

test('both images of a move in two passes stay at the host', async () => {
  const { id } = await freeServer(north, { name: 'twice' })
  hosted(south).fail({ method: 'spawn', effect: { do: 'hang' } })

  const written = await storeWritesDuring(cloud, async () => {
    const { body: begun } = await askToMove(id, { cell: south.name })
    await waitFor('the other cell to have it', async () => (await cellOf(id)) === south.name)
    const images = await imagesOf(id)
    expect(images).toMatchObject(Array(2).fill({ hostId: hosted(north).id }))
    expect(new Set(await keptAt(north))).toEqual(new Set(images.map((each) => each.id)))
    hosted(south).fail()
    expect((await ended(begun.id)).message).toMatch(/^Its disk was saved in two passes/)
    await untilNothingKept(north)
  })

  expect(written).toEqual([])
  await deleteServer(demo, id)
})

test('a cancelled move leaves nothing at the host, which was away when the images were deleted', async () => {
  const { id } = await freeServer(north, { name: 'recalled' })
  hosted(north).fail({ method: 'takeChanges', effect: { do: 'hang' } })
  const { body: begun } = await askToMove(id, { cell: south.name })
  await waitFor('its disk to be saved', async () => {
    return (await showServer(admin, id))['OS-EXT-STS:task_state'] === 'shelving'
  })
  expect(await keptAt(north)).toHaveLength(1)
  await admin.post(`/federation/v1/operations/${begun.id}/cancel`)
  hosted(north).fail()
  expect(await ended(begun.id)).toMatchObject({ state: 'cancelled' })
  await hosted(north).process.kill()

  await untilNothingSaved(id)
  await hosted(north).process.start()

  await untilNothingKept(north)
  await waitFor('the server to run', async () => (await showServer(demo, id)).status === 'ACTIVE')
  expect(await cellOf(id)).toBe(north.name)
  await deleteServer(demo, id)
})

test('the image of a server that its owner shelves is in the store of the gateways', async () => {
  const { id } = await freeServer(north, { name: 'shelved' })
  const written = await storeWritesDuring(cloud, async () => {
    await demo.post(`/compute/v2.1/servers/${id}/action`, { shelve: null })
    await waitFor('the server to be shelved', async () =>
      (await showServer(demo, id)).status.startsWith('SHELVED'),
    )
  })

  expect(written).not.toEqual([])
  expect(await imagesOf(id)).toMatchObject([{ hostId: null, status: 'active' }])
  expect(await keptAt(north)).toEqual([])
  await deleteServer(demo, id)
})
