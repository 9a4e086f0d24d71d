import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { createFloatingIps } from '#gateway/app/networks/floating-ips.ts'
import { networkState } from '#gateway/app/networks/network-state.ts'
import { createRouters } from '#gateway/app/networks/routers/change-routers.ts'
import { addInterface } from '#gateway/app/networks/routers/interfaces.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { portsOfServer } from '#gateway/db/ports.ts'
import type { NetworkState } from '#openapi/wire/network.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { createNetwork, createSubnet } from '../env/network-objects.ts'
import { sampleHost } from '../env/sample-host.ts'

// Goal: one network is one in all cells, and no two cells answer for one address outside.

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
  const { db, networks } = world.api.gateway
  const network = await createNetwork(networks, owner(), { name: 'both' })
  const cidr = '10.70.0.0/24'
  subnetId = (
    await createSubnet(networks, owner(), { network_id: network.id, ip_version: 4, cidr })
  ).id
  const body = { networks: [{ uuid: network.id }] }
  const [here, there] = [
    await activeServer(world, user, body),
    await activeServer(world, user, body),
  ]
  const { hostId } = world.cell.views.get(here)!
  await db.orm.execute(
    `update instance_mappings set cell_id = '${south}' where server_id = '${there}'`,
  )
  await db.orm.execute(
    `update server_index set cell_id = '${south}', host_id = '${southHost}' where server_id = '${there}'`,
  )
  northHost = hostId as HostId
  await know(north, northHost, NORTH)
  await know(south, southHost, SOUTH)
  portHere = (await portsOfServer(db, here))[0]!.id
  portThere = (await portsOfServer(db, there))[0]!.id
})
afterAll(() => world?.[Symbol.asyncDispose]())

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

test('a host that has not said where its tunnels end is none to tunnel to', async () => {
  await know(south, southHost, undefined)
  expect((await stateIn(north)).remoteHosts).toEqual([])

  await know(south, southHost, SOUTH)
  expect((await stateIn(north)).remoteHosts).toHaveLength(1)
})

test('one cell has the external address of a router, and each the floating IPs of its own ports', async () => {
  const { networks } = world.api.gateway
  const external = await createNetwork(networks, ADMIN, {
    ...{ name: 'public', 'router:external': true },
    ...{ 'provider:network_type': 'flat', 'provider:physical_network': 'physnet' },
  })
  const outside = { network_id: external.id, ip_version: 4, cidr: '203.0.113.0/28' } as const
  await createSubnet(networks, ADMIN, outside)
  const info = { external_gateway_info: { network_id: external.id } }
  const [router] = await createRouters(networks, owner(), [info])
  await addInterface(networks, owner(), router!.id, { subnet_id: subnetId })
  const draft = (port_id: string) => ({ floating_network_id: external.id, port_id })
  const made = await createFloatingIps(networks, owner(), [draft(portHere), draft(portThere)])
  const addresses = made.map(({ address }) => address)

  const [one, other] = [await stateIn(north), await stateIn(south)]

  const floating = ({ floatingIps }: NetworkState) => floatingIps.map(({ address }) => address)
  expect([floating(one), floating(other)]).toEqual([[addresses[0]], [addresses[1]]])
  const gatewayOf = ({ ports, routers }: NetworkState) => ({
    ...routers[0]!.gateway!,
    ...portIn({ ports } as NetworkState, routers[0]!.gateway!.portId)!,
  })
  const [home, away] = north < south ? [one, other] : [other, one]
  expect(gatewayOf(home)).toMatchObject({
    hasSnat: true,
    fixedIps: [{ address: router!.gateway!.fixedIps[0]!.address }],
  })
  expect(gatewayOf(away)).toMatchObject({
    hasSnat: false,
    fixedIps: [{ address: expect.stringMatching(/^169\.254\.\d+\.\d+$/) }],
  })
  expect(gatewayOf(away).mac).not.toBe(gatewayOf(home).mac)
  const interfaces = ({ ports }: NetworkState) =>
    ports.filter(({ deviceOwner }) => deviceOwner === 'network:router_interface')
  expect(interfaces(one)).toEqual(interfaces(other))

  // A cell whose hosts do not reach the external network is no home.
  const isNorthHome = north < south
  const unmapped = { ...(isNorthHome ? NORTH : SOUTH), physicalNetworks: [] }
  await know(isNorthHome ? north : south, isNorthHome ? northHost : southHost, unmapped)
  expect(gatewayOf(await stateIn(isNorthHome ? south : north))).toMatchObject({ hasSnat: true })
  expect(gatewayOf(await stateIn(isNorthHome ? north : south))).toMatchObject({ hasSnat: false })
})

test('a cell whose host is a cloud has a gateway of its own, and no other cell answers for its floating IPs', async () => {
  await know(north, northHost, NORTH)
  await know(south, southHost, undefined, ['routing'])

  const [one, other] = [await stateIn(north), await stateIn(south)]

  const leadsTo = ({ floatingIps }: NetworkState) => floatingIps.map(({ portId }) => portId)
  expect([leadsTo(one), leadsTo(other)]).toEqual([[portHere], [portThere]])
  for (const { routers } of [one, other])
    expect(routers).toMatchObject([{ gateway: { hasSnat: true } }])
  expect(one.remoteHosts).toEqual([])
})
