import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CellId, type HostId, type NetworkId, newId, type PortId } from '#common/ids.ts'
import type { Driver, FlavorSpec, NicSpec } from '#drivers/driver.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { verifyCloud } from '#drivers/nested/verify/verify-cloud.ts'
import { ImageShelf } from '#drivers/testing/image-shelf.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { StubCloud } from '../env/stub-cloud.ts'
import type { StubItem } from '../env/stub-collection.ts'

const LARGE: FlavorSpec = {
  ...{ id: 'large', name: 'large', vcpus: 4, memoryMb: 4_096, rootGb: 20 },
  ...{ ephemeralGb: 0, swapMb: 64, extraSpecs: {} },
}
const networkId = newId<NetworkId>()
const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const image = new ImageShelf().add(Buffer.from('x'))
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
    images: `${image.id}=below`,
    ...more,
  })
}

async function open(more: Readonly<Record<string, string>>): Promise<Driver> {
  driver = await createNestedDriver(
    { owner, stateDirectory, images: new ImageShelf() },
    settings(more),
  )
  return driver
}

async function found(what: string, more: Readonly<Record<string, string>>) {
  const findings = await verifyCloud(settings(more), { cells: [owner.cellId], flavors: [LARGE] })
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
])('a build that ends with "%s" is told as %s, and nothing is left', async (fault, kind) => {
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

test('a quota is offered as it is, and what others have of it is not', async () => {
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
