import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { METRIC_NAMES } from '#drivers/host-metrics.ts'
import { domainXml } from '#drivers/libvirt/domains/domain-xml.ts'
import { guestOptions } from '#drivers/libvirt/domains/guest-options.ts'
import { instanceFiles } from '#drivers/libvirt/instance-files.ts'
import { domainSubject } from '#drivers/libvirt/instance-record.ts'
import { cpuElement } from '#drivers/libvirt/placement/cpu-settings.ts'
import { hostNodes } from '#drivers/libvirt/placement/host-nodes.ts'
import { passthroughDevices } from '#drivers/libvirt/placement/pci-devices.ts'
import { placeGuest } from '#drivers/libvirt/placement/place-guest.ts'
import { seenElements } from '#drivers/libvirt/placement/placement-elements.ts'
import { requestedPlacement } from '#drivers/libvirt/placement/requested-placement.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '../env/full-run.ts'
import { largePages, takeLargePages } from './large-pages.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 90_000
const why = whyNoGuests(COMMANDS)
const TWO_NODES = `<capabilities><host><topology><cells num='2'>${[0, 1]
  .map((id) => {
    const cpus = [0, 1, 2, 3].map((cpu) => {
      const number = id * 4 + cpu
      return `<cpu id='${number}' socket_id='${id}' die_id='0' core_id='${cpu}' siblings='${number}'/>`
    })
    return `<cell id='${id}'><memory unit='KiB'>33554432</memory>
      <pages unit='KiB' size='4'>7864320</pages><pages unit='KiB' size='2048'>1024</pages>
      <distances><sibling id='${id}' value='10'/><sibling id='${1 - id}' value='21'/></distances>
      <cpus num='4'>${cpus.join('')}</cpus></cell>`
  })
  .join('')}</cells></topology></host></capabilities>`

