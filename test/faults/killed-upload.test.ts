import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import { openStore } from '#gateway/app/images/store/open-store.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { s3Env, startS3 } from '#test/env/s3/start-s3.ts'
import { isFullRun } from '../env/full-run.ts'

const SEEN_LIMIT_MS = 30_000
const LONG_AGO = new Date('2020-01-01T00:00:00Z')

const filesIn = (cloud: Cloud, folder: 'contents' | 'incoming') =>
  readdir(join(cloud.foundation.directory, 'images', folder))

/** A body that goes on until `stop`, so that the upload is in its middle whenever it is looked at. */
function endlessBody() {
  const stop = new AbortController()
  async function* chunks() {
    while (!stop.signal.aborted) {
      yield randomBytes(10_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return { chunks: chunks(), stop }
}

test('an upload whose gateway is killed leaves nothing, and can be done again', async () => {
  await using cloud = await startCloud({
    outside: ['gateway'],
    gateways: 1,
    cells: 1,
    processesPerCell: 1,
    hostsPerCell: 1,
  })
  const demo = cloud.as('demo')
  const contents = await filesIn(cloud, 'contents')
  const draft = { name: 'half', disk_format: 'raw', container_format: 'bare' }
  const created = await demo.post<{ id: string }>('/image/v2/images', draft)
  const path = `/image/v2/images/${created.body.id}`
  const status = async () => (await demo.get<{ status: string }>(path)).body.status
  const headers = { 'x-auth-token': await demo.token(), 'content-type': 'application/octet-stream' }
  const body = endlessBody()
  const upload = request(`${cloud.endpoints[0]}${path}/file`, {
    method: 'PUT',
    headers,
    body: Readable.from(body.chunks),
  }).catch((error: unknown) => error)
  const incoming = await waitFor(
    'the upload to be on disk',
    async () => ((await status()) === 'saving' ? (await filesIn(cloud, 'incoming'))[0] : undefined),
    SEEN_LIMIT_MS,
  )

  await cloud.gateways[0]?.kill()
  body.stop.abort()
  expect(await upload).toBeInstanceOf(Error)
  // Its lease and the age of its file are minutes and an hour: time is moved, not waited for.
  await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
  await db.orm.execute(`update images set upload_expires_at = '2020-01-01' where name = 'half'`)
  const file = join(cloud.foundation.directory, 'images', 'incoming', incoming)
  await utimes(file, LONG_AGO, LONG_AGO)
  await cloud.gateways[0]?.start()

  await waitFor(
    'nothing to be left of the upload',
    async () => (await status()) === 'queued' && (await filesIn(cloud, 'incoming')).length === 0,
    SEEN_LIMIT_MS,
  )
  expect(await filesIn(cloud, 'contents')).toEqual(contents)
  const again = await demo.call('PUT', `${path}/file`, undefined, {
    raw: randomBytes(100),
    headers: { 'content-type': 'application/octet-stream' },
  })
  expect(again.status).toBe(204)
  expect(await status()).toBe('active')
})

test.runIf(isFullRun)(
  'an upload into an S3 whose gateway is killed can be done again at another, and is given up',
  async () => {
    await using s3 = await startS3()
    await using cloud = await startCloud({
      outside: ['gateway'],
      gateways: 2,
      cells: 1,
      processesPerCell: 1,
      hostsPerCell: 1,
      gateway: s3Env(s3),
    })
    await using store = await openStore({
      imageDirectory: '',
      imageS3: s3.settings,
      imageSizeMaxBytes: 2 ** 30,
    })
    const demo = cloud.as('demo')
    const draft = { name: 'half', disk_format: 'raw', container_format: 'bare' }
    const created = await demo.post<{ id: string }>('/image/v2/images', draft)
    const path = `/image/v2/images/${created.body.id}`
    const headers = {
      'x-auth-token': await demo.token(),
      'content-type': 'application/octet-stream',
    }
    async function* chunks() {
      yield randomBytes(20 * 2 ** 20)
      await once(stop.signal, 'abort')
    }
    const stop = new AbortController()
    const upload = request(`${cloud.endpoints[0]}${path}/file`, {
      method: 'PUT',
      headers,
      body: Readable.from(chunks()),
    }).catch((error: unknown) => error)
    await waitFor(
      'two parts of the upload to be in the S3',
      () => s3.front.seen.some(({ url }) => url.includes('partNumber=2')),
      SEEN_LIMIT_MS,
    )

    await cloud.gateways[0]?.kill()
    cloud.forget(0)
    stop.abort()
    expect(await upload).toBeInstanceOf(Error)
    // Its lease ends after two minutes: time is moved, not waited for.
    await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
    await db.orm.execute(`update images set upload_expires_at = '2020-01-01' where name = 'half'`)
    const content = randomBytes(100)
    const again = async () =>
      (await demo.call('PUT', `${path}/file`, undefined, { raw: content, headers })).status
    await expect.poll(again).toBe(204)

    const inAnHour = new Date(Date.now() + 3_600_000)
    expect(await store.removeAbandoned(new Date(Date.now() - 3_600_000))).toBe(0)
    expect(await store.removeAbandoned(inAnHour)).toBe(1)
    expect(await store.removeAbandoned(inAnHour)).toBe(0)
  },
)
