import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type CellId,
  type HostId,
  type ImageId,
  type NetworkId,
  newId,
  type PortId,
} from '#common/ids.ts'
import type { Driver, FlavorSpec, NicSpec } from '#drivers/driver.ts'
import type { FilterRule } from '#drivers/firewall.ts'
import type { InstanceLabels } from '#drivers/labels.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { verifyCloud } from '#drivers/nested/verify/verify-cloud.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { StubCloud } from '../env/stub-cloud.ts'
import type { StubItem } from '../env/stub-collection.ts'

/** The image that ours is there. */
const BELOW = newId<ImageId>()

const LARGE: FlavorSpec = {
  ...{ id: 'large', name: 'large', vcpus: 4, memoryMb: 4_096, rootGb: 20 },
  ...{ ephemeralGb: 0, swapMb: 64, extraSpecs: {} },
}
const networkId = newId<NetworkId>()
const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const image = new TestImages().add(Buffer.from('x'))
const signal = () => AbortSignal.timeout(20_000)
const nicOn = (cidr: string, address: string): NicSpec => ({
  ...{ portId: newId<PortId>(), networkId, mtu: 1_450 },
  macAddress: 'fa:16:3e:0a:0b:0c',
  fixedIps: [{ address, cidr, gateway: null, dhcp: true, dnsServers: [] }],
})

let cloud: StubCloud
let stateDirectory: string
let driver: Driver | undefined

beforeEach(async () => {
  cloud = await StubCloud.start()
  stateDirectory = await mkdtemp(join(tmpdir(), 'weir-nested-'))
})
afterEach(async () => {
  await driver?.[Symbol.asyncDispose]()
  await cloud?.[Symbol.asyncDispose]()
  await rm(stateDirectory, { recursive: true, force: true })
})

function settings(more: Readonly<Record<string, string>>) {
  return nestedSettings({
    auth_url: cloud.url,
    ...{ application_credential_id: 'id', application_credential_secret: 'secret' },
    ...{ projects: 'any', networks: '127.0.0.0/8', allow_http: 'true', poll_ms: '20' },
    images: `${image.id}=${BELOW}`,
    ...more,
  })
}

async function open(more: Readonly<Record<string, string>>): Promise<Driver> {
  driver = await createNestedDriver(
    { owner, stateDirectory, images: new TestImages() },
    settings(more),
  )
  return driver
}

async function found(what: string, more: Readonly<Record<string, string>>) {
  const networks = [{ id: networkId, name: 'lan', cidrs: ['10.1.0.0/24'] }]
  const ours = {
    cells: [owner.cellId],
    flavors: [LARGE],
    networks,
    outside: { networks: [], clouds: [] },
  }
  const findings = await verifyCloud(settings(more), ours)
  return findings.find(({ check }) => check === what)
}

test('a flavor that a cloud lacks is made once, if the operator says so and the cloud allows it', async () => {
  const spec = () => instanceSpec(image, { flavor: LARGE })
  const maker = { make_flavors: 'true' }
  const careful = await open({})
  await expect(careful.spawn(spec(), signal())).rejects.toMatchObject({ kind: 'invalid' })
  expect(cloud.count(/^POST .*flavors/)).toBe(0)
  expect(await found('flavors', {})).toMatchObject({ result: 'failed' })
  expect(await found('flavors', maker)).toMatchObject({ result: 'warning' })
  await careful[Symbol.asyncDispose]()

  const eager = await open(maker)
  await expect(eager.spawn(spec(), signal())).rejects.toMatchObject({ kind: 'invalid' })
  cloud.isAdministrator = true
  await Promise.all([spec(), spec()].map((each) => eager.spawn(each, signal())))

  expect([...cloud.flavors.items.values()]).toMatchObject([
    { name: 'weir-4-4096-20-0-64', vcpus: 4, ram: 4_096, disk: 20, swap: 64 },
  ])
  expect(await found('flavors', {})).toMatchObject({ result: 'ok' })
})

test('a flavor on the second page of those there are is found, by its size as by its name', async () => {
  cloud.flavorsPerPage = 2
  cloud.flavors.make({ name: 'theirs', vcpus: 4, ram: 4_096, disk: 20, swap: 64 })
  const lists = () => cloud.count(/^GET .*flavors.detail$/)

  expect(await found('flavors', {})).toMatchObject({ result: 'ok', detail: 'large is theirs' })
  expect(lists()).toBe(2)
  const nested = await open({ flavors: 'large=theirs' })
  await nested.spawn(instanceSpec(image, { flavor: LARGE }), signal())

  const [flavor] = [...cloud.flavors.items.values()]
  expect(there(cloud)).toMatchObject([{ flavor: flavor!.id }])
  expect(lists()).toBe(4)
})

