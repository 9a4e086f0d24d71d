import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
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

describe.skipIf(why !== undefined)(
  `the network of libvirt guests${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    let spec: InstanceSpec
    const first = nicOn(71, 10)
    const second = nicOn(72, 10)
    const signal = () => AbortSignal.timeout(60_000)
    const console = async () =>
      Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString()
    const interfaces = () => harness.virsh('domiflist', `weir-${spec.id}`)

    beforeAll(async () => {
      const [started, built] = await Promise.all([
        startLibvirtHarness('network'),
        buildGuestImage(GUEST_CACHE),
      ])
      harness = started
      const image = harness.shelf.addFile(built.path, {
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

    test('a NIC is attached while the guest runs, stays over a restart, and is detached again', async () => {
      const interfacesOf = driver.interfaces!

      await interfacesOf.attach(spec.id, second, signal())
      await interfacesOf.attach(spec.id, second, signal())

      expect(await interfaces()).toContain(second.macAddress)
      await driver.reboot(spec.id, 'hard', 0, signal())
      expect(await interfaces()).toContain(second.macAddress)
      await expect.poll(console, { timeout: BOOT_MS }).toMatch(/boot 2 of this disk[^]*READY/)

      await interfacesOf.detach(spec.id, second, signal())
      await interfacesOf.detach(spec.id, second, signal())

      expect(await interfaces()).not.toContain(second.macAddress)
      const networks = (await harness.virsh('net-list', '--name')).trim().split('\n')
      expect(networks).toHaveLength(1)
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