/** Which CPUs the kernel lets each thread of the guest's process run on. */
async function cpusOfThreads({ host }: LibvirtHarness, { id }: InstanceSpec) {
  const command = `grep -h ^Cpus_allowed_list /proc/$(cat /run/libvirt/qemu/weir-${id}.pid)/task/*/status`
  const { stdout } = await host.run('sh', ['-c', command], { timeoutMs: 10_000 })
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t')[1])
}

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

    test('QEMU limits the disks of a guest, and its firmware offers a choice', async () => {
      const spec = specWith({ 'quota:disk_read_bytes_sec': '1048576', 'hw:boot_menu': 'true' })

      await driver.spawn(spec, signal())

      const limits = await harness.virsh('blkdeviotune', `weir-${spec.id}`, 'vda')
      expect(limits).toMatch(/^read_bytes_sec *: 1048576$/m)
      expect(limits).toMatch(/^write_bytes_sec *: 0$/m)
      expect(await harness.virsh('dumpxml', `weir-${spec.id}`)).toContain(
        "<bootmenu enable='yes'/>",
      )
      await driver.destroy(spec.id, signal())
    })

    test.each([
      ['false', /-no-hpet|hpet=off/],
      ['true', /hpet=on|^((?!hpet).)*$/s],
    ])(
      'QEMU gives a guest whose image says hw_time_hpet=%s the timer or not',
      async (asked, had) => {
        const spec = instanceSpec({ ...harness.image, properties: { hw_time_hpet: asked } })

        await driver.spawn(spec, signal())

        const command = `cat /proc/$(cat /run/libvirt/qemu/weir-${spec.id}.pid)/cmdline`
        const { stdout } = await harness.host.run('sh', ['-c', command], { timeoutMs: 10_000 })
        expect(stdout).toMatch(had)
        await driver.destroy(spec.id, signal())
      },
    )

    test('a guest has the CPU model, memory node and topology that are asked for', async () => {
      const asked = { 'hw:numa_nodes': '1', 'hw:cpu_max_sockets': '1' }
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

    test('a guest is on the memory node that was claimed for it, and the host says so', async () => {
      const asked = specWith({ 'hw:numa_nodes': '1' }, 2)
      const missing = driver.spawn({ ...asked, hostNodes: [7, 7] }, signal())
      await expect(missing).rejects.toMatchObject({ kind: 'no-capacity', message: /claimed \(7\)/ })
      expect(await harness.leftovers(asked.id)).toEqual([])

      const spec = { ...asked, hostNodes: [0, 0] }
      await driver.spawn(spec, signal())
      const pinned = { ...specWith({ 'hw:cpu_policy': 'dedicated' }), hostNodes: [0] }
      await driver.spawn(pinned, signal())
      const xml = await harness.virsh('dumpxml', `weir-${spec.id}`)
      expect(xml).toMatch(/<memnode cellid='0' mode='strict' nodeset='0'\/>/)
      const reports = await driver.list(signal())
      expect(reports).toContainEqual({ id: spec.id, powerState: 'running', hostNodes: [0, 0] })
      expect(reports).toContainEqual({ id: pinned.id, powerState: 'running', hostNodes: [0] })

      // It is kept there when it is defined again.
      const larger = { ...spec.flavor, id: 'larger', memoryMb: spec.flavor.memoryMb + 1 }
      const how = { runs: true, graceMs: 0 }
      await driver.resize!.resize({ ...spec, flavor: larger }, how, signal())
      expect(await driver.topology!.read(spec.id, signal())).toMatchObject({
        nodes: [{ hostNode: 0, vcpus: [0, 1], memoryMb: larger.memoryMb }],
      })
      for (const { id } of [spec, pinned]) await driver.destroy(id, signal())
    })

    test('a CPU set apart is one guest’s until that is gone', async () => {
      const [first, second] = [1, 2].map(() => specWith({ 'hw:cpu_policy': 'dedicated' }))
      await driver.spawn(first!, signal())
      expect(await harness.virsh('vcpupin', `weir-${first!.id}`)).toMatch(/0\s+1/)
      expect(new Set(await cpusOfThreads(harness, first!))).toEqual(new Set(['1']))
      const { memoryMb } = first!.flavor
      expect(await driver.topology!.read(first!.id, signal())).toEqual({
        pageKib: null,
        nodes: [{ vcpus: [0], memoryMb, hostNode: null, pins: [1] }],
      })

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
      const both = await Promise.allSettled(
        [first!, second!].map((spec) => driver.spawn(spec, signal())),
      )
      expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      for (const { id } of [first!, second!]) await driver.destroy(id, signal())
    })

    test('a machine with two memory nodes would have a guest with CPUs of both', async () => {
      const nodes = hostNodes(TWO_NODES)
      const spec = specWith(
        { 'hw:cpu_policy': 'dedicated', 'hw:numa_nodes': '2', 'hw:mem_page_size': '2MB' },
        4,
      )
      const subject = domainSubject(spec)
      const host = { nodes, dedicated: [2, 3, 6, 7], devices: [], others: [] }
      const placement = placeGuest(requestedPlacement(subject), subject.flavor, host)
      const { id } = spec
      const files = instanceFiles(harness.host.socketPath, id)
      const xml = domainXml({
        ...{
          id,
          interfaces: [],
          subject,
          placement,
          files,
          owner: harness.owner,
          virtType: 'qemu',
        },
        options: guestOptions(subject),
        cpu: cpuElement(undefined, 'qemu', seenElements(null, placement)),
        ...{ sharedCpus: [], configDrive: undefined, rescue: undefined, start: undefined },
      })
      const folder = await mkdtemp(join(tmpdir(), 'weir-numa-'))
      await writeFile(join(folder, 'domain.xml'), xml)

      await harness.virsh('define', join(folder, 'domain.xml'))

      const accepted = await harness.virsh('dumpxml', `weir-${id}`)
      await harness.virsh('undefine', `weir-${id}`)
      await rm(folder, { recursive: true })
      for (const [vcpu, cpu] of [2, 3, 6, 7].entries())
        expect(accepted).toContain(`<vcpupin vcpu='${vcpu}' cpuset='${cpu}'/>`)
      expect(accepted).toContain(`<memnode cellid='1' mode='strict' nodeset='1'/>`)
      expect(accepted).toMatch(/<cell id='1' cpus='2-3' memory='65536' unit='KiB'\/>/)
      expect(accepted).toContain(`<page size='2048' unit='KiB'/>`)
    })

    test.skipIf(!isFullRun)(
      'a guest with large pages really has them, and no more are promised than there are',
      async ({ skip }) => {
        const { kib } = largePages()
        const memoryMb = (48 * kib) / 1024
        using pages = takeLargePages(64)
        skip(pages === undefined, 'the kernel of this machine gives no large pages')
        const [first, second] = ['large', `${kib}`].map((size) => {
          const spec = specWith({ 'hw:mem_page_size': size })
          return { ...spec, flavor: { ...spec.flavor, memoryMb } }
        })
        const { resources } = await driver.inventory(signal())
        const before = largePages()
        expect(resources).toMatchObject({
          PCPU: 1,
          CUSTOM_HUGEPAGE_MB: (before.total * kib) / 1024,
          [`CUSTOM_HUGEPAGE_${kib}K_MB`]: (before.total * kib) / 1024,
        })

        await driver.spawn(first!, signal())

        expect(before.free - largePages().free).toBe(48)
        const xml = await harness.virsh('dumpxml', `weir-${first!.id}`)
        expect(xml).toMatch(new RegExp(`<hugepages>\\s*<page size='${kib}' unit='KiB'/>`))
        const more = { ...second!, flavor: { ...second!.flavor, memoryMb: before.total * 2 } }
        await expect(driver.spawn(more, signal())).rejects.toMatchObject({
          kind: 'no-capacity',
          message: /pages of the size/,
        })
        expect(await harness.leftovers(more.id)).toEqual([])
        await driver.destroy(first!.id, signal())
        await expect.poll(() => largePages().free).toBe(before.free)
        await driver.spawn(second!, signal())
        expect(before.free - largePages().free).toBe(48)
        await driver.destroy(second!.id, signal())
      },
    )

    test('a host measures how busy its machine is', async () => {
      const names = async () => Object.keys(await driver.metrics!.read(signal())).toSorted()

      await expect.poll(names).toEqual([...METRIC_NAMES].toSorted())
      const { 'cpu.idle.time': idle } = await driver.metrics!.read(signal())
      expect(idle).toBeGreaterThan(0)
    })

    test('the NUMA nodes of a host have all of its CPUs, and those set apart', async () => {
      const { numa, vcpus, resources } = await driver.inventory(signal())
      const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)

      expect(sum(numa!.map(({ dedicatedCpus }) => dedicatedCpus))).toBe(resources!['PCPU'])
      expect(sum(numa!.map(({ cpus }) => cpus))).toBeGreaterThanOrEqual(vcpus)
      for (const { memoryMb } of numa!) expect(memoryMb).toBeGreaterThan(100)
    })

    test('devices that an operator names are offered; a machine that cannot lend them says so', async ({
      skip,
    }) => {
      const devices = await readdir('/sys/bus/pci/devices').catch(() => [])
      const address = devices.findLast((name) => !name.endsWith('00:00.0'))
      skip(address === undefined, 'this machine has no PCI devices')
      await using lender = await harness.openAs(harness.owner, {
        pciDevices: passthroughDevices([`any=${address}`]),
      })
      expect((await lender.inventory(signal())).resources).toMatchObject({ CUSTOM_PCI_ANY: 1 })
      // Elsewhere the device would really be taken from the machine.
      const groups = await readdir('/sys/kernel/iommu_groups').catch(() => [])
      skip(groups.length > 0, 'this machine has an IOMMU')
      const spec = specWith({ 'pci_passthrough:alias': 'any:1' })

      await expect(lender.spawn(spec, signal())).rejects.toMatchObject({
        kind: 'no-capacity',
        message: /IOMMU/,
      })

      expect(await harness.leftovers(spec.id)).toEqual([])
    })

    test.each([
      [{ 'hw:mem_page_size': '1GB' }, 'no-capacity', /pages of the size/],
      [{ 'hw:numa_nodes': '64' }, 'no-capacity', /NUMA nodes/],
      [{ 'pci_passthrough:alias': 'gpu:1' }, 'no-capacity', /0 CUSTOM_PCI_GPU free, 1 are/],
      [{ 'pci_passthrough:alias': 'gpu:' }, 'invalid', /aliases and numbers/],
    ])('%j is refused with the reason, and leaves nothing', async (extraSpecs, kind, message) => {
      const spec = specWith(extraSpecs, 64)

      await expect(driver.spawn(spec, signal())).rejects.toMatchObject({ kind, message })

      expect(await harness.leftovers(spec.id)).toEqual([])
    })

    test('a guest with UEFI keeps its firmware variables among its own files', async ({ skip }) => {
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
      'a guest with %s starts from a kernel, whatever its disk begins with, on this host and on another',
      async (firmware) => {
        const { kernelPath } = await buildGuestImage(GUEST_CACHE)
        const [kernel, ramdisk] = await Promise.all(
          [kernelPath, join(kernelPath, '../initrd.gz')].map(async (path) =>
            harness.images.add(await readFile(path)),
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