test('a network that the operator names is used as it is, and stays', async () => {
  const theirs = cloud.networks.make({ name: 'provider' }) as StubItem
  cloud.subnets.make({ network_id: theirs.id, cidr: '10.1.0.0/24' })
  const mapped = { mapped_networks: `${networkId}=${theirs.id}` }
  const nested = await open(mapped)
  const spec = instanceSpec(image, { nics: [nicOn('10.1.0.0/24', '10.1.0.9')] })

  await nested.spawn(spec, signal())
  expect([...cloud.ports.items.values()]).toMatchObject([
    { network_id: theirs.id, fixed_ips: [{ ip_address: '10.1.0.9' }] },
  ])
  await nested.destroy(spec.id, signal())
  const other = instanceSpec(image, { nics: [nicOn('10.2.0.0/24', '10.2.0.9')] })
  await expect(nested.spawn(other, signal())).rejects.toMatchObject({ kind: 'invalid' })
  await nested.destroy(other.id, signal())

  expect([...cloud.networks.items.keys()]).toEqual([theirs.id])
  expect(cloud.subnets.items.size).toBe(1)
  expect(cloud.ports.items.size).toBe(0)
  expect(await found('networks', mapped)).toMatchObject({ result: 'ok' })
  const wrong = { mapped_networks: `${networkId}=${newId()}` }
  expect(await found('networks', wrong)).toMatchObject({ result: 'failed' })
})

test.each([
  ['No valid host was found. There are not enough hosts available.', 'no-capacity'],
  ['Build of instance aborted: the disk is broken', 'internal'],
])('a build that ends with "%s" is reported as %s, and nothing is left', async (fault, kind) => {
  const nested = await open({})
  const spec = instanceSpec(image, { nics: [nicOn('10.1.0.0/24', '10.1.0.9')] })
  cloud.compute.buildFault = fault

  await expect(nested.spawn(spec, signal())).rejects.toMatchObject({ kind, detail: fault })
  expect([...cloud.servers.values()].every(({ status }) => status === 'DELETED')).toBe(true)
  for (const { items } of [cloud.ports, cloud.networks, cloud.subnets]) expect(items.size).toBe(0)
  cloud.compute.buildFault = undefined
  await nested.spawn(spec, signal())
})

test('servers that a cloud finds off after its machines were rebooted are seen off, and start again', async () => {
  const nested = await open({})
  const specs = [instanceSpec(image), instanceSpec(image)]
  for (const spec of specs) await nested.spawn(spec, signal())
  const states = async () => (await nested.list(signal())).map(({ powerState }) => powerState)
  expect(await states()).toEqual(['running', 'running'])

  for (const server of cloud.servers.values())
    Object.assign(server, { status: 'SHUTOFF', updated: Date.now() })
  await expect.poll(states).toEqual(['shutdown', 'shutdown'])
  for (const { id } of specs) await nested.start(id, signal())

  expect(await states()).toEqual(['running', 'running'])
})

test("a host offers its project's quota less the usage of servers that are not its own", async () => {
  const own = await open({})
  const unlimited = await own.inventory(signal())
  expect(unlimited).toMatchObject({ vcpus: 20, isQuota: true })
  expect(unlimited.instancesMax).toBeUndefined()

  cloud.instancesMax = 5
  cloud.compute.create({
    server: { name: 'of another', metadata: {}, flavorRef: '1', networks: 'none' },
  })
  await own.spawn(instanceSpec(image), signal())

  expect(await own.inventory(signal())).toMatchObject({ vcpus: 19, instancesMax: 4 })
})

test('networks, subnets and interfaces below are as they are here', async () => {
  const nested = await open({})
  const hostRoutes = [{ destination: '192.0.2.0/24', nexthop: '10.1.0.9' }]
  const nic = nicOn('10.1.0.0/24', '10.1.0.5')
  const spec = instanceSpec(image, {
    nics: [{ ...nic, mtu: 1_400, fixedIps: nic.fixedIps.map((ip) => ({ ...ip, hostRoutes })) }],
  })
  await nested.spawn(spec, signal())
  await nested.interfaces!.attach(
    spec.id,
    { ...nicOn('10.1.0.0/24', '10.1.0.6'), macAddress: 'fa:16:3e:0a:0b:0d', tag: 'back' },
    signal(),
  )

  expect([...cloud.networks.items.values()]).toMatchObject([{ mtu: 1_400 }])
  expect([...cloud.subnets.items.values()]).toMatchObject([{ host_routes: hostRoutes }])
  expect([...cloud.ports.items.values()].at(-1)).toMatchObject({ tag: 'back' })
})

