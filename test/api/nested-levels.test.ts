import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { verifyCloud } from '#drivers/nested/verify/verify-cloud.ts'
import { createDriver } from '#drivers/registry.ts'
import { untilSettled } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { expectCellsOfLevels } from './cells-of-levels.ts'

const STATE_MS = 30_000
const NEWEST = { version: '2.100' } as const
/** The default intervals: changes that are seen sooner came as events. */
const ASKED_SELDOM = { poll_ms: '1000', idle_poll_ms: '5000' }
/** How often it is measured in a full run. */
const REPORTED_IN_FULL = 10
/** Of the acts, those that every run does. */
const ACTS_IN_SHORT = 3
const POLL = { timeout: STATE_MS, interval: 20 }
const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO7oZSgXG2kXLHzpIEJPoAyN1X0w1ZMLOMmSyrpMTnYb somebody'
const ADDRESS = '10.86.0.77'
const FILES = [{ path: '/etc/motd', contents: 'aGVsbG8=' }]
const USER_DATA = Buffer.from('#cloud-config\n').toString('base64')

/** The properties of a server that its create request sets. */
interface Said {
  readonly description: string | null
  readonly tags: readonly string[]
  readonly accessIPv4: string
  readonly accessIPv6: string
  readonly 'OS-DCF:diskConfig': string
  readonly scheduler_hints: Readonly<Record<string, unknown>>
}

interface Server extends Said {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly metadata: Readonly<Record<string, string>>
  readonly config_drive: string
  readonly key_name: string | null
  readonly flavor: Readonly<Record<string, unknown>>
  readonly image: { readonly id: string }
  readonly addresses: Readonly<
    Record<string, readonly { readonly addr: string; readonly 'OS-EXT-IPS-MAC:mac_addr': string }[]>
  >
}

