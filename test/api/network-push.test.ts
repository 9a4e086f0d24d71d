import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import { deleteNetwork } from '#gateway/app/networks/change-networks.ts'
import { deletePort } from '#gateway/app/networks/change-ports.ts'
import { createSecurityGroupRules } from '#gateway/app/networks/security-group-rules.ts'
import { deleteSubnet } from '#gateway/app/networks/subnets.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { findPorts, portsOfServer } from '#gateway/db/ports.ts'
import { queueDataPlaneStatus } from '#gateway/db/server-ports.ts'
import { subnetsOfNetworks } from '#gateway/db/subnets.ts'
import { METADATA_PORT_OWNER, metadataPort } from '#openapi/wire/metadata-port.ts'
import {
  NETWORK_KINDS,
  type NetworkChanges,
  type NetworkKind,
  type NetworkObjectRef,
} from '#openapi/wire/network.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { sampleHost } from '../env/sample-host.ts'

// Goal: a cell with a network engine receives the networks of its servers soon after each change and after each outage.

interface Kept {
  readonly kind: NetworkKind
  readonly object: { readonly id: string }
  readonly digest: string
}

let world: BootWorld
let user: ApiClient
/** What the cell has, by `kind id`. */
const kept = new Map<string, Kept>()
let applied = 0

beforeAll(async () => {
  world = await bootWorld('network_push')
  user = await world.api.user('alice', 'owners', 'member')
  const { cell, api } = world
  cell.overrides['network.list'] = ({ after }) => ({ objects: refs(after), isLast: true })
  cell.overrides['network.apply'] = ({ changes }) => {
    apply(changes)
    return {}
  }
  const host = { ...sampleHost('north-1'), capabilities: ['network-ovn', 'guestMetadata'] }
  cell.overrides['snapshot.hosts'] = () => {
    return { incarnation: cell.incarnation, hosts: [host], isLast: true }
  }
  await api.gateway.db.transaction((tx) => applyHostViews(tx, cell.id, [host]))
})
afterAll(() => world?.[Symbol.asyncDispose]())

function refs(after: unknown): NetworkObjectRef[] {
  expect(after).toBeNull()
  return [...kept.values()].map(({ kind, object, digest }) => ({ kind, id: object.id, digest }))
}

function apply({ put, digests, removed }: NetworkChanges): void {
  applied += 1
  for (const kind of NETWORK_KINDS)
    for (const object of put[kind]) {
      const { digest } = digests.find((each) => each.kind === kind && each.id === object.id)!
      kept.set(`${kind} ${object.id}`, { kind, object, digest })
    }
  for (const { kind, id } of removed) kept.delete(`${kind} ${id}`)
}

const all = (kind: NetworkKind) =>
  [...kept.values()].filter((each) => each.kind === kind).map(({ object }) => object)

async function active(): Promise<string> {
  const { body } = await user.call<{ server: { id: string } }>('createServer', {
    body: world.body(),
  })
  await world.until(body.server.id, ({ vmState }) => vmState === 'active')
  return body.server.id
}

