import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { NetworkId, PortId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { type RunningOvnCentral, startOvnCentral } from '#deploy/ovn/central.ts'
import { type RunningOvnHost, startOvnHost } from '#deploy/ovn/host.ts'
import { type RunningUnderlay, startUnderlay } from '#deploy/ovn/underlay.ts'
import type { Driver, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import { OvnEngine, type PortBinding } from '#drivers/ovn/engine.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { WirePort } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '../env/network-state.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const why = whyNoGuests([...COMMANDS, 'ovs-vswitchd', 'ovn-northd', 'ovn-controller'])

interface Host {
  readonly harness: LibvirtHarness
  readonly driver: Driver
  readonly ovn: RunningOvnHost
}

const network = wireNetwork()
const subnet = wireSubnet(network, '10.74.0.0/24', { gateway: '10.74.0.1' })
const group = wireGroup(wireRule({ direction: 'egress' }), wireRule({ protocol: 6 }))
const ports = ['10.74.0.11', '10.74.0.12'].map((address) =>
  wirePort(subnet, address, { securityGroupIds: [group.id] }),
)

function nicOf({ id, networkId, mac, fixedIps }: WirePort): NicSpec {
  return {
    portId: id as PortId,
    networkId: networkId as NetworkId,
    macAddress: mac,
    mtu: network.mtu,
    fixedIps: fixedIps.map(({ address }) => ({
      address,
      cidr: subnet.cidr,
      gateway: subnet.gateway,
      dhcp: true,
      dnsServers: [],
    })),
  }
}

/** Fetches the page of the other guest until it has it. */
function fetching(address: string): Readonly<Record<string, Uint8Array>> {
  const request = String.raw`printf 'GET / HTTP/1.0\r\n\r\n'`
  // In the background, so that the guest's init goes on and takes its address.
  const script = `#!/bin/sh
while sleep 1; do
  page=$(${request} | nc -w 2 ${address} 80 | tail -n 1)
  [ -n "$page" ] && echo "weir-guest: fetched $page" >/dev/console && exit
done &
`
  return { 'openstack/latest/user_data': Buffer.from(script) }
}

describe.skipIf(why !== undefined)(
  `libvirt guests on OVN${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const signal = () => AbortSignal.timeout(BOOT_MS)
    let directory: string
    let underlay: RunningUnderlay
    let central: RunningOvnCentral
    let engine: OvnEngine
    const bindings = new Map<string, PortBinding>()
    let hosts: readonly Host[]

    async function startHost(name: string, number: number): Promise<Host> {
      const harness = await startLibvirtHarness(name, 'ovn')
      const ovn = await startOvnHost({
        holder: harness.host.holder,
        directory: harness.openvswitch,
        chassis: name,
        southbound: central.southbound,
        underlay: { ...underlay, address: `10.255.0.${number}` },
      })
      return { harness, ovn, driver: await harness.open() }
    }

    const isUp = ({ id }: WirePort) => bindings.get(id)?.isUp === true
    const consoleOf = async ({ driver }: Host, { id }: InstanceSpec) =>
      Buffer.from(await driver.consoleLog!.read(id, 65_536, signal())).toString()

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'weir-lo-'))
      ;[underlay, central] = await Promise.all([
        startUnderlay(join(directory, 'underlay')),
        startOvnCentral(join(directory, 'central')),
      ])
      engine = await OvnEngine.open({
        ...central,
        clock: systemClock,
        log: createLogger('libvirt-ovn', 'silent'),
        onPort: (binding) => bindings.set(binding.portId, binding),
      })
      hosts = await Promise.all([startHost('ovn-1', 1), startHost('ovn-2', 2)])
      const parts = { networks: [network], subnets: [subnet], ports, securityGroups: [group] }
      await engine.apply({ ...EMPTY_STATE, ...parts }, signal())
    }, 300_000)
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

    test('guests of two hosts get their addresses from OVN and reach each other', async () => {
      const built = await buildGuestImage(GUEST_CACHE)
      const specs = hosts.map(({ harness }, index) => {
        const image = harness.images.addFile(built.path, {
          ...built,
          diskFormat: 'qcow2',
          name: 'tiny',
        })
        const other = ports[1 - index]!.fixedIps[0]!.address
        return instanceSpec(image, {
          nics: [nicOf(ports[index]!)],
          hostname: `guest-${index}`,
          configDrive: {
            'openstack/latest/meta_data.json': Buffer.from(`{"hostname": "guest-${index}"}`),
            ...fetching(other),
          },
        })
      })

      await Promise.all(hosts.map(({ driver }, index) => driver.spawn(specs[index]!, signal())))

      for (const [index, host] of hosts.entries()) {
        const output = () => consoleOf(host, specs[index]!)
        const fetched = async () => (await output()).includes(`fetched guest-${1 - index}`)
        await waitFor(`guest ${index} to fetch the other's page`, fetched, BOOT_MS)
        expect(await output()).toContain(`address eth0 10.74.0.${11 + index}`)
        expect(isUp(ports[index]!)).toBe(true)
      }
      const [first] = hosts
      expect(await first!.harness.virsh('net-list', '--all', '--name')).not.toContain('wr-')
      expect(await first!.harness.virsh('nwfilter-list')).not.toContain('weir-port-')

      const { harness } = first!
      const changed = await harness.openAs(harness.owner, { network: 'host' })
      await expect(changed.inventory(signal())).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringContaining(`Guests ${specs[0]!.id} are joined by the cell's OVN`),
      })

      await first!.driver.destroy(specs[0]!.id, signal())
      expect((await changed.inventory(signal())).vcpus).toBeGreaterThan(0)
      await changed[Symbol.asyncDispose]()
      await expect.poll(() => isUp(ports[0]!), { timeout: 30_000 }).toBe(false)
      const left = await first!.ovn.vsctl('list-ports', 'br-int')
      expect(left.split('\n').filter((port) => port.startsWith('vnet'))).toEqual([])
    }, 300_000)
  },
)