/** The clouds, outermost first: each but the last has one host, which is a project of the next. */
describe('a server that goes down through three clouds', () => {
  const clouds: Cloud[] = []
  /** Of each cloud but the last. */
  const hosts: DrivenHost[] = []
  const owned = new AsyncDisposableStack()
  let order: Readonly<Record<string, unknown>>
  const top = () => clouds[0]!
  const serversOf = async (cloud: Cloud) => {
    const path = '/compute/v2.1/servers/detail'
    return (await cloud.as('demo').get<{ servers: readonly Server[] }>(path, NEWEST)).body.servers
  }
  const untilStatus = (id: string, status: string) =>
    expect
      .poll(async () => (await serversOf(top())).find((server) => server.id === id)?.status, POLL)
      .toBe(status)
  const act = (id: string, body: object) =>
    top().as('demo').post(`/compute/v2.1/servers/${id}/action`, body)

  beforeAll(async () => {
    const small = { gateways: 1, cells: 1, processesPerCell: 1 }
    for (const hostsPerCell of [0, 0, 1])
      clouds.push(owned.use(await startCloud({ ...small, hostsPerCell })))
    for (const [index, child] of clouds.entries()) {
      const settings = { ...nestedSettingsFor(child), ...ASKED_SELDOM }
      if (index > 0)
        hosts.push(owned.use(await startDrivenHost(clouds[index - 1]!, 'nested', settings)))
    }
    const keypair = { name: 'mine', public_key: PUBLIC_KEY }
    await top().as('demo').post('/compute/v2.1/os-keypairs', { keypair })
    await makeGroup(top())
    order = {
      name: 'through',
      hostname: 'another-name',
      imageRef: top().catalog.image,
      flavorRef: top().catalog.tiny,
      networks: [{ uuid: top().catalog.network, fixed_ip: ADDRESS, tag: 'front' }],
      security_groups: [{ name: 'web' }],
      description: 'what it is for',
      tags: ['blue', 'green'],
      accessIPv4: '192.0.2.9',
      accessIPv6: '2001:db8::9',
      'OS-DCF:diskConfig': 'MANUAL',
      key_name: 'mine',
      metadata: { purpose: 'test', 'with space': 'and: colon' },
      user_data: USER_DATA,
      adminPass: 'a-password-of-mine',
      config_drive: true,
    }
  })
  afterAll(() => owned.disposeAsync())

  test('has the requested properties at the bottom, and is deleted from all levels', async ({
    annotate,
  }) => {
    const path = '/compute/v2.1/servers'
    const created = await top()
      .as('demo')
      .post<{ server: { id: string } }>(
        path,
        { server: order, 'os:scheduler_hints': { rack: 'seven' } },
        NEWEST,
      )
    expect(created.status).toBe(202)
    const { id } = created.body.server
    await untilStatus(id, 'ACTIVE')

    const requestId = String(created.headers['x-openstack-request-id'])
    const levels = await Promise.all(clouds.map((cloud) => serversOf(cloud)))
    expect(levels.map(({ length }) => length)).toEqual([1, 1, 1])
    const [atTop, , atBottom] = levels.map(([server]) => server!)
    expect(comparable(atBottom!)).toEqual(comparable(atTop!))
    expect(Object.keys(atBottom!.metadata)).toHaveLength(2 + clouds.length - 1)
    const ids = levels.map(([server]) => server!.id)
    for (const [level, id] of ids.entries())
      expect(await chainOf(clouds[level]!, id)).toEqual({
        above: ids.slice(0, level),
        below: ids.slice(level + 1),
      })
    for (const [level, [server]] of levels.entries())
      expect(await actionOf(clouds[level]!, server!.id, requestId)).toBe('create')
    expect(await adminProperties(clouds[2]!, atBottom!)).toEqual({
      hostname: order['hostname'],
      userData: order['user_data'],
      publicKey: PUBLIC_KEY,
      nicTag: 'front',
    })
    for (const cloud of clouds.slice(1))
      await expect.poll(() => rulesOf(cloud), { timeout: STATE_MS }).toEqual(['ingress tcp 80 80'])
    // Each cloud has the demo's image already, by the same name and content.
    expect(await imageAs(clouds[2]!, atBottom!)).toEqual(await imageAs(top(), atTop!))

    const called = { name: 'renamed', description: 'newly said' }
    await top().as('demo').put(`${path}/${id}`, { server: called }, NEWEST)
    const atBottomNow = async () => (await serversOf(clouds[2]!))[0]
    await expect.poll(atBottomNow, { timeout: STATE_MS }).toMatchObject(called)

    await act(id, { 'os-stop': null })
    await untilStatus(id, 'SHUTOFF')
    expect((await serversOf(clouds[2]!))[0]?.status).toBe('SHUTOFF')
    await act(id, { 'os-start': null })
    await untilStatus(id, 'ACTIVE')

    const bottom = clouds[2]!.as('demo')
    const untilReported = async () => {
      await bottom.post(`${path}/${atBottom!.id}/action`, { 'os-stop': null })
      await expect.poll(async () => (await serversOf(clouds[2]!))[0]?.status, POLL).toBe('SHUTOFF')
      const seenAt = performance.now()
      await untilStatus(id, 'SHUTOFF')
      const tookMs = performance.now() - seenAt
      await act(id, { 'os-start': null })
      await untilStatus(id, 'ACTIVE')
      return tookMs
    }
    await untilReported()
    const took: number[] = []
    for (let nth = 0; nth < REPORTED_IN_FULL && isFullRun; nth += 1)
      took.push(await untilReported())
    const inOrder = took.toSorted((a, b) => a - b).map((ms) => ms.toFixed(0))
    await annotate(`ms until the top shows what the bottom does: ${inOrder.join(' ')}`)

    await top().as('demo').delete(`${path}/${id}`)
    await expect
      .poll(async () => (await Promise.all(clouds.map((cloud) => serversOf(cloud)))).flat(), {
        timeout: STATE_MS,
      })
      .toEqual([])
    for (const cloud of clouds.slice(1)) expect(await leftOf(cloud)).toEqual([])
  })

  test('carries acts out at the bottom, and holds them while the cloud between is away', async () => {
    const path = '/compute/v2.1/servers'
    const { tiny, image } = top().catalog
    const server = { name: 'told', flavorRef: tiny, imageRef: image, networks: 'none' }
    const made = await top().as('demo').post<{ server: { id: string } }>(path, { server }, NEWEST)
    const { id } = made.body.server
    await untilStatus(id, 'ACTIVE')
    const below = async () => (await serversOf(clouds[2]!)).find(({ name }) => name === 'told')
    const statusOf = async (cloud: Cloud) =>
      (await serversOf(cloud)).find(({ name }) => name === 'told')?.status

    for (const [body, status] of actsOf(top()).slice(0, isFullRun ? undefined : ACTS_IN_SHORT)) {
      expect((await act(id, body)).status).toBeLessThan(300)
      await expect.poll(() => statusOf(clouds[2]!), POLL).toBe(status)
      await untilStatus(id, status)
      await untilSettled(top(), id)
    }
    expect(await below()).toMatchObject({ config_drive: 'True' })
    const log = await act(id, { 'os-getConsoleOutput': {} })
    expect(JSON.stringify(log.body)).toContain((await below())?.id)

    const [gateway] = clouds[1]!.gateways
    const [cell] = clouds[1]!.cells[0]!.processes
    const host = hosts[1]!
    // An act that needs the stopped process is carried out once the process is back, and not before.
    for (const [away, asked, before, after] of [
      [gateway!, 'os-stop', 'ACTIVE', 'SHUTOFF'],
      [cell!, 'os-start', 'SHUTOFF', 'ACTIVE'],
      [host, 'os-stop', 'ACTIVE', 'SHUTOFF'],
    ] as const) {
      await away.stop()
      await act(id, { [asked]: null })
      expect(await statusOf(clouds[2]!)).toBe(before)
      await away.start()
      await untilStatus(id, after)
      expect(await statusOf(clouds[2]!)).toBe(after)
      await untilSettled(top(), id)
    }
    await top().as('demo').delete(`${path}/${id}`)
    await expect.poll(below, POLL).toBeUndefined()
  })

  test('is not sent to a cloud that it came from', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'weir-nested-'))
    owned.defer(() => rm(directory, { recursive: true, force: true }))
    const owner = { cellId: top().cells[0]!.id as CellId, hostId: newId<HostId>() }
    const images = { open: () => Promise.reject(new Error('No image is opened here')) }
    const environment = { owner, stateDirectory: directory, images }
    await using driver = await createDriver('nested', environment, nestedSettingsFor(top()))

    await expect(driver.inventory(AbortSignal.timeout(STATE_MS))).rejects.toMatchObject({
      kind: 'conflict',
      detail: expect.stringContaining('its clouds form a ring'),
    })
    const asked = { through: [], via: [] }
    await expect(driver.below!.cells(asked, AbortSignal.timeout(STATE_MS))).rejects.toMatchObject({
      kind: 'conflict',
    })
  })

  test('cannot be sent in a ring: a cloud that leads back is found before it is joined', async () => {
    const found = (cloud: Cloud, joined: Cloud) =>
      verifyCloud(nestedSettings(nestedSettingsFor(joined)), {
        cells: cloud.cells.map(({ id }) => id),
        ...{ flavors: [], networks: [], outside: { networks: [], clouds: [] } },
      })
    const [, middle, bottom] = clouds
    const rings = [
      [bottom!, top()],
      [bottom!, middle!],
      [middle!, top()],
    ] as const
    for (const [cloud, joined] of rings)
      expect(await found(cloud, joined)).toContainEqual({
        check: 'clouds',
        result: 'failed',
        detail: expect.stringContaining('they form a ring'),
      })
    const other = { cells: [{ id: newId<CellId>() }] } as unknown as Cloud
    expect(await found(other, top())).toContainEqual({
      check: 'clouds',
      result: 'ok',
      detail: '2 behind it, one after the other',
    })
    expect(await found(bottom!, bottom!)).toMatchObject([{ check: 'credential', result: 'failed' }])
  })

  test('the cells of each level are shown to whoever administers the one above', () =>
    expectCellsOfLevels(clouds, hosts))
})

