import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MetadataService } from '#cells/compute/metadata/metadata-service.ts'
import { MetadataStore } from '#cells/compute/metadata/metadata-store.ts'
import { systemClock } from '#common/clock.ts'
import { type InstanceId, type NetworkId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { ovnGuestMetadata } from '#drivers/ovn/metadata/metadata-networks.ts'
import { METADATA_PORT_OWNER, metadataPort } from '#openapi/wire/metadata-port.ts'
import type { WirePort, WireSubnet } from '#openapi/wire/network.ts'
import { EMPTY_STATE, wireGroup, wireNetwork, wirePort, wireSubnet } from '../env/network-state.ts'
import { sampleBuild } from '../env/sample-build.ts'
import { OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: endpoints of OVN reach the metadata service on their own host, each reads only its own metadata, and nothing remains afterwards.

const why = whyNoGuests(['ovs-vswitchd', 'ovn-northd', 'ovn-controller', 'busybox', 'curl'])
const SERVICE = '169.254.169.254'
const SERVICE_V6 = 'fe80::a9fe:a9fe'

const blue = wireNetwork({ name: 'blue' })
const red = wireNetwork({ name: 'red' })
const subnet = wireSubnet(blue, '10.81.0.0/24', { gateway: '10.81.0.1' })
/** Its addresses are those of the other network, too. */
const same = wireSubnet(red, '10.81.0.0/24', { gateway: null })
const subnet6 = wireSubnet(blue, 'fd00:81::/64', { ipv6AddressMode: 'dhcpv6-stateful' })
/** Its rules allow nothing. */
const shut = wireGroup()
const port = (on: WireSubnet, address: string) =>
  wirePort(on, address, { securityGroupIds: [shut.id] })
const first = wirePort(subnet, '10.81.0.11', {
  fixedIps: [
    { subnetId: subnet.id, address: '10.81.0.11' },
    { subnetId: subnet6.id, address: 'fd00:81::11' },
  ],
  securityGroupIds: [shut.id],
})
const second = port(subnet, '10.81.0.12')
const apart = port(same, '10.81.0.11')

function served(on: WireSubnet, address: string): WirePort {
  const { id, macAddress: mac } = metadataPort(on.networkId)
  const device = { deviceOwner: METADATA_PORT_OWNER, hasPortSecurity: false }
  return { ...wirePort(on, address, device), id, mac }
}

const state = {
  ...EMPTY_STATE,
  networks: [blue, red],
  subnets: [subnet, subnet6, same],
  ports: [first, second, apart, served(subnet, '10.81.0.2'), served(same, '10.81.0.2')],
  securityGroups: [shut],
}

describe.skipIf(why !== undefined)(
  `metadata on OVN${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let world: OvnWorld
    let store: MetadataStore
    let service: MetadataService

    beforeAll(async () => {
      world = await OvnWorld.start()
      const signal = AbortSignal.timeout(30_000)
      const bound = state.ports.map((each) => ({ ...each, hostId: null }))
      await world.engine.apply({ ...state, ports: bound }, signal)
      store = await MetadataStore.open(`${world.directory}/metadata`)
      service = start()
    }, 60_000)
    afterAll(async () => {
      await service?.[Symbol.asyncDispose]()
      await world?.[Symbol.asyncDispose]()
    })

    function start(): MetadataService {
      const [host] = world.hosts
      const ovs = {
        ovsDatabase: `unix:${world.directory}/host-1/db.sock`,
        networkNamespace: `/proc/${host.holder.pid}/ns/net`,
      }
      return new MetadataService({
        ...{ store, guests: ovnGuestMetadata(ovs), clock: systemClock },
        log: createLogger('test', process.env['TEST_LOG'] ?? 'silent'),
        reportPassword: async () => {},
      })
    }

    async function guest({ id: portId, networkId, mac, fixedIps }: WirePort, name: string) {
      const [{ address } = { address: '' }] = fixedIps
      const ip = { address, cidr: '10.81.0.0/24', gateway: null, dhcp: true, dnsServers: [] }
      const nic = { portId, networkId, macAddress: mac, mtu: 1442, fixedIps: [ip] }
      await store.put(newId<InstanceId>(), 1, sampleBuild({ name, hostname: name, nics: [nic] }))
    }

    const interfaces = () =>
      world.hosts[0].ovn
        .vsctl('list-ports', 'br-int')
        .then((text) => text.split('\n').filter((name) => name.startsWith('wm-')))

    test('guests whose groups allow nothing are told their own names, also with the same addresses', async () => {
      await guest(first, 'one')
      await guest(second, 'two')
      await guest(apart, 'other')
      const endpoints = await Promise.all(
        [first, second, apart].map((each) => world.plug(world.hosts[0], each)),
      )
      const hostnames: string[] = []
      for (const endpoint of endpoints) {
        const lease = await endpoint.lease()
        expect(lease).toContain(`${SERVICE}/32 10.81.0.2`)
        // As a guest that heeds DHCP, and as a container, whose engine asks no DHCP server.
        const hop = endpoint === endpoints[1] ? ['dev', 'eth0'] : ['via', '10.81.0.2']
        await endpoint.run('ip', 'route', 'add', SERVICE, ...hop)
        await expect
          .poll(() => endpoint.fetch(`${SERVICE}/latest/meta-data/hostname`))
          .toContain('novalocal')
        hostnames.push(await endpoint.fetch(`${SERVICE}/latest/meta-data/hostname`))
      }
      expect(hostnames).toEqual(['one.novalocal', 'two.novalocal', 'other.novalocal'])
      const byIpv6 = [
        '-s',
        '-g',
        '--max-time',
        '5',
        `http://[${SERVICE_V6}%25eth0]/latest/meta-data/hostname`,
      ]
      await expect
        .poll(() => endpoints[0]!.run('curl', ...byIpv6).catch(() => ''))
        .toBe('one.novalocal')
    }, 60_000)

    test('endpoints that were unplugged by hand are plugged in again, and those of networks without guests are removed', async () => {
      const names = await interfaces()
      expect(names).toHaveLength(2)
      await world.hosts[0].ovn.vsctl('del-port', 'br-int', names[0]!)
      store.onChange()
      await expect.poll(interfaces).toEqual(names)

      for (const { networkId, fixedIps } of [first, second, apart])
        await store.remove(store.at(networkId as NetworkId, fixedIps[0]!.address)!.id)
      await expect.poll(interfaces).toEqual([])
      const links = await world.hosts[0].ovn.vsctl('--columns=name', 'find', 'Interface')
      expect(links).not.toContain('wm-')
    }, 30_000)

    test('a service that was started again leaves nothing of the former', async () => {
      await guest(first, 'one')
      await expect.poll(interfaces).toHaveLength(1)
      await service[Symbol.asyncDispose]()
      expect(await interfaces()).toEqual([])
      service = start()
      await expect.poll(interfaces).toHaveLength(1)
    }, 30_000)
  },
)
