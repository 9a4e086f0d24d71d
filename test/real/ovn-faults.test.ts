import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { runOvn } from '#deploy/ovn/daemons.ts'
import { ROUTER_GATEWAY, ROUTER_INTERFACE } from '#drivers/ovn/northbound/network-index.ts'
import { NORTHBOUND_TABLES } from '#drivers/ovn/northbound/rows.ts'
import { OvsdbDatabase } from '#drivers/ovn/ovsdb/database.ts'
import type { NetworkState } from '#openapi/wire/network.ts'
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
import type { PingLosses } from './ping-stream.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: guests keep their connections while parts of OVN die and return, and nothing of a deleted object remains.

const why = whyNoGuests([
  ...['ovs-vswitchd', 'ovn-northd', 'ovn-controller', 'ovn-nbctl'],
  ...['busybox', 'curl', 'ethtool', 'ip'],
])
const ICMP = 1
const OUTSIDE = '203.0.113.1'

/** The tables of the southbound database that northd and the hosts fill from ours, each with a column. */
const SOUTHBOUND: Readonly<Record<string, readonly string[]>> = {
  Address_Set: ['name'],
  Chassis: ['name'],
  DNS: ['external_ids'],
  Datapath_Binding: ['tunnel_key'],
  Encap: ['ip'],
  FDB: ['mac'],
  Gateway_Chassis: ['name'],
  HA_Chassis_Group: ['name'],
  Logical_DP_Group: ['datapaths'],
  Logical_Flow: ['pipeline'],
  MAC_Binding: ['ip'],
  Multicast_Group: ['name'],
  Port_Binding: ['logical_port'],
  Port_Group: ['name'],
}

const blue = wireNetwork({ name: 'blue' })
const outside = wireNetwork({ isExternal: true, physicalNetwork: 'public', mtu: 1500 })
const subnet = wireSubnet(blue, '10.77.0.0/24', { gateway: '10.77.0.1' })
const publicSubnet = wireSubnet(outside, '203.0.113.0/24', { gateway: OUTSIDE, hasDhcp: false })
const open = wireGroup(wireRule({ direction: 'egress' }), wireRule({ protocol: ICMP }))
const shut = wireGroup(wireRule({ direction: 'egress' }))
const [one, two] = ['10.77.0.11', '10.77.0.12'].map((address) =>
  wirePort(subnet, address, { securityGroupIds: [open.id], dnsName: 'guest' }),
) as [ReturnType<typeof wirePort>, ReturnType<typeof wirePort>]
const closed = wirePort(subnet, '10.77.0.13', { securityGroupIds: [shut.id] })
const third = wirePort(subnet, '10.77.0.14', { securityGroupIds: [open.id] })
const { id: routerId } = wireRouter()
const ofRouter = { deviceId: routerId, deviceOwner: ROUTER_INTERFACE, hasPortSecurity: false }
const inside = wirePort(subnet, '10.77.0.1', ofRouter)
const gateway = wirePort(publicSubnet, '203.0.113.10', { ...ofRouter, deviceOwner: ROUTER_GATEWAY })
const elsewhere = { id: newId(), name: 'elsewhere', encapAddress: '10.255.9.9' }
const remote = wirePort(subnet, '10.77.0.15', { remoteHostId: elsewhere.id })
const state: NetworkState = {
  ...EMPTY_STATE,
  networks: [blue, outside],
  subnets: [subnet, publicSubnet],
  securityGroups: [open, shut],
  ports: [one, two, closed, third, inside, gateway, remote],
  routers: [wireRouter({ id: routerId, gateway: { portId: gateway.id, hasSnat: true } })],
  remoteHosts: [elsewhere],
}

