import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CellId, type HostId, type NetworkId, newId, type PortId } from '#common/ids.ts'
import type { Driver, FlavorSpec, InstanceSpec } from '#drivers/driver.ts'
import type { FilterRule } from '#drivers/firewall.ts'
import { Cloud } from '#drivers/nested/cloud/cloud.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { verifyCloud } from '#drivers/nested/verify/verify-cloud.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { isFullRun } from '../env/full-run.ts'
import { openstackAccount } from './openstack-account.ts'

const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO7oZSgXG2kXLHzpIEJPoAyN1X0w1ZMLOMmSyrpMTnYb somebody'
const USER_DATA = Buffer.from('#cloud-config\n').toString('base64')
const TEST_MS = 300_000
const MADE = ['ports', 'subnets', 'networks', 'security-groups'] as const
const account = isFullRun ? openstackAccount() : undefined
const why = account === undefined ? ' (skipped: WEIR_TEST_OPENSTACK names no OpenStack)' : ''

const size = (name: string, memoryMb: number): FlavorSpec => {
  const none = { ephemeralGb: 0, swapMb: 0, extraSpecs: {} }
  return { id: name, name, vcpus: 1, memoryMb, rootGb: 1, ...none }
}

const Below = Type.Record(Type.String(), Type.Array(Type.Record(Type.String(), Type.Unknown())))

