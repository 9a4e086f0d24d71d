import { once } from 'node:events'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InstanceId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { Driver, InstanceReport, InstanceSpec } from '#drivers/driver.ts'
import { run } from '#drivers/run.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { driversContract } from '../contract/drivers.contract.ts'
import { isFullRun } from '../env/full-run.ts'
import {
  type BaremetalHarness,
  REFUSED_IMAGES,
  startBaremetalHarness,
} from './baremetal-harness.ts'
import { echoDisk } from './machine/echo-disk.ts'
import { whyNoGuests } from './requirements.ts'

const why = whyNoGuests([
  'ipmi_sim',
  'ipmitool',
  'qemu-system-x86_64',
  'qemu-img',
  'cpio',
  'depmod',
])
const OPERATION_MS = 200_000

describe.skipIf(why !== undefined)(
  `machines behind BMCs${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    describe.skipIf(!isFullRun)('with --all', () => {
      driversContract('baremetal', () => startBaremetalHarness(true), REFUSED_IMAGES)
    })
    conversation('programs', true)
    describe.skipIf(!isFullRun)('with --all', () => conversation('emulated machines', false))
  },
)

async function asQcow2(content: Buffer): Promise<Buffer> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'weir-qcow2-'))
  const [raw, qcow2] = [join(folder.path, 'raw'), join(folder.path, 'qcow2')]
  await writeFile(raw, content)
  const args = ['convert', '-f', 'raw', '-O', 'qcow2', raw, qcow2]
  await run('qemu-img', args, { timeoutMs: 20_000 })
  return readFile(qcow2)
}

function conversation(kind: string, quick: boolean): void {
  describe(`a host of ${kind}`, () => {
    let harness: BaremetalHarness
    let driver: Driver
    const signal = () => AbortSignal.timeout(OPERATION_MS)
    const newSpec = (overrides: Partial<InstanceSpec> = {}) => {
      const spec = instanceSpec(harness.image, overrides)
      return { ...spec, flavor: { ...spec.flavor, extraSpecs: { ...harness.extraSpecs } } }
    }
    const holder = async (id: InstanceId) => ((await harness.record(0)).instance === id ? 0 : 1)

    beforeAll(async () => {
      harness = await startBaremetalHarness(quick)
      driver = await harness.open()
    }, OPERATION_MS)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('shows the parts of its machines', async () => {
      const { machines, traits, vcpus } = await driver.inventory(signal())

      expect(machines).toMatchObject([{ resourceClass: 'CUSTOM_TEST', total: 2, vcpus: 1 }])
      expect(machines![0]!.memoryMb).toBeGreaterThan(100)
      expect(traits).toEqual(['CUSTOM_BOOT_BIOS', 'CUSTOM_CPU_X86_64'])
      expect(vcpus).toBe(2)
    })

    test('a server boots its image, is typed to, is seen to go off, and leaves the disk empty', async () => {
      const seen: InstanceReport[] = []
      await using _watching = driver.watch((report) => seen.push(report))
      const spec = newSpec()
      const { id } = spec

      await driver.spawn(spec, signal())
      const index = await holder(id)
      const machine = harness.machines[index]!
      expect(await machine.ipmitool('power', 'status')).toContain('on')
      const image = await readFile(join(machine.directory, 'disk.img'))
      expect(image.subarray(0, 512).equals(echoDisk())).toBe(true)

      const console = await driver.console!.open(id, 'serial', signal())
      let shown = ''
      console.setEncoding('latin1').on('data', (text: string) => (shown += text))
      const output = () => {
        console.write('.')
        return shown
      }
      await expect.poll(output, { timeout: 60_000 }).toContain('.')
      const logged = async () =>
        Buffer.from(await driver.consoleLog!.read(id, 10, signal())).toString()
      expect(await logged()).toMatch(/^\.+$/)

      const hungUp = once(console, 'end')
      await machine.ipmitool('power', 'off')
      await expect.poll(() => seen.at(-1)).toEqual({ id, powerState: 'shutdown' })
      await hungUp
      expect(await driver.list(signal())).toEqual([{ id, powerState: 'shutdown' }])

      const other = Buffer.concat([echoDisk(), Buffer.from('the other'.padEnd(512))])
      const rebuilt = { ...spec, image: harness.shelve(await asQcow2(other), 'qcow2') }
      await driver.rebuild!.rebuild(rebuilt, { keepsEphemeral: false, runs: true }, signal())
      expect(await driver.list(signal())).toEqual([{ id, powerState: 'running' }])
      const disk = await readFile(join(machine.directory, 'disk.img'))
      expect(disk.subarray(0, other.length).equals(other)).toBe(true)

      await driver.destroy(id, signal())
      expect(await harness.leftovers(id)).toEqual([])
      expect(await harness.record(index)).toMatchObject({ state: 'available', instance: null })
    })

    test('a request without a class, or for more machines than exist, is refused', async () => {
      const specs = [newSpec(), newSpec()]
      await Promise.all(specs.map((spec) => driver.spawn(spec, signal())))

      await expect(driver.spawn(newSpec(), signal())).rejects.toMatchObject({ kind: 'no-capacity' })
      const plain = instanceSpec(harness.image)
      await expect(driver.spawn(plain, signal())).rejects.toMatchObject({ kind: 'invalid' })
      const damaged = newSpec({ image: harness.refused['has damaged data']! })
      await expect(driver.spawn(damaged, signal())).rejects.toMatchObject({ kind: 'invalid' })

      await Promise.all(specs.map(({ id }) => driver.destroy(id, signal())))
      expect(await driver.list(signal())).toEqual([])
    })

    test.skipIf(!isFullRun)(
      'a disk that was half written is emptied when its BMC stays silent',
      async () => {
        const spec = newSpec()
        await driver.spawn(spec, signal())
        const index = await holder(spec.id)
        const machine = harness.machines[index]!
        await driver[Symbol.asyncDispose]()
        // The state on disk of a host that was killed during a deployment; the BMC does not answer at the next start.
        await harness.change(index, { state: 'deploying' })
        await writeFile(join(machine.directory, 'disk.img'), Buffer.alloc(512), { flag: 'r+' })
        await machine.stopBmc()
        driver = await harness.openSilent()

        expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'shutdown' }])
        await expect(driver.start(spec.id, signal())).rejects.toMatchObject({ kind: 'conflict' })
        const failing = driver.spawn(spec, signal())
        await expect(failing).rejects.toMatchObject({ kind: 'internal' })
        expect(await driver.list(signal())).toEqual([])
        await machine.startBmc()
        await driver.nodes!.inspect(`node-${index}`, signal())
        const available = async () => (await harness.record(index)).state === 'available'
        await waitFor('the machine to be clean', available, OPERATION_MS)
        await driver.nodes!.maintain(`node-${1 - index}`, 'the other one', signal())
        await driver.spawn(spec, signal())
        await driver.nodes!.maintain(`node-${1 - index}`, null, signal())

        expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
        const disk = await readFile(join(machine.directory, 'disk.img'))
        expect(disk.subarray(0, 512).equals(echoDisk())).toBe(true)
        await driver.destroy(spec.id, signal())
        expect(await harness.leftovers(spec.id)).toEqual([])
      },
    )

    test.skipIf(!isFullRun)('BMCs that are silent lose nothing, and answer again', async () => {
      const silent = { kind: 'unavailable' }
      const spec = newSpec()
      await driver.spawn(spec, signal())
      const index = await holder(spec.id)

      await harness.machines[index]!.stopBmc()
      expect(await driver.inventory(signal())).toMatchObject({ machines: [{ total: 2 }] })
      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      await expect(driver.stop(spec.id, 0, signal())).rejects.toMatchObject(silent)
      const other = newSpec()
      await harness.machines[1 - index]!.stopBmc()
      await expect(driver.inventory(signal())).rejects.toMatchObject(silent)
      const failing = driver.spawn(other, signal())
      await expect(failing).rejects.toMatchObject({ kind: 'internal' })
      await expect(driver.destroy(spec.id, signal())).rejects.toMatchObject(silent)

      await driver[Symbol.asyncDispose]()
      driver = await harness.openSilent()
      const [first] = harness.nodes
      const bmc = { ...first!.bmc!, port: await freePort() }
      const added = { ...first!, name: 'later', macAddress: '52:54:00:12:34:ff', bmc }
      expect(await driver.nodes!.add(added, signal())).toMatchObject({ state: 'inspecting' })
      await expect(driver.inventory(signal())).rejects.toMatchObject(silent)
      const failed = async () =>
        (await driver.nodes!.list(signal())).some(({ state }) => state === 'inspect-failed')
      await waitFor('the new machine to be silent, too', failed, OPERATION_MS)
      await driver.nodes!.remove('later', signal())

      for (const machine of harness.machines) await machine.startBmc()
      await driver.nodes!.inspect(`node-${1 - index}`, signal())
      const available = async () => (await harness.record(1 - index)).state === 'available'
      await waitFor('the machine to be clean', available, OPERATION_MS)
      await driver.spawn(other, signal())
      for (const { id } of [spec, other]) await driver.destroy(id, signal())
      expect(await harness.leftovers(spec.id)).toEqual([])
      expect(await driver.list(signal())).toEqual([])
    })
  })
}
