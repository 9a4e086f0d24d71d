import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyEntry } from '#deploy/nested/verify-entry.ts'
import { deleteServer, type Server, activeServer as startServer } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { offerRouting } from '../env/network-objects.ts'
import { WeirCommand } from '../env/weir-command.ts'

// Goal: routers and floating IPs of a user at the top reach servers in the nested cloud through routers of that cloud, which are deleted with them.

const STATE = { timeout: 40_000, interval: 100 }
const NETWORKING = '/networking/v2.0'

interface FloatingIp {
  readonly id: string
  readonly status: string
  readonly floating_ip_address: string
  readonly port_id: string | null
  readonly 'weir:problem'?: string | null
}
interface Named {
  readonly id: string
  readonly name: string
}
type Objects = Readonly<Record<string, Named & FloatingIp>>
type Lists = Readonly<Record<string, readonly (Named & FloatingIp)[]>>

const owned = new AsyncDisposableStack()
let child: Cloud
let top: Cloud
let host: DrivenHost
/** At the top. */
let external: string
let network: string
let subnet: string

beforeAll(async () => {
  const small = { gateways: 1, cells: 1, processesPerCell: 1 }
  child = owned.use(await startCloud({ ...small, hostsPerCell: 1 }))
  top = owned.use(await startCloud({ ...small, hostsPerCell: 0 }))
  const { user, password, project } = child.foundation.accounts.admin
  const settings = { ...nestedSettingsFor(child), user, password, project }
  host = owned.use(await startDrivenHost(top, 'nested', settings))
})
afterAll(() => owned.disposeAsync())

const demo = () => top.as('demo')
const admin = () => top.as('admin')
const post = (path: string, body: object, as = demo()) =>
  as.post<Objects>(`${NETWORKING}/${path}`, body)
