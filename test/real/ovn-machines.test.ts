import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { WirePort } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRouter,
  wireRule,
  wireSubnet,
} from '../env/network-state.ts'
import { type Endpoint, type OvnTestHost, OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a machine whose cable ends at a network of the site gets the address of its port from OVN, and guests can reach it.

const COMMANDS = ['ovs-vswitchd', 'ovn-northd', 'ovn-controller', 'ethtool', 'busybox', 'ip']
const why = whyNoGuests(COMMANDS)
const STEP_MS = 30_000
const BOTH = { timeout: STEP_MS, interval: 250 }

const site = wireNetwork({ name: 'site', physicalNetwork: 'public', mtu: 1_500 })
const tagged = wireNetwork({ name: 'tagged', physicalNetwork: 'public', vlan: 7, mtu: 1_500 })
const inner = wireNetwork({ name: 'inner' })
const siteSubnet = wireSubnet(site, '10.61.0.0/24', { gateway: '10.61.0.1' })
const taggedSubnet = wireSubnet(tagged, '10.62.0.0/24', { gateway: '10.62.0.1' })
const innerSubnet = wireSubnet(inner, '10.63.0.0/24', { gateway: '10.63.0.1' })
const everything = (['ingress', 'egress'] as const).map((direction) => wireRule({ direction }))
const open = wireGroup(...everything)
const guests = wireGroup(wireRule({ direction: 'egress' }))
const members = { ...guests, rules: [...guests.rules, wireRule({ remoteGroupId: guests.id })] }

describe.skipIf(why !== undefined)(
  `machines on OVN${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let world: OvnWorld
    const signal = () => AbortSignal.timeout(STEP_MS)
    const isUp = ({ id }: WirePort) => world.bindings.get(id)?.isUp === true
    const machineOn = (
      host: OvnTestHost,
      mac: string,
      tail: number,
      more: Partial<WirePort> = {},
    ) =>
      wirePort(siteSubnet, `10.61.0.${tail}`, {
        ...{ mac, isMachine: true, hostId: host.id, securityGroupIds: [guests.id] },
        ...more,
      })
    const apply = (...ports: readonly WirePort[]) => {
      const id = wireRouter().id
      const own = { deviceId: id, deviceOwner: 'network:router_interface' }
      return world.engine.apply(
        {
          ...EMPTY_STATE,
          networks: [site, tagged, inner],
          subnets: [siteSubnet, taggedSubnet, innerSubnet],
          ports: [
            ...ports,
            wirePort(siteSubnet, '10.61.0.1', own),
            wirePort(innerSubnet, '10.63.0.1', own),
          ],
          securityGroups: [open, members],
          routers: [wireRouter({ id })],
        },
        signal(),
      )
    }

    beforeAll(async () => {
      world = await OvnWorld.start()
    }, 120_000)
    afterAll(() => world?.[Symbol.asyncDispose](), 60_000)

    test('a machine leases the address of its port, and reaches guests and their networks', async () => {
      const [one, two] = world.hosts
      const machine = machineOn(one, '52:54:00:00:61:07', 7)
      const stranger = machineOn(one, '52:54:00:00:61:99', 99)
      const guest = wirePort(siteSubnet, '10.61.0.8', { securityGroupIds: [guests.id] })
      const routed = wirePort(innerSubnet, '10.63.0.9', { securityGroupIds: [open.id] })
      await apply(machine, guest, routed)
      const behind = await world.plug(two, guest)
      const further = await world.plug(two, routed)
      await expect.poll(() => [machine, guest, routed].map(isUp), BOTH).toEqual([true, true, true])

      const cable = await world.cable(machine.mac)
      expect(await cable.lease()).toContain('mtu=1500')
      expect(await cable.run('ip', '-4', '-o', 'address', 'show', 'eth0')).toContain('10.61.0.7/24')
      await behind.lease()
      await further.lease()
      const pings = async (from: Endpoint, to: string) =>
        expect.poll(() => from.pings(to), BOTH).toBe(true)
      await pings(cable, '10.61.0.8')
      await pings(behind, '10.61.0.7')
      await pings(cable, '10.63.0.9')
      await pings(further, '10.61.0.7')

      const unknown = await world.cable(stranger.mac)
      await expect(unknown.lease(3)).rejects.toThrow()
    }, 120_000)

    test('a machine on a VLAN leases its address where its cable ends in that VLAN', async () => {
      const [one] = world.hosts
      const machine = wirePort(taggedSubnet, '10.62.0.7', {
        ...{ mac: '52:54:00:00:62:07', isMachine: true, hostId: one.id },
      })
      await apply(machine)
      await expect.poll(() => isUp(machine), BOTH).toBe(true)

      const cable = await world.cable(machine.mac, { host: one, vlan: 7 })
      await cable.lease()
      expect(await cable.run('ip', '-4', '-o', 'address', 'show', 'eth0')).toContain('10.62.0.7/24')
      const untagged = await world.cable('52:54:00:00:62:08')
      await expect(untagged.lease(3)).rejects.toThrow()
    }, 120_000)

    test('another host answers when the one that did is lost, and nothing is left of a machine', async () => {
      const [one, two] = world.hosts
      const machine = machineOn(one, '52:54:00:00:61:17', 17)
      await apply(machine)
      await expect.poll(() => world.bindings.get(machine.id)?.chassis, BOTH).toBe(one.id)
      await world.loseHost(one)
      await expect.poll(() => world.bindings.get(machine.id)?.chassis, BOTH).toBe(two.id)
      const cable = await world.cable(machine.mac)
      await waitFor('a lease of the other host', () => cable.lease(), STEP_MS)

      await apply()
      for (const table of ['HA_Chassis_Group', 'HA_Chassis'])
        expect(await world.northbound(table)).toBe('')
      expect(await world.northbound('Logical_Switch_Port', 'type=external')).toBe('')
    }, 120_000)
  },
)
