import { chmod, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runOvn } from '#deploy/ovn/daemons.ts'
import { run } from '#drivers/run.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '../env/network-state.ts'
import { authority } from './certificates.ts'
import { type OvnTestHost, OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: hosts reach the southbound database over TLS, each with its own certificate, and cannot change rows of other hosts.

const why = whyNoGuests([
  'ovs-vswitchd',
  'ovn-northd',
  'ovn-controller',
  'ovn-sbctl',
  'busybox',
  'ip',
  'ethtool',
  'openssl',
])
const CENTRAL = '10.255.0.200'
const FOR_HOSTS = `ssl:${CENTRAL}:6642`
const FOR_CELL = `ssl:${CENTRAL}:6644`
const STEP_MS = 20_000

describe.skipIf(why !== undefined)(`hosts with certificates${why ? `: ${why}` : ''}`, () => {
  let world: OvnWorld
  let folder: string
  let sign: Awaited<ReturnType<typeof authority>>

  const central = () => ({
    holder: world.central.holder,
    directory: join(world.directory, 'central'),
  })

  /** `ovn-sbctl` on the host, with the certificate of this name. */
  const sbctl = ({ holder }: OvnTestHost, address: string, name: string, args: readonly string[]) =>
    runOvn({ holder, directory: folder }, 'ovn-sbctl', [
      ...['--db', address, '--timeout=5', '-C', sign.ca],
      ...['-p', join(folder, `${name}.key`), '-c', join(folder, `${name}.pem`)],
      ...args,
    ])
  const asHost = (host: OvnTestHost, ...args: string[]) => sbctl(host, FOR_HOSTS, host.id, args)

  beforeAll(async () => {
    world = await OvnWorld.start()
    folder = await mkdtemp(join(world.directory, 'pki-'))
    await chmod(folder, 0o711)
    sign = await authority(folder)
    await plugCentral(world)
    const server = await sign.leaf('southbound')
    const here = (...args: string[]) =>
      runOvn(central(), 'ovn-sbctl', [`--db=${world.central.southbound}`, ...args])
    // As docs/how-to/networks.md has them.
    await here('set-ssl', server.key, server.cert, sign.ca)
    const forHosts = ['set-connection', 'role=ovn-controller', 'pssl:6642']
    const forCell = ['--id=@cell', 'create', 'Connection', 'target="pssl:6644"']
    const added = ['add', 'SB_Global', '.', 'connections', '@cell']
    await here(...forHosts, '--', ...forCell, '--', ...added)
    const northbound = await sign.leaf('northbound')
    const above = (...args: string[]) =>
      runOvn(central(), 'ovn-nbctl', [`--db=${world.central.northbound}`, ...args])
    await above('set-ssl', northbound.key, northbound.cert, sign.ca)
    await above('set-connection', 'pssl:6641')
    for (const host of world.hosts) {
      const { key, cert } = await sign.leaf(host.id)
      await host.ovn.vsctl('set-ssl', key, cert, sign.ca)
      await host.ovn.vsctl('set', 'Open_vSwitch', '.', `external-ids:ovn-remote="${FOR_HOSTS}"`)
    }
  }, 60_000)
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('serve ports, and their guests reach each other', async () => {
    const network = wireNetwork()
    const subnet = wireSubnet(network, '10.81.0.0/24', { gateway: '10.81.0.1' })
    const group = wireGroup(wireRule({ direction: 'egress' }), wireRule({ protocol: 1 }))
    const ports = ['10.81.0.11', '10.81.0.12'].map((address) =>
      wirePort(subnet, address, { securityGroupIds: [group.id] }),
    )
    const state = {
      ...EMPTY_STATE,
      networks: [network],
      subnets: [subnet],
      ports,
      securityGroups: [group],
    }
    await world.engine.apply(state, AbortSignal.timeout(STEP_MS))
    const [one, two] = await Promise.all(
      ports.map((port, nth) => world.plug(world.hosts[nth]!, port)),
    )

    for (const { id } of ports)
      await expect
        .poll(() => world.bindings.get(id), { timeout: STEP_MS })
        .toMatchObject({ isUp: true })
    await one!.lease()
    await two!.lease()
    await expect.poll(() => one!.pings('10.81.0.12')).toBe(true)
  })

  test('change their own rows alone', async () => {
    const [one, two] = world.hosts
    const change = (by: OvnTestHost, of: OvnTestHost) =>
      asHost(by, 'set', 'Chassis', of.id, 'external_ids:rack=r1')

    await change(one, one)
    await expect(change(one, two)).rejects.toMatchObject({
      detail: expect.stringContaining('permission error'),
    })
    await expect(asHost(one, 'destroy', 'Chassis', two.id)).rejects.toMatchObject({
      detail: expect.stringContaining('permission error'),
    })
    expect(await asHost(two, 'get', 'Chassis', one.id, 'external_ids:rack')).toContain('r1')
    const shown = await asHost(two, 'get', 'Chassis', two.id, 'external_ids')
    expect(shown).not.toContain('rack')
  })

  test('leave the northbound database to the cell, which reaches it with its certificate', async () => {
    await sign.leaf('conductor')
    const keys = ['-p', join(folder, 'conductor.key'), '-c', join(folder, 'conductor.pem')]

    const shown = await runOvn({ holder: world.hosts[0].holder, directory: folder }, 'ovn-nbctl', [
      ...['--db', `ssl:${CENTRAL}:6641`, '--timeout=5', '-C', sign.ca, ...keys, 'ls-list'],
    ])

    expect(shown).toContain('neutron-')
  })

  test('leave the rows of all hosts to the cell, at a port of its own', async () => {
    const [one, two] = world.hosts
    await sign.leaf('cell')

    await sbctl(one, FOR_CELL, 'cell', ['set', 'Chassis', two.id, 'external_ids:rack=r2'])

    expect(await asHost(one, 'get', 'Chassis', two.id, 'external_ids:rack')).toContain('r2')
  })
})

/** Afterwards the hosts reach the databases' namespaces at their address on the underlay. */
async function plugCentral({ underlay, central }: OvnWorld): Promise<void> {
  const inNetwork = (pid: number, ...command: string[]) =>
    run('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', ...command], { timeoutMs: STEP_MS })
  const { pid } = central.holder
  const port = `cen${pid}`
  const pair = [
    'mtu',
    '1600',
    'type',
    'veth',
    'peer',
    'name',
    'eth0',
    'mtu',
    '1600',
    'netns',
    String(pid),
  ]
  await inNetwork(underlay.holder.pid, 'link', 'add', port, ...pair)
  await inNetwork(underlay.holder.pid, 'link', 'set', port, 'master', underlay.bridge, 'up')
  await inNetwork(pid, 'address', 'add', `${CENTRAL}/16`, 'dev', 'eth0')
  await inNetwork(pid, 'link', 'set', 'eth0', 'up')
}
