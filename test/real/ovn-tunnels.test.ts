import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { runInside } from '#deploy/namespace/namespace.ts'
import { runOvn } from '#deploy/ovn/daemons.ts'
import { testTunnel } from '#drivers/ovn/tunnel-test.ts'
import { type OvnTestHost, OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: hosts detect whether the network between them carries their tunnels, in each direction and at full size.

const why = whyNoGuests(['ovs-vswitchd', 'ovn-northd', 'ovn-controller', 'ip', 'ethtool'])
const FULL = 1_558
let key = 15_900_000

describe.skipIf(why !== undefined)(`tunnels between hosts${why ? `: ${why}` : ''}`, () => {
  let world: OvnWorld

  beforeAll(async () => {
    world = await OvnWorld.start()
  }, 60_000)
  afterAll(() => world?.[Symbol.asyncDispose]())

  /** What each host sees of the other. */
  async function seen(packetBytes = FULL, forMs = 4_000) {
    key += 1
    const ask = (host: OvnTestHost, peer: number) => {
      const folder = join(world.directory, `host-${world.hosts.indexOf(host as never) + 1}`)
      const options = {
        address: `unix:${join(folder, 'db.sock')}`,
        clock: systemClock,
        log: createLogger('tunnels', 'silent'),
      }
      const question = { peer: `10.255.0.${peer}`, key, packetBytes, forMs }
      return testTunnel(options, question, AbortSignal.timeout(20_000))
    }
    const [one, two] = world.hosts
    return Promise.all([ask(one, 2), ask(two, 1)])
  }

  const bridges = async ({ ovn }: OvnTestHost) => (await ovn.vsctl('list-br')).trim().split('\n')

  test('carry packets of full size both ways, and nothing is left of the test', async () => {
    const before = await bridges(world.hosts[0])

    expect(await seen()).toEqual([
      { small: true, large: true },
      { small: true, large: true },
    ])

    expect(await bridges(world.hosts[0])).toEqual(before)
  })

  test('lose large packets where the network between the hosts is too narrow', async () => {
    const [, two] = world.hosts
    const port = ['link', 'set', `und${two.holder.pid}`, 'mtu']
    const ip = (...args: string[]) =>
      runInside(world.underlay.holder, 'ip', args, { timeoutMs: 10_000 })
    await ip(...port, '1500')

    expect((await seen()).map(({ small, large }) => [small, large])).toContainEqual([true, false])
    expect(await seen(1_500)).toEqual([
      { small: true, large: true },
      { small: true, large: true },
    ])

    await ip(...port, '1600')
  })

  test('carry nothing in a direction that is blocked', async () => {
    const [one] = world.hosts
    const place = { holder: one.holder, directory: join(world.directory, 'host-1') }
    const ofctl = (...args: string[]) => runOvn(place, 'ovs-ofctl', args)
    await ofctl('add-flow', 'br-phys', 'priority=100,udp,nw_src=10.255.0.1,actions=drop')

    expect(await seen(FULL, 2_000)).toEqual([
      { small: true, large: true },
      { small: false, large: false },
    ])

    await ofctl('del-flows', 'br-phys', 'udp,nw_src=10.255.0.1')
    expect((await seen())[1]).toEqual({ small: true, large: true })
  })
})
