import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { type CellId, type HostId, type NetworkId, newId, type PortId } from '#common/ids.ts'
import type { Driver } from '#drivers/driver.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import type { HostRouting } from '#openapi/wire/routing.ts'
import { isFullRun } from '../env/full-run.ts'
import { type Disturbance, StubCloud } from '../env/stub-cloud.ts'
import type { StubItem } from '../env/stub-collection.ts'

// Goal: whatever the nested cloud answers, each wanted router and floating IP exists there once in the end, and no unwanted one does.

const SILENCE_MS = 500
const TEST_MS = 300_000
/** A cell asks without end; the faults are over before. */
const ROUNDS_MAX = 8
const FAULTS: Readonly<Record<string, Disturbance>> = {
  '400': { answer: 400 },
  '403': { answer: 403 },
  '409': { answer: 409 },
  '500': { answer: 500 },
  '502 in HTML': { answer: 502, body: '<html><title>Oops</title></html>' },
  'the work and 500': { workThen: 500 },
  'other types': { spoil: 'types' },
  'half an answer': { spoil: 'cut' },
  silence: { slow: 2 * SILENCE_MS },
  'no answer': { lose: 'answer' },
  'no connection': { lose: 'request' },
}
/** Every how many requests one is disturbed in the short run. */
const STEP = isFullRun ? 1 : 3

const networkId = newId<NetworkId>()
const portId = newId<PortId>()
const outside = { id: newId(), physicalNetwork: 'public' }
const NONE: HostRouting = { networkIds: [networkId], routers: [], floatingIps: [] }
const WANTED: HostRouting = {
  networkIds: [networkId],
  routers: [
    {
      ...{ id: newId(), name: 'edge', isUp: true },
      gateway: { outside, hasSnat: true },
      interfaces: [
        {
          ...{ portId: newId(), networkId },
          addresses: [{ cidr: '10.1.0.0/24', address: '10.1.0.1' }],
        },
      ],
      routes: [{ destination: '192.0.2.0/24', nexthop: '10.1.0.9' }],
    },
  ],
  floatingIps: [{ id: newId(), address: '203.0.113.9', outside, portId, fixedAddress: '10.1.0.9' }],
}

interface World extends AsyncDisposable {
  readonly cloud: StubCloud
  readonly driver: Driver
}

/** A cloud with a guest of ours. */
async function openWorld(): Promise<World> {
  const cloud = await StubCloud.start()
  const stateDirectory = await mkdtemp(join(tmpdir(), 'weir-nested-'))
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const images = new TestImages()
  const driver = await createNestedDriver(
    { owner, stateDirectory, images: images },
    nestedSettings({
      ...{ auth_url: cloud.url, application_credential_id: 'id', projects: 'any' },
      ...{ application_credential_secret: 'secret', networks: '127.0.0.0/8', allow_http: 'true' },
      ...{ poll_ms: '10', request_timeout_ms: String(SILENCE_MS), requests_per_second: '1000' },
    }),
  )
  cloud.networks.make({ name: 'public', 'router:external': true })
  const nic = {
    ...{ portId, networkId, macAddress: 'fa:16:3e:0a:0b:0c', mtu: 1_450 },
    fixedIps: [
      {
        ...{ address: '10.1.0.9', cidr: '10.1.0.0/24', gateway: '10.1.0.1' },
        ...{ dhcp: true, dnsServers: [] },
      },
    ],
  }
  await driver.spawn(instanceSpec(images.add(Buffer.from('disk')), { nics: [nic] }), signal())
  return {
    cloud,
    driver,
    async [Symbol.asyncDispose]() {
      await driver[Symbol.asyncDispose]()
      await cloud[Symbol.asyncDispose]()
      await rm(stateDirectory, { recursive: true, force: true })
    },
  }
}

const signal = () => AbortSignal.timeout(20_000)

/** Asks as a cell does, until there is no problem; returns why it never is so. */
async function converge({ driver }: World, wanted: HostRouting): Promise<string | undefined> {
  let last = ''
  for (let round = 0; round < ROUNDS_MAX; round += 1)
    try {
      const problems = await driver.routing!.apply(wanted, signal())
      if (problems.length === 0) return undefined
      last = problems.map(({ reason }) => reason).join('; ')
    } catch (error) {
      if (!isFailure(error)) return `bug: ${String(error)}`
      last = error.message
    }
  return `never done: ${last}`
}

/** What is there, without ids. */
function routed({ cloud }: World) {
  const { routers, floatingIps } = cloud.routing
  const all = (items: ReadonlyMap<string, StubItem>) => [...items.values()]
  const nameOf = (id: unknown) => cloud.ports.items.get(String(id))?.['name']
  return {
    routers: all(routers.items).map(({ name, routes }) => ({ name, routes })),
    interfaces: all(cloud.ports.items)
      .filter(({ device_owner: owner }) => owner === 'network:router_interface')
      .map((port) => routers.items.get(String(port['device_id']))?.['name']),
    loose: all(cloud.ports.items).filter(
      ({ name, device_id: device }) => String(name).includes('interface') && device === '',
    ).length,
    floatingIps: all(floatingIps.items).map((ip) => [
      ip['floating_ip_address'],
      nameOf(ip['port_id']),
    ]),
  }
}
const name = `weir-${WANTED.routers[0]!.id}`
const THERE = {
  routers: [{ name, routes: WANTED.routers[0]!.routes }],
  interfaces: [name],
  loose: 0,
  floatingIps: [['203.0.113.9', `weir-${portId}`]],
}
const GONE = { routers: [], interfaces: [], loose: 0, floatingIps: [] }

describe.each(Object.entries(FAULTS))('a nested cloud that answers with %s', (_what, does) => {
  test(
    'has what is wanted once in the end, and not what is not',
    async () => {
      await using plain = await openWorld()
      const before = plain.cloud.asked.length
      expect(await converge(plain, WANTED)).toBeUndefined()
      const requests = plain.cloud.asked.length - before
      for (let skip = 0; skip < requests; skip += STEP) {
        await using world = await openWorld()
        const { cloud } = world

        cloud.disturb(/./, does, 2, skip)
        expect(await converge(world, WANTED), `after ${skip} requests`).toBeUndefined()
        expect(routed(world), `after ${skip} requests`).toEqual(THERE)
        cloud.disturb(/./, does, 2, skip)
        expect(await converge(world, NONE), `after ${skip} requests`).toBeUndefined()
        expect(routed(world), `after ${skip} requests`).toEqual(GONE)
      }
    },
    TEST_MS,
  )
})