/** Acts that the bottom can do, and the status that each leads to. */
function actsOf({ catalog }: Cloud): readonly (readonly [body: object, status: string])[] {
  return [
    [{ rebuild: { imageRef: catalog.image, personality: FILES } }, 'ACTIVE'],
    [{ pause: null }, 'PAUSED'],
    [{ unpause: null }, 'ACTIVE'],
    [{ suspend: null }, 'SUSPENDED'],
    [{ resume: null }, 'ACTIVE'],
    [{ reboot: { type: 'HARD' } }, 'ACTIVE'],
    [{ rescue: { rescue_image_ref: catalog.image } }, 'RESCUE'],
    [{ unrescue: null }, 'ACTIVE'],
    [{ resize: { flavorRef: catalog.small } }, 'VERIFY_RESIZE'],
    [{ confirmResize: null }, 'ACTIVE'],
    [{ changePassword: { adminPass: 'a-password-of-mine' } }, 'ACTIVE'],
    [{ createImage: { name: 'saved' } }, 'ACTIVE'],
  ]
}

/** The server's ids in the other clouds. */
async function chainOf(cloud: Cloud, id: string) {
  type Traced = Readonly<Record<'above' | 'below', readonly string[]>>
  const { body } = await cloud.as('admin').get<Traced>(`/federation/v1/servers/${id}/trace`)
  return { above: body.above, below: body.below }
}

/** What was done to a server under a request id. */
async function actionOf(cloud: Cloud, id: string, requestId: string): Promise<string> {
  type Action = { readonly instanceAction: { readonly action: string } }
  const path = `/compute/v2.1/servers/${id}/os-instance-actions/${requestId}`
  return (await cloud.as('demo').get<Action>(path)).body.instanceAction.action
}

