import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type NetworkId, newId, type PortId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { startOvnHost } from '#deploy/ovn/host.ts'
import type { Driver } from '#drivers/driver.ts'
import type { OvnEngineOptions } from '#drivers/ovn/engine.ts'
import {
  type CellNetworks,
  ROUTER_GATEWAY,
  ROUTER_INTERFACE,
} from '#drivers/ovn/northbound/network-index.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '../env/full-run.ts'
import {
  EMPTY_STATE,
  wireFloatingIp,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRouter,
  wireRule,
  wireSubnet,
} from '../env/network-state.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { linkHosts } from './linked-hosts.ts'
import { OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a guest stays reachable during a live migration, by its own address and by its floating IP.

const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const MOVES = isFullRun ? 10 : 2
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

const outside = wireNetwork({ isExternal: true, physicalNetwork: 'public', mtu: 1500 })
const outsideSubnet = wireSubnet(outside, '203.0.113.0/24', {
  ...{ gateway: '203.0.113.1', hasDhcp: false },
})
const ofRouter = { deviceId: newId(), deviceOwner: ROUTER_INTERFACE, hasPortSecurity: false }
const inner = wirePort(subnet, '10.78.0.1', ofRouter)
const outer = wirePort(outsideSubnet, '203.0.113.10', { ...ofRouter, deviceOwner: ROUTER_GATEWAY })
const router = wireRouter({
  ...{ id: ofRouter.deviceId, gateway: { portId: outer.id, hasSnat: true } },
})
const floating = wireFloatingIp({
  ...{ address: '203.0.113.20', networkId: outside.id, routerId: router.id },
  ...{ portId: moving.id, fixedAddress: ADDRESS },
})
const NIC = {
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
}
const STATE = {
  ...EMPTY_STATE,
  networks: [network, outside],
  subnets: [subnet, outsideSubnet],
  securityGroups: [group],
  routers: [router],
  floatingIps: [floating],
}

describe.skipIf(why !== undefined)(
  `libvirt guests on OVN that move${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const signal = () => AbortSignal.timeout(BOOT_MS)
    let world: OvnWorld
    const owned = new AsyncDisposableStack()

    const drivers = new Map<string, Driver>()
    /** The hosts that have been asked to announce addresses, with these. */
    const told: string[] = []

    beforeAll(async () => {
      const onMovedAddresses: OvnEngineOptions['onMovedAddresses'] = ({ chassis, addresses }) => {
        told.push(...addresses.map(({ address }) => `${chassis} ${address}`))
        void drivers.get(chassis)?.addressAnnouncer!.announce(addresses, signal())
      }
      world = owned.use(await OvnWorld.start({ onMovedAddresses }))
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
        physicalNetworks: { public: world.underlay.publicBridge },
      })
      return { ...harness, id }
    }
    async function openDriver(harness: LibvirtHarness, address: string): Promise<Driver> {
      const liveUri = `qemu+tcp://${address}/system`
      const ovsDatabase = `unix:${harness.openvswitch}/db.sock`
      const driver = owned.use(await harness.openAs(harness.owner, { liveUri, ovsDatabase }))
      await expect.poll(() => driver.list(signal()).catch(() => null)).toEqual([])
      return driver
    }
    const apply = (hostId: string, destinations: CellNetworks['destinations'] = new Map()) => {
      const ports = [{ ...moving, hostId }, asking, inner, outer]
      return world.engine.apply({ ...STATE, ports, destinations }, signal())
    }
    const hostOfPort = () => {
      const { isUp, chassis } = world.bindings.get(moving.id) ?? {}
      return isUp === true ? chassis : null
    }

    test('pings go on while a guest moves to another host and back', async ({ annotate }) => {
      const [one, two] = [await startHost(1), await startHost(2)]
      const [near, far] = await linkHosts(one.host, two.host)
      const here = { ...one, driver: await openDriver(one, near) }
      const there = { ...two, driver: await openDriver(two, far) }
      for (const { id, driver } of [here, there]) drivers.set(id, driver)
      await apply(here.id)
      const endpoint = await world.plug(world.hosts[0], asking)
      await endpoint.lease()
      const built = await buildGuestImage(GUEST_CACHE)
      const image = one.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
      const spec = instanceSpec(image, { nics: [NIC] })
      await here.driver.spawn(spec, signal())
      await expect.poll(() => endpoint.pings(ADDRESS), { timeout: BOOT_MS }).toBe(true)
      const outside = world.outside()
      await expect.poll(() => outside.pings(floating.address)).toBe(true)

      for (let move = 1; move <= MOVES; move += 1) {
        const [from, to] = move % 2 === 1 ? [here, there] : [there, here]
        const within = await endpoint.stream(ADDRESS)
        const toFloating = await outside.stream(floating.address)
        const announced = await from.driver.liveMove!.announce(spec.id, signal())
        await apply(from.id, new Map([[moving.id, to.id]]))
        const expected = await to.driver.liveMove!.expect(spec, announced, signal())
        await from.driver.liveMove!.send(spec.id, expected, signal())
        // Before the cell is told that the guest has moved.
        await expect.poll(hostOfPort).toBe(to.id)
        await expect.poll(() => told).toContain(`${to.id} ${floating.address}`)
        await expect
          .poll(() => world.publicPort(floating.mac))
          .toBe(world.publicPortOf(to.host.holder))
        await to.driver.liveMove!.finish(spec, true, signal())
        await Promise.all([within.goesOn(), toFloating.goesOn()])
        await apply(to.id)
        await expect.poll(hostOfPort).toBe(to.id)
        await Promise.all([within.goesOn(), toFloating.goesOn()])
        await from.driver.destroy(spec.id, signal())
        expect(hostOfPort()).toBe(to.id)
        for (const [name, stream] of Object.entries({ within, 'floating IP': toFloating })) {
          const { lost, sent, longestMs } = await stream.stop()
          await annotate(
            `move ${move}, ${name}: ${lost} of ${sent} pings lost, ${longestMs} ms at the longest`,
          )
        }
        told.length = 0
      }
    }, 900_000)
  },
)