test('a booted server brings its network to its cell, changes follow, and its end takes them away', async () => {
  const id = await active()
  const { hostId } = world.cell.views.get(id)!
  const port = expect.objectContaining({
    networkId: world.networkId,
    deviceId: id,
    hostId,
    remoteHostId: null,
    hasPortSecurity: true,
    fixedIps: [{ subnetId: expect.any(String), address: expect.stringMatching(/^10\.0\./) }],
  })
  const metadata = expect.objectContaining({
    ...{ id: metadataPort(world.networkId).id, networkId: world.networkId },
    deviceOwner: METADATA_PORT_OWNER,
    fixedIps: [{ subnetId: expect.any(String), address: expect.stringMatching(/^10\.0\./) }],
  })
  await expect.poll(() => all('ports')).toHaveLength(2)
  expect(all('ports')).toEqual(expect.arrayContaining([port, metadata]))
  expect(all('networks')).toMatchObject([{ id: world.networkId, name: 'private', vlan: null }])
  expect(all('subnets')).toMatchObject([{ networkId: world.networkId, cidr: '10.0.0.0/16' }])
  const [group] = all('securityGroups') as unknown as { id: string; rules: object[] }[]
  expect(group!.rules).toContainEqual(
    expect.objectContaining({ direction: 'ingress', version: 4, remoteGroupId: group!.id }),
  )

  const { networks } = world.api.gateway
  const requester = { projectId: 'x', isAdmin: true }
  const rule = {
    security_group_id: group!.id,
    direction: 'ingress' as const,
    ethertype: 'IPv4' as const,
    protocol: 'tcp',
    port_range_min: 22,
    port_range_max: 22,
    remote_ip_prefix: '192.0.2.7/24',
  }
  await createSecurityGroupRules(networks, requester, [rule])
  const ssh = {
    ...{ protocol: 6, portMin: 22, portMax: 22, remoteCidr: '192.0.2.0/24', remoteGroupId: null },
  }
  await expect
    .poll(() => all('securityGroups'))
    .toEqual([
      expect.objectContaining({ rules: expect.arrayContaining([expect.objectContaining(ssh)]) }),
    ])

  await user.call('deleteServer', { params: { server_id: id } })
  await expect.poll(() => kept.size).toBe(0)
})

test('a cell restored from a backup gets the objects that it lacks, and no others', async () => {
  const id = await active()
  await expect.poll(() => all('ports')).toHaveLength(2)
  const cells = world.api.gateway.compute.cells
  await world.cell.vanish()
  await expect.poll(() => cells.cell(world.cell.id)?.isReachable).toBe(false)
  const [lost] = [...kept.keys()].filter((key) => key.startsWith('subnets'))
  kept.delete(lost!)
  kept.set(`ports ${id}`, { kind: 'ports', object: { id }, digest: 'ZnJvbSBiZWZvcmU=' })
  const before = applied

  world.cell.incarnation = newId()
  world.cell.appear()

  await expect.poll(() => all('subnets')).toHaveLength(1)
  await expect.poll(() => all('ports')).toHaveLength(2)
  expect(applied - before).toBe(2)
})

test('a port has the status of its data plane in its own cell, in every state of its server', async () => {
  const id = await active()
  const { db } = world.api.gateway
  const portOf = async () => (await portsOfServer(db, id))[0]!
  const status = async () => (await portOf()).status
  await expect.poll(status).toBe('ACTIVE')
  const { id: portId } = await portOf()
  const other = newId<CellId>()
  await db.transaction((tx) => queueDataPlaneStatus(tx, other, [{ portId, isUp: false }]))
  expect(await status()).toBe('ACTIVE')

  world.cell.emit([{ kind: 'port', portId, isUp: false }])
  await expect.poll(status).toBe('DOWN')
  world.cell.emit([{ kind: 'instance', view: world.cell.change(id, { host: 'north-2' }) }])
  await expect.poll(async () => (await portOf()).hostName).toBe('north-2')
  expect(await status()).toBe('DOWN')

  world.cell.emit([{ kind: 'port', portId, isUp: true }])
  await expect.poll(status).toBe('ACTIVE')
})

test('a metadata port cannot be deleted, and goes with the subnets and the network of which nothing else is left', async () => {
  const { networks } = world.api.gateway
  const requester = { projectId: 'x', isAdmin: true }
  await active()
  const port = metadataPort(world.networkId)
  await expect.poll(() => all('ports').map((each) => each.id)).toContain(port.id)

  await expect(deletePort(networks, requester, port.id)).rejects.toThrow('via the port API')

  const { body } = await user.call<{ servers: { id: string }[] }>('listServers')
  for (const server of body.servers)
    await user.call('deleteServer', { params: { server_id: server.id } })
  await expect.poll(() => kept.size).toBe(0)
  for (const subnet of await subnetsOfNetworks(networks.db, [world.networkId]))
    await deleteSubnet(networks, requester, subnet.id)
  await deleteNetwork(networks, requester, world.networkId)
  expect(await findPorts(networks.db, [port.id])).toEqual([])
})
