import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  askForServer,
  createServer,
  SERVERS,
  type Server,
  showServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { DeliveryProbe } from '#test/env/delivery-probe.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { type PrivateServices, privateServices } from '#test/env/private-services.ts'

const STALE = 'weir-stale'
const BACK_LIMIT_MS = 30_000

let services: PrivateServices
let cloud: Cloud
let demo: ApiClient
let server: Server

beforeAll(async () => {
  services = await privateServices()
  cloud = await startCloud({
    services: services.services,
    gateway: { GATEWAY_DATABASE_RETRY_MS: '500' },
    cell: { CELL_DATABASE_RETRY_MS: '500' },
  })
  demo = cloud.as('demo')
  server = await activeServer(cloud, demo)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
  await services?.[Symbol.asyncDispose]()
})

test('without NATS reads are marked stale, requests to cells get 503, and both end after its restart', async () => {
  await services.killNats()
  await cloud.waitUntilUnreachable()

  expect((await demo.get(`${SERVERS}/${server.id}`)).headers).toHaveProperty(STALE)
  expect((await showServer(demo, server.id)).status).toBe('ACTIVE')
  for (const answer of [
    await askForServer(cloud, demo),
    await act(demo, server.id, { reboot: { type: 'HARD' } }),
    await act(demo, server.id, { 'os-getConsoleOutput': {} }),
  ]) {
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toMatch(/^\d+$/)
  }

  await services.restartNats()
  await cloud.waitUntilWhole()
  await waitFor(
    'reads not to be marked stale',
    async () => (await demo.get(`${SERVERS}/${server.id}`)).headers[STALE] === undefined,
    BACK_LIMIT_MS,
  )
  await untilStatus(demo, await createServer(cloud, demo), 'ACTIVE', BACK_LIMIT_MS)
  await expectInvariants(cloud)
})

test('without MariaDB everything gets 503 with Retry-After, and all is well after', async () => {
  await services.killMariadb()

  for (const answer of [
    await demo.get(`${SERVERS}/${server.id}`),
    await demo.get(`${SERVERS}/detail`),
    await askForServer(cloud, demo),
    await demo.delete(`${SERVERS}/${server.id}`),
    await demo.get('/image/v2/images'),
    await demo.get('/networking/v2.0/networks'),
  ]) {
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toMatch(/^\d+$/)
  }

  await services.restartMariadb()
  await waitFor(
    'reads to answer again',
    async () => (await demo.get(`${SERVERS}/${server.id}`)).status === 200,
    BACK_LIMIT_MS,
  )
  await waitFor(
    'a server to be taken again',
    async () => (await askForServer(cloud, demo, { name: 'after' })).status === 202,
    BACK_LIMIT_MS,
  )
  const { body } = await demo.get<{ servers: readonly Server[] }>(`${SERVERS}?name=after`)
  await untilStatus(demo, body.servers[0]?.id ?? '', 'ACTIVE', BACK_LIMIT_MS)
  await expectInvariants(cloud, BACK_LIMIT_MS)
})

// Last: the account of the gateways then names a cell that is nowhere, for which the bus looks again and again.
test('hosts are waited for while the bus exchanges the account of the gateways', async () => {
  const { bus, cells } = cloud.foundation
  await using probe = await DeliveryProbe.open(bus, cells[0]!.id)

  await bus.repeatSlowly()
  await probe.untilDeaf()
  const isWhole = cloud.waitUntilWhole()
  await probe.untilHearing()

  await isWhole
})
