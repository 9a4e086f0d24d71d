import { isDeepStrictEqual } from 'node:util'
import { type InstanceId, newId } from '#common/ids.ts'
import type { Driver, ImageSpec, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { StubCloud } from '../env/stub-cloud.ts'

/** One driver over one small cloud, in which there is one instance or will be. */
export interface World {
  readonly cloud: StubCloud
  readonly driver: Driver
  readonly spec: InstanceSpec
}

/** Something that is asked of a driver. */
export interface Work {
  /** Without it the instance is there before. */
  readonly makes?: true
  /** The requests before the tested one. */
  readonly before?: (world: World, signal: AbortSignal) => Promise<unknown>
  readonly ask: (world: World, signal: AbortSignal) => Promise<unknown>
  /** True once the work is done. */
  readonly isDone: (world: World) => boolean
}

export const NIC = nicOf(1)
const OTHER_NIC = nicOf(2)
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO7oZSgXG2kXLHzpIEJPoAyN1X0w1Z me'
const HOW = { runs: true, graceMs: 0 }

/** An instance with everything that a driver makes for one. */
export function fullSpec(image: ImageSpec): InstanceSpec {
  const keypair = { name: 'mine', type: 'ssh', publicKey: PUBLIC_KEY }
  const asked = { metadata: { of: 'mine' }, keypair, userData: null, adminPassword: null }
  return instanceSpec(image, { displayName: 'web', hostname: 'web', nics: [NIC], asked })
}

export function serversOf({ cloud }: Pick<World, 'cloud'>, id: InstanceId) {
  return [...cloud.servers.values()].filter(
    ({ metadata, status }) =>
      status !== 'DELETED' && Object.values(metadata).some((value) => value.startsWith(id)),
  )
}

/** The objects created for an instance that still exist; copies of images stay. */
export function leftIn({ cloud, spec }: World): readonly string[] {
  const { networks, subnets, ports, groups, images, keypairs } = cloud
  const named = [networks, subnets, ports, groups].flatMap(({ items }) => [...items.values()])
  const unfinished = [...images.items.values()].filter(({ name }) =>
    String(name).startsWith('weir-'),
  )
  return [
    ...serversOf({ cloud }, spec.id).map(({ status }) => `a server, ${status}`),
    ...[...named, ...unfinished].map(({ name }) => String(name)),
    ...keypairs,
  ]
}

const hasStatus =
  (...statuses: readonly string[]) =>
  (world: World) =>
    serversOf(world, world.spec.id).every(({ status }) => statuses.includes(status))
const small = (spec: InstanceSpec): InstanceSpec => ({
  ...spec,
  flavor: { ...spec.flavor, id: 'small', name: 'm1.small', memoryMb: 256 },
})
const hasPort = (world: World, count: number) =>
  serversOf(world, world.spec.id).every(
    ({ id }) => world.cloud.compute.attached(id).length === count,
  ) && world.cloud.ports.items.size === count

export const WORKS: Readonly<Record<string, Work>> = {
  spawn: {
    makes: true,
    ask: ({ driver, spec }, signal) => driver.spawn(spec, signal),
    isDone: hasStatus('ACTIVE'),
  },
  destroy: {
    ask: ({ driver, spec }, signal) => driver.destroy(spec.id, signal),
    isDone: (world) => leftIn(world).length === 0,
  },
  list: {
    ask: async ({ driver, spec }, signal) => {
      const listed = await driver.list(signal)
      const whole = [{ id: spec.id, powerState: 'running' }]
      if (!isDeepStrictEqual(listed, whole)) throw new Error('the server is not listed')
    },
    isDone: hasStatus('ACTIVE'),
  },
  inventory: {
    ask: ({ driver }, signal) => driver.inventory(signal),
    isDone: hasStatus('ACTIVE'),
  },
  stop: {
    ask: ({ driver, spec }, signal) => driver.stop(spec.id, 0, signal),
    isDone: hasStatus('SHUTOFF'),
  },
  start: {
    before: ({ driver, spec }, signal) => driver.stop(spec.id, 0, signal),
    ask: ({ driver, spec }, signal) => driver.start(spec.id, signal),
    isDone: hasStatus('ACTIVE'),
  },
  reboot: {
    ask: ({ driver, spec }, signal) => driver.reboot(spec.id, 'hard', 0, signal),
    isDone: hasStatus('ACTIVE'),
  },
  pause: {
    ask: ({ driver, spec }, signal) => driver.pause!.pause(spec.id, signal),
    isDone: hasStatus('PAUSED'),
  },
  rescue: {
    ask: ({ driver, spec }, signal) =>
      driver.rescue!.rescue(
        spec.id,
        { image: spec.image, adminPassword: null, graceMs: 0 },
        signal,
      ),
    isDone: hasStatus('RESCUE'),
  },
  rebuild: {
    ask: ({ driver, spec }, signal) =>
      driver.rebuild!.rebuild(spec, { keepsEphemeral: false, runs: true }, signal),
    isDone: hasStatus('ACTIVE'),
  },
  resize: {
    ask: ({ driver, spec }, signal) => driver.resize!.resize(small(spec), HOW, signal),
    isDone: hasStatus('VERIFY_RESIZE'),
  },
  'confirm a resize': {
    before: ({ driver, spec }, signal) => driver.resize!.resize(small(spec), HOW, signal),
    ask: ({ driver, spec }, signal) => driver.resize!.confirm(spec.id, signal),
    isDone: hasStatus('ACTIVE'),
  },
  'revert a resize': {
    before: ({ driver, spec }, signal) => driver.resize!.resize(small(spec), HOW, signal),
    ask: ({ driver, spec }, signal) => driver.resize!.revert(spec, HOW, signal),
    isDone: hasStatus('ACTIVE'),
  },
  snapshot: {
    ask: async ({ driver, spec }, signal) => {
      await using disk = await driver.snapshot!.take(spec.id, signal)
      for await (const _ of disk.content()) signal.throwIfAborted()
    },
    isDone: ({ cloud }) => cloud.images.items.size === 1,
  },
  attach: {
    ask: ({ driver, spec }, signal) => driver.interfaces!.attach(spec.id, OTHER_NIC, signal),
    isDone: (world) => hasPort(world, 2),
  },
  detach: {
    ask: ({ driver, spec }, signal) => driver.interfaces!.detach(spec.id, NIC, signal),
    isDone: (world) => hasPort(world, 0),
  },
}

function nicOf(nth: number): NicSpec {
  const addresses = { cidr: '10.20.0.0/24', gateway: '10.20.0.1', dhcp: true, dnsServers: [] }
  return {
    portId: newId(),
    networkId: newId(),
    macAddress: `fa:16:3e:00:00:0${nth}`,
    mtu: 1450,
    fixedIps: [{ address: `10.20.0.1${nth}`, ...addresses }],
  }
}
