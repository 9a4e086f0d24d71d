import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { act, activeServer, deleteServer, showServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

const PORTS = '/networking/v2.0/ports'
const LIMIT_MS = 30_000

let cloud: Cloud

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

interface Ports {
  readonly ports: readonly Readonly<Record<string, unknown>>[]
}

/** What an administrator sees of the ports that a query finds, once that is so. */
async function untilPorts(query: string, expected: readonly object[]): Promise<void> {
  const seen = async () => {
    const { body } = await cloud.as('admin').get<Ports>(`${PORTS}?${query}`)
    return body.ports.map((port) => [port['status'], port['binding:host_id']])
  }
  const wanted = JSON.stringify(expected)
  await waitFor(`ports ${query}`, async () => JSON.stringify(await seen()) === wanted, LIMIT_MS)
  expect(await seen()).toEqual(expected)
}

test('ports of a server are bound to its host, active while it runs, and free after it', async () => {
  const demo = cloud.as('demo')
  const { body } = await demo.post<{ readonly port: { readonly id: string } }>(PORTS, {
    port: { network_id: cloud.catalog.network },
  })
  const own = body.port.id
  const networks = [{ uuid: cloud.catalog.network }, { port: own }]

  const { id } = await activeServer(cloud, demo, { networks })

  const host = cloud.hosts[0]!.name
  expect((await showServer(cloud.as('admin'), id))['OS-EXT-SRV-ATTR:host']).toBe(host)
  await untilPorts(`device_id=${id}`, [
    ['ACTIVE', host],
    ['ACTIVE', host],
  ])
  await act(demo, id, { 'os-stop': null })
  await untilStatus(demo, id, 'SHUTOFF')
  await untilPorts(`device_id=${id}`, [
    ['DOWN', host],
    ['DOWN', host],
  ])
  await deleteServer(demo, id)
  await untilPorts(`device_id=${id}`, [])
  await untilPorts(`id=${own}`, [['DOWN', '']])
})
