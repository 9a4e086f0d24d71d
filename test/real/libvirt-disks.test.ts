import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { driverDisksContract } from '../contract/driver-disks.contract.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const why = whyNoGuests(COMMANDS)

describe.skipIf(why !== undefined)(
  `disks of libvirt guests${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverDisksContract('libvirt', () => startLibvirtHarness('disks'))

    describe('a guest with an operating system', () => {
      let harness: LibvirtHarness
      let driver: Driver
      let guest: ImageSpec
      const signal = () => AbortSignal.timeout(60_000)
      const consoleOf = async ({ id }: InstanceSpec) =>
        Buffer.from(await driver.consoleLog!.read(id, 65_536, signal())).toString()
      const untilConsole = (spec: InstanceSpec, text: string | RegExp) =>
        expect.poll(() => consoleOf(spec), { timeout: BOOT_MS }).toMatch(text)
      const drive = (hostname: string) => ({
        'openstack/latest/meta_data.json': Buffer.from(JSON.stringify({ uuid: 'u', hostname })),
      })

      beforeAll(async () => {
        const [started, built] = await Promise.all([
          startLibvirtHarness('gamma'),
          buildGuestImage(GUEST_CACHE),
        ])
        harness = started
        guest = harness.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
        driver = await harness.open()
      }, 300_000)
      afterAll(async () => {
        await driver?.[Symbol.asyncDispose]()
        await harness?.[Symbol.asyncDispose]()
      })

      test('its snapshot, taken while it runs, boots as its disk would', async () => {
        const spec = instanceSpec(guest)
        await driver.spawn(spec, signal())
        await untilConsole(spec, 'READY')

        const disk = await driver.snapshot!.take(spec.id, signal())
        const chunks = []
        for await (const chunk of disk.content()) chunks.push(chunk)
        await disk[Symbol.asyncDispose]()
        const copy = instanceSpec(harness.shelve(Buffer.concat(chunks), disk.diskFormat))
        await driver.spawn(copy, signal())

        await untilConsole(copy, 'boot 2 of this disk')
        for (const { id } of [spec, copy]) await driver.destroy(id, signal())
        expect(await harness.leftovers(spec.id)).toEqual([])
      })

      test.runIf(isFullRun)(
        'it is rebuilt under another name, and resized there and back, and its guest notices',
        async () => {
          const small = instanceSpec(guest, { configDrive: drive('before') })
          await driver.spawn(small, signal())
          await untilConsole(small, /hostname=before[^]*READY/)

          const renamed = { ...small, configDrive: drive('after') }
          await driver.rebuild!.rebuild(renamed, { keepsEphemeral: false, runs: true }, signal())
          await untilConsole(small, /hostname=after[^]*READY/)
          expect(await consoleOf(small)).not.toContain('boot 2')

          const flavor = { ...small.flavor, name: 'm1.more', vcpus: 2, memoryMb: 192, rootGb: 2 }
          const how = { runs: true, graceMs: 30_000 }
          await driver.resize!.resize({ ...small, flavor }, how, signal())
          await untilConsole(small, /disk vda 4194304 sectors[^]*memory 1[5-9]\d{4} kB, 2 cpus/)
          await untilConsole(small, /boot 2 of this disk[^]*READY/)

          await driver.resize!.revert(small, how, signal())
          await untilConsole(small, /2 cpus[^]*disk vda 2097152[^]*1 cpus[^]*boot 2[^]*READY/)
          await driver.destroy(small.id, signal())
          expect(await harness.leftovers(small.id)).toEqual([])
        },
      )
    })
  },
)
