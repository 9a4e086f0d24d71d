import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type CellId,
  type HostId,
  type ImageId,
  type InstanceId,
  type NetworkId,
  newId,
} from '#common/ids.ts'
import type { Driver, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import type { FilterRule, PortFilter } from '#drivers/firewall.ts'
import type { GuestConfig } from '#drivers/guest-config.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { createServer, untilStatus } from '../env/api/servers.ts'
import { adoptionContract } from './driver-adoption.contract.ts'
import { type NestedHarness, startNestedHarness } from './nested-harness.ts'

const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO7oZSgXG2kXLHzpIEJPoAyN1X0w1ZMLOMmSyrpMTnYb somebody'
const NOTHING_ASKED: GuestConfig = {
  metadata: {},
  keypair: null,
  userData: null,
  adminPassword: null,
}

interface Port {
  readonly name: string
  readonly port_security_enabled: boolean
  readonly mac_address: string
  readonly fixed_ips: readonly { readonly ip_address: string }[]
  readonly security_groups: readonly string[]
}

interface Group {
  readonly id: string
  readonly name: string
  readonly security_group_rules: readonly {
    readonly direction: string
    readonly protocol: string | null
    readonly remote_group_id: string | null
    readonly remote_ip_prefix: string | null
  }[]
}

describe('the objects of a nested host in the nested cloud', () => {
  let harness: NestedHarness
  let driver: Driver
  const spawned = new Set<InstanceId>()
  const signal = () => AbortSignal.timeout(60_000)
  const spawnNew = async (overrides: Partial<InstanceSpec> = {}) => {
    const spec = instanceSpec(harness.image, overrides)
    spawned.add(spec.id)
    await driver.spawn(spec, signal())
    return spec
  }
  const demo = <Body>(path: string) => harness.child.as('demo').get<Body>(path)
  const portOf = async ({ portId }: NicSpec) => {
    const path = `/networking/v2.0/ports?name=weir-${portId}`
    return (await demo<{ ports: readonly Port[] }>(path)).body.ports
  }

  beforeAll(async () => {
    harness = await startNestedHarness()
    driver = await harness.open()
  })
  afterEach(async () => {
    for (const id of spawned) await driver.destroy(id, signal())
    for (const id of spawned) expect(await harness.leftovers(id)).toEqual([])
    spawned.clear()
  })
  afterAll(async () => {
    await driver?.[Symbol.asyncDispose]()
    await harness?.[Symbol.asyncDispose]()
  })

  test('files of the user are sent to the server below, unless its other properties exclude them', async () => {
    const files = [{ path: '/etc/motd', contents: 'aGVsbG8=' }]
    const asked = { ...NOTHING_ASKED, files }
    const spec = await spawnNew({ asked, displayName: 'filed', hostname: 'filed' })

    const { body } = await demo<{ servers: readonly { readonly config_drive: string }[] }>(
      '/compute/v2.1/servers/detail?name=filed',
    )
    // The nested cloud gives a drive to a server that it was sent files for.
    expect(spec.configDrive).toBeUndefined()
    expect(body.servers).toMatchObject([{ config_drive: 'True' }])
    const named = { asked, displayName: 'filed too', hostname: 'of-its-own' }
    await expect(spawnNew(named)).rejects.toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('only below microversion 2.57'),
    })
  })

  test('ports have the addresses they have here, and let nothing in before their rules allow it', async () => {
    const nics = [1, 2].map((nth) => nicOn(newId(), nth))
    for (const nic of nics) await spawnNew({ nics: [nic] })

    const ports = (await Promise.all(nics.map(portOf))).map(([port]) => port!)

    for (const [index, { mac_address, fixed_ips, security_groups }] of ports.entries()) {
      expect(mac_address).toBe(nics[index]!.macAddress)
      expect(fixed_ips[0]!.ip_address).toBe(nics[index]!.fixedIps[0]!.address)
      expect(security_groups).toEqual([])
    }
  })

  test('ports pass the traffic of their security groups, and have their own names below', async () => {
    const network = newId<NetworkId>()
    const nics = [1, 2].map((nth) => nicOn(network, nth))
    const specs = [await spawnNew({ nics: [nics[0]!] }), await spawnNew({ nics: [nics[1]!] })]
    const [mine, yours] = [newId<string>(), newId<string>()]
    const rule = (groupId: string, change: Partial<FilterRule>): FilterRule => {
      const any = { protocol: null, portMin: null, portMax: null, remotes: null }
      return { direction: 'ingress', version: 4, groupId, ...any, ...change }
    }
    const filter = (nth: number, groupId: string, rules: readonly FilterRule[] | null) => {
      return { instance: specs[nth]!.id, nic: nics[nth]!, rules, groupIds: [groupId] }
    }
    const web = rule(mine, { protocol: 6, portMin: 80, portMax: 81, remotes: ['192.0.2.0/24'] })
    const friends = rule(mine, { remotes: ['10.20.0.12/32'], remoteGroupId: yours })
    const apply = (...filters: PortFilter[]) => driver.firewall!.apply(filters, signal())
    const groups = async () => {
      const path = '/networking/v2.0/security-groups'
      return (await demo<{ security_groups: readonly Group[] }>(path)).body.security_groups
    }

    for (const _ of [1, 2])
      expect(await apply(filter(0, mine, [web, friends]), filter(1, yours, []))).toEqual(
        nics.map(({ portId }) => portId),
      )
    const named = (id: string, all: readonly Group[]) =>
      all.find(({ name }) => name === `weir-${id}`)!
    const before = await groups()
    expect(named(yours, before).security_group_rules).toEqual([])
    expect(named(mine, before).security_group_rules).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ remote_group_id: named(yours, before).id, protocol: null }),
        expect.objectContaining({ remote_ip_prefix: '192.0.2.0/24', remote_group_id: null }),
      ]),
    )
    expect((await portOf(nics[0]!))[0]!.security_groups).toEqual([named(mine, before).id])

    await apply(filter(0, mine, [web]), filter(1, yours, null))
    expect(named(mine, await groups()).security_group_rules).toHaveLength(1)
    expect((await portOf(nics[1]!))[0]).toMatchObject({
      port_security_enabled: false,
      security_groups: [],
    })
    for (const { id } of specs) await driver.destroy(id, signal())
    expect((await groups()).filter(({ name }) => name.startsWith('weir-'))).toEqual([])
  })

  test('an interface comes and goes, each twice', async () => {
    const { id } = await spawnNew()
    const nic = nicOn(newId(), 4)
    const interfaces = driver.interfaces!

    for (const _ of [1, 2]) await interfaces.attach(id, nic, signal())
    expect(await portOf(nic)).toHaveLength(1)
    for (const _ of [1, 2]) await interfaces.detach(id, nic, signal())
    expect(await portOf(nic)).toEqual([])
  })

  test('a key is there once, for as long as a server has it', async () => {
    const keypair = { name: 'mine', type: 'ssh', publicKey: PUBLIC_KEY }
    const asked = { ...NOTHING_ASKED, keypair }
    const [one, other] = [await spawnNew({ asked }), await spawnNew({ asked })]
    const keys = async () => {
      type Keys = { readonly keypairs: readonly unknown[] }
      return (await demo<Keys>('/compute/v2.1/os-keypairs')).body.keypairs.length
    }

    expect(await keys()).toBe(1)
    await driver.destroy(one.id, signal())
    expect(await keys()).toBe(1)
    await driver.destroy(other.id, signal())
    expect(await keys()).toBe(0)
  })

  test('servers that want the same image share its one upload', async () => {
    const image = harness.shelve(Buffer.from('another image'), 'raw')

    await Promise.all([1, 2, 3].map(() => spawnNew({ image })))
    await spawnNew({ image })

    expect(harness.images.opened.get(image.id)).toBe(1)
  })

  adoptionContract(() => ({
    driver,
    image: harness.image,
    plant: () => bootBelow(harness),
    openOther: () => harness.openAs({ cellId: newId<CellId>(), hostId: newId<HostId>() }),
  }))

  test('an image, and a guest, are recognized by their marks below', async () => {
    const { image } = harness
    const spec = await spawnNew()
    const [server = ''] = await driver.below!.chain(spec.id, signal())
    const shown = await demo<{ server: { image: { id: string } } }>(
      `/compute/v2.1/servers/${server}`,
    )
    const copy = await driver.imageCopies!.find(image, signal())
    expect(copy).toEqual({ name: shown.body.server.image.id, sizeBytes: image.sizeBytes })
    const other = { ...image, id: newId<ImageId>() }
    expect(await driver.imageCopies!.find(other, signal())).toBeUndefined()
    await expect(driver.below!.chain(newId(), signal())).rejects.toMatchObject({
      kind: 'not-found',
    })
  })

  test('a guest is rescued and back, and given a password', async () => {
    const { id } = await spawnNew()
    const rescue = { image: harness.image, adminPassword: 'rescued', graceMs: 0 }

    await driver.password!.set(id, 'a-new-password', signal())
    for (const _ of [1, 2]) await driver.rescue!.rescue(id, rescue, signal())
    for (const _ of [1, 2]) await driver.rescue!.unrescue(id, signal())

    expect(await driver.list(signal())).toEqual([{ id, powerState: 'running' }])
  })

  test('the objects of its record can be lost, and all others are removed all the same', async () => {
    const nic = nicOn(newId(), 5)
    const spec = await spawnNew({ nics: [nic] })
    await driver[Symbol.asyncDispose]()
    await harness.forget()
    driver = await harness.open()

    expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
    await driver.destroy(spec.id, signal())

    expect(await portOf(nic)).toEqual([])
  })
})

/** A server that a user of the nested cloud has made there. */
async function bootBelow({ child }: NestedHarness): Promise<InstanceId> {
  const demo = child.as('demo')
  const id = await createServer(child, demo, { name: 'old' })
  await untilStatus(demo, id, 'ACTIVE')
  return id as InstanceId
}

function nicOn(networkId: NetworkId, nth: number): NicSpec {
  return {
    portId: newId(),
    networkId,
    macAddress: `fa:16:3e:00:00:0${nth}`,
    mtu: 1450,
    fixedIps: [
      {
        address: `10.20.0.${10 + nth}`,
        cidr: '10.20.0.0/24',
        gateway: '10.20.0.1',
        dhcp: true,
        dnsServers: ['192.0.2.53'],
      },
    ],
  }
}