/** What of a server is the same at every level. */
function comparable({ name, config_drive, flavor, addresses, metadata, ...fields }: Server) {
  const nics = Object.values(addresses)
    .flat()
    .map((nic) => [nic.addr, nic['OS-EXT-IPS-MAC:mac_addr']])
  const own = Object.entries(metadata).filter(([key]) => !key.startsWith('weir:'))
  const { description, tags, accessIPv4, accessIPv6, scheduler_hints } = fields
  const disks = fields['OS-DCF:diskConfig']
  return {
    ...{ name, config_drive, flavor, nics, metadata: Object.fromEntries(own) },
    ...{ description, tags, accessIPv4, accessIPv6, scheduler_hints, disks },
  }
}

interface Insides {
  readonly server: Readonly<Record<string, unknown>>
  readonly keypair: { readonly public_key: string }
  readonly interfaceAttachments: readonly { readonly tag: string | null }[]
}

/** Properties that are shown only to the cloud's administrators, or by other operations. */
async function adminProperties(cloud: Cloud, { id, key_name }: Server) {
  const path = `/compute/v2.1/servers/${id}`
  const { body } = await cloud.as('admin').get<Insides>(path, NEWEST)
  const nics = await cloud.as('demo').get<Insides>(`${path}/os-interface`, NEWEST)
  const key = await cloud.as('demo').get<Insides>(`/compute/v2.1/os-keypairs/${key_name}`)
  return {
    hostname: body.server['OS-EXT-SRV-ATTR:hostname'],
    userData: body.server['OS-EXT-SRV-ATTR:user_data'],
    publicKey: key.body.keypair.public_key,
    nicTag: nics.body.interfaceAttachments[0]?.tag,
  }
}

interface Groups {
  readonly security_groups: readonly {
    readonly id: string
    readonly security_group_rules: readonly Readonly<Record<string, unknown>>[]
  }[]
}

async function makeGroup(cloud: Cloud): Promise<void> {
  const demo = cloud.as('demo')
  const security_group = { name: 'web' }
  type Made = { readonly security_group: Groups['security_groups'][number] }
  const { body } = await demo.post<Made>('/networking/v2.0/security-groups', { security_group })
  const { id, security_group_rules: rules } = body.security_group
  for (const rule of rules)
    await demo.delete(`/networking/v2.0/security-group-rules/${String(rule['id'])}`)
  const ports = { protocol: 'tcp', port_range_min: 80, port_range_max: 80 }
  const security_group_rule = { security_group_id: id, direction: 'ingress', ...ports }
  await demo.post('/networking/v2.0/security-group-rules', { security_group_rule })
}

/** Of the groups that the only port there has. */
async function rulesOf(cloud: Cloud): Promise<readonly string[]> {
  type Ports = { readonly ports: readonly { readonly security_groups: readonly string[] }[] }
  const demo = cloud.as('demo')
  const { ports } = (await demo.get<Ports>('/networking/v2.0/ports')).body
  const { security_groups: all } = (await demo.get<Groups>('/networking/v2.0/security-groups')).body
  return all
    .filter(({ id }) => ports[0]?.security_groups.includes(id))
    .flatMap((group) => group.security_group_rules)
    .map(({ direction, protocol, port_range_min: min, port_range_max: max }) =>
      [direction, protocol === '6' ? 'tcp' : protocol, min, max].join(' '),
    )
}

async function imageAs(cloud: Cloud, { image }: Server) {
  type Image = Readonly<Record<string, unknown>>
  const { body } = await cloud.as('demo').get<Image>(`/image/v2/images/${image.id}`)
  const { name, size, os_hash_value, disk_format, hypervisor_type } = body
  return { name, size, os_hash_value, disk_format, hypervisor_type }
}

/** What was made for servers of the cloud above and is there yet; copies of images stay. */
async function leftOf(cloud: Cloud): Promise<readonly string[]> {
  type Named = readonly { readonly name: string }[]
  const demo = cloud.as('demo')
  const names = await Promise.all(
    ['networks', 'subnets', 'ports', 'security-groups'].map(async (what) => {
      const { body } = await demo.get<Readonly<Record<string, Named>>>(`/networking/v2.0/${what}`)
      return Object.values(body).flat()
    }),
  )
  type Keys = { readonly keypairs: readonly { readonly keypair: { readonly name: string } }[] }
  const { body } = await demo.get<Keys>('/compute/v2.1/os-keypairs')
  return [...names.flat(), ...body.keypairs.map(({ keypair }) => keypair)]
    .map(({ name }) => name)
    .filter((name) => name.startsWith('weir-'))
}
