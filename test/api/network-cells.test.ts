import { and, eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { createPorts, deletePort } from '#gateway/app/networks/change-ports.ts'
import { createFloatingIps, deleteFloatingIp } from '#gateway/app/networks/floating-ips.ts'
import { networkState } from '#gateway/app/networks/network-state.ts'
import {
  createPortForwarding,
  deletePortForwarding,
} from '#gateway/app/networks/port-forwardings.ts'
import { CellGateways } from '#gateway/app/networks/routers/cell-gateways.ts'
import { createRouters, deleteRouter } from '#gateway/app/networks/routers/change-routers.ts'
import { addInterface } from '#gateway/app/networks/routers/interfaces.ts'
import { removeInterface } from '#gateway/app/networks/routers/remove-interface.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { findPorts, portsOfServer } from '#gateway/db/ports.ts'
import { cellGateways } from '#gateway/db/router-gateways.ts'
import { findRouter } from '#gateway/db/routers.ts'
import { ports as portRows } from '#gateway/db/schema/network.ts'
import { createServer } from '#gateway/server.ts'
import type { NetworkState } from '#openapi/wire/network.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { createNetwork, createSubnet } from '../env/network-objects.ts'
import { sampleHost } from '../env/sample-host.ts'

// Goal: one network spans all cells, and no two cells answer for one external address.

const ADMIN = { projectId: 'a'.repeat(32), isAdmin: true }
const NORTH = { encapAddress: '10.9.0.1', physicalNetworks: ['physnet'] }
const SOUTH = { encapAddress: '10.9.0.2', physicalNetworks: ['physnet'] }

let world: BootWorld
let user: ApiClient
let north: CellId
const south = newId<CellId>()
const southHost = newId<HostId>()
let northHost: HostId
let portHere: string
let portThere: string
let subnetId: string

beforeAll(async () => {
  world = await bootWorld('network_cells')
  user = await world.api.user('alice', 'owners', 'member')
  north = world.cell.id
  const { db } = world.api.gateway
  const both = await twoCellNetwork()
  subnetId = both.id
  const { hostId } = world.cell.views.get(both.here)!
  northHost = hostId as HostId
  await know(north, northHost, NORTH)
  await know(south, southHost, SOUTH)
  portHere = (await portsOfServer(db, both.here))[0]!.id
  portThere = (await portsOfServer(db, both.there))[0]!.id
})
afterAll(() => world?.[Symbol.asyncDispose]())

/** A new subnet, with a server in each cell. */
async function twoCellNetwork() {
  const { db, networks } = world.api.gateway
  const { id: networkId } = await createNetwork(networks, owner(), { name: 'both' })
  const draft = { network_id: networkId, ip_version: 4, cidr: '10.70.0.0/24' } as const
  const { id } = await createSubnet(networks, owner(), draft)
  const body = { networks: [{ uuid: networkId }] }
  const [here, there] = [
    await activeServer(world, user, body),
    await activeServer(world, user, body),
  ]
  await db.orm.execute(
    `update instance_mappings set cell_id = '${south}' where server_id = '${there}'`,
  )
  await db.orm.execute(
    `update server_index set cell_id = '${south}', host_id = '${southHost}' where server_id = '${there}'`,
  )
  return { id, here, there }
}

const owner = () => ({ projectId: user.projectId, isAdmin: false })
let version = 10
function know(
  cellId: CellId,
  hostId: HostId,
  network: typeof NORTH | undefined,
  capabilities: string[] = ['network-ovn'],
): Promise<void> {
  version += 1
  const view = { ...sampleHost(`host-${hostId.slice(-4)}`), hostId, version, capabilities }
  return world.api.gateway.db.transaction((tx) =>
    applyHostViews(tx, cellId, [{ ...view, ...(network && { network }) }]),
  )
}
const stateIn = (cellId: CellId) => networkState(world.api.gateway.db, cellId)
const portIn = ({ ports }: NetworkState, id: string) => ports.find((port) => port.id === id)

test('each cell has the ports of the other, with the hosts that they are on and their tunnels', async () => {
  const [one, other] = [await stateIn(north), await stateIn(south)]
  const { hostId } = portIn(one, portHere)!

  expect(portIn(one, portHere)).toMatchObject({ hostId, remoteHostId: null })
  expect(portIn(one, portThere)).toMatchObject({ hostId: null, remoteHostId: southHost })
  expect(one.remoteHosts).toMatchObject([{ id: southHost, encapAddress: '10.9.0.2' }])
  expect(portIn(other, portHere)).toMatchObject({ hostId: null, remoteHostId: hostId })
  expect(other.remoteHosts).toMatchObject([{ id: hostId, encapAddress: '10.9.0.1' }])
  const keys = ({ networks, ports }: NetworkState) =>
    [...networks, ...ports].map(({ id, tunnelKey }) => [id, tunnelKey])
  expect(keys(one)).toEqual(keys(other))
  expect(one.securityGroups).toEqual(other.securityGroups)
})

test('no tunnel ends at a host that has not reported its tunnel address', async () => {
  await know(south, southHost, undefined)
  expect((await stateIn(north)).remoteHosts).toEqual([])

  await know(south, southHost, SOUTH)
  expect((await stateIn(north)).remoteHosts).toHaveLength(1)
})

/** Afterwards each router leads outside where it is to. */
const placed = () => {
  const { db, compute } = world.api.gateway
  return new CellGateways({ db, clock: compute.clock, log: compute.log }, 0).place()
}
const gatewayOf = ({ ports, routers }: NetworkState, routerId: string) => {
  const { gateway } = routers.find(({ id }) => id === routerId)!
  const found = ports.filter(({ deviceId, deviceOwner }) => {
    return deviceId === routerId && deviceOwner === 'network:router_gateway'
  })
  expect(found.map(({ id }) => id)).toEqual([gateway!.portId])
  return { ...gateway!, ...found[0]! }
}
const addressesOf = async (routerId: string) => {
  const found = await findRouter(world.api.gateway.db, routerId)
  return new Map(found!.cellGateways.map(({ cellId, fixedIps }) => [cellId, fixedIps[0]!.address]))
}

describe('a router with servers in two cells', () => {
  let routerId: string
  let externalId: string
  let own: string

  beforeAll(async () => {
    const { networks } = world.api.gateway
    const external = await createNetwork(networks, ADMIN, {
      ...{ name: 'public', 'router:external': true },
      ...{ 'provider:network_type': 'flat', 'provider:physical_network': 'physnet' },
    })
    externalId = external.id
    const outside = { network_id: external.id, ip_version: 4, cidr: '203.0.113.0/28' } as const
    await createSubnet(networks, ADMIN, outside)
    const info = { external_gateway_info: { network_id: external.id } }
    const [router] = await createRouters(networks, owner(), [info])
    routerId = router!.id
    own = router!.gateway!.fixedIps[0]!.address
    await addInterface(networks, owner(), routerId, { subnet_id: subnetId })
  })

  test('has its own address in one of them, and one more address in the other', async () => {
    await Promise.all([placed(), placed()])
    expect(await placed()).toBe(0)
    const { db } = world.api.gateway
    const ports = await db.orm.$count(
      portRows,
      and(eq(portRows.deviceId, routerId), eq(portRows.deviceOwner, 'network:router_gateway')),
    )
    expect(ports).toBe(2)

    const [home, away] = north < south ? [north, south] : [south, north]
    const addresses = await addressesOf(routerId)
    expect(addresses.get(home)).toBe(own)
    expect(addresses.get(away)).toMatch(/^203\.0\.113\./)
    const [one, other] = [await stateIn(home), await stateIn(away)]
    expect(gatewayOf(one, routerId)).toMatchObject({ hasSnat: true, fixedIps: [{ address: own }] })
    expect(gatewayOf(other, routerId)).toMatchObject({
      hasSnat: true,
      fixedIps: [{ address: addresses.get(away) }],
    })
    expect(gatewayOf(one, routerId).mac).not.toBe(gatewayOf(other, routerId).mac)
    const interfaces = ({ ports }: NetworkState) =>
      ports.filter(({ deviceOwner }) => deviceOwner === 'network:router_interface')
    expect(interfaces(one)).toEqual(interfaces(other))
  })

  test('is answered by each cell for the floating IPs of its own ports', async () => {
    const { networks } = world.api.gateway
    const draft = (port_id: string) => ({ floating_network_id: externalId, port_id })
    const made = await createFloatingIps(networks, owner(), [draft(portHere), draft(portThere)])
    const addresses = made.map(({ address }) => address)

    const floating = async (cellId: CellId) =>
      (await stateIn(cellId)).floatingIps.map(({ address }) => address)

    expect([await floating(north), await floating(south)]).toEqual([[addresses[0]], [addresses[1]]])
    for (const { id } of made) await deleteFloatingIp(networks, owner(), id)
  })

  test('has the forwardings of a floating IP in the cell of the servers that they lead to, which is one', async () => {
    const { networks } = world.api.gateway
    const [ip] = await createFloatingIps(networks, owner(), [{ floating_network_id: externalId }])
    const { id, address } = ip!
    const forward = (internal_port_id: string, port: number) => {
      const fields = { internal_port_id, internal_port: port, external_port: port }
      return createPortForwarding(networks, owner(), id, { protocol: 'tcp', ...fields })
    }
    const made = await forward(portThere, 22)

    const leads = async (cellId: CellId) =>
      (await stateIn(cellId)).routers.flatMap(({ forwardings = [] }) => forwardings)
    expect(await leads(north)).toEqual([])
    expect(await leads(south)).toEqual([
      {
        floatingIpId: id,
        floatingAddress: address,
        protocol: 'tcp',
        ...{ externalFirst: 22, externalLast: 22, internalFirst: 22, internalLast: 22 },
        address: made.address,
      },
    ])
    await expect(forward(portHere, 80)).rejects.toThrow('servers of another cell')
    await deletePortForwarding(networks, owner(), id, made.id)
    await know(south, southHost, undefined, ['routing'])
    await expect(forward(portThere, 22)).rejects.toThrow('a cloud in which port forwardings')

    await know(south, southHost, SOUTH)
    await deleteFloatingIp(networks, owner(), id)
  })

  test('has one more in a cell whose host is a cloud, and no other cell answers for its floating IPs', async () => {
    const { networks } = world.api.gateway
    const draft = (port_id: string) => ({ floating_network_id: externalId, port_id })
    const made = await createFloatingIps(networks, owner(), [draft(portHere), draft(portThere)])
    await know(south, southHost, undefined, ['routing'])

    const [one, other] = [await stateIn(north), await stateIn(south)]

    const leadsTo = ({ floatingIps }: NetworkState) => floatingIps.map(({ portId }) => portId)
    expect([leadsTo(one), leadsTo(other)]).toEqual([[portHere], [portThere]])
    for (const { routers } of [one, other])
      expect(routers).toMatchObject([{ gateway: { hasSnat: true } }])
    expect(one.remoteHosts).toEqual([])

    await know(south, southHost, SOUTH)
    for (const { id } of made) await deleteFloatingIp(networks, owner(), id)
  })

  test('moves its own address only when its cell can no longer have it', async () => {
    const [home, away] = north < south ? [north, south] : [south, north]
    const hostOf = (cellId: CellId) => (cellId === north ? northHost : southHost)
    const networkOf = (cellId: CellId) => (cellId === north ? NORTH : SOUTH)
    const unmapped = { ...networkOf(home), physicalNetworks: [] }
    const before = await cellGateways(world.api.gateway.db, [routerId])
    const further = before.find(({ cellId }) => cellId === away)!
    await know(home, hostOf(home), unmapped)
    const { db, compute } = world.api.gateway
    const patient = new CellGateways({ db, clock: compute.clock, log: compute.log })
    expect(await patient.place()).toBe(0)
    expect((await addressesOf(routerId)).get(home)).toBe(own)

    await placed()
    expect(await findPorts(world.api.gateway.db, [further.portId])).toEqual([])

    // The cell without a way outside leads floating IPs by an address of the link, which no one asks for.
    expect([...(await addressesOf(routerId))]).toEqual([[away, own]])
    expect(gatewayOf(await stateIn(away), routerId)).toMatchObject({ hasSnat: true })
    expect(gatewayOf(await stateIn(home), routerId)).toMatchObject({
      hasSnat: false,
      fixedIps: [{ address: expect.stringMatching(/^169\.254\.\d+\.\d+$/) }],
    })

    await know(home, hostOf(home), networkOf(home))
    await placed()
    const addresses = await addressesOf(routerId)
    expect(addresses.get(away)).toBe(own)
    expect(addresses.get(home)).toMatch(/^203\.0\.113\./)
  })

  test('is shown with the addresses to administrators, and its ports are its own', async () => {
    const admin = await world.api.user('root', 'owners', 'admin')
    const app = createServer(world.api.gateway, ['network'])
    const show = async ({ token }: ApiClient) => {
      const url = `http://gw.example/networking/v2.0/routers/${routerId}`
      const answer = await app.request(url, { headers: { 'X-Auth-Token': token } })
      return ((await answer.json()) as { router: Record<string, unknown> }).router
    }
    expect((await show(admin))['weir:gateways']).toHaveLength(2)
    expect(await show(user)).not.toHaveProperty('weir:gateways')

    const { db, networks } = world.api.gateway
    const gateways = await cellGateways(db, [routerId])
    for (const { portId } of gateways)
      await expect(deletePort(networks, ADMIN, portId)).rejects.toThrow(/directly/)
  })

  test('is led outside by a cloud that is a host of a cell, which alone answers for its floating IPs', async () => {
    const { networks } = world.api.gateway
    const draft = (port_id: string) => ({ floating_network_id: externalId, port_id })
    const made = await createFloatingIps(networks, owner(), [draft(portHere), draft(portThere)])
    await know(south, southHost, undefined, ['routing'])

    const [one, other] = [await stateIn(north), await stateIn(south)]

    const leadsTo = ({ floatingIps }: NetworkState) => floatingIps.map(({ portId }) => portId)
    expect([leadsTo(one), leadsTo(other)]).toEqual([[portHere], [portThere]])
    for (const { routers } of [one, other])
      expect(routers).toMatchObject([{ gateway: { hasSnat: true } }])
    expect(one.remoteHosts).toEqual([])
    for (const { id } of made) await deleteFloatingIp(networks, owner(), id)
    await know(south, southHost, SOUTH)
  })

  test('has as many addresses as its external network has left, and loses no address', async () => {
    const { networks } = world.api.gateway
    const taken: string[] = []
    for (;;) {
      const made = await createPorts(networks, ADMIN, [{ network_id: externalId }]).catch(() => [])
      if (made.length === 0) break
      taken.push(made[0]!.id)
    }
    const info = { external_gateway_info: { network_id: externalId } }
    await deletePort(networks, ADMIN, taken.pop()!)
    const [second] = await createRouters(networks, owner(), [info])
    const { id } = await twoCellNetwork()
    await addInterface(networks, owner(), second!.id, { subnet_id: id })

    await placed()
    expect((await addressesOf(second!.id)).size).toBe(1)

    await deletePort(networks, ADMIN, taken.pop()!)
    await placed()
    expect((await addressesOf(second!.id)).size).toBe(2)
  })

  test('leaves nothing when it is gone', async () => {
    const { db, networks } = world.api.gateway
    const gateways = await cellGateways(db, [routerId])
    expect(gateways).toHaveLength(2)
    await removeInterface(networks, owner(), routerId, { subnet_id: subnetId })
    await deleteRouter(networks, owner(), routerId)

    expect(await cellGateways(db, [routerId])).toEqual([])
    const ids = gateways.map(({ portId }) => portId)
    expect(await findPorts(db, ids)).toEqual([])
  })
})
