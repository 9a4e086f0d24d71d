import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { NetworkChanges, NetworkState } from '#openapi/wire/network.ts'
import type { HostRouting, RoutingProblem } from '#openapi/wire/routing.ts'
import {
  EMPTY_STATE,
  wireFloatingIp,
  wireNetwork,
  wirePort,
  wireRouter,
  wireSubnet,
} from '#test/env/network-state.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'

// Goal: a host with routers of its own is asked for what its servers need, whatever fails, and the gateways hear what became of it.

let cell: TestCell
let one: TestHost
/** What each host was asked for, oldest first. */
const asked = new Map<string, HostRouting[]>()
let problems: readonly RoutingProblem[] = []
let failure: Failure | undefined

const routingOf = (name: string) => ({
  apply: async (wanted: HostRouting) => {
    asked.set(name, [...(asked.get(name) ?? []), wanted])
    if (failure !== undefined) throw failure
    return problems.filter(({ id }) =>
      [...wanted.routers, ...wanted.floatingIps].some((each) => each.id === id),
    )
  },
})

beforeAll(async () => {
  cell = await testCell('route_hosts')
  const running = await cell.addProcess('a')
  one = await cell.addHost({ name: 'one', routing: routingOf('one') })
  await cell.addHost({ name: 'two', routing: routingOf('two') })
  await cell.addHost({ name: 'without' })
  await cell.waitForHosts(running, 3)
})
afterAll(() => cell?.[Symbol.asyncDispose]())

const outside = wireNetwork({ isExternal: true, physicalNetwork: 'physnet' })
const outsideSubnet = wireSubnet(outside, '203.0.113.0/24')
const network = wireNetwork()
const subnet = wireSubnet(network, '10.1.0.0/24')
const far = wireNetwork()
const farSubnet = wireSubnet(far, '10.2.0.0/24')
const way = wirePort(outsideSubnet, '203.0.113.2', { deviceOwner: 'network:router_gateway' })
const router = wireRouter({ id: way.deviceId, gateway: { portId: way.id, hasSnat: false } })
const owned = { deviceOwner: 'network:router_interface', deviceId: router.id }
const near = wirePort(subnet, '10.1.0.1', owned)
const away = wirePort(farSubnet, '10.2.0.1', owned)

/** The whole state, with the ports of two servers that are on these hosts. */
function state(): NetworkState {
  const [a, b] = [
    wirePort(subnet, '10.1.0.9', { hostId: one.id }),
    wirePort(farSubnet, '10.2.0.9', { remoteHostId: newId() }),
  ]
  const leads = { networkId: outside.id, routerId: router.id }
  return {
    ...EMPTY_STATE,
    networks: [outside, network, far],
    subnets: [outsideSubnet, subnet, farSubnet],
    ports: [way, near, away, a, b],
    routers: [router],
    floatingIps: [
      wireFloatingIp({ ...leads, address: '203.0.113.9', portId: a.id, fixedAddress: '10.1.0.9' }),
      wireFloatingIp({ ...leads, address: '203.0.113.10', portId: b.id, fixedAddress: '10.2.0.9' }),
    ],
  }
}

async function send(put: Partial<NetworkState>, removed: NetworkChanges['removed'] = []) {
  const digests = Object.entries(put).flatMap(([kind, objects]) =>
    objects.map((object) => ({
      ...{ kind: kind as never, id: object.id },
      digest: Buffer.from(JSON.stringify(object)).toString('base64').slice(-40),
    })),
  )
  const changes = { put: { ...EMPTY_STATE, ...put }, digests, removed: [...removed] }
  await cell.ask('network.apply', { generation: 1, changes })
}
const lastAsked = (name: string) => asked.get(name)?.at(-1)

test('each host is asked for the routers of the networks of its servers, and their floating IPs', async () => {
  const wanted = state()
  await send(wanted)

  await expect.poll(() => lastAsked('one')).toMatchObject({ networkIds: [network.id] })
  const { id, address, portId, fixedAddress } = wanted.floatingIps[0]!
  const through = { id: outside.id, physicalNetwork: 'physnet' }
  expect(lastAsked('one')).toEqual({
    networkIds: [network.id],
    routers: [
      {
        ...{ id: router.id, name: router.name, isUp: true, routes: [] },
        gateway: { outside: through, hasSnat: false },
        interfaces: [[near, network, '10.1.0'] as const, [away, far, '10.2.0'] as const]
          .toSorted(([a], [b]) => (a.id < b.id ? -1 : 1))
          .map(([port, on, prefix]) => ({
            ...{ portId: port.id, networkId: on.id },
            addresses: [{ cidr: `${prefix}.0/24`, address: `${prefix}.1` }],
          })),
      },
    ],
    floatingIps: [{ id, address, portId, fixedAddress, outside: through }],
  })
  await expect
    .poll(() => lastAsked('two'))
    .toEqual({
      ...{ networkIds: [], routers: [], floatingIps: [] },
    })
  expect(await cell.waitForFeed('floating-ip')).toEqual({
    ...{ kind: 'floating-ip', id, portId, fixedAddress },
    ...{ status: 'ACTIVE', problem: null },
  })
})

test('a host with a problem is asked again until there is none, and the gateways hear the cause', async () => {
  const wanted = state()
  const { id } = wanted.floatingIps[0]!
  problems = [
    { id: router.id, status: 'ERROR', reason: 'no room for routers' },
    { id, status: 'ERROR', reason: 'no router leads there' },
  ]
  await send({ ...wanted, networks: [], subnets: [] })
  const change = await cell.waitForFeed('floating-ip', (body) => body.id === id)
  expect(change).toMatchObject({ status: 'ERROR', problem: 'no room for routers' })

  const times = asked.get('one')!.length
  await expect.poll(() => asked.get('one')!.length).toBeGreaterThan(times)
  problems = []
  await cell.waitForFeed('floating-ip', (body) => body.id === id && body.status === 'ACTIVE')
})

test('a host whose backend was silent is asked again, and for nothing once all is removed', async () => {
  failure = new Failure('unavailable', 'silent')
  await send({}, [{ kind: 'routers', id: router.id }])
  await expect.poll(() => lastAsked('one')?.routers).toEqual([])
  const times = asked.get('one')!.length
  await expect.poll(() => asked.get('one')!.length).toBeGreaterThan(times)
  failure = undefined
  const sent = await cell.ask('network.list', { after: null })

  await send(
    {},
    sent.objects.map(({ kind, id }) => ({ kind, id })),
  )

  const nothing = { networkIds: [], routers: [], floatingIps: [] }
  await expect.poll(() => lastAsked('one')).toEqual(nothing)
})
