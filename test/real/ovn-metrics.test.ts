import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GuestRecord } from '#cells/compute/metadata/metadata-store.ts'
import { serveComputeMetrics } from '#cells/compute/metrics/compute-metrics.ts'
import { createLogger } from '#common/log.ts'
import type { ServedMetrics } from '#common/metrics/serve-metrics.ts'
import type { Driver } from '#drivers/driver.ts'
import { ROUTER_GATEWAY, ROUTER_INTERFACE } from '#drivers/ovn/northbound/network-index.ts'
import { switchStatistics } from '#drivers/ovn/switch-statistics.ts'
import { EMPTY_STATE, wireNetwork, wirePort, wireRouter, wireSubnet } from '../env/network-state.ts'
import { type Endpoint, OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

const why = whyNoGuests([
  ...['ovs-vswitchd', 'ovn-northd', 'ovn-controller'],
  ...['busybox', 'ethtool', 'ip'],
])
const PINGS = 20
const TOKEN = 'the-token-of-monitoring'

const network = wireNetwork()
const outside = wireNetwork({ isExternal: true, physicalNetwork: 'public' })
const subnet = wireSubnet(network, '10.79.0.0/24', { gateway: '10.79.0.1' })
const publicSubnet = wireSubnet(outside, '203.0.113.0/24', { gateway: '203.0.113.1' })
const free = { hasPortSecurity: false }
const [one, two] = [
  wirePort(subnet, '10.79.0.11', free),
  wirePort(subnet, '10.79.0.12', free),
] as const
const router = wireRouter()
const ofRouter = { ...free, deviceId: router.id, deviceOwner: ROUTER_INTERFACE }
const gateway = wirePort(publicSubnet, '203.0.113.9', { ...ofRouter, deviceOwner: ROUTER_GATEWAY })

describe.skipIf(why !== undefined)(
  `metrics of a host's switch${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let world: OvnWorld
    let metrics: ServedMetrics
    let guest: Endpoint
    const owned = new AsyncDisposableStack()
    const guests = [
      { id: one.deviceId, build: { nics: [{ portId: one.id, networkId: network.id }] } },
    ] as unknown as readonly GuestRecord[]

    beforeAll(async () => {
      world = owned.use(await OvnWorld.start())
      const parts = { networks: [network, outside], subnets: [subnet, publicSubnet] }
      const routers = [{ ...router, gateway: { portId: gateway.id, hasSnat: true } }]
      const ports = [one, two, wirePort(subnet, '10.79.0.1', ofRouter), gateway]
      await world.engine.apply(
        { ...EMPTY_STATE, ...parts, ports, routers },
        AbortSignal.timeout(60_000),
      )
      const [first, second] = world.hosts
      guest = await world.plug(first, one)
      const other = await world.plug(second, two)
      await guest.run('ip', 'address', 'add', '10.79.0.11/24', 'dev', 'eth0')
      await other.run('ip', 'address', 'add', '10.79.0.12/24', 'dev', 'eth0')
      const ovsDatabase = `unix:${join(world.directory, 'host-1', 'db.sock')}`
      const driver = { networkStatistics: switchStatistics({ ovsDatabase }) } as unknown as Driver
      const metadata = { guests: () => guests } as never
      const log = createLogger('metrics', 'silent')
      const settings = { port: 0, address: '127.0.0.1', token: TOKEN, targetsDirectory: undefined }
      const workQueue = { depth: { running: 0, waiting: 0 } } as never
      const compute = { driver, metadata, log, workQueue, lastReport: null }
      const stats = { inMsgs: 0, outMsgs: 0, inBytes: 0, outBytes: 0 }
      const nats = { rtt: () => Promise.resolve(1), stats: () => stats }
      const host = { compute, nats, config: { natsCredentialsFile: undefined, hostName: 'one' } }
      metrics = owned.use(await serveComputeMetrics(new Registry(), host, settings))
    }, 120_000)
    afterAll(() => owned[Symbol.asyncDispose]())

    const read = (token = TOKEN) =>
      fetch(metrics.url, { headers: { authorization: `Bearer ${token}` } })
    /** The value of the one line of this metric with these labels. */
    const value = async (name: string, labels: Readonly<Record<string, string>>) => {
      const lines = (await (await read()).text()).split('\n').filter((line) => {
        const has = ([key, text]: [string, string]) => line.includes(`${key}="${text}"`)
        return line.startsWith(`${name}{`) && Object.entries(labels).every(has)
      })
      expect(lines.length).toBeLessThan(2)
      return Number(lines[0]?.split(' ').at(-1) ?? Number.NaN)
    }

    test('count what guests of the host and its tunnels send and receive', async () => {
      await expect.poll(() => guest.pings('10.79.0.12')).toBe(true)
      const ofPort = { server_id: one.deviceId, port_id: one.id, network_id: network.id }
      const remote = world.hosts[1]
      const ofTunnel = { remote_host: remote.id, remote_address: remote.encapAddress }
      await guest.run('busybox', 'ping', '-c', String(PINGS), '-i', '0.02', '10.79.0.12')

      for (const labels of [ofPort, ofTunnel])
        for (const direction of ['in', 'out']) {
          const about = labels === ofPort ? 'port' : 'tunnel'
          const count = (what: string) =>
            value(`weir_${about}_${what}_total`, { ...labels, direction })
          await expect.poll(() => count('packets')).toBeGreaterThan(PINGS)
          expect(await count('bytes')).toBeGreaterThan(PINGS * 64)
          expect(await count('errors')).toBe(0)
          expect(await count('dropped')).toBe(0)
        }
      const text = await (await read()).text()
      expect(text, 'it is no guest of this host').not.toContain(two.id)
    })

    test('say whether the other end of a tunnel answers', async () => {
      const labels = { remote_host: world.hosts[1].id }
      await expect.poll(() => value('weir_tunnel_up', labels)).toBe(1)

      await world.loseHost(world.hosts[1])

      // A dead host is a gateway no longer, and then OVN watches the tunnel no more.
      await expect.poll(() => value('weir_tunnel_up', labels)).not.toBe(1)
    })

    test('need the token, and have none of the switch while it is away', async () => {
      expect((await read('wrong')).status).toBe(401)
      expect((await fetch(metrics.url.replace('metrics', 'other'))).status).toBe(404)

      await world.hosts[0].ovn.kill('vswitch')
      const text = await (await read()).text()
      expect(text).toMatch(/^weir_host_switch_up 0$/m)
      expect(text).not.toContain('weir_port_packets_total{')
      await world.hosts[0].ovn.start()
      await expect
        .poll(async () => (await read()).text())
        .toMatch(/^weir_port_packets_total\{.*weir_host_switch_up 1$/ms)
    })
  },
)