test('a network whose MTU the cloud cannot carry is made with the most that it can', async () => {
  const nested = await open({})
  cloud.disturb(/^POST .*networks$/, { answer: 400, body: '{"NeutronError":{"message":"mtu"}}' })

  await nested.spawn(instanceSpec(image, { nics: [nicOn('10.1.0.0/24', '10.1.0.5')] }), signal())

  expect([...cloud.networks.items.values()][0]).not.toHaveProperty('mtu')
})

test('mapped networks are named by id or name, and an error for a missing one lists those that exist', async () => {
  cloud.networks.make({ name: 'provider' })
  cloud.subnets.make({
    network_id: cloud.networks.list(new URLSearchParams())[0]!.id,
    cidr: '10.1.0.0/24',
  })
  cloud.images.make({ name: 'debian', status: 'active' })
  const good = {
    flavors: 'large=m1.small',
    images: `${image.id}=debian`,
    mapped_networks: `${networkId}=provider`,
  }
  const nested = await open(good)
  const nics = [nicOn('10.1.0.0/24', '10.1.0.5')]
  await nested.spawn(instanceSpec(image, { flavor: LARGE, nics }), signal())

  expect([...cloud.servers.values()]).toMatchObject([{ flavor: '2' }])
  expect(cloud.networks.items.size).toBe(1)
  for (const what of ['flavors', 'images', 'networks'])
    expect(await found(what, good)).toMatchObject({ result: 'ok' })
  cloud.networks.make({ name: 'other' })
  for (const [what, wrong, message] of [
    ['flavors', { flavors: 'large=m1.huge' }, 'no flavor m1.huge. It has: m1.tiny, m1.small'],
    ['flavors', { flavors: 'giant=m1.small' }, 'no flavor giant here to map. There are: large'],
    ['images', { images: `${image.id}=suse` }, 'no image suse. It has: debian'],
    [
      'networks',
      { mapped_networks: `${networkId}=lan` },
      'no network lan. It has: provider, other',
    ],
    ['networks', { mapped_networks: `${networkId}=other` }, 'here has subnet 10.1.0.0/24, which'],
  ] as const)
    expect(await found(what, wrong)).toMatchObject({
      result: 'failed',
      detail: expect.stringContaining(message),
    })
})

test('the copy of an image does not have the name of the original, which users there go by', async () => {
  const content = new TestImages()
  const copied = content.add(Buffer.from('y'), { name: 'tiny' })
  driver = await createNestedDriver({ owner, stateDirectory, images: content }, settings({}))

  await driver.spawn(instanceSpec(copied), signal())

  expect([...cloud.images.items.values()].map(({ name }) => name)).toEqual([
    `tiny (copy of ${copied.id})`,
  ])
})

test('an image that is there by the same name and content is used, whichever way it was hashed', async () => {
  const content = new TestImages()
  const spec = { ...content.add(Buffer.from('z'), { name: 'debian' }), sha512: 'f'.repeat(128) }
  cloud.images.make({ name: 'debian', status: 'active', os_hash_value: spec.sha512 })
  driver = await createNestedDriver({ owner, stateDirectory, images: content }, settings({}))

  await driver.spawn(instanceSpec(spec), signal())
  expect(cloud.images.items.size).toBe(1)

  const other = { ...content.add(Buffer.from('o'), { name: 'debian' }), sha512: 'e'.repeat(128) }
  await driver.spawn(instanceSpec(other), signal())
  expect(cloud.images.items.size).toBe(2)
})

