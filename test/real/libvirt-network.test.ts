import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import type { FilterRule } from '#drivers/firewall.ts'
import { networkName } from '#drivers/libvirt/networks/network-name.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const why = whyNoGuests(COMMANDS)

function nicOn(third: number, last: number): NicSpec {
  const address = `10.${third}.0.${last}`
  return {
    portId: newId(),
    networkId: newId(),
    macAddress: `fa:16:3e:00:${third}:${last}`,
    mtu: 1500,
    fixedIps: [
      {
        address,
        cidr: `10.${third}.0.0/24`,
        gateway: `10.${third}.0.1`,
        dhcp: true,
        dnsServers: [],
      },
    ],
  }
}

/** Port 80 for every guest on the first network. */
const WEB: FilterRule = {
  direction: 'ingress',
  version: 4,
  protocol: 6,
  portMin: 80,
  portMax: 80,
  remotes: ['10.71.0.0/24'],
}

describe.skipIf(why !== undefined || !isFullRun)(
  `the network of libvirt guests${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    let spec: InstanceSpec
    const first = nicOn(71, 10)
    const second = nicOn(72, 10)
    /** Of a network that has the addresses of the first one. */
    const twin: NicSpec = { ...nicOn(71, 11), macAddress: 'fa:16:3e:00:73:11' }
    const signal = () => AbortSignal.timeout(60_000)
    const console = async () =>
      Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString()
    const run = async (...command: [string, ...string[]]) => {
      const [name, ...args] = command
      return (await harness.host.run(name, args, { timeoutMs: 10_000 })).stdout
    }
    const filter = (rules: readonly FilterRule[] | null, nic = first) =>
      driver.firewall!.apply([{ instance: spec.id, nic, rules }], signal())
    /** Another machine on the first network; returns what reads the guest's page from there. */
    const neighbour = async () => {
      const script = 'unshare --net sleep 900 >/dev/null 2>&1 & echo $!'
      const pid = (await run('sh', '-c', script)).trim()
      await waitFor(
        'the neighbour',
        async () =>
          (await run('readlink', `/proc/${pid}/ns/net`)) !==
          (await run('readlink', '/proc/1/ns/net')),
        5_000,
      )
      const inside = (...args: string[]) => run('nsenter', '--target', pid, '--net', ...args)
      const bridge = networkName(harness.owner, first.networkId)
      await run('ip', 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far')
      await run('ip', 'link', 'set', 'near', 'master', bridge, 'up')
      await run('ip', 'link', 'set', 'far', 'netns', pid)
      await inside('ip', 'address', 'add', '10.71.0.200/24', 'dev', 'far')
      await inside('ip', 'link', 'set', 'far', 'up')
      return () =>
        inside('curl', '-s', '--max-time', '2', 'http://10.71.0.10/').then(
          (page) => page.trim(),
          () => '',
        )
    }
    const interfaces = () => harness.virsh('domiflist', `weir-${spec.id}`)

    beforeAll(async () => {
      const [started, built] = await Promise.all([
        startLibvirtHarness('network'),
        buildGuestImage(GUEST_CACHE),
      ])
      harness = started
      const image = harness.images.addFile(built.path, {
        ...built,
        diskFormat: 'qcow2',
        name: 'tiny',
      })
      driver = await harness.open()
      spec = instanceSpec(image, { nics: [first] })
      await driver.spawn(spec, signal())
      await waitFor('the guest to be up', async () => (await console()).includes('READY'), BOOT_MS)
    }, 300_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('security groups open and shut a port of a running guest, and spoofed packets are dropped', async () => {
      const foreign = ['FORWARD', '-m', 'comment', '--comment', 'of-someone-else', '-j', 'ACCEPT']
      await run('iptables', '-A', ...foreign)
      const fetch = await neighbour()
      expect(await fetch(), 'shut until told otherwise').toBe('')

      await filter([WEB])
      await expect.poll(fetch).not.toBe('')
      await filter([{ ...WEB, remotes: ['192.0.2.0/24'] }])
      expect(await fetch()).toBe('')
      await filter(null)
      expect(await fetch()).not.toBe('')
      await filter([{ ...WEB, portMin: 81, portMax: 90 }])
      expect(await fetch()).toBe('')
      await filter([WEB])
      expect(await fetch()).not.toBe('')

      const [own] = first.fixedIps
      await filter([WEB], { ...first, fixedIps: [{ ...own!, address: '10.71.0.99' }] })
      expect(await fetch(), 'the guest uses an address it no longer has').toBe('')
      await filter([WEB], { ...first, macAddress: 'fa:16:3e:00:71:99' })
      expect(await fetch(), 'the guest uses a MAC it does not have').toBe('')
      await filter([WEB])
      expect(await fetch()).not.toBe('')

      expect(await run('iptables-save')).toContain('of-someone-else')
    })

    test('a NIC is attached while the guest runs, stays over a restart, and is detached again', async () => {
      const interfacesOf = driver.interfaces!

      await interfacesOf.attach(spec.id, second, signal())
      await interfacesOf.attach(spec.id, second, signal())
      await interfacesOf.attach(spec.id, twin, signal())

      expect(await interfaces()).toContain(second.macAddress)
      await driver.reboot(spec.id, 'hard', 0, signal())
      expect(await interfaces()).toContain(second.macAddress)
      await expect.poll(console, { timeout: BOOT_MS }).toMatch(/boot 2 of this disk[^]*READY/)
      expect(await console(), 'two networks may have the same addresses').toMatch(
        /boot 2 of this disk[^]*address \S+ 10\.71\.0\.10\s[^]*address \S+ 10\.71\.0\.11\s/,
      )

      await interfacesOf.detach(spec.id, twin, signal())
      await interfacesOf.detach(spec.id, second, signal())
      await interfacesOf.detach(spec.id, second, signal())

      expect(await interfaces()).not.toContain(second.macAddress)
      const networks = (await harness.virsh('net-list', '--name')).trim().split('\n')
      expect(networks).toHaveLength(1)
      expect(await harness.virsh('nwfilter-list')).not.toContain(second.portId)
    })

    test('a NIC is attached and detached while the guest is off', async () => {
      await driver.stop(spec.id, 0, signal())

      await driver.interfaces!.attach(spec.id, second, signal())
      expect(await interfaces()).toContain(second.macAddress)
      await driver.interfaces!.detach(spec.id, second, signal())

      expect(await interfaces()).not.toContain(second.macAddress)
      await driver.start(spec.id, signal())
    })
  },
)
