import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { run } from '#drivers/run.ts'
import type { NetworkState, WirePort } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '../env/network-state.ts'
import { type Endpoint, type OvnTestHost, OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: security groups and protection against forged addresses hold for each packet, whichever host or cell it is from.

const why = whyNoGuests([
  ...['ovs-vswitchd', 'ovn-northd', 'ovn-controller'],
  ...['busybox', 'curl', 'ethtool', 'ip'],
])
const TCP = 6
const ICMP = 1
const ICMP_V6 = 58
const FORGED = '10.73.0.99'
const FORGED_V6 = 'fd73::99'
const SERVER = '10.73.0.11'
const SERVER_V6 = 'fd73::11'

const network = wireNetwork({ name: 'blue' })
const subnet = wireSubnet(network, '10.73.0.0/24')
const subnetV6 = wireSubnet(network, 'fd73::/64')
const members = wireGroup()
const talks = wireGroup(
  wireRule({ direction: 'egress' }),
  wireRule({ direction: 'egress', version: 6 }),
)
const http = { protocol: TCP, portMin: 80, portMax: 80, remoteGroupId: members.id }
const serves = wireGroup(
  wireRule({ protocol: ICMP }),
  wireRule({ protocol: ICMP_V6, version: 6 }),
  wireRule(http),
  wireRule({ ...http, version: 6 }),
)

function dualPort(last: number, ...groups: readonly { readonly id: string }[]): WirePort {
  const address = `10.73.0.${last}`
  return wirePort(subnet, address, {
    fixedIps: [
      { subnetId: subnet.id, address },
      { subnetId: subnetV6.id, address: `fd73::${last}` },
    ],
    securityGroupIds: groups.map(({ id }) => id),
  })
}

const server = dualPort(11, serves, talks)
const near = dualPort(12, members, talks)
const over = dualPort(13, members, talks)
const far = dualPort(14, members, talks)
const strangerOver = dualPort(15, talks)
const strangerFar = dualPort(16, talks)
const ALL = [server, near, over, far, strangerOver, strangerFar]

describe.skipIf(why !== undefined)(
  `security groups over hosts and cells${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let cells: readonly OvnWorld[] = []
    let places: ReadonlyMap<string, { readonly cell: OvnWorld; readonly host: OvnTestHost }>
    let ends: ReadonlyMap<string, Endpoint>
    const end = ({ id }: WirePort) => ends.get(id)!

    beforeAll(async () => {
      const one = await OvnWorld.start()
      cells = [one]
      const two = await OvnWorld.start({ beside: one })
      cells = [one, two]
      const here = { cell: one, host: one.hosts[0] }
      const next = { cell: one, host: one.hosts[1] }
      const elsewhere = { cell: two, host: two.hosts[0] }
      places = new Map([
        ...[server, near].map(({ id }) => [id, here] as const),
        ...[over, strangerOver].map(({ id }) => [id, next] as const),
        ...[far, strangerFar].map(({ id }) => [id, elsewhere] as const),
      ])
      const isKnown = async () => cells.every((cell) => cell.engine.hosts().length === 2)
      await waitFor('both hosts of each cell', isKnown, 30_000)
      await apply(ALL)
      ends = new Map(await Promise.all(ALL.map(plugged)))
      await end(server).serve('served')
      const isUp = ({ id }: WirePort) => places.get(id)!.cell.bindings.get(id)?.isUp === true
      await waitFor('all ports to be up', async () => ALL.every(isUp), 30_000)
    }, 120_000)
    afterAll(async () => {
      for (const cell of cells.toReversed()) await cell[Symbol.asyncDispose]()
    })

    async function plugged(port: WirePort): Promise<readonly [string, Endpoint]> {
      const { cell, host } = places.get(port.id)!
      const endpoint = await cell.plug(host, port)
      for (const { address } of port.fixedIps) await addAddress(endpoint, address)
      return [port.id, endpoint]
    }
    const addAddress = (endpoint: Endpoint, address: string) => {
      const isV6 = address.includes(':')
      const how = isV6
        ? [`${address}/64`, 'dev', 'eth0', 'nodad']
        : [`${address}/24`, 'dev', 'eth0']
      return endpoint.run('ip', 'address', 'add', ...how)
    }

    /** Afterwards both cells have these ports, each as a port of its own or of the other. */
    async function apply(ports: readonly WirePort[]): Promise<void> {
      for (const cell of cells)
        await cell.engine.apply(stateIn(cell, ports), AbortSignal.timeout(60_000))
    }
    function stateIn(cell: OvnWorld, ports: readonly WirePort[]): NetworkState {
      const others = cells.filter((each) => each !== cell).flatMap(({ engine }) => engine.hosts())
      return {
        ...EMPTY_STATE,
        networks: [network],
        subnets: [subnet, subnetV6],
        securityGroups: [members, talks, serves],
        remoteHosts: others.map(({ chassis: id, encapAddress }) => ({
          id,
          name: id,
          encapAddress,
        })),
        ports: ports.map((port) => {
          const place = places.get(port.id)!
          if (place.cell === cell) return { ...port, hostId: place.host.id }
          return { ...port, remoteHostId: place.host.id }
        }),
      }
    }
    const changed = (port: WirePort, part: Partial<WirePort>) =>
      apply(ALL.map((each) => (each === port ? { ...each, ...part } : each)))
    /** Otherwise the server would answer the MAC address that had the address before. */
    const forgetNeighbours = () => end(server).run('ip', 'neighbour', 'flush', 'dev', 'eth0')
    const enters = (port: WirePort, address = SERVER) => end(port).fetch(address)

    test('a rule for a group lets in its members of every host and cell, and no other sender', async () => {
      for (const member of [near, over, far])
        for (const address of [SERVER, SERVER_V6])
          await expect.poll(() => enters(member, address)).toBe('served')
      for (const stranger of [strangerOver, strangerFar])
        for (const address of [SERVER, SERVER_V6]) {
          await expect.poll(() => end(stranger).pings(address)).toBe(true)
          expect(await enters(stranger, address)).toBe('')
        }
      expect(await end(far).pings('10.73.0.15'), 'it lets nothing in').toBe(false)
    })

    test('a host whose tunnels end elsewhere since someone changed it is followed by the other cell', async () => {
      const { host, cell } = places.get(far.id)!
      const moved = '10.255.1.77'
      const encap = (address: string) =>
        host.ovn.vsctl('set', 'Open_vSwitch', '.', `external-ids:ovn-encap-ip=${address}`)
      const reported = () =>
        cell.engine.hosts().find(({ chassis }) => chassis === host.id)?.encapAddress
      const enterOwn = [`--net=/proc/${host.holder.pid}/ns/net`, 'ip', 'address']
      // A second address of one network would go with the first.
      const moveTo = async (before: string, after: string) => {
        const steps = [
          ['del', before],
          ['add', after],
        ] as const
        for (const [how, address] of steps)
          await run('nsenter', [...enterOwn, how, `${address}/16`, 'dev', 'br-phys'], {
            timeoutMs: 10_000,
          })
        await encap(after)
        await expect.poll(reported).toBe(after)
        await apply(ALL)
        await expect.poll(() => enters(far)).toBe('served')
      }

      await moveTo(host.encapAddress, moved)
      await moveTo(moved, host.encapAddress)
    })

    test('a member that leaves the group is shut out, and one that joins is let in', async () => {
      for (const member of [over, far]) {
        await changed(member, { revision: 2, securityGroupIds: [talks.id] })
        await expect.poll(() => enters(member)).toBe('')
        expect(await enters(member, SERVER_V6)).toBe('')
        expect(await enters(near), 'the others stay').toBe('served')
      }
      await changed(strangerFar, { revision: 2, securityGroupIds: [members.id, talks.id] })
      await expect.poll(() => enters(strangerFar)).toBe('served')
      await expect.poll(() => enters(strangerFar, SERVER_V6)).toBe('served')

      await apply(ALL)
      await expect.poll(() => enters(strangerFar)).toBe('')
      await expect.poll(() => enters(far)).toBe('served')
    })

    test.each([
      ['on another host', over, 'fa:16:3e:0f:0f:01'],
      ['in another cell', far, 'fa:16:3e:0f:0f:02'],
    ])(
      'a guest %s sends from the addresses of its port and its pairs alone',
      async (_, port, forgedMac) => {
        const guest = end(port)
        await addAddress(guest, FORGED)
        await addAddress(guest, FORGED_V6)
        const sends = async () => ({
          v4: await guest.pings(SERVER, FORGED),
          v6: await guest.pings(SERVER_V6, FORGED_V6),
        })
        expect(await sends()).toEqual({ v4: false, v6: false })
        const own = [FORGED, FORGED_V6].map((cidr) => ({ mac: null, cidr }))
        await changed(port, { revision: 3, allowedPairs: own })
        await expect.poll(sends).toEqual({ v4: true, v6: true })

        await guest.run('ip', 'link', 'set', 'eth0', 'address', forgedMac)
        await forgetNeighbours()
        expect(await sends(), 'the pairs are of its own MAC address').toEqual({
          v4: false,
          v6: false,
        })
        const paired = [FORGED, FORGED_V6].map((cidr) => ({ mac: forgedMac, cidr }))
        await changed(port, { revision: 4, allowedPairs: paired })
        await expect.poll(sends).toEqual({ v4: true, v6: true })

        await apply(ALL)
        await expect.poll(sends).toEqual({ v4: false, v6: false })
        await changed(port, { revision: 5, hasPortSecurity: false, securityGroupIds: [] })
        await expect.poll(sends).toEqual({ v4: true, v6: true })

        await guest.run('ip', 'link', 'set', 'eth0', 'address', port.mac)
        await forgetNeighbours()
        for (const cidr of [`${FORGED}/24`, `${FORGED_V6}/64`])
          await guest.run('ip', 'address', 'del', cidr, 'dev', 'eth0')
        await apply(ALL)
        await expect.poll(() => enters(port)).toBe('served')
      },
    )
  },
)