const list = async (cloud: Cloud, what: string) => {
  const { body } = await cloud.as('admin').get<Lists>(`${NETWORKING}/${what}`)
  return body[what]!
}
async function make(what: string, fields: object, as = demo()) {
  const { status, body } = await post(`${what}s`, { [what]: fields }, as)
  if (status !== 201) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`)
  return body[what]!
}
const shown = async (id: string, as = admin()) =>
  (await as.get<Objects>(`${NETWORKING}/floatingips/${id}`)).body['floatingip']!
const statusOf = (id: string) => async () => (await shown(id)).status
const put = (path: string, body: object) => demo().put(`${NETWORKING}/${path}`, body)

/** The names of ours in the nested cloud. */
async function below() {
  const names = async (what: string) =>
    (await list(child, what)).map(({ name }) => name).filter((name) => name.startsWith('weir-'))
  const ports = await list(child, 'ports')
  return {
    networks: await names('networks'),
    routers: await names('routers'),
    ports: await names('ports'),
    floatingIps: (await list(child, 'floatingips')).map((ip) => ({
      address: ip.floating_ip_address,
      leadsTo: ports.find(({ id }) => id === ip.port_id)?.name,
    })),
  }
}
const NOTHING = { networks: [], routers: [], ports: [], floatingIps: [] }

async function routed(): Promise<string> {
  const { id } = await make('router', {
    name: 'edge',
    external_gateway_info: { network_id: external },
  })
  await put(`routers/${id}/add_router_interface`, { subnet_id: subnet })
  return id
}
async function unrouted(id: string): Promise<void> {
  await put(`routers/${id}/remove_router_interface`, { subnet_id: subnet })
  await demo().delete(`${NETWORKING}/routers/${id}`)
}
async function server(): Promise<{ readonly server: Server; readonly port: string }> {
  const made = await startServer(top, demo(), { networks: [{ uuid: network }] })
  const [port] = (await list(top, 'ports')).filter(
    (each) => (each as unknown as { device_id: string }).device_id === made.id,
  )
  return { server: made, port: port!.id }
}

// First, because the nested cloud has no routers yet.
test('routers are refused, with the reason, while the nested cloud has no routers', async () => {
  const { status, body } = await post('routers', { router: { name: 'edge' } })
  expect(status).toBe(501)
  expect(JSON.stringify(body)).toMatch(
    /Host nested-\S+ cannot route: The nested cloud has no routers/,
  )
  type Findings = readonly { readonly check: string; readonly detail: string }[]
  expect(await new WeirCommand(top, 'admin').json<Findings>('verify')).toContainEqual({
    ...{ check: `host ${host.name}`, result: 'ok' },
    detail: expect.stringMatching(
      /^servers: 0, without floating IPs: The nested cloud has no routers/,
    ),
  })

  await offerRouting(child)
  await host.stop()
  await host.start()
  const offer = { name: 'outside', 'router:external': true }
  const provider = { 'provider:network_type': 'flat', 'provider:physical_network': 'public' }
  const absent = { ...provider, 'provider:physical_network': 'absent' }
  const refused = async () =>
    JSON.stringify((await post('networks', { network: { ...offer, ...absent } }, admin())).body)
  await expect.poll(refused, STATE).toContain('Known are: public')

  external = (await make('network', { ...offer, ...provider }, admin())).id
  const range = { network_id: external, ip_version: 4, cidr: '203.0.113.0/24' }
  const allocation_pools = [{ start: '203.0.113.100', end: '203.0.113.199' }]
  await make('subnet', { ...range, allocation_pools, enable_dhcp: false }, admin())
  network = (await make('network', { name: 'lan' })).id
  const inside = { network_id: network, ip_version: 4, cidr: '10.77.0.0/24' }
  subnet = (await make('subnet', inside)).id
})

test('a floating IP requested at the top exists at the bottom, and is removed there with it', async () => {
  const router = await routed()
  const { server: guest, port } = await server()
  const ip = await make('floatingip', { floating_network_id: external, port_id: port })

  await expect.poll(statusOf(ip.id), STATE).toBe('ACTIVE')
  const found = await below()
  expect(found.routers).toEqual([`weir-${router}`])
  expect(found.floatingIps).toEqual([{ address: ip.floating_ip_address, leadsTo: `weir-${port}` }])
  expect(await shown(ip.id)).toMatchObject({ 'weir:problem': null })
  expect(await shown(ip.id, demo())).not.toHaveProperty('weir:problem')

  await put(`floatingips/${ip.id}`, { floatingip: { port_id: null } })
  await expect.poll(async () => (await below()).floatingIps, STATE).toEqual([])
  expect(await statusOf(ip.id)()).toBe('DOWN')
  await put(`floatingips/${ip.id}`, { floatingip: { port_id: port } })
  await expect.poll(statusOf(ip.id), STATE).toBe('ACTIVE')

  await deleteServer(demo(), guest.id)
  await expect.poll(below, STATE).toEqual(NOTHING)
  await demo().delete(`${NETWORKING}/floatingips/${ip.id}`)
  await unrouted(router)
})

test('changes made while the nested cloud is unreachable are applied once it is back', async () => {
  const router = await routed()
  const { server: guest, port } = await server()
  const first = await make('floatingip', { floating_network_id: external, port_id: port })
  await expect.poll(statusOf(first.id), STATE).toBe('ACTIVE')

  await child.gateways[0]!.stop()
  await demo().delete(`${NETWORKING}/floatingips/${first.id}`)
  const second = await make('floatingip', { floating_network_id: external, port_id: port })
  expect(second.status).toBe('DOWN')
  await child.gateways[0]!.start()

  await expect.poll(statusOf(second.id), STATE).toBe('ACTIVE')
  expect((await below()).floatingIps).toEqual([
    { address: second.floating_ip_address, leadsTo: `weir-${port}` },
  ])

  await child.gateways[0]!.stop()
  await demo().delete(`${NETWORKING}/floatingips/${second.id}`)
  await unrouted(router)
  await child.gateways[0]!.start()

  await expect.poll(below, STATE).toMatchObject({ routers: [], floatingIps: [] })
  await deleteServer(demo(), guest.id)
  await expect.poll(below, STATE).toEqual(NOTHING)
}, 120_000)

test('an address that the nested cloud has given out is in ERROR, with the reason for operators, until it is free', async () => {
  const router = await routed()
  const { server: guest, port } = await server()
  const [outside] = (await list(child, 'networks')).filter(({ name }) => name === 'public')
  // In no pool of the two clouds: a router's gateway gets any address of a pool.
  const taken = {
    ...{ floating_network_id: outside!.id, floating_ip_address: '203.0.113.200' },
    project_id: 'e'.repeat(32),
  }
  const theirs = await child
    .as('admin')
    .post<Objects>(`${NETWORKING}/floatingips`, { floatingip: taken })
  const wanted = { floating_network_id: external, floating_ip_address: '203.0.113.200' }
  const project_id = (await list(top, 'routers')).map(
    (each) => (each as unknown as { project_id: string }).project_id,
  )[0]

  const ip = await make('floatingip', { ...wanted, project_id, port_id: port }, admin())

  await expect.poll(statusOf(ip.id), STATE).toBe('ERROR')
  expect((await shown(ip.id))['weir:problem']).toContain('203.0.113.200')
  type Path = { readonly checks: readonly { readonly holds: boolean; readonly reason: string }[] }
  const path = '/federation/v1/network-path?from=192.0.2.1&to=203.0.113.200'
  expect((await admin().get<Path>(path)).body.checks).toContainEqual(
    expect.objectContaining({
      holds: false,
      reason: expect.stringMatching(/not in the server's cloud: .*203\.0\.113\.200/),
    }),
  )
  const failed = await demo().get<Lists>(`${NETWORKING}/floatingips?status=ERROR`)
  expect(failed.body['floatingips']!.map(({ id }) => id)).toEqual([ip.id])

  await child.as('admin').delete(`${NETWORKING}/floatingips/${theirs.body['floatingip']!.id}`)
  await expect.poll(statusOf(ip.id), STATE).toBe('ACTIVE')
  await demo().delete(`${NETWORKING}/floatingips/${ip.id}`)
  await deleteServer(demo(), guest.id)
  await unrouted(router)
  await expect.poll(below, STATE).toEqual(NOTHING)
}, 120_000)

test('an address that the nested cloud could never have is refused at once', async () => {
  const range = { network_id: external, ip_version: 4, cidr: '198.51.100.0/24' }
  const far = await make('subnet', range, admin())
  const router = await routed()
  const { server: guest, port } = await server()
  const floatingip = { floating_network_id: external, subnet_id: far.id, port_id: port }

  const { status, body } = await post('floatingips', { floatingip })

  expect(status).toBe(409)
  expect(JSON.stringify(body)).toMatch(
    /198\.51\.100\.\d+ cannot lead to a server on host nested-\S+: the address is outside the subnets of the external network public .*203\.0\.113\.0\/24/,
  )
  expect(await list(top, 'floatingips')).toEqual([])
  await deleteServer(demo(), guest.id)
  await unrouted(router)
  await admin().delete(`${NETWORKING}/subnets/${far.id}`)
  await expect.poll(below, STATE).toEqual(NOTHING)
})

test('a join tells of external networks that the cloud shares with one that is a cell already', async () => {
  type Hosts = {
    readonly hosts: readonly { readonly name: string; readonly external_networks: object }[]
  }
  const { body } = await admin().get<Hosts>('/federation/v1/hosts')
  expect(body.hosts).toMatchObject([
    {
      external_networks: [{ name: 'public', cidrs: ['203.0.113.0/24'] }],
      routing_problem: null,
    },
  ])
  const { user, password, project, ...settings } = nestedSettingsFor(child)
  const entry = { login: { user: user!, password: password!, project: project! }, settings }
  const session = { endpoint: top.endpoints[0]!, token: await admin().token() }
  const routers = async (cellName?: string) =>
    (await verifyEntry(session, entry, cellName)).find(({ check }) => check === 'routers')

  expect(await routers()).toEqual({
    ...{ check: 'routers', result: 'warning' },
    detail: expect.stringMatching(
      /External network public there has 203\.0\.113\.0\/24, and physical network public of host nested-\S+ of cell \S+ has 203\.0\.113\.0\/24: the same addresses in two clouds\./,
    ),
  })
  expect(await routers(top.cells[0]!.name)).toEqual({
    ...{ check: 'routers', result: 'ok', detail: 'public (203.0.113.0/24)' },
  })
})
