import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { activeServer, deleteServer } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { CountingWire } from '../env/counting-wire.ts'
import { addFetchingHost, hostsUp } from '../env/fetching-host.ts'
import { WeirCommand } from '../env/weir-command.ts'

// Goal: an image crosses the link between the gateways and a cell once, however many of the cell's hosts boot it.

/** Each is a zone of its own. */
const HOSTS = ['fetching-1', 'fetching-2', 'fetching-3']
const READY_LIMIT_MS = 30_000
const MIB = 2 ** 20
const owned = new AsyncDisposableStack()
let cloud: Cloud
/** Between the gateway and the cell's process, and between it and the hosts. */
let [link, hostLink]: CountingWire[] = []
let cacheFolder: string

beforeAll(async () => {
  cacheFolder = folder('cache')
  link = owned.use(await CountingWire.open())
  hostLink = owned.use(await CountingWire.open())
  cloud = owned.use(
    await startCloud({
      gateways: 1,
      cells: 1,
      processesPerCell: 1,
      hostsPerCell: 0,
      cell: {
        CELL_IMAGE_URL: `${link.url}/image`,
        CELL_IMAGE_CACHE_DIRECTORY: cacheFolder,
        CELL_IMAGE_CACHE_BYTES_MAX: String(20 * MIB),
      },
    }),
  )
  link.to = cloud.endpoints[0]
  hostLink.to = cloud.endpoints[0]
  const [cell] = cloud.cells
  const imageUrl = `${hostLink.url}/image`
  for (const name of HOSTS) owned.use(await addFetchingHost(cloud, cell!, name, imageUrl))
  await waitFor(
    'all hosts to be up',
    async () => (await hostsUp(cloud)) === HOSTS.length,
    READY_LIMIT_MS,
  )
})

afterAll(() => owned.disposeAsync())

function folder(name: string): string {
  const made = mkdtempSync(join(tmpdir(), `weir-${name}-`))
  owned.defer(() => rmSync(made, { recursive: true, force: true }))
  return made
}

async function image(name: string, content: Buffer): Promise<string> {
  const admin = cloud.as('admin')
  const draft = {
    name,
    disk_format: 'raw',
    container_format: 'bare',
    visibility: 'public',
    hypervisor_type: 'fake',
  }
  const { body } = await admin.post<{ readonly id: string }>('/image/v2/images', draft)
  await admin.call('PUT', `/image/v2/images/${body.id}/file`, undefined, {
    raw: content,
    headers: { 'content-type': 'application/octet-stream' },
  })
  return body.id
}

/** Boots a server on each host at the same time, and deletes them. */
async function bootOnAllHosts(imageRef: string): Promise<void> {
  const demo = cloud.as('demo')
  const boot = (zone: string) => activeServer(cloud, demo, { imageRef, availability_zone: zone })
  const servers = await Promise.all(HOSTS.map(boot))
  await Promise.all(servers.map(({ id }) => deleteServer(demo, id)))
}

/** What both wires carried meanwhile. */
async function carried(work: () => Promise<unknown>) {
  const before = { link: link?.bytes ?? 0, hosts: hostLink?.bytes ?? 0 }
  await work()
  return { link: (link?.bytes ?? 0) - before.link, hosts: (hostLink?.bytes ?? 0) - before.hosts }
}

test('servers on all hosts of a cell have their image cross the link once', async () => {
  const size = 8 * MIB
  const id = await image('booted', randomBytes(size))

  const bytes = await carried(() => bootOnAllHosts(id))

  expect(bytes.link).toBeGreaterThanOrEqual(size)
  expect(bytes.link).toBeLessThan(1.01 * size)
  expect(bytes.hosts).toBe(0)
})

test('an image that was preloaded crosses the link before the first server, and not again', async () => {
  const size = 4 * MIB
  const id = await image('preloaded', randomBytes(size))
  const admin = new WeirCommand(cloud, 'admin')

  const preload = await carried(async () => {
    expect(await admin.json('image preload preloaded --cell north')).toEqual({
      image_id: id,
      cell_id: cloud.cells[0]?.id,
      cell: 'north',
      state: 'cached',
      size_bytes: size,
      fetched_bytes: size,
    })
  })
  expect(preload.link).toBeGreaterThanOrEqual(size)
  expect(await admin.json('image caches preloaded')).toEqual([
    expect.objectContaining({ cell: 'north', state: 'cached', fetched_bytes: size }),
  ])
  expect(await carried(() => bootOnAllHosts(id))).toEqual({ link: 0, hosts: 0 })
  expect(await readdir(join(cacheFolder, 'north-process-1'))).toHaveLength(2)
})

test('what the cache has no room for, hosts fetch from the gateway', async () => {
  const size = 21 * MIB
  const id = await image('huge', randomBytes(size))

  const bytes = await carried(() => bootOnAllHosts(id))

  expect(await new WeirCommand(cloud, 'admin').json('image caches huge')).toEqual([])
  expect(bytes.link).toBe(0)
  expect(bytes.hosts).toBeGreaterThanOrEqual(HOSTS.length * size)
})

test('a refused preload names the reason', async () => {
  const admin = new WeirCommand(cloud, 'admin')
  const demo = new WeirCommand(cloud, 'demo')

  expect((await admin.run('image preload none --cell north')).code).toBe(3)
  expect((await admin.run('image preload booted --cell none')).code).toBe(3)
  expect((await demo.run('image preload booted --cell north')).code).toBe(1)
  const full = await admin.run('image preload huge --cell north')
  expect(full.code).toBe(1)
  await cloud.as('admin').post('/image/v2/images', {
    name: 'empty',
    disk_format: 'raw',
    container_format: 'bare',
  })
  const empty = await admin.run('image preload empty --cell north')
  expect(empty.err).toContain('Image empty has no content yet.')
})
