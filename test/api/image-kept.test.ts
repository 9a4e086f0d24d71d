import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import { issueTicket } from '#gateway/app/images/ticket.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { findImage } from '#gateway/db/images.ts'
import { imageContents, images } from '#gateway/db/schema/image.ts'
import { sampleHost } from '../env/sample-host.ts'
import { type ImageApi, imageApi } from './image-api.ts'

// Goal: a host keeps the content of an image only where gateways let it, and hears when it need not any more.

const cellId = newId<CellId>()
const host = sampleHost('keeper')
const digests = { md5: 'a'.repeat(32), sha256: 'b'.repeat(64), sha512: 'c'.repeat(128) }
let api: ImageApi
let imageId: string

beforeAll(async () => {
  api = await imageApi()
  await db().transaction((tx) => applyHostViews(tx, cellId, [host]))
})
afterAll(() => api?.[Symbol.asyncDispose]())
beforeEach(async () => {
  imageId = await api.create(api.demo)
  await is({ snapshotOf: newId(), snapshotFor: 'shelve' })
})

const db = () => api.http.gateway.db
const is = (change: Partial<typeof images.$inferInsert>) =>
  db().orm.update(images).set(change).where(eq(images.id, imageId))

function ticket(forMs = 60_000, of = imageId): string {
  const { ticketKey, clock } = api.http.gateway.images
  const expiresAtMs = clock.now() + forMs
  return issueTicket(ticketKey, { use: 'fill', imageId: of, cellId, expiresAtMs })
}

const path = () => `/image/internal/images/${imageId}/kept`
const keep = (change: object = {}, proof = ticket()) =>
  api.http.ask('POST', path(), {
    headers: { 'x-weir-image-ticket': proof },
    body: {
      ...{ host_id: host.hostId, disk_format: 'qcow2', changes_of: null, size: 512, ...digests },
      ...change,
    },
  })
const shown = (hostId = host.hostId, proof = ticket()) =>
  api.http.ask('GET', `${path()}?host=${hostId}`, { headers: { 'x-weir-image-ticket': proof } })

test('a host without a ticket for the image is refused', async () => {
  for (const proof of ['', ticket(-1), ticket(60_000, newId())])
    expect((await keep({}, proof)).status).toBe(401)
  for (const proof of ['', ticket(60_000, newId())])
    expect((await shown(host.hostId, proof)).status).toBe(401)
  expect(await findImage(db(), imageId)).toMatchObject({ status: 'queued', content: null })
})

test('a content is to be sent that the gateways cannot or must not read at the host', async () => {
  expect((await keep({ host_id: newId() })).status).toBe(400)
  expect((await keep({ changes_of: newId() })).status).not.toBe(200)
  expect((await keep({ size: 2 ** 40 })).status).toBe(413)
  // No host answers: none is there.
  expect((await keep()).status).toBe(409)
  await db().orm.insert(imageContents).values({ sha256: digests.sha256, imageCount: 1 })
  expect((await keep()).status).toBe(400)
  await is({ snapshotFor: 'backup' })
  expect((await keep({ sha256: 'd'.repeat(64) })).status).toBe(400)

  expect(await findImage(db(), imageId)).toMatchObject({ status: 'queued', content: null })
})

test('a host is told to keep a content as long as the image has it, also by an old ticket', async () => {
  expect((await shown()).body).toEqual({ kept: false, filled: false })
  const content = { ...digests, sizeBytes: 512, virtualSizeBytes: 512 }
  await is({ status: 'active', ...content, hostId: host.hostId })

  expect((await shown(host.hostId, ticket(-1))).body).toEqual({ kept: true, filled: false })
  expect((await shown(newId())).body).toEqual({ kept: false, filled: false })
  // A repeat whose first answer was lost.
  expect((await keep()).body).toEqual({ kept: true, filled: false })

  await api.http.ask('DELETE', `/image/v2/images/${imageId}`, { token: api.demo })
  expect((await shown()).body).toEqual({ kept: false, filled: false })
  expect((await keep()).status).toBe(404)
})
