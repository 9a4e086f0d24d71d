import { afterAll, beforeAll, expect, test } from 'vitest'
import { activeServer, deleteServer } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { offerRouting } from '../env/network-objects.ts'

// Goal: a floating IP requested at the top of three clouds is the same address at the bottom, and is ACTIVE only once it is there.

const STATE = { timeout: 60_000, interval: 100 }
const NETWORKING = '/networking/v2.0'

type Item = Readonly<Record<string, unknown>> & { readonly id: string }
type Objects = Readonly<Record<string, Item>>
type Lists = Readonly<Record<string, readonly Item[]>>

const owned = new AsyncDisposableStack()
/** Outermost first: the host of each but the last is a project of the next. */
const clouds: Cloud[] = []
const hosts: DrivenHost[] = []
const top = () => clouds[0]!
const bottom = () => clouds[2]!

beforeAll(async () => {
  const small = { gateways: 1, cells: 1, processesPerCell: 1 }
  for (const hostsPerCell of [1, 0, 0])
    clouds.unshift(owned.use(await startCloud({ ...small, hostsPerCell })))
  await offerRouting(bottom())
  for (const [above, below, pool] of [
    [clouds[1]!, bottom(), { start: '203.0.113.100', end: '203.0.113.149' }],
    [top(), clouds[1]!, { start: '203.0.113.150', end: '203.0.113.199' }],
  ] as const) {
    const { user, password, project } = below.foundation.accounts.admin
    const settings = { ...nestedSettingsFor(below), user, password, project }
    hosts.push(owned.use(await startDrivenHost(above, 'nested', settings)))
    await offerOutside(above, pool)
  }
}, 120_000)
afterAll(() => owned.disposeAsync())

async function make(cloud: Cloud, what: string, fields: object, as: 'admin' | 'demo' = 'demo') {
  const path = `${NETWORKING}/${what}s`
  const { status, body } = await cloud.as(as).post<Objects>(path, { [what]: fields })
  if (status !== 201) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`)
  return body[what]!
}
const list = async (cloud: Cloud, what: string) =>
  (await cloud.as('admin').get<Lists>(`${NETWORKING}/${what}`)).body[what]!

/** Afterwards the cloud has an external network that is the one of the nested cloud, and gives out addresses of its own. */
async function offerOutside(cloud: Cloud, pool: object): Promise<void> {
  const provider = { 'provider:network_type': 'flat', 'provider:physical_network': 'public' }
  const network = { name: 'public', 'router:external': true, ...provider }
  const { id } = await make(cloud, 'network', network, 'admin')
  const range = { network_id: id, ip_version: 4, cidr: '203.0.113.0/24', enable_dhcp: false }
  await make(cloud, 'subnet', { ...range, allocation_pools: [pool] }, 'admin')
}

test('a floating IP goes down through three clouds and is taken from all of them', async () => {
  const demo = top().as('demo')
  const [external] = (await list(top(), 'networks')).filter(({ name }) => name === 'public')
  const network = await make(top(), 'network', { name: 'lan' })
  const inside = { network_id: network.id, ip_version: 4, cidr: '10.78.0.0/24' }
  const subnet = await make(top(), 'subnet', inside)
  const router = await make(top(), 'router', {
    external_gateway_info: { network_id: external!.id },
  })
  const path = `${NETWORKING}/routers/${router.id}`
  await demo.put(`${path}/add_router_interface`, { subnet_id: subnet.id })
  const server = await activeServer(top(), demo, { networks: [{ uuid: network.id }] })
  const ports = await demo.get<Lists>(`${NETWORKING}/ports?device_id=${server.id}`)
  await hosts[0]!.stop()

  const ip = await make(top(), 'floatingip', {
    ...{ floating_network_id: external!.id, port_id: ports.body['ports']![0]!.id },
  })

  const shown = async () =>
    (await top().as('admin').get<Objects>(`${NETWORKING}/floatingips/${ip.id}`)).body['floatingip']!
  await expect
    .poll(async () => (await shown())['weir:problem'], STATE)
    .toBe('The nested cloud shows it as DOWN.')
  expect(await list(bottom(), 'floatingips')).toEqual([])
  await hosts[0]!.start()
  await expect.poll(shown, STATE).toMatchObject({ status: 'ACTIVE', 'weir:problem': null })
  expect(await list(bottom(), 'floatingips')).toMatchObject([
    { floating_ip_address: ip['floating_ip_address'], fixed_ip_address: ip['fixed_ip_address'] },
  ])

  await demo.delete(`${NETWORKING}/floatingips/${ip.id}`)
  await deleteServer(demo, server.id)
  await demo.put(`${path}/remove_router_interface`, { subnet_id: subnet.id })
  await demo.delete(path)
  const left = async () => {
    const kinds = ['floatingips', 'routers', 'networks', 'ports']
    const lists = clouds.slice(1).flatMap((cloud) => kinds.map((what) => list(cloud, what)))
    return (await Promise.all(lists))
      .flat()
      .filter(({ name, description }) => JSON.stringify([name, description]).includes('weir-'))
  }
  await expect.poll(left, STATE).toEqual([])
}, 200_000)
