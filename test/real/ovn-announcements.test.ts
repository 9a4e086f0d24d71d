import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { announceAddresses } from '#drivers/ovn/announce-addresses.ts'
import type { MovedAddresses } from '#drivers/ovn/moved-addresses.ts'
import { ROUTER_GATEWAY, ROUTER_INTERFACE } from '#drivers/ovn/northbound/network-index.ts'
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
import { type OvnTestHost, OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: the outside finds a floating IP at its new host, before ovn-controller says where it is.

const why = whyNoGuests([
  'ovs-vswitchd',
  'ovn-northd',
  'ovn-controller',
  'busybox',
  'ethtool',
  'ip',
])

const network = wireNetwork()
const subnet = wireSubnet(network, '10.79.0.0/24', { gateway: '10.79.0.1' })
const outside = wireNetwork({ isExternal: true, physicalNetwork: 'public', mtu: 1500 })
const outsideSubnet = wireSubnet(outside, '203.0.113.0/24', {
  ...{ gateway: '203.0.113.1', hasDhcp: false },
})
const group = wireGroup(wireRule({ direction: 'egress' }), wireRule({ protocol: 1 }))
const [near, far] = ['10.79.0.11', '10.79.0.12'].map((address) =>
  wirePort(subnet, address, { securityGroupIds: [group.id] }),
) as [ReturnType<typeof wirePort>, ReturnType<typeof wirePort>]
const ofRouter = { deviceId: newId(), deviceOwner: ROUTER_INTERFACE, hasPortSecurity: false }
const inner = wirePort(subnet, '10.79.0.1', ofRouter)
const outer = wirePort(outsideSubnet, '203.0.113.10', { ...ofRouter, deviceOwner: ROUTER_GATEWAY })
const router = { id: ofRouter.deviceId, gateway: { portId: outer.id, hasSnat: true } }
const floating = wireFloatingIp({
  ...{ address: '203.0.113.20', networkId: outside.id, routerId: router.id },
  ...{ portId: near.id, fixedAddress: '10.79.0.11' },
})
const STATE = {
  ...EMPTY_STATE,
  networks: [network, outside],
  subnets: [subnet, outsideSubnet],
  ports: [near, far, inner, outer],
  securityGroups: [group],
  routers: [wireRouter(router)],
  floatingIps: [floating],
}

describe.skipIf(why !== undefined)(
  `floating IPs that move${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const signal = () => AbortSignal.timeout(30_000)
    const moved: MovedAddresses[] = []
    let world: OvnWorld

    beforeAll(async () => {
      world = await OvnWorld.start({ onMovedAddresses: (each) => moved.push(each) })
    }, 120_000)
    afterAll(() => world?.[Symbol.asyncDispose]())

    const announce = ({ number }: { readonly number: 1 | 2 }, address = floating.address) => {
      const database = `unix:${join(world.directory, `host-${number}`)}/db.sock`
      const options = { address: database, clock: systemClock, log: createLogger('ovs', 'silent') }
      const { mac } = floating
      const here = { networkId: outside.id, vlan: null, address, mac }
      return announceAddresses(options, [here, { ...here, networkId: newId() }], signal())
    }
    const seenAt = async (host: OvnTestHost) =>
      (await world.publicPort(floating.mac)) === world.publicPortOf(host.holder)

    test('a host announces an address to the outside, without its ovn-controller', async () => {
      await world.engine.apply(STATE, signal())
      const [one, two] = world.hosts
      const [first, second] = await Promise.all([world.plug(one, near), world.plug(two, far)])
      await Promise.all([first.lease(), second.lease()])
      await expect.poll(() => world.outside().pings(floating.address)).toBe(true)
      expect(await seenAt(one)).toBe(true)

      await two.ovn.kill('controller')
      await announce({ number: 2 })
      expect(await seenAt(two)).toBe(true)
      await announce({ number: 1 })
      expect(await seenAt(one)).toBe(true)
      await two.ovn.start()
    })

    test('a floating IP that is given to a port on another host is to be announced there', async () => {
      const [, two] = world.hosts
      moved.length = 0
      const onTwo = { ...floating, revision: 2, portId: far.id, fixedAddress: '10.79.0.12' }

      await world.engine.apply({ ...STATE, floatingIps: [onTwo] }, signal())

      const { networkId, address, mac } = floating
      await expect
        .poll(() => moved)
        .toEqual([{ chassis: two.id, addresses: [{ networkId, address, mac, vlan: null }] }])
      await announce({ number: 2 })
      await expect.poll(() => world.outside().pings(floating.address)).toBe(true)
    })

    test('an Open vSwitch that does not answer, or is on another machine, is named', async () => {
      const options = { clock: systemClock, log: createLogger('ovs', 'silent') }
      const at = (address: string) => announceAddresses({ ...options, address }, [], signal())

      await expect(at('unix:/nothing/there')).rejects.toMatchObject({ kind: 'unavailable' })
      await expect(at('tcp:192.0.2.1:6640')).rejects.toMatchObject({ kind: 'unsupported' })
    })
  },
)
