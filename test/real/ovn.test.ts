import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { runInside } from '#deploy/namespace/namespace.ts'
import { runOvn } from '#deploy/ovn/daemons.ts'
import { ROUTER_GATEWAY, ROUTER_INTERFACE } from '#drivers/ovn/northbound/network-index.ts'
import type { NetworkState, WireForwarding } from '#openapi/wire/network.ts'
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
import { type Endpoint, OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

const why = whyNoGuests([
  ...['ovs-vswitchd', 'ovn-northd', 'ovn-controller', 'ovn-nbctl'],
  ...['busybox', 'curl', 'ethtool', 'ip'],
])
const TCP = 6
const ICMP = 1

/** Two tenant networks and a public one; a router; four ports on two hosts. */
function firstState() {
  const blue = wireNetwork({ name: 'blue', dnsDomain: 'blue.example' })
  const red = wireNetwork({ name: 'red' })
  const outside = wireNetwork({ isExternal: true, physicalNetwork: 'public', mtu: 1500 })
  const blueSubnet = wireSubnet(blue, '10.71.0.0/24', { gateway: '10.71.0.1' })
  const redSubnet = wireSubnet(red, '10.72.0.0/24', { gateway: '10.72.0.1' })
  const publicSubnet = wireSubnet(outside, '203.0.113.0/24', {
    gateway: '203.0.113.1',
    hasDhcp: false,
  })
  const friends = wireGroup()
  const open = wireGroup(
    wireRule({ direction: 'egress' }),
    wireRule({ protocol: ICMP }),
    wireRule({ protocol: TCP, portMin: 80, portMax: 80, remoteGroupId: friends.id }),
  )
  const talks = wireGroup(wireRule({ direction: 'egress' }))
  const web = wirePort(blueSubnet, '10.71.0.11', { securityGroupIds: [open.id], dnsName: 'Web' })
  const friend = wirePort(blueSubnet, '10.71.0.12', {
    securityGroupIds: [friends.id, talks.id],
  })
  const stranger = wirePort(blueSubnet, '10.71.0.13', { securityGroupIds: [talks.id] })
  const far = wirePort(redSubnet, '10.72.0.11', { securityGroupIds: [open.id] })
  const routerId = wireRouter().id
  const ofRouter = { deviceId: routerId, deviceOwner: ROUTER_INTERFACE, hasPortSecurity: false }
  const gateway = wirePort(publicSubnet, '203.0.113.10', {
    ...ofRouter,
    deviceOwner: ROUTER_GATEWAY,
  })
  const router = wireRouter({ id: routerId, gateway: { portId: gateway.id, hasSnat: true } })
  const interfaces = [
    wirePort(blueSubnet, '10.71.0.1', ofRouter),
    wirePort(redSubnet, '10.72.0.1', ofRouter),
  ]
  const floating = wireFloatingIp({
    address: '203.0.113.20',
    networkId: outside.id,
    routerId,
    portId: far.id,
    fixedAddress: '10.72.0.11',
  })
  const state: NetworkState = {
    ...EMPTY_STATE,
    networks: [blue, red, outside],
    subnets: [blueSubnet, redSubnet, publicSubnet],
    ports: [web, friend, stranger, far, gateway, ...interfaces],
    securityGroups: [friends, open, talks],
    routers: [router],
    floatingIps: [floating],
  }
  return { state, web, friend, stranger, far, open, floating, gateway }
}

describe.skipIf(why !== undefined)(
  `OVN of two hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const { state, web, friend, stranger, far, open, floating, gateway } = firstState()
    const signal = () => AbortSignal.timeout(60_000)
    let world: OvnWorld
    let ends: Readonly<Record<'web' | 'friend' | 'stranger' | 'far', Endpoint>>
    const nbctl = (...args: string[]) =>
      runOvn({ holder: world.underlay.holder, directory: world.directory }, 'ovn-nbctl', [
        `--db=${world.central.northbound}`,
        ...args,
      ])
    const isUp = (id: string) => world.bindings.get(id)?.isUp === true

    beforeAll(async () => {
      world = await OvnWorld.start()
      await world.engine.apply(state, signal())
      const [one, two] = world.hosts
      const [a, b, c, d] = await Promise.all([
        world.plug(one, web),
        world.plug(two, friend),
        world.plug(two, stranger),
        world.plug(two, far),
      ])
      ends = { web: a, friend: b, stranger: c, far: d }
      await Promise.all([ends.web.serve('web'), ends.far.serve('far')])
    }, 120_000)
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]()
    })

    test('northd runs with the allocator that halves its CPU time', async () => {
      const { holder } = world.central
      const pidFile = join(world.directory, 'central', 'northd.pid')
      const maps = ['-c', 'cat "/proc/$(cat "$0")/maps"', pidFile]
      const { stdout } = await runInside(holder, 'sh', maps, { timeoutMs: 5_000 })
      expect(stdout).toContain('libtcmalloc_minimal.so')
    })

    test('ports are up once they are plugged, and say on which host', async () => {
      for (const { id } of [web, friend, stranger, far])
        await expect.poll(() => isUp(id)).toBe(true)
      expect(world.bindings.get(web.id)?.chassis).toBe(world.hosts[0].id)
      expect(world.bindings.get(far.id)?.chassis).toBe(world.hosts[1].id)
    })

    test('ports get their addresses by DHCP and reach each other over hosts', async () => {
      const leases = await Promise.all(Object.values(ends).map((end) => end.lease()))

      expect(leases[0]).toContain('dns=10.71.0.1 mtu=1442')
      expect(await ends.web.run('ip', '-4', 'address', 'show', 'eth0')).toContain('10.71.0.11/24')
      await expect.poll(() => ends.friend.pings('10.71.0.11')).toBe(true)
    })

    test('a security group passes its allowed traffic, from members of another group', async () => {
      await expect.poll(() => ends.friend.fetch('10.71.0.11')).toBe('web')
      expect(await ends.stranger.pings('10.71.0.11')).toBe(true)
      expect(await ends.stranger.fetch('10.71.0.11')).toBe('')
      expect(await ends.web.pings('10.71.0.12'), 'its groups let nothing in').toBe(false)

      const joined = { ...stranger, revision: 2, securityGroupIds: friend.securityGroupIds }
      const ports = state.ports.map((port) => (port.id === stranger.id ? joined : port))
      await world.engine.apply({ ...state, ports }, signal())
      await expect.poll(() => ends.stranger.fetch('10.71.0.11')).toBe('web')
      await world.engine.apply(state, signal())
      await expect.poll(() => ends.stranger.fetch('10.71.0.11')).toBe('')
    })

    test('a guest sends from no address but its own, unless a pair allows it', async () => {
      await ends.stranger.run('ip', 'address', 'add', '10.71.0.99/24', 'dev', 'eth0')
      const spoofs = () =>
        ends.stranger
          .run('busybox', 'ping', '-c', '1', '-W', '1', '-I', '10.71.0.99', '10.71.0.11')
          .then(
            () => true,
            () => false,
          )
      expect(await spoofs()).toBe(false)

      const allowedPairs = [{ mac: null, cidr: '10.71.0.99/32' }]
      const ports = state.ports.map((port) =>
        port.id === stranger.id ? { ...port, revision: 3, allowedPairs } : port,
      )
      await world.engine.apply({ ...state, ports }, signal())
      await expect.poll(spoofs).toBe(true)
      await world.engine.apply(state, signal())
    })

    test('names of ports are answered inside their network', async () => {
      const script = `const dns = new (require('node:dns').Resolver)({ timeout: 2000, tries: 1 })
        dns.setServers(['10.71.0.1'])
        dns.resolve(process.argv[1], process.argv[2], (error, found) =>
          process.stdout.write(error?.code ?? found.join()))`
      const resolve = (name: string, type = 'A', by: keyof typeof ends = 'friend') =>
        ends[by].run(process.execPath, '-e', script, name, type)

      expect(await resolve('web.blue.example')).toBe('10.71.0.11')
      expect(await resolve('WEB')).toBe('10.71.0.11')
      expect(await resolve('11.0.71.10.in-addr.arpa', 'PTR')).toBe('web.blue.example')
      expect(await resolve('web.blue.example', 'A', 'far'), 'it is on another network').toBe(
        'ETIMEOUT',
      )
    })

    test('a router joins two networks', async () => {
      await expect.poll(() => ends.friend.pings('10.72.0.11')).toBe(true)
      await expect.poll(() => ends.far.pings('10.71.0.11')).toBe(true)
    })

    test('guests reach the outside by the router, and are reached by a floating IP', async () => {
      const outside = world.outside()
      await expect.poll(() => ends.friend.pings('203.0.113.1')).toBe(true)
      await expect.poll(() => outside.pings('203.0.113.20')).toBe(true)
      expect(await outside.fetch('203.0.113.20'), 'the group lets in friends alone').toBe('')

      const web80 = wireRule({ protocol: TCP, portMin: 80, portMax: 80 })
      const opened = { ...open, revision: 2, rules: [...open.rules, web80] }
      const securityGroups = state.securityGroups.map((group) =>
        group.id === open.id ? opened : group,
      )
      await world.engine.apply({ ...state, securityGroups }, signal())
      await expect.poll(() => outside.fetch('203.0.113.20')).toBe('far')

      await world.engine.apply({ ...state, floatingIps: [] }, signal())
      await expect.poll(() => outside.pings('203.0.113.20')).toBe(false)
      await world.engine.apply(state, signal())
      await expect.poll(() => outside.pings(floating.address)).toBe(true)
    })

    test('a forwarded port of a floating IP leads to a port of a guest, from the outside and from other guests', async () => {
      const outside = world.outside()
      const page = (from: Endpoint, port: number) =>
        from.run('curl', '-s', '--max-time', '2', `http://203.0.113.30:${port}/`).catch(() => '')
      const forwardings: WireForwarding[] = [
        {
          floatingIpId: newId(),
          floatingAddress: '203.0.113.30',
          protocol: 'tcp',
          ...{ externalFirst: 8080, externalLast: 8081, internalFirst: 80, internalLast: 80 },
          address: '10.71.0.11',
        },
      ]
      const web80 = wireRule({ protocol: TCP, portMin: 80, portMax: 80 })
      const opened = { ...open, revision: 2, rules: [...open.rules, web80] }
      const forwarding = {
        ...state,
        securityGroups: state.securityGroups.map((group) =>
          group.id === open.id ? opened : group,
        ),
        routers: state.routers.map((each) => ({ ...each, forwardings })),
      }
      await world.engine.apply(forwarding, signal())

      await expect.poll(() => page(outside, 8080)).toBe('web')
      expect(await page(outside, 8081)).toBe('web')
      expect(await page(outside, 80)).toBe('')
      await expect.poll(() => page(ends.friend, 8080)).toBe('web')
      await expect.poll(() => page(ends.far, 8080)).toBe('web')

      await world.engine.apply(state, signal())
      await expect.poll(() => page(outside, 8080)).toBe('')
      expect((await nbctl('lb-list')).trim()).toBe('')
    })

    test("manual changes to Weir's rows are repaired, and rows of others stay", async () => {
      await nbctl('ls-add', 'theirs')
      await nbctl('lsp-set-addresses', web.id, 'fa:16:3e:00:00:99 10.71.0.66')
      await nbctl('lsp-del', friend.id)
      await nbctl('acl-del', 'neutron_pg_drop')

      await expect.poll(() => nbctl('lsp-get-addresses', web.id)).toContain(`${web.mac} 10.71.0.11`)
      await expect.poll(() => nbctl('acl-list', 'neutron_pg_drop')).toContain('drop')
      await expect.poll(() => ends.friend.fetch('10.71.0.11')).toBe('web')
      expect(await nbctl('ls-list')).toContain('theirs')
    })

    test('traffic continues while a controller or northd is down, and changes follow once they are back', async () => {
      const [, two] = world.hosts
      await two.ovn.kill('controller')
      await world.central.kill('northd')
      expect(await ends.friend.fetch('10.71.0.11')).toBe('web')

      const ports = state.ports.filter(({ id }) => id !== stranger.id)
      await world.engine.apply({ ...state, ports }, signal())
      await two.ovn.start()
      await world.central.start()

      await expect.poll(() => ends.stranger.pings('10.71.0.11')).toBe(false)
      await expect.poll(() => ends.friend.fetch('10.71.0.11')).toBe('web')
    })

    test('a gateway whose host dies is taken over by the other host', async ({ annotate }) => {
      const listed = await nbctl('lrp-get-gateway-chassis', `lrp-${gateway.id}`)
      const dying = world.hosts.find(({ id }) => listed.split('\n')[0]!.includes(id))!
      const [guest, host] =
        dying === world.hosts[0] ? [ends.friend, world.hosts[1]] : [ends.web, world.hosts[0]]
      const stream = await guest.stream('203.0.113.1')
      await world.loseHost(dying)

      await expect.poll(() => world.engine.hosts().filter(({ isAlive }) => isAlive)).toHaveLength(1)
      await stream.goesOn()
      const { longestMs } = await stream.stop()
      await annotate(`no gateway of two for ${longestMs} ms`)
      expect(await nbctl('lrp-get-gateway-chassis', `lrp-${gateway.id}`)).toContain(host.id)

      const returned = await world.returnHost(dying)
      const again = await world.plug(returned, dying === world.hosts[0] ? web : friend)
      await again.lease()
      await expect.poll(() => again.pings('10.72.0.1')).toBe(true)
    })

    test('an empty state leaves nothing, and the end nothing that runs', async () => {
      await world.engine.apply(EMPTY_STATE, signal())

      expect((await nbctl('ls-list')).trim().split('\n')).toHaveLength(1)
      expect((await nbctl('lr-list')).trim()).toBe('')
      const pids = world.holderPids()
      await world[Symbol.asyncDispose]()
      expect(pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
      expect(existsSync(world.directory)).toBe(false)
    })
  },
)
