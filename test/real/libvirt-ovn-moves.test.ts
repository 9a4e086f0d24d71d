import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type NetworkId, newId, type PortId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { startOvnHost } from '#deploy/ovn/host.ts'
import type { Driver } from '#drivers/driver.ts'
import type { CellNetworks } from '#drivers/ovn/northbound/network-index.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '../env/network-state.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { linkHosts } from './linked-hosts.ts'
import { OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a guest stays reachable during a live migration.

const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const why = whyNoGuests([
  ...['libvirtd', 'virsh', 'qemu-system-x86_64', 'genisoimage', 'syslinux'],
  ...['ovs-vswitchd', 'ovn-northd', 'ovn-controller', 'busybox', 'ethtool', 'ip'],
])

const network = wireNetwork()
const subnet = wireSubnet(network, '10.78.0.0/24', { gateway: '10.78.0.1' })
const group = wireGroup(wireRule({ direction: 'egress' }), wireRule({ protocol: 1 }))
const ADDRESS = '10.78.0.11'
const moving = wirePort(subnet, ADDRESS, { securityGroupIds: [group.id] })
const asking = wirePort(subnet, '10.78.0.12', { securityGroupIds: [group.id] })

describe.skipIf(why !== undefined)(
  `libvirt guests on OVN that move${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const signal = () => AbortSignal.timeout(BOOT_MS)
    let world: OvnWorld
    const owned = new AsyncDisposableStack()

    beforeAll(async () => {
      world = owned.use(await OvnWorld.start())
    }, 120_000)
    afterAll(() => owned[Symbol.asyncDispose]())

    async function startHost(number: number): Promise<LibvirtHarness & { readonly id: string }> {
      const harness = owned.use(await startLibvirtHarness(`moves-${number}`, 'ovn'))
      const id = newId()
      await startOvnHost({
        holder: harness.host.holder,
        directory: harness.openvswitch,
        chassis: id,
        southbound: world.central.southbound,
        underlay: { ...world.underlay, address: `10.255.0.1${number}` },
      })
      return { ...harness, id }
    }
    const apply = (hostId: string, destinations: CellNetworks['destinations'] = new Map()) => {
      const parts = { networks: [network], subnets: [subnet], securityGroups: [group] }
      const ports = [{ ...moving, hostId }, asking]
      return world.engine.apply({ ...EMPTY_STATE, ...parts, ports, destinations }, signal())
    }

    test('pings go on while a guest moves to another host and back', async ({ annotate }) => {
      const [one, two] = [await startHost(1), await startHost(2)]
      const [near, far] = await linkHosts(one.host, two.host)
      const open = async (harness: LibvirtHarness, address: string): Promise<Driver> => {
        const liveUri = `qemu+tcp://${address}/system`
        const driver = owned.use(await harness.openAs(harness.owner, { liveUri }))
        await expect.poll(() => driver.list(signal()).catch(() => null)).toEqual([])
        return driver
      }
      const here = { id: one.id, driver: await open(one, near) }
      const there = { id: two.id, driver: await open(two, far) }
      await apply(here.id)
      const endpoint = await world.plug(world.hosts[0], asking)
      await endpoint.lease()
      const built = await buildGuestImage(GUEST_CACHE)
      const image = one.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
      const spec = instanceSpec(image, {
        nics: [
          {
            portId: moving.id as PortId,
            networkId: network.id as NetworkId,
            macAddress: moving.mac,
            mtu: network.mtu,
            fixedIps: [
              {
                ...{ address: ADDRESS, cidr: subnet.cidr, gateway: subnet.gateway },
                ...{ dhcp: true, dnsServers: [] },
              },
            ],
          },
        ],
      })
      await here.driver.spawn(spec, signal())
      await expect.poll(() => endpoint.pings(ADDRESS), { timeout: BOOT_MS }).toBe(true)

      const stream = await endpoint.stream(ADDRESS)
      for (const [from, to] of [
        [here, there],
        [there, here],
      ] as const) {
        const announced = await from.driver.liveMove!.announce(spec.id, signal())
        await apply(from.id, new Map([[moving.id, to.id]]))
        const expected = await to.driver.liveMove!.expect(spec, announced, signal())
        await from.driver.liveMove!.send(spec.id, expected, signal())
        await to.driver.liveMove!.finish(spec, true, signal())
        await stream.goesOn()
        await apply(to.id)
        await expect.poll(() => world.bindings.get(moving.id)?.chassis).toBe(to.id)
        await stream.goesOn()
        await from.driver.destroy(spec.id, signal())
        expect(world.bindings.get(moving.id)).toMatchObject({ chassis: to.id, isUp: true })
      }
      const { lost, sent, longestMs } = await stream.stop()
      await annotate(`two moves: ${lost} of ${sent} pings lost, ${longestMs} ms at the longest`)
    }, 300_000)
  },
)
