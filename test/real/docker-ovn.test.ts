import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { type HostId, type NetworkId, newId, type PortId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { runInside } from '#deploy/namespace/namespace.ts'
import { type RunningOvnCentral, startOvnCentral } from '#deploy/ovn/central.ts'
import { type RunningOvnHost, startOvnHost } from '#deploy/ovn/host.ts'
import { type RunningUnderlay, startUnderlay } from '#deploy/ovn/underlay.ts'
import { containerName } from '#drivers/docker/names.ts'
import type { Driver, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import { OvnEngine, type PortBinding } from '#drivers/ovn/engine.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { WirePort, WireSubnet } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '../env/network-state.ts'
import { type DockerHarness, startDockerHarness } from './docker-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['dockerd', 'containerd', 'runc', 'iptables', 'ethtool']
const why = whyNoGuests([...COMMANDS, 'ovs-vswitchd', 'ovn-northd', 'ovn-controller'])
const STEP_MS = 60_000
const TCP = 6

interface Host {
  readonly harness: DockerHarness
  readonly driver: Driver
  readonly ovn: RunningOvnHost
}

const blue = wireNetwork({ name: 'blue' })
const red = wireNetwork({ name: 'red' })
const subnet = wireSubnet(blue, '10.75.0.0/24', { gateway: '10.75.0.1' })
/** Its addresses are those of the other network, too. */
const sameAddresses = wireSubnet(red, '10.75.0.0/24', { gateway: '10.75.0.1' })
const further = wireSubnet(red, '10.76.0.0/24', { gateway: '10.76.0.1' })
const sends = () => wireRule({ direction: 'egress' })
const web = wireGroup(sends(), wireRule({ protocol: TCP, portMin: 80, portMax: 80 }))
const shut = wireGroup(sends())
const port = (on: WireSubnet, address: string, groupId: string) =>
  wirePort(on, address, { securityGroupIds: [groupId] })
const open = port(subnet, '10.75.0.11', web.id)
const asking = port(subnet, '10.75.0.12', shut.id)
const closed = port(subnet, '10.75.0.13', shut.id)
const apart = port(sameAddresses, '10.75.0.11', web.id)
const late = port(further, '10.76.0.14', web.id)

function nicOf({ id: portId, networkId, mac, fixedIps }: WirePort): NicSpec {
  const [ip] = fixedIps
  const on = [subnet, sameAddresses, further].find(({ id }) => id === ip!.subnetId)!
  return {
    portId: portId as PortId,
    networkId: networkId as NetworkId,
    macAddress: mac,
    mtu: blue.mtu,
    fixedIps: [
      {
        address: ip!.address,
        cidr: on.cidr,
        gateway: on.gateway,
        dhcp: true,
        dnsServers: [],
      },
    ],
  }
}

describe.skipIf(why !== undefined)(
  `containers on OVN${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const signal = () => AbortSignal.timeout(STEP_MS)
    let directory: string
    let underlay: RunningUnderlay
    let central: RunningOvnCentral
    let engine: OvnEngine
    let hosts: readonly [Host, Host]
    const bindings = new Map<string, PortBinding>()
    const spawned: [Host, InstanceSpec][] = []

    async function startHost(number: number): Promise<Host> {
      const harness = await startDockerHarness()
      const { holder, pluginDirectory } = harness.running
      const folder = join(directory, `host-${number}`)
      const hostId = newId<HostId>()
      const ovn = await startOvnHost({
        holder,
        directory: folder,
        chassis: hostId,
        southbound: central.southbound,
        underlay: { ...underlay, address: `10.255.0.${number}` },
      })
      const driver = await harness.openAs(harness.owner, {
        network: 'ovn',
        ovsDatabase: `unix:${join(folder, 'db.sock')}`,
        pluginDirectory,
        networkNamespace: `/proc/${holder.pid}/ns/net`,
      })
      return { harness, driver, ovn }
    }

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'weir-do-'))
      ;[underlay, central] = await Promise.all([
        startUnderlay(join(directory, 'underlay')),
        startOvnCentral(join(directory, 'central')),
      ])
      engine = await OvnEngine.open({
        ...central,
        clock: systemClock,
        log: createLogger('docker-ovn', 'silent'),
        onPort: (binding) => bindings.set(binding.portId, binding),
      })
      hosts = await Promise.all([startHost(1), startHost(2)])
      const objects = {
        networks: [blue, red],
        subnets: [subnet, sameAddresses, further],
        ports: [open, asking, closed, apart, late],
        securityGroups: [web, shut],
      }
      await engine.apply({ ...EMPTY_STATE, ...objects }, signal())
    }, 300_000)
    afterEach(async () => {
      for (const [{ driver }, { id }] of spawned.splice(0)) await driver.destroy(id, signal())
    })
    afterAll(async () => {
      await engine?.[Symbol.asyncDispose]()
      for (const { driver, harness } of hosts ?? []) {
        await driver[Symbol.asyncDispose]()
        await harness[Symbol.asyncDispose]()
      }
      await central?.stop()
      await underlay?.stop()
      await rm(directory, { recursive: true, force: true })
    })

    async function spawn(host: Host, on: readonly WirePort[], hostname = 'guest') {
      const spec = instanceSpec(host.harness.image, { nics: on.map(nicOf), hostname })
      spawned.push([host, spec])
      await host.driver.spawn(spec, signal())
      return spec
    }
    const isUp = ({ id }: WirePort) => bindings.get(id)?.isUp === true
    /** Runs a command in the network of the guest, from outside it. */
    async function inside({ harness }: Host, { id }: InstanceSpec, ...command: string[]) {
      const path = `/containers/${containerName(id)}/json`
      const { State } = await harness.engine.call<{ State: { Pid: number } }>('GET', path, {
        signal: signal(),
      })
      const enter = ['-t', String(State.Pid), '-n', ...command]
      return (await harness.running.run('nsenter', enter, { timeoutMs: STEP_MS })).stdout
    }
    const fetch = (host: Host, spec: InstanceSpec, address: string) =>
      inside(host, spec, 'curl', '-s', '--max-time', '2', `http://${address}/`).catch(() => '')
    const switchPorts = async ({ ovn }: Host) =>
      (await ovn.vsctl('list-ports', 'br-int')).split('\n').filter((name) => name.startsWith('w-'))

    test('containers of two hosts reach each other as their security groups say', async () => {
      const [here, there] = hosts
      await spawn(here, [open], 'open')
      await spawn(here, [closed], 'closed')
      await spawn(there, [apart], 'apart')
      const asker = await spawn(there, [asking])

      await expect
        .poll(() => fetch(there, asker, '10.75.0.11'), { timeout: STEP_MS })
        .toContain('open')
      expect(await fetch(there, asker, '10.75.0.13')).toBe('')
      expect([open, closed, apart, asking].every(isUp)).toBe(true)
      const address = await inside(there, asker, 'ip', '-o', 'address', 'show', 'eth0')
      expect(address).toContain('10.75.0.12/24')
      const link = await inside(there, asker, 'ip', '-o', 'link', 'show', 'eth0')
      expect(link).toContain(asking.mac)
      expect(link).toContain(`mtu ${blue.mtu}`)
      const route = await inside(there, asker, 'ip', 'route')
      expect(route).toContain('default via 10.75.0.1')
    })

    test('a container keeps its port over stop, start and a NIC that comes and goes', async () => {
      const [here, there] = hosts
      const server = await spawn(here, [open], 'again')
      const asker = await spawn(there, [asking])
      await here.driver.stop(server.id, 0, signal())
      await expect.poll(() => isUp(open), { timeout: STEP_MS }).toBe(false)
      await here.driver.start(server.id, signal())
      await expect
        .poll(() => fetch(there, asker, '10.75.0.11'), { timeout: STEP_MS })
        .toContain('again')

      await here.driver.interfaces!.attach(server.id, nicOf(late), signal())
      await expect.poll(() => isUp(late), { timeout: STEP_MS }).toBe(true)
      const second = await inside(here, server, 'ip', '-o', 'address', 'show', 'eth1')
      expect(second).toContain('10.76.0.14/24')
      expect(await inside(here, server, 'ip', '-o', 'link', 'show', 'eth1')).toContain(late.mac)
      expect(await inside(here, server, 'ip', 'route')).toContain('default via 10.75.0.1')
      await here.driver.interfaces!.detach(server.id, nicOf(late), signal())
      await expect.poll(() => isUp(late), { timeout: STEP_MS }).toBe(false)
      expect(await switchPorts(here)).toHaveLength(1)
    })

    test('nothing is left of a destroyed container, and nothing of one whose engine was killed', async () => {
      const [here] = hosts
      const one = await spawn(here, [open])
      await here.driver.destroy(one.id, signal())
      expect(await switchPorts(here)).toEqual([])
      expect(await here.harness.leftovers(one.id)).toEqual([])

      const two = await spawn(here, [open], 'returned')
      await here.harness.running.kill()
      await here.harness.running.start()
      await here.driver.start(two.id, signal())
      await expect.poll(() => isUp(open), { timeout: STEP_MS }).toBe(true)
      expect(await switchPorts(here)).toHaveLength(1)
      await here.driver.destroy(two.id, signal())
      expect(await switchPorts(here)).toEqual([])
    })

    test('a container without its switch is not started, and its error says what to do', async () => {
      const [here] = hosts
      const { harness } = here
      const lost = await harness.openAs(
        { cellId: harness.owner.cellId, hostId: newId<HostId>() },
        {
          network: 'ovn',
          ovsDatabase: `unix:${join(directory, 'nowhere.sock')}`,
          pluginDirectory: harness.running.pluginDirectory,
          networkNamespace: `/proc/${harness.running.holder.pid}/ns/net`,
        },
      )
      const spec = instanceSpec(harness.image, { nics: [nicOf(open)] })
      const links = async () => {
        const brief = ['-br', 'link', 'show', 'type', 'veth']
        const { stdout } = await runInside(harness.running.holder, 'ip', brief, {
          timeoutMs: STEP_MS,
        })
        return stdout
      }
      const before = await links()

      await expect(lost.spawn(spec, signal())).rejects.toMatchObject({
        detail: expect.stringContaining('nowhere.sock cannot be reached') as unknown,
      })
      expect(await harness.leftovers(spec.id)).toEqual([])
      expect(await links()).toBe(before)
      await lost[Symbol.asyncDispose]()
    })
  },
)
