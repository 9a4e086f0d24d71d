import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '../env/full-run.ts'
import { question } from './guest-console.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: what the extra specs of a flavor ask for, a guest that runs has: as libvirt and QEMU say, and as the guest itself sees it.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const why = whyNoGuests(COMMANDS)

/**
 * Finds the i6300ESB among the PCI devices. The guest's kernel has no driver for it, so its registers are written as its data sheet
 * says: the two timers, each write of which is unlocked first, the first count, and the bit that starts it.
 */
const WATCHDOG = 'dog=$(grep -l 0x25ab /sys/bus/pci/devices/*/device)'
const STARVE = [
  WATCHDOG,
  'dog=${dog%/device}; echo 1 > $dog/enable; read base _ < $dog/resource',
  'unlock() { devmem $((base + 12)) 16 0x80; devmem $((base + 12)) 16 0x86; }',
  'unlock; devmem $((base)) 32 4096; unlock; devmem $((base + 4)) 32 4096',
  'unlock; devmem $((base + 12)) 16 0x100',
  "printf '\\002' | dd of=$dog/config bs=1 seek=104 conv=notrunc 2>/dev/null",
  'echo starves',
].join('; ')
/** Of four vCPUs. */
const TOPOLOGY = { 'hw:cpu_sockets': '2', 'hw:cpu_cores': '1', 'hw:cpu_threads': '2' }
const EQUIPPED = {
  ...TOPOLOGY,
  'hw:hide_hypervisor_id': 'true',
  'hw:pmu': 'true',
  'hw:watchdog_action': 'pause',
  'hw_rng:allowed': 'true',
  'hw_rng:rate_bytes': '1024',
  'hw_rng:rate_period': '2000',
  'quota:disk_read_bytes_sec': '104857600',
  'quota:disk_read_iops_sec': '5000',
  'quota:disk_write_bytes_sec': '1048576',
  'quota:disk_write_iops_sec': '400',
}
const PLAIN = {
  'hw:pmu': 'false',
  'hw:watchdog_action': 'disabled',
  'hw_rng:allowed': 'false',
  'quota:disk_total_bytes_sec': '104857600',
  'quota:disk_total_iops_sec': '3000',
}

