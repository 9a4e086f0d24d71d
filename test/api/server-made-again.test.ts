import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation } from '#test/env/api/operations.ts'
import {
  act,
  deleteServer,
  SERVERS,
  showServer,
  unboundServer,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: a guest that is made again, on its host, another one or in another cell, has what its server has by then: its name,
// its size and its interfaces.

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  const gateway = { GATEWAY_SHELVED_OFFLOAD_TIME_S: '0' }
  cloud = await startCloud({ cells: 2, hostsPerCell: 2, gateway })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const forceDown = (host: string, isDown: boolean) =>
  admin.put(
    '/compute/v2.1/os-services/force-down',
    { host, binary: 'nova-compute', forced_down: isDown },
    { version: '2.11' },
  )

async function accepted(answer: Promise<{ readonly status: number; readonly body: unknown }>) {
  const { status, body } = await answer
  expect(status, JSON.stringify(body)).toBeLessThan(300)
}

const WAYS: Readonly<Record<string, (id: string) => Promise<void>>> = {
  unshelved: async (id) => {
    await accepted(act(demo, id, { shelve: null }))
    await untilStatus(demo, id, 'SHELVED_OFFLOADED')
    await accepted(act(demo, id, { unshelve: null }))
  },
  evacuated: async (id) => {
    const host = String((await showServer(admin, id))['OS-EXT-SRV-ATTR:host'])
    await accepted(forceDown(host, true))
    await accepted(act(admin, id, { evacuate: {} }, { version: '2.14' }))
    await expect
      .poll(async () => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host'], { timeout: 30_000 })
      .not.toBe(host)
    await accepted(forceDown(host, false))
  },
  'moved to another cell': async (id) => {
    const path = `/federation/v1/servers/${id}/move`
    const { status, body } = await admin.post<{ id: string }>(path, { cell: 'south' })
    expect(status).toBe(202)
    expect(await endOfOperation(admin, body.id)).toMatchObject({ state: 'done' })
  },
}

test.each(Object.entries(WAYS))('a server that is %s', async (_way, madeAgain) => {
  const { id } = await unboundServer(cloud, demo, 'north', { name: 'before' })
  const { network, small } = cloud.catalog
  const body = { interfaceAttachment: { net_id: network } }
  await accepted(demo.post(`${SERVERS}/${id}/os-interface`, body))
  await accepted(demo.put(`${SERVERS}/${id}`, { server: { name: 'after' } }))
  await accepted(act(demo, id, { resize: { flavorRef: small } }))
  await untilStatus(demo, id, 'VERIFY_RESIZE')
  await accepted(act(demo, id, { confirmResize: null }))
  await untilStatus(demo, id, 'ACTIVE')
  await untilSettled(cloud, id)
  const ports = (
    await demo.get<{ ports: { mac_address: string }[] }>(`/networking/v2.0/ports?device_id=${id}`)
  ).body.ports
  expect(ports).toHaveLength(2)

  await madeAgain(id)

  await untilStatus(demo, id, 'ACTIVE')
  const server = await untilSettled(cloud, id)
  expect(server).toMatchObject({ name: 'after', flavor: { id: small } })
  const { nic_details, memory_details } = (
    await admin.get<{
      nic_details: { mac_address: string }[]
      memory_details: { maximum: number }
    }>(`${SERVERS}/${id}/diagnostics`, { version: '2.48' })
  ).body
  expect(nic_details.map((nic) => nic.mac_address).toSorted()).toEqual(
    ports.map((port) => port.mac_address).toSorted(),
  )
  expect(memory_details.maximum).toBe(512)
  const { output } = (await act(demo, id, { 'os-getConsoleOutput': {} })).body
  expect(output).toContain('booted after')
  await deleteServer(demo, id)
})
