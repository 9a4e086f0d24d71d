import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { updatePort } from '#gateway/app/networks/change-ports.ts'
import {
  createSecurityGroupRule,
  deleteSecurityGroupRule,
} from '#gateway/app/networks/security-group-rules.ts'
import { findServer } from '#gateway/db/find-server.ts'
import type { Port } from '#gateway/db/network.ts'
import { portsOfServer } from '#gateway/db/ports.ts'
import type { FilterRule, PortFilter } from '#openapi/wire/firewall.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { sampleHost } from '../env/sample-host.ts'

const LIMIT_MS = 30_000

let world: BootWorld
let alice: ApiClient
let port: Port
/** What each port's host was told last. */
const applied = new Map<string, PortFilter>()
let isDown = false
/** Ports that are on their way to their hosts. */
const absent = new Set<string>()
let tellings = 0

beforeAll(async () => {
  world = await bootWorld('port_filters')
  alice = await world.api.user('alice', 'blue', 'member')
  world.cell.overrides['host.filter-ports'] = ({ ports }) => {
    if (isDown) throw new Failure('unavailable', 'The host is silent.')
    const here = ports.filter(({ nic }) => !absent.has(nic.portId))
    for (const filter of here) applied.set(filter.nic.portId, filter)
    tellings += 1
    return { applied: here.map(({ nic }) => nic.portId) }
  }
  port = await bootOnFilteringHost()
})
afterAll(() => world?.[Symbol.asyncDispose]())

const owner = () => ({ projectId: alice.projectId, isAdmin: false })

async function bootOnFilteringHost(): Promise<Port> {
  const { db } = world.api.gateway
  const id = await activeServer(world, alice)
  const { hostId } = (await findServer(db, id))!
  const view = sampleHost(`host-${hostId}`, { hostId: hostId!, capabilities: ['firewall'] })
  world.cell.emit([{ kind: 'host', view }])
  return (await portsOfServer(db, id))[0]!
}

function until(what: string, is: (filter: PortFilter) => boolean, id = port.id) {
  return waitFor(
    what,
    () => {
      const filter = applied.get(id)
      return filter !== undefined && is(filter) ? filter : undefined
    },
    LIMIT_MS,
  )
}

const ingress = ({ rules }: PortFilter): readonly FilterRule[] =>
  (rules ?? []).filter(({ direction, version }) => direction === 'ingress' && version === 4)

test("a host gets the rules of its ports' groups, whenever they change", async () => {
  const { networks } = world.api.gateway
  const [own] = port.fixedIps
  const filter = await until('the first telling', () => true)
  expect(filter).toMatchObject({
    nic: { macAddress: port.macAddress },
    groupIds: port.securityGroupIds,
  })
  expect(ingress(filter)).toEqual([
    expect.objectContaining({ protocol: null, remotes: [`${own!.address}/32`] }),
  ])

  const rule = await createSecurityGroupRule(networks, owner(), {
    security_group_id: port.securityGroupIds[0]!,
    direction: 'ingress',
    protocol: 'tcp',
    port_range_min: 80,
    port_range_max: 81,
    remote_ip_prefix: '192.0.2.7/24',
  })
  const [groupId] = port.securityGroupIds
  const web = { protocol: 6, portMin: 80, portMax: 81, remotes: ['192.0.2.0/24'], groupId }
  await until('the rule', (now) => ingress(now).some((each) => each.protocol === 6))
  expect(ingress(applied.get(port.id)!)).toContainEqual(expect.objectContaining(web))

  isDown = true
  await deleteSecurityGroupRule(networks, owner(), rule.id)
  isDown = false
  await until('the rule to be gone', (now) => ingress(now).length === 1)
})

test('a port that had not reached its host is pushed again, though nothing changed', async () => {
  const { networks } = world.api.gateway
  absent.add(port.id)
  await updatePort(networks, owner(), port.id, {
    port_security_enabled: false,
    security_groups: [],
  })
  const before = tellings
  await waitFor('a telling that is passed over', () => tellings > before || undefined, LIMIT_MS)
  expect(applied.get(port.id)!.rules).not.toBeNull()

  absent.delete(port.id)

  await until('the port to be open', ({ rules }) => rules === null)
  await updatePort(networks, owner(), port.id, {
    port_security_enabled: true,
    security_groups: port.securityGroupIds,
  })
  await until('the port to be shut', ({ rules }) => rules !== null)
})

test('members of a group are known to the others as they come', async () => {
  const other = await bootOnFilteringHost()
  const addresses = [port, other].flatMap(({ fixedIps }) => fixedIps.map(({ address }) => address))
  const knowsAll = (now: PortFilter) =>
    addresses.every((address) => ingress(now)[0]?.remotes?.includes(`${address}/32`))

  await until('the older port to know the newer', knowsAll)
  await until('the newer port to know the older', knowsAll, other.id)
})

test('a port without port security lets everything through, and a new address is pushed', async () => {
  const { networks } = world.api.gateway
  await updatePort(networks, owner(), port.id, {
    security_groups: [],
    port_security_enabled: false,
  })
  await until('the port to be open', ({ rules }) => rules === null)

  const [own] = port.fixedIps
  await updatePort(networks, { ...owner(), isAdmin: true }, port.id, {
    fixed_ips: [
      { subnet_id: own!.subnetId, ip_address: own!.address },
      { subnet_id: own!.subnetId },
    ],
  })
  await until('both addresses', ({ nic }) => nic.fixedIps.length === 2)
})

test('a server on a host that does not enforce groups gets no filters', async () => {
  const { db } = world.api.gateway
  const id = await activeServer(world, alice)
  const { hostId } = (await findServer(db, id))!
  const web = { name: 'web', description: '' }
  const made = await alice.call('createProxiedSecurityGroup', { body: { security_group: web } })
  expect(made.status).toBe(200)
  const add = () =>
    alice.call('addServerSecurityGroup', {
      params: { server_id: id },
      body: { addSecurityGroup: { name: 'web' } },
    })
  const view = sampleHost(`host-${hostId}`, { hostId: hostId!, simulated: false })
  world.cell.emit([{ kind: 'host', view }])

  await expect.poll(add, { timeout: LIMIT_MS }).toMatchObject({
    status: 400,
    body: { badRequest: { message: expect.stringContaining('have no effect on the host') } },
  })
  const { networks } = world.api.gateway
  const [bound] = await portsOfServer(db, id)
  const other = { security_group: { name: 'other', description: '' } }
  const { body } = await alice.call('createProxiedSecurityGroup', { body: other })
  const { security_group } = body as { readonly security_group: { readonly id: string } }
  const had = bound!.securityGroupIds
  const more = { security_groups: [...had, security_group.id] }
  const change = updatePort(networks, owner(), bound!.id, more)
  await expect(change).rejects.toMatchObject({ kind: 'invalid' })
  await updatePort(networks, owner(), bound!.id, { name: 'front', security_groups: had })
})
