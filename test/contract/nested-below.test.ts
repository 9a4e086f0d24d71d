import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type InstanceId, type NetworkId, newId } from '#common/ids.ts'
import type { AskedOfGuest, Driver, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { type NestedHarness, startNestedHarness } from './nested-harness.ts'

const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO7oZSgXG2kXLHzpIEJPoAyN1X0w1ZMLOMmSyrpMTnYb somebody'
const NOTHING_ASKED: AskedOfGuest = {
  metadata: {},
  keypair: null,
  userData: null,
  adminPassword: null,
}

interface Port {
  readonly name: string
  readonly mac_address: string
  readonly fixed_ips: readonly { readonly ip_address: string }[]
  readonly security_groups: readonly string[]
}

interface Group {
  readonly id: string
  readonly name: string
  readonly security_group_rules: readonly {
    readonly direction: string
    readonly remote_group_id: string | null
  }[]
}

describe('what a nested host makes in the cloud below', () => {
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

  test('ports have the addresses they have here, and let in only guests of the same project', async () => {
    const network = newId<NetworkId>()
    const nics = [1, 2, 3].map((nth) => nicOn(nth === 3 ? newId() : network, nth))
    const [mine, yours] = [newId<string>(), newId<string>()]
    for (const [index, nic] of nics.entries())
      await spawnNew({ nics: [nic], projectId: index === 2 ? yours : mine })

    const ports = (await Promise.all(nics.map(portOf))).map(([port]) => port!)
    const path = '/networking/v2.0/security-groups'
    const { body } = await demo<{ security_groups: readonly Group[] }>(path)

    for (const [index, { mac_address, fixed_ips }] of ports.entries()) {
      expect(mac_address).toBe(nics[index]!.macAddress)
      expect(fixed_ips[0]!.ip_address).toBe(nics[index]!.fixedIps[0]!.address)
    }
    const groups = ports.map(({ security_groups: ids }) =>
      body.security_groups.find(({ id }) => ids.length === 1 && id === ids[0]),
    )
    expect(groups.map((group) => group?.name)).toEqual(
      [mine, mine, yours].map((project) => `weir-${project}`),
    )
    for (const group of groups)
      for (const rule of group!.security_group_rules)
        if (rule.direction === 'ingress') expect(rule.remote_group_id).toBe(group!.id)
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

    expect(harness.shelf.opened.get(image.id)).toBe(1)
  })

  test('a guest is rescued and back, and given a password', async () => {
    const { id } = await spawnNew()
    const rescue = { image: harness.image, adminPassword: 'rescued', graceMs: 0 }

    await driver.password!.set(id, 'a-new-password', signal())
    for (const _ of [1, 2]) await driver.rescue!.rescue(id, rescue, signal())
    for (const _ of [1, 2]) await driver.rescue!.unrescue(id, signal())

    expect(await driver.list(signal())).toEqual([{ id, powerState: 'running' }])
  })

  test('what its record was of can be lost, and all of it goes all the same', async () => {
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
