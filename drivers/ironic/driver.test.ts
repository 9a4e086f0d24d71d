import { once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CellId, type HostId, type ImageId, newId } from '#common/ids.ts'
import type { Driver } from '../driver.ts'
import { instanceSpec } from '../testing/instance-spec.ts'
import { TestImages } from '../testing/test-images.ts'
import { createIronicDriver } from './driver.ts'
import { ironicSettings } from './settings.ts'

const NODE = {
  uuid: 'the-node',
  resource_class: 'gold',
  properties: { cpus: 4, memory_mb: 8192, local_gb: 100 },
  deploy_interface: 'direct',
  provision_state: 'available',
  target_provision_state: null,
  power_state: 'power off',
  target_power_state: null,
  maintenance: false,
  reservation: null,
  instance_uuid: null,
  last_error: null,
  extra: {},
}

let folder: Awaited<ReturnType<typeof mkdtempDisposable>>
let server: Server
let images: TestImages
let driver: Driver
/** What would have changed something. */
let changes: string[]
const signal = () => AbortSignal.timeout(20_000)

beforeEach(async () => {
  folder = await mkdtempDisposable(join(tmpdir(), 'weir-ironic-unit-'))
  changes = []
  server = createServer(({ method, url }, response) => {
    if (method !== 'GET') changes.push(`${method} ${url}`)
    response.writeHead(method === 'GET' ? 200 : 403)
    response.end(method === 'GET' ? JSON.stringify({ nodes: [NODE] }) : 'not yours')
  })
  await listen(0)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const image = { image_url: 'http://images.invalid', image_address: '127.0.0.1', image_port: '0' }
  images = new TestImages()
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const environment = { owner, stateDirectory: folder.path, images: images }
  driver = await createIronicDriver(environment, ironicSettings({ url, ...image }))
})
afterEach(async () => {
  await driver[Symbol.asyncDispose]()
  await silence()
  await folder[Symbol.asyncDispose]()
})

async function listen(port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
}

async function silence(): Promise<void> {
  server.closeAllConnections()
  if (server.listening) await new Promise((resolve) => server.close(resolve))
}

function goldSpec(change: { readonly imageId?: ImageId } = {}) {
  const image = images.add(Buffer.alloc(512))
  const plain = instanceSpec({ ...image, id: change.imageId ?? image.id })
  return { ...plain, flavor: { ...plain.flavor, extraSpecs: { 'resources:CUSTOM_GOLD': '1' } } }
}

test('a host whose user may only look says so, and has taken no node', async () => {
  await expect(driver.spawn(goldSpec(), signal())).rejects.toMatchObject({
    kind: 'forbidden',
    message: 'Ironic does not let this host’s user do this.',
  })
  expect(changes).toEqual(['PATCH /v1/nodes/the-node'])
  expect(await driver.list(signal())).toEqual([])
})

test('an image that does not exist costs no node', async () => {
  const spec = goldSpec({ imageId: newId<ImageId>() })
  await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'not-found' })
  expect(changes).toEqual([])
})

test('an ironic that does not answer is reported, and found again by itself', async () => {
  const { port } = server.address() as AddressInfo
  await silence()
  await expect(driver.inventory(signal())).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'Ironic does not answer.',
  })
  await listen(port)
  expect((await driver.inventory(signal())).machines).toMatchObject([
    { resourceClass: 'CUSTOM_GOLD', total: 1 },
  ])
})
