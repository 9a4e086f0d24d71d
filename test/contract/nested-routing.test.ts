import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CellId, type HostId, type NetworkId, newId, type PortId } from '#common/ids.ts'
import type { Driver, NicSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { HostFloatingIp, HostRouter, HostRouting } from '#openapi/wire/routing.ts'
import { offerRouting } from '../env/network-objects.ts'
import { type NestedHarness, startNestedHarness } from './nested-harness.ts'

// Goal: our routers and floating IPs exist in the nested cloud, with our addresses, exactly while they are needed.

interface Below {
  readonly routers: readonly {
    readonly id: string
    readonly name: string
    readonly admin_state_up: boolean
    readonly external_gateway_info: object | null
    readonly routes: readonly object[]
  }[]
  readonly floatingips: readonly {
    readonly id: string
    readonly floating_ip_address: string
    readonly port_id: string | null
    readonly fixed_ip_address: string | null
    readonly description: string
  }[]
  readonly ports: readonly {
    readonly id: string
    readonly name: string
    readonly device_id: string
    readonly device_owner: string
    readonly fixed_ips: readonly { readonly ip_address: string }[]
  }[]
  readonly networks: readonly { readonly name: string }[]
}

const NONE: HostRouting = { networkIds: [], routers: [], floatingIps: [] }
const signal = () => AbortSignal.timeout(20_000)

let harness: NestedHarness
let external: string
let driver: Driver
let other: Driver
/** The settings of a host whose login may choose addresses. */
let asAdmin: Readonly<Record<string, string>>

beforeAll(async () => {
  harness = await startNestedHarness()
  external = await offerRouting(harness.child)
  const { user, password, project } = harness.child.foundation.accounts.admin
  asAdmin = { user, password, project }
  driver = await harness.openAs(harness.owner, asAdmin)
  other = await harness.openAs({ cellId: newId<CellId>(), hostId: newId<HostId>() }, asAdmin)
})
afterAll(async () => {
  await driver?.[Symbol.asyncDispose]()
  await other?.[Symbol.asyncDispose]()
  await harness?.[Symbol.asyncDispose]()
})

let networkId: NetworkId
let router: HostRouter
let octet = 40
beforeEach(() => {
  octet += 1
  networkId = newId<NetworkId>()
  router = {
    ...{ id: newId(), name: 'ours', isUp: true, routes: [] },
    gateway: { outside: { id: newId(), physicalNetwork: 'public' }, hasSnat: true },
    interfaces: [
      {
        ...{ portId: newId(), networkId },
        addresses: [{ cidr: `10.${octet}.0.0/24`, address: `10.${octet}.0.1` }],
      },
    ],
  }
})

function nic(last: number): NicSpec {
  const cidr = `10.${octet}.0.0/24`
  const address = `10.${octet}.0.${last}`
  const fixed = { address, cidr, gateway: `10.${octet}.0.1`, dhcp: true, dnsServers: [] }
  const hex = (n: number) => n.toString(16).padStart(2, '0')
  return {
    ...{ portId: newId<PortId>(), networkId, mtu: 1_450, fixedIps: [fixed] },
    macAddress: `fa:16:3e:0a:${hex(octet)}:${hex(last)}`,
  }
}

async function guest(on: Driver, last: number) {
  const spec = instanceSpec(harness.image, { nics: [nic(last)] })
  await on.spawn(spec, signal())
  return { id: spec.id, nic: spec.nics[0]! }
}

const floatingIp = (address: string, { portId, fixedIps }: NicSpec): HostFloatingIp => ({
  ...{ id: newId(), address, portId, fixedAddress: fixedIps[0]!.address },
  outside: router.gateway!.outside,
})
const routed = (more: Partial<HostRouting> = {}): HostRouting => ({
  ...{ networkIds: [networkId], routers: [router], floatingIps: [] },
  ...more,
})
const apply = (wanted: HostRouting, by = driver) => by.routing!.apply(wanted, signal())

/** What is below of ours, in the project of the login. */
async function below(as: 'admin' | 'demo' = 'admin') {
  const client = harness.child.as(as)
  const all = async <K extends keyof Below>(what: K) =>
    (await client.get<Below>(`/networking/v2.0/${what}`)).body[what]
  const ports = await all('ports')
  const portName = (id: string | null) => ports.find((port) => port.id === id)?.name ?? null
  const floatingIps = await all('floatingips')
  const ours = (name: string) => name.startsWith('weir-')
  return {
    ports,
    networks: (await all('networks')).map(({ name }) => name).filter(ours),
    routers: (await all('routers')).filter(({ name }) => ours(name)),
    floatingIps: floatingIps.map((ip) => ({
      ...{ id: ip.id, address: ip.floating_ip_address, description: ip.description },
      ...{ leadsTo: portName(ip.port_id), fixed: ip.fixed_ip_address },
    })),
  }
}
const leadsTo = (found: Awaited<ReturnType<typeof below>>) =>
  Object.fromEntries(found.floatingIps.map((ip) => [ip.address, ip.leadsTo]))

test('the ways out of a cloud are in the inventory, with their subnets', async () => {
  const inventory = await driver.inventory(signal())
  await using renamed = await harness.openAs(
    { cellId: newId<CellId>(), hostId: newId<HostId>() },
    { ...asAdmin, external_networks: 'physnet=public' },
  )
  await using wrong = await harness.openAs(
    { cellId: newId<CellId>(), hostId: newId<HostId>() },
    { ...asAdmin, external_networks: 'physnet=absent' },
  )

  const cidrs = ['203.0.113.0/24']
  expect(inventory.externalNetworks).toEqual([{ name: 'public', cidrs }])
  expect(inventory.routingProblem).toBeUndefined()
  expect((await renamed.inventory(signal())).externalNetworks).toEqual([{ name: 'physnet', cidrs }])
  expect(await wrong.inventory(signal())).toMatchObject({
    externalNetworks: [],
    routingProblem: expect.stringContaining('has no external network absent. It has: public.'),
  })
})

describe('a guest that is routed', () => {
  test('has our router and our address below; nothing is made twice, and all goes with it', async () => {
    const one = await guest(driver, 9)
    const ip = floatingIp('203.0.113.150', one.nic)
    const wanted = routed({ floatingIps: [ip] })

    expect(await apply(wanted)).toEqual([])
    const found = await below()
    expect(found.routers).toMatchObject([
      {
        name: `weir-${router.id}`,
        admin_state_up: true,
        external_gateway_info: { network_id: external, enable_snat: true },
      },
    ])
    expect(found.ports.filter((port) => port.device_id === found.routers[0]!.id)).toContainEqual(
      expect.objectContaining({
        device_owner: 'network:router_interface',
        fixed_ips: [expect.objectContaining({ ip_address: `10.${octet}.0.1` })],
      }),
    )
    expect(found.floatingIps).toMatchObject([
      { address: ip.address, leadsTo: `weir-${one.nic.portId}`, fixed: ip.fixedAddress },
    ])
    expect(await apply(wanted)).toEqual([])
    expect(await below()).toEqual(found)

    await driver.destroy(one.id, signal())
    expect(await below()).toMatchObject({ routers: [], floatingIps: [], networks: [] })
  })

  test('is routed as the router is changed', async () => {
    const one = await guest(driver, 9)
    await apply(routed())
    const routes = [{ destination: '192.0.2.0/24', nexthop: `10.${octet}.0.9` }]
    const changed = { ...router, isUp: false, routes, gateway: null }

    expect(await apply(routed({ routers: [changed] }))).toEqual([])

    const [shown] = (await below()).routers
    expect(shown).toMatchObject({ admin_state_up: false, external_gateway_info: null, routes })
    expect(await apply(routed({ routers: [{ ...router, routes: [] }] }))).toEqual([])
    expect((await below()).routers).toMatchObject([
      { admin_state_up: true, external_gateway_info: { network_id: external }, routes: [] },
    ])

    for (const hasSnat of [false, true]) {
      const gateway = { ...router.gateway!, hasSnat }
      expect(await apply(routed({ routers: [{ ...router, gateway }] }))).toEqual([])
      expect((await below()).routers).toMatchObject([
        { external_gateway_info: { network_id: external, enable_snat: hasSnat } },
      ])
    }

    expect(await apply(routed({ routers: [{ ...router, interfaces: [] }] }))).toEqual([])
    expect(await below()).toMatchObject({ routers: [], networks: [`weir-${networkId}`] })
    await driver.destroy(one.id, signal())
  })

  test('can change addresses with another', async () => {
    const [one, two] = [await guest(driver, 9), await guest(driver, 10)]
    const [a, b] = [
      floatingIp('203.0.113.160', one.nic),
      floatingIp('203.0.113.161', two.nic),
    ] as const
    const names = [`weir-${one.nic.portId}`, `weir-${two.nic.portId}`]
    expect(await apply(routed({ floatingIps: [a, b] }))).toEqual([])
    expect(leadsTo(await below())).toEqual({ [a.address]: names[0], [b.address]: names[1] })

    const swapped = [
      { ...a, portId: b.portId, fixedAddress: b.fixedAddress },
      { ...b, portId: a.portId, fixedAddress: a.fixedAddress },
    ]
    expect(await apply(routed({ floatingIps: swapped }))).toEqual([])

    expect(leadsTo(await below())).toEqual({ [a.address]: names[1], [b.address]: names[0] })
    for (const { id } of [one, two]) await driver.destroy(id, signal())
    await apply(NONE)
    expect(await below()).toMatchObject({ routers: [], floatingIps: [], networks: [] })
  })

  test('keeps its router while another host of the project has a guest on it', async () => {
    const [mine, theirs] = [await guest(driver, 9), await guest(other, 10)]
    await apply(routed())
    await apply(routed(), other)
    const { id } = (await below()).routers[0]!

    await driver.destroy(mine.id, signal())
    expect(await apply(NONE)).toEqual([])
    expect((await below()).routers).toMatchObject([{ id }])

    await other.destroy(theirs.id, signal())
    expect(await below()).toMatchObject({ routers: [], networks: [] })
  })
})

describe('a floating IP', () => {
  test('that cannot be there is refused with the reason, and others are there all the same', async () => {
    const [one, two] = [await guest(driver, 9), await guest(driver, 10)]
    const fits = floatingIp('203.0.113.170', one.nic)
    const elsewhere = floatingIp('192.0.2.70', two.nic)
    const nowhere = {
      ...floatingIp('203.0.113.171', two.nic),
      outside: { id: newId(), physicalNetwork: 'absent' },
    }
    const early = floatingIp('203.0.113.172', nic(11))

    const problems = await apply(routed({ floatingIps: [elsewhere, nowhere, early, fits] }))

    expect(problems).toEqual([
      { id: elsewhere.id, status: 'ERROR', reason: expect.stringContaining('192.0.2.70') },
      {
        ...{ id: nowhere.id, status: 'ERROR' },
        reason: expect.stringContaining('no external network for physical network absent'),
      },
      { id: early.id, status: 'DOWN', reason: 'The port of its server is not there yet.' },
    ])
    expect(leadsTo(await below())).toEqual({ [fits.address]: `weir-${one.nic.portId}` })
    for (const { id } of [one, two]) await driver.destroy(id, signal())
    await apply(NONE)
  })

  test('that the project has already is used where it may choose none, and given back as it was', async () => {
    await using plain = await harness.openAs({ cellId: newId<CellId>(), hostId: newId<HostId>() })
    const one = await guest(plain, 9)
    const ip = floatingIp('203.0.113.180', one.nic)

    expect(await apply(routed({ floatingIps: [ip] }), plain)).toEqual([
      { id: ip.id, status: 'ERROR', reason: expect.stringContaining('only its administrators') },
    ])
    const demo = harness.child.as('demo')
    const project = await demo.get<Below>('/networking/v2.0/routers')
    const { project_id } = project.body.routers[0] as unknown as { project_id: string }
    const floatingip = {
      ...{ floating_network_id: external, floating_ip_address: ip.address, project_id },
      description: 'for Weir',
    }
    await harness.child.as('admin').post('/networking/v2.0/floatingips', { floatingip })

    expect(await apply(routed({ floatingIps: [ip] }), plain)).toEqual([])
    expect(leadsTo(await below('demo'))).toEqual({ [ip.address]: `weir-${one.nic.portId}` })
    const [taken] = (await below('demo')).floatingIps
    await demo.put(`/networking/v2.0/floatingips/${taken!.id}`, {
      floatingip: { port_id: null },
    })
    expect(await apply(routed({ floatingIps: [ip] }), plain)).toEqual([])
    expect(leadsTo(await below('demo'))).toEqual({ [ip.address]: `weir-${one.nic.portId}` })

    await plain.destroy(one.id, signal())
    expect(await apply(NONE, plain)).toEqual([])
    expect(await below('demo')).toMatchObject({
      ...{ routers: [], networks: [] },
      floatingIps: [{ id: taken!.id, description: 'for Weir', leadsTo: null }],
    })
    await demo.delete(`/networking/v2.0/floatingips/${taken!.id}`)
  })

  test('whose address another port there has is refused until it is free', async () => {
    const one = await guest(driver, 9)
    const theirs = await guest(driver, 10)
    await apply(routed())
    const ports = (await below()).ports
    const port_id = ports.find(({ name }) => name === `weir-${theirs.nic.portId}`)!.id
    const floating_ip_address = '203.0.113.190'
    const floatingip = { floating_network_id: external, floating_ip_address, port_id }
    const admin = harness.child.as('admin')
    type Made = { readonly floatingip: { readonly id: string } }
    const made = await admin.post<Made>('/networking/v2.0/floatingips', { floatingip })
    const ip = floatingIp(floating_ip_address, one.nic)

    expect(await apply(routed({ floatingIps: [ip] }))).toMatchObject([
      { status: 'ERROR', reason: expect.stringContaining('leads to another port there') },
    ])
    await admin.delete(`/networking/v2.0/floatingips/${made.body.floatingip.id}`)
    expect(await apply(routed({ floatingIps: [ip] }))).toEqual([])

    for (const { id } of [one, theirs]) await driver.destroy(id, signal())
    await apply(NONE)
    expect(await below()).toMatchObject({ routers: [], floatingIps: [], networks: [] })
  })

  test('leaves nothing though its router went before it was on the network', async () => {
    const one = await guest(driver, 9)
    const admin = harness.child.as('admin')
    type Networks = { readonly networks: readonly { readonly id: string; readonly name: string }[] }
    const { networks } = (await admin.get<Networks>('/networking/v2.0/networks')).body
    const network_id = networks.find(({ name }) => name === `weir-${networkId}`)!.id
    const name = `weir-interface-${router.interfaces[0]!.portId}`
    await admin.post('/networking/v2.0/ports', { port: { name, network_id } })

    await driver.destroy(one.id, signal())
    await apply(NONE)

    const left = await below()
    expect(left).toMatchObject({ routers: [], networks: [] })
    expect(left.ports.filter((port) => port.name === name)).toEqual([])
  })

  test('leaves nothing though its last guest went while its router came', async () => {
    const one = await guest(driver, 9)
    await driver.destroy(one.id, signal())
    const admin = harness.child.as('admin')
    type Made = { readonly network: { readonly id: string } }
    const network = { name: `weir-${networkId}` }
    const made = await admin.post<Made>('/networking/v2.0/networks', { network })
    const name = `weir-interface-${router.interfaces[0]!.portId}`
    const port = { name, network_id: made.body.network.id }
    await admin.post('/networking/v2.0/ports', { port })

    await apply(NONE)

    expect(await below()).toMatchObject({ routers: [], networks: [] })
  })
})