test('a server below is called, described and tagged as it is here, and stays ours', async () => {
  const nested = await open({})
  const spec = instanceSpec(image, { displayName: 'before', hostname: 'before' })
  await nested.spawn(spec, signal())
  const labels = {
    ...{ name: 'after', hostname: 'after-host', description: null, tags: ['n1', 'n2'] },
    ...{ metadata: { of: 'mine' }, diskConfig: 'MANUAL' as const, accessIPv4: '198.51.100.1' },
    accessIPv6: null,
  } satisfies InstanceLabels

  expect(await nested.labels!.apply(spec.id, labels, signal())).toBe(true)
  const changes = cloud.count(/^PUT \/compute/)
  expect(await nested.labels!.apply(spec.id, labels, signal())).toBe(true)

  expect(cloud.count(/^PUT \/compute/)).toBe(changes)
  expect([...cloud.servers.values()]).toMatchObject([
    {
      ...{ name: 'after', hostname: 'after-host', description: null, tags: ['n1', 'n2'] },
      metadata: { of: 'mine', [`weir:${owner.hostId}`]: `${spec.id} ${owner.cellId}` },
      accessIPv4: '198.51.100.1',
    },
  ])
  expect(await nested.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  expect(await nested.labels!.apply(newId(), labels, signal())).toBe(false)
})

test('a cloud that shows a server in error has it failed here, and well once it is', async () => {
  const nested = await open({ idle_poll_ms: '50' })
  const reported: string[] = []
  await using _watching = nested.watch(({ fault = 'none' }) => void reported.push(fault))
  const spec = instanceSpec(image)
  await nested.spawn(spec, signal())
  const [server] = there(cloud)
  Object.assign(server!, { status: 'ERROR', fault: 'a disk is gone', updated: Date.now() })

  await expect.poll(() => reported).toContainEqual(expect.stringContaining('a disk is gone'))
  expect(await nested.list(signal())).toMatchObject([{ id: spec.id, fault: reported.at(-1) }])
  Object.assign(server!, { status: 'ACTIVE', updated: Date.now() })
  expect(await nested.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
})

test('a cloud reports a missing server at the next list', async () => {
  const nested = await open({ idle_poll_ms: '50' })
  const gone: string[] = []
  await using _watching = nested.watch(
    ({ id, powerState }) => void gone.push(`${id} ${powerState}`),
  )
  const spec = instanceSpec(image)
  await nested.spawn(spec, signal())
  there(cloud)[0]!.updated = Date.now()
  there(cloud)[0]!.status = 'DELETED'
  await expect.poll(() => gone).toContain(`${spec.id} nostate`)
})

test('a server that was never built is removed without a look at all servers again and again', async () => {
  // Nothing watches: every list is the spawn's own, however long it takes.
  const nested = await open({})
  cloud.compute.buildFault = 'No valid host was found.'
  const lists = cloud.count(/servers\/detail$/)
  await expect(nested.spawn(instanceSpec(image), signal())).rejects.toMatchObject({
    kind: 'no-capacity',
  })
  expect(there(cloud)).toEqual([])
  expect(cloud.count(/servers\/detail$/) - lists).toBeLessThan(10)
})

test('a server that is gone is reported as failed, also one that was asked for before the next list, and by a host begun since', async () => {
  const nested = await open({ poll_ms: '500', idle_poll_ms: '60000' })
  const spec = instanceSpec(image)
  await nested.spawn(spec, signal())
  await nested.list(signal())
  Object.assign(there(cloud)[0]!, { status: 'DELETED', updated: Date.now() })

  await expect(nested.stop(spec.id, 0, signal())).rejects.toMatchObject({ kind: 'not-found' })

  const gone = { id: spec.id, powerState: 'nostate', fault: expect.stringContaining('no such') }
  expect(await nested.list(signal())).toEqual([gone])
  await nested[Symbol.asyncDispose]()
  const again = await open({})
  expect(await again.list(signal())).toEqual([gone])
  await again.destroy(spec.id, signal())
  expect(await again.list(signal())).toEqual([])
})

test('instances that are removed at once leave no network, group or key of theirs to one another', async () => {
  const nested = await open({})
  const keypair = { name: 'mine', type: 'ssh', publicKey: 'ssh-ed25519 AAAA' } as const
  const group = newId<string>()
  const rules = [{ version: 4, direction: 'ingress', protocol: 6, portMin: 80, portMax: 80 }].map(
    (rule) => ({ ...rule, remotes: [], groupId: group }) as unknown as FilterRule,
  )
  const specs = Array.from({ length: 4 }, (_, index) => {
    const nic = {
      ...nicOn('10.1.0.0/24', `10.1.0.${index + 5}`),
      macAddress: `fa:16:3e:0a:0b:1${index}`,
    }
    return instanceSpec(image, {
      nics: [nic],
      asked: { metadata: {}, keypair, userData: null, adminPassword: null },
    })
  })
  for (const spec of specs) await nested.spawn(spec, signal())
  const ports = specs.map(({ id, nics }) => {
    return { instance: id, nic: nics[0]!, rules, groupIds: [group] }
  })
  expect(await nested.firewall!.apply(ports, signal())).toHaveLength(specs.length)

  await Promise.all(specs.map(({ id }) => nested.destroy(id, signal())))

  for (const { items } of [cloud.ports, cloud.networks, cloud.subnets, cloud.groups])
    expect([...items.values()]).toEqual([])
  expect([...cloud.keypairs]).toEqual([])
})

function there({ servers }: StubCloud) {
  return [...servers.values()].filter(({ status }) => status !== 'DELETED')
}