describe.skipIf(why !== undefined)(
  `OVN of three hosts, of which parts die${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const signal = () => AbortSignal.timeout(60_000)
    let world: OvnWorld
    let hosts: OvnTestHost[]
    let ends: Record<'one' | 'two' | 'closed' | 'third', Endpoint>
    let databases: readonly (readonly [
      OvsdbDatabase,
      Readonly<Record<string, readonly string[]>>,
    ])[]
    let before: Awaited<ReturnType<typeof leftovers>>
    const isUp = (id: string) => world.bindings.get(id)?.isUp === true
    const run = (host: OvnTestHost, program: string, ...args: string[]) => {
      const directory = join(world.directory, `host-${hosts.indexOf(host) + 1}`)
      return runOvn({ holder: host.holder, directory }, program, args)
    }
    const nbctl = (...args: string[]) =>
      runOvn({ holder: world.underlay.holder, directory: world.directory }, 'ovn-nbctl', [
        `--db=${world.central.northbound}`,
        ...args,
      ])
    const summary = ({ sent, lost, longestMs }: PingLosses) =>
      `${lost} of ${sent} pings lost, ${longestMs} ms at the longest`

    beforeAll(async () => {
      world = await OvnWorld.start({ moreHosts: 1 })
      hosts = [...world.hosts]
      const open = async (address: string, name: string, tables: typeof SOUTHBOUND) => {
        const options = { address, name, tables, clock: systemClock }
        const log = createLogger('faults', 'silent')
        return [await OvsdbDatabase.open({ ...options, log }), tables] as const
      }
      databases = await Promise.all([
        open(world.central.northbound, 'OVN_Northbound', NORTHBOUND_TABLES),
        open(world.central.southbound, 'OVN_Southbound', SOUTHBOUND),
      ])
      await world.engine.apply(EMPTY_STATE, signal())
      before = await settled()
      await world.engine.apply(state, signal())
      const plugged = await Promise.all([
        world.plug(hosts[0]!, one),
        world.plug(hosts[1]!, two),
        world.plug(hosts[1]!, closed),
        world.plug(hosts[2]!, third),
      ])
      await Promise.all(plugged.map((end) => end.lease()))
      ends = { one: plugged[0], two: plugged[1], closed: plugged[2], third: plugged[3] }
    }, 120_000)
    afterAll(async () => {
      for (const [database] of databases ?? []) await database[Symbol.asyncDispose]()
      await world?.[Symbol.asyncDispose]()
    })

    /** What OVN has anywhere: the rows of each table, the flows and the tunnels of each host. */
    async function leftovers() {
      const rows = databases.flatMap(([database, tables]) =>
        Object.keys(tables).map((name) => [name, database.table(name).size] as const),
      )
      const onHosts = hosts.map(async (host) => {
        const flows = await run(host, 'ovs-ofctl', '-O', 'OpenFlow15', 'dump-aggregate', 'br-int')
        const ports = (await host.ovn.vsctl('list-ports', 'br-int')).split('\n')
        const tunnels = ports.filter((port) => port.startsWith('ovn-')).length
        return { flows: /flow_count=\d+/.exec(flows)?.[0], tunnels }
      })
      return { rows: Object.fromEntries(rows), hosts: await Promise.all(onHosts) }
    }
    /** The same, once every host has applied the contents of the databases. */
    async function settled() {
      await waitFor('all hosts', async () => world.engine.hosts().length === hosts.length, 30_000)
      await nbctl('--wait=hv', 'sync')
      return leftovers()
    }

    test('pings are answered while the databases, northd and the controllers are dead, and when they are back', async ({
      annotate,
    }) => {
      const { central } = world
      const stream = await ends.one.stream('10.77.0.12')
      for (const daemon of ['northbound', 'southbound', 'northd'] as const) {
        await central.kill(daemon)
        await stream.goesOn()
        await central.start()
      }
      for (const { ovn } of hosts) await ovn.kill('controller')
      await stream.goesOn()
      for (const { ovn } of hosts) await ovn.start()
      for (const { id } of [one, two]) await expect.poll(() => isUp(id)).toBe(true)
      await stream.goesOn()

      const opened = { ...closed, revision: 2, securityGroupIds: [open.id] }
      const ports = state.ports.map((port) => (port === closed ? opened : port))
      await world.engine.apply({ ...state, ports }, signal())
      await expect.poll(() => ends.one.pings('10.77.0.13')).toBe(true)
      await world.engine.apply(state, signal())
      await expect.poll(() => ends.one.pings('10.77.0.13')).toBe(false)
      await annotate(`databases, northd, controllers: ${summary(await stream.stop())}`)
    })

    test('pings are answered again, and rules in force, when the switch of a host was killed', async ({
      annotate,
    }) => {
      const stream = await ends.one.stream('10.77.0.12')
      await hosts[1]!.ovn.kill('vswitchd')
      await hosts[1]!.ovn.start()
      await stream.goesOn()
      expect(await ends.one.pings('10.77.0.13')).toBe(false)
      await annotate(`ovs-vswitchd: ${summary(await stream.stop())}`)
    })

    test('a port that is deleted while its host is dead does not return with it', async () => {
      await world.loseHost(hosts[2]!)
      const ports = state.ports.filter((port) => port !== third)
      await world.engine.apply({ ...state, ports }, signal())

      hosts[2] = await world.returnHost(hosts[2]!)
      ends.third = await world.plug(hosts[2], third)
      await ends.third.run('ip', 'address', 'add', '10.77.0.14/24', 'dev', 'eth0')
      await settled()
      expect(await ends.one.pings('10.77.0.14')).toBe(false)

      await world.engine.apply(state, signal())
      await expect.poll(() => ends.one.pings('10.77.0.14')).toBe(true)
    })

    test('guests reach the outside again when the host that is their gateway has died', async ({
      annotate,
    }) => {
      const gateways = () => nbctl('lrp-get-gateway-chassis', `lrp-${gateway.id}`)
      const [first] = (await gateways()).split('\n')
      const dying = hosts.findIndex(({ id }) => first!.includes(id))
      const stream = await (dying === 0 ? ends.two : ends.one).stream(OUTSIDE)

      await world.loseHost(hosts[dying]!)
      await stream.goesOn()
      await annotate(`gateway of three: ${summary(await stream.stop())}`)
      await expect.poll(gateways).not.toContain(hosts[dying]!.id)
      hosts[dying] = await world.returnHost(hosts[dying]!)
      await expect.poll(gateways).toContain(hosts[dying].id)
    })

    test('nothing is left in the databases and on the hosts when all is deleted', async () => {
      expect((await settled()).hosts).not.toEqual(before.hosts)

      await world.engine.apply(EMPTY_STATE, signal())

      await expect.poll(settled).toEqual(before)
    })
  },
)
