import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '../env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 90_000
const why = whyNoGuests(COMMANDS)

describe.skipIf(why !== undefined)(
  `what libvirt guests are made of${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    const signal = () => AbortSignal.timeout(60_000)
    const specWith = (extraSpecs: Readonly<Record<string, string>>, vcpus = 1) => {
      const spec = instanceSpec(harness.image)
      return { ...spec, flavor: { ...spec.flavor, vcpus, extraSpecs } }
    }

    beforeAll(async () => {
      harness = await startLibvirtHarness('equipped')
      driver = await harness.openAs(harness.owner, { cpuModel: 'Nehalem', dedicatedCpus: [1] })
    }, 120_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('a guest has the CPU model, memory node and topology that are asked for', async () => {
      const asked = { 'hw:numa_nodes': '1', 'hw:cpu_cores': '2' }
      const spec = specWith(asked, 2)

      await driver.spawn(spec, signal())

      const xml = await harness.virsh('dumpxml', `weir-${spec.id}`)
      expect(xml).toMatch(/<model fallback='forbid'>Nehalem<\/model>/)
      expect(xml).toMatch(/<topology sockets='1' dies='1' cores='2' threads='1'\/>/)
      expect(xml).toMatch(/<memnode cellid='0' mode='strict' nodeset='0'\/>/)
      expect(xml).toMatch(/<vcpu placement='static' cpuset='0[,\d-]*'>2<\/vcpu>/)
      await expect(driver.liveMove!.announce(spec.id, signal())).rejects.toMatchObject({
        kind: 'unsupported',
      })
      await driver.destroy(spec.id, signal())
    })

    test('a CPU set apart is one guest’s until that is gone', async () => {
      const [first, second] = [1, 2].map(() => specWith({ 'hw:cpu_policy': 'dedicated' }))
      await driver.spawn(first!, signal())
      expect(await harness.virsh('vcpupin', `weir-${first!.id}`)).toMatch(/0\s+1/)

      const taken = driver.spawn(second!, signal())
      await expect(taken).rejects.toMatchObject({ kind: 'no-capacity', message: /0 of 1/ })
      expect(await harness.leftovers(second!.id)).toEqual([])

      const shared = specWith({})
      await driver.spawn(shared, signal())
      const larger = { ...shared, flavor: { ...second!.flavor, id: 'own' } }
      const resize = driver.resize!.resize(larger, { runs: true, graceMs: 0 }, signal())
      await expect(resize).rejects.toMatchObject({ kind: 'no-capacity' })
      expect(await driver.list(signal())).toContainEqual({ id: shared.id, powerState: 'running' })
      await driver.destroy(shared.id, signal())

      await driver.destroy(first!.id, signal())
      await driver.spawn(second!, signal())
      await driver.destroy(second!.id, signal())
    })

    test.each([
      [{ 'hw:mem_page_size': '1GB' }, 'no-capacity', /pages of the size/],
      [{ 'hw:numa_nodes': '64' }, 'no-capacity', /NUMA nodes/],
      [{ 'pci_passthrough:alias': 'gpu:1' }, 'invalid', /PCI device/],
    ])('%j is refused with the reason, and leaves nothing', async (extraSpecs, kind, message) => {
      const spec = specWith(extraSpecs, 64)

      await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind, message })

      expect(await harness.leftovers(spec.id)).toEqual([])
    })

    test('a guest with UEFI keeps what its firmware remembers among its own files', async ({
      skip,
    }) => {
      const capabilities = await harness.virsh('domcapabilities', '--machine', 'pc')
      skip(!capabilities.includes('<value>efi</value>'), 'this host has no UEFI firmware')
      const properties = { hw_firmware_type: 'uefi' }
      const spec = instanceSpec({ ...harness.image, properties })

      await driver.spawn(spec, signal())

      const xml = await harness.virsh('dumpxml', `weir-${spec.id}`)
      const nvram = /<nvram[^>]*>([^<]+)</.exec(xml)?.[1]
      expect(nvram).toContain(`/instances/${spec.id}/`)
      const { size } = await stat(nvram!)
      expect(size).toBeGreaterThan(0)
      await driver.move!.pack(spec.id, 0, signal())
      expect(await driver.move!.files(spec.id, signal())).toContainEqual({
        name: 'nvram',
        sizeBytes: size,
      })
      await driver.move!.unpack(spec.id, true, signal())
      await driver.destroy(spec.id, signal())
      expect(await harness.leftovers(spec.id)).toEqual([])
    })

    test.skipIf(!isFullRun).each(['bios', 'uefi'])(
      'a guest with %s is started from a kernel, whatever its disk begins with, here and elsewhere',
      async (firmware) => {
        const { kernelPath } = await buildGuestImage(GUEST_CACHE)
        const [kernel, ramdisk] = await Promise.all(
          [kernelPath, join(kernelPath, '../initrd.gz')].map(async (path) =>
            harness.shelf.add(await readFile(path)),
          ),
        )
        const commandLine = 'console=ttyS0 quiet panic=1 mitigations=off'
        const properties = { hw_firmware_type: firmware, os_command_line: commandLine }
        const image = { ...harness.image, properties, kernel: kernel!, ramdisk: ramdisk! }
        const spec = instanceSpec(image, { flavor: { ...specWith({}).flavor, memoryMb: 512 } })
        const until = (pattern: RegExp) =>
          expect
            .poll(
              async () =>
                Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString(),
              {
                timeout: BOOT_MS,
                interval: 1_000,
              },
            )
            .toMatch(pattern)
        await driver.spawn(spec, signal())
        await until(/READY/)

        await driver.move!.pack(spec.id, 0, signal())
        const names = (await driver.move!.files(spec.id, signal())).map(({ name }) => name)
        expect(names).toEqual(expect.arrayContaining(['root', 'kernel', 'ramdisk']))
        await driver.move!.unpack(spec.id, true, signal())
        await until(/READY[^]*READY/)

        const plain = { ...spec, image: harness.image }
        const how = { keepsEphemeral: false, runs: false }
        await driver.rebuild!.rebuild(plain, how, signal())
        expect(await harness.virsh('dumpxml', `weir-${spec.id}`)).not.toContain('<kernel>')
        await driver.destroy(spec.id, signal())
        expect(await harness.leftovers(spec.id)).toEqual([])
      },
      600_000,
    )

    test('a CPU model that the host cannot show is refused', async () => {
      await using other = await harness.openAs(harness.owner, { cpuModel: 'no-such-model' })
      const spec = instanceSpec(harness.image)

      await expect(other.spawn(spec, signal())).rejects.toMatchObject({
        kind: 'invalid',
        message: /no-such-model/,
      })
    })
  },
)