describe.skipIf(account === undefined)(`a project of a real OpenStack${why}`, () => {
  let directory: string
  let driver: Driver
  let cloud: Cloud
  const images = new TestImages()
  const image = images.add(Buffer.from('what a guest boots from'), { diskFormat: 'raw' })
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const spawned: InstanceSpec[] = []
  const signal = () => AbortSignal.timeout(TEST_MS)
  const get = async (service: 'compute' | 'network', path: string, microversion?: string) =>
    (await cloud.ask(Below, service, 'GET', path, { microversion, signal: signal() })).body
  const serverOf = async (id: string) => {
    const { servers = [] } = await get('compute', '/servers/detail', '2.93')
    return servers.find(({ metadata }) => JSON.stringify(metadata).includes(id))
  }
  const stateOf = async ({ id }: InstanceSpec) =>
    (await driver.list(signal())).find((report) => report.id === id)?.powerState

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'weir-openstack-'))
    const settings = nestedSettings(account!)
    cloud = new Cloud(settings, owner.cellId)
    driver = await createNestedDriver(
      { owner, stateDirectory: directory, images: images },
      settings,
    )
  })
  afterAll(async () => {
    for (const { id } of spawned) await driver.destroy(id, signal())
    await driver?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
    if (directory !== undefined) await rm(directory, { recursive: true, force: true })
  }, TEST_MS)

  test('is found to be able to take servers', async () => {
    const flavors = [size('m1.nano', 64), size('m1.huge', 1_000_000)]
    const found = await verifyCloud(nestedSettings(account!), {
      cells: [owner.cellId],
      flavors,
      networks: [],
      outside: { networks: [], clouds: [] },
    })

    expect(found.filter(({ result }) => result === 'failed')).toEqual([])
    expect(found.find(({ check }) => check === 'flavors')).toMatchObject({
      result: 'warning',
      detail: expect.stringContaining('m1.nano is m1.nano, m1.huge is none'),
    })
  })

  test(
    'has the requested properties, carries out its actions, and leaves nothing behind',
    async () => {
      const nic = {
        ...{ portId: newId<PortId>(), networkId: newId<NetworkId>(), mtu: 1450, tag: 'front' },
        macAddress: 'fa:16:3e:0a:0b:0c',
        fixedIps: [
          {
            ...{ address: '10.20.0.15', cidr: '10.20.0.0/24', gateway: '10.20.0.1' },
            ...{ dhcp: true, dnsServers: ['192.0.2.53'] },
          },
        ],
      }
      const spec = instanceSpec(image, {
        displayName: 'web',
        hostname: 'another-name',
        flavor: size('m1.nano', 64),
        nics: [nic],
        configDrive: {},
        asked: {
          metadata: { purpose: 'test' },
          keypair: { name: 'mine', type: 'ssh', publicKey: PUBLIC_KEY },
          userData: USER_DATA,
          adminPassword: 'a-password-of-mine',
        },
        remarks: {
          description: 'what it is for',
          tags: ['blue', 'green'],
          diskConfig: 'MANUAL',
          accessIPv4: '192.0.2.9',
          accessIPv6: '2001:db8::9',
          hints: { rack: ['seven'] },
        },
      })
      spawned.push(spec)

      await driver.spawn(spec, signal())
      expect(await serverOf(spec.id)).toMatchObject({
        ...{ name: 'web', status: 'ACTIVE', config_drive: 'True', description: 'what it is for' },
        ...{ accessIPv4: '192.0.2.9', accessIPv6: '2001:db8::9', 'OS-DCF:diskConfig': 'MANUAL' },
        tags: expect.toSatisfy((tags: string[]) => tags.toSorted().join() === 'blue,green'),
        metadata: expect.objectContaining({ purpose: 'test' }),
        key_name: expect.stringMatching(/^weir-/),
        addresses: {
          [`weir-${nic.networkId}`]: [
            expect.objectContaining({
              addr: '10.20.0.15',
              'OS-EXT-IPS-MAC:mac_addr': nic.macAddress,
            }),
          ],
        },
      })

      const [groupId, other] = [newId<string>(), newId<string>()]
      const any = { version: 4, direction: 'ingress', portMin: null, portMax: null } as const
      const rules: readonly FilterRule[] = [
        { ...any, protocol: 6, portMin: 80, portMax: 81, remotes: ['192.0.2.0/24'], groupId },
        { ...any, protocol: null, remotes: [], groupId, remoteGroupId: other },
      ]
      for (const _ of [1, 2])
        expect(
          await driver.firewall!.apply(
            [{ instance: spec.id, nic, rules, groupIds: [groupId] }],
            signal(),
          ),
        ).toEqual([nic.portId])
      const groups = (await get('network', '/security-groups'))['security_groups']!
      const group = groups.find(({ name }) => name === `weir-${groupId}`)
      expect(group?.['security_group_rules']).toHaveLength(2)
      const [port] = (await get('network', `/ports?name=weir-${nic.portId}`))['ports']!
      expect(port?.['security_groups']).toEqual([group?.['id']])

      await driver.stop(spec.id, 0, signal())
      expect(await stateOf(spec)).toBe('shutdown')
      await driver.start(spec.id, signal())
      await driver.reboot(spec.id, 'hard', 0, signal())
      await driver.pause!.pause(spec.id, signal())
      expect(await serverOf(spec.id)).toMatchObject({ status: 'PAUSED' })
      await driver.pause!.unpause(spec.id, signal())
      await driver.suspend!.suspend(spec.id, signal())
      await driver.suspend!.resume(spec.id, signal())
      expect(await stateOf(spec)).toBe('running')
      const log = await driver.consoleLog!.read(spec.id, 1_000, signal())
      expect(Buffer.from(log).toString()).toContain('FAKE CONSOLE')

      const larger = { ...spec, flavor: size('m1.micro', 128) }
      await driver.resize!.resize(larger, { runs: true, graceMs: 0 }, signal())
      await driver.resize!.revert(spec, { runs: true, graceMs: 0 }, signal())
      await driver.resize!.resize(larger, { runs: true, graceMs: 0 }, signal())
      await driver.resize!.confirm(spec.id, signal())
      expect(await stateOf(spec)).toBe('running')
      await driver.rebuild!.rebuild(larger, { keepsEphemeral: false, runs: true }, signal())

      const key = (await serverOf(spec.id))?.['key_name']
      await driver.destroy(spec.id, signal())
      expect(await serverOf(spec.id)).toBeUndefined()
      const made = [nic.portId, nic.networkId, groupId, other].map((id) => `weir-${id}`)
      for (const what of MADE) {
        const left = (await get('network', `/${what}`))[what.replace('-', '_')]!
        expect(left.filter(({ name }) => made.includes(String(name)))).toEqual([])
      }
      const { keypairs = [] } = await get('compute', '/os-keypairs')
      expect(JSON.stringify(keypairs)).not.toContain(key)
    },
    TEST_MS,
  )
})