describe.skipIf(why !== undefined)(
  `the hardware of a libvirt guest that runs${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    const signal = () => AbortSignal.timeout(60_000)
    const specWith = (
      extraSpecs: Readonly<Record<string, string>>,
      vcpus: number,
      image: ImageSpec = harness.image,
    ) => {
      const spec = instanceSpec(image)
      return { ...spec, flavor: { ...spec.flavor, vcpus, extraSpecs } }
    }
    const xmlOf = ({ id }: InstanceSpec) => harness.virsh('dumpxml', `weir-${id}`)
    const limitsOf = async ({ id }: InstanceSpec) =>
      Object.fromEntries(
        (await harness.virsh('blkdeviotune', `weir-${id}`, 'vda'))
          .split('\n')
          .map((line) => line.split(':').map((part) => part.trim()))
          .filter(([name, value]) => /^\w+_(?:bytes|iops)_sec$/.test(name!) && value !== '0'),
      ) as object
    /** What QEMU has made its first CPU from. */
    const cpuProperty = async ({ id }: InstanceSpec, property: string) => {
      const cpus = await ask(id, { execute: 'query-cpus-fast' })
      const path = (cpus as readonly { 'qom-path': string }[])[0]!['qom-path']
      return ask(id, { execute: 'qom-get', arguments: { path, property } })
    }
    const ask = async (id: string, command: object) => {
      const answer = await harness.virsh(
        ...['qemu-monitor-command', `weir-${id}`, JSON.stringify(command)],
      )
      return (JSON.parse(answer) as { return: unknown }).return
    }

    beforeAll(async () => {
      harness = await startLibvirtHarness('seen')
      driver = await harness.openAs(harness.owner, { cpuModel: 'Nehalem', vcpus: 4 })
    }, 120_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('libvirt and QEMU have what a flavor asks for', async () => {
      const spec = specWith(EQUIPPED, 4)

      await driver.spawn(spec, signal())

      const xml = await xmlOf(spec)
      expect(xml).toMatch(/<topology sockets='2' dies='1' cores='1' threads='2'\/>/)
      expect(xml).toMatch(/<watchdog model='i6300esb' action='pause'>/)
      expect(xml).toMatch(/<rng model='virtio'>\s*<rate bytes='1024' period='2000'\/>/)
      expect(await limitsOf(spec)).toEqual({
        read_bytes_sec: '104857600',
        read_iops_sec: '5000',
        write_bytes_sec: '1048576',
        write_iops_sec: '400',
      })
      expect(await cpuProperty(spec, 'pmu')).toBe(true)
      expect(await cpuProperty(spec, 'kvm')).toBe(false)
      await driver.destroy(spec.id, signal())
    })

    test('libvirt and QEMU do not have what a flavor forbids, and limit all of a disk', async () => {
      const spec = specWith(PLAIN, 1)

      await driver.spawn(spec, signal())

      const xml = await xmlOf(spec)
      expect(xml).not.toMatch(/<watchdog|<rng/)
      expect(await limitsOf(spec)).toEqual({
        total_bytes_sec: '104857600',
        total_iops_sec: '3000',
      })
      expect(await cpuProperty(spec, 'pmu')).toBe(false)
      expect(await cpuProperty(spec, 'kvm')).toBe(true)
      await driver.destroy(spec.id, signal())
    })

    describe.skipIf(!isFullRun)('as the guest sees it', () => {
      let image: ImageSpec
      beforeAll(async () => {
        const built = await buildGuestImage(GUEST_CACHE)
        image = harness.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
      }, 300_000)

      /** A guest that has booted, and what it answers to commands. */
      async function boot(extraSpecs: Readonly<Record<string, string>>, vcpus: number) {
        const spec = specWith(extraSpecs, vcpus, image)
        await driver.spawn(spec, signal())
        const log = async () =>
          Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString()
        await expect.poll(log, { timeout: BOOT_MS, interval: 500 }).toContain('READY')
        const serial = await driver.console!.open(spec.id, 'serial', signal())
        let shown = ''
        serial.on('data', (chunk: Buffer) => {
          shown += chunk.toString('latin1')
        })
        const answerTo = async (command: string) => {
          const { line, answer } = question(command)
          const tried = () => (serial.write(line), shown)
          await expect.poll(tried, { timeout: BOOT_MS, interval: 2_000 }).toMatch(answer)
          return answer.exec(shown)![1]!
        }
        return { spec, answerTo }
      }
      const cpu = (field: string) =>
        `sed -n "s/^${field}[^:]*: *//p" /proc/cpuinfo | sort -u | wc -l`
      const firstOf = (field: string) => `sed -n "s/^${field}[^:]*: *//p" /proc/cpuinfo | head -n 1`
      const RANDOM = 'cat /sys/class/misc/hw_random/rng_current'
      /** In hundredths of a second. */
      const timeOf = (work: string) =>
        `now() { cut -d" " -f1 /proc/uptime | tr -d .; }; was=$(now); ${work} >/dev/null 2>&1; echo $(($(now) - was))`

      test('it has the CPUs, random numbers, watchdog and disk that its flavor gives it', async () => {
        const { spec, answerTo } = await boot(EQUIPPED, 4)

        expect(await answerTo('nproc')).toBe('4')
        expect(await answerTo(cpu('physical id'))).toBe('2')
        expect(await answerTo(firstOf('cpu cores'))).toBe('1')
        expect(await answerTo(firstOf('siblings'))).toBe('2')
        expect(await answerTo(`${RANDOM} | tr . _`)).toBe('virtio_rng_0')
        // One write after the other: of 5 MiB at 1 MiB a second, and of 4 KiB at 512 bytes a second, the first may be for nothing.
        const write = 'dd if=/dev/zero of=/dev/vda bs=1M seek=10$i count=1 conv=notrunc,fsync'
        const writes = `for i in 1 2 3 4 5; do ${write}; done`
        expect(Number(await answerTo(timeOf(writes)))).toBeGreaterThan(250)
        const reads = 'dd if=/dev/hwrng of=/dev/null bs=64 count=64'
        expect(Number(await answerTo(timeOf(reads)))).toBeGreaterThan(350)

        expect(await answerTo(STARVE)).toBe('starves')
        const stateOf = () => harness.virsh('domstate', '--reason', `weir-${spec.id}`)
        await expect.poll(stateOf, { timeout: BOOT_MS }).toContain('paused (watchdog)')
        await driver.destroy(spec.id, signal())
      }, 600_000)

      test('it has neither random numbers nor a watchdog where its flavor forbids them', async () => {
        const { spec, answerTo } = await boot(PLAIN, 1)

        expect(await answerTo(RANDOM)).toBe('none')
        expect(await answerTo(`${WATCHDOG}; echo is-\${dog:-absent}`)).toBe('is-absent')
        await driver.destroy(spec.id, signal())
      }, 600_000)
    })
  },
)
