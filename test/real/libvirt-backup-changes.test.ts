import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { appendFile, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { diskFile } from '#common/qcow2/disk-file.ts'
import { mergeChanges } from '#common/qcow2/merge-changes.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: backups that carry only changes are, merged one after the other, the disk as it was at each of them.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const MIB = 2 ** 20
const GIB = 2 ** 30
const GRACE_MS = 30_000
/** The exit of `qemu-img compare` where they do. */
const DIFFERS = { code: 1 }
const why = whyNoGuests(COMMANDS)
const qemuImg = async (...args: readonly string[]) =>
  (await promisify(execFile)('qemu-img', args)).stdout

interface Backup {
  readonly name: string
  /** The file that was sent, and the image that was made of it. */
  readonly sent: string
  readonly image: string
  readonly isWhole: boolean
  readonly ms: number
}

describe.skipIf(why !== undefined)(
  `backups of libvirt guests by their changes${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    let guestPath: string
    let guest: ImageSpec
    let spec: InstanceSpec
    const signal = () => AbortSignal.timeout(BOOT_MS)
    const consoleOf = async () =>
      Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString()
    const untilConsole = (text: string | RegExp) =>
      expect.poll(consoleOf, { timeout: BOOT_MS }).toMatch(text)
    const diskOf = () =>
      join(harness.directory, `state-${harness.owner.cellId}`, 'instances', spec.id, 'root.qcow2')

    beforeAll(async () => {
      const [started, built] = await Promise.all([
        startLibvirtHarness('backups'),
        buildGuestImage(GUEST_CACHE),
      ])
      harness = started
      guestPath = built.path
      guest = harness.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
      driver = await harness.open()
    }, 300_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })
    beforeEach(() => {
      spec = instanceSpec(guest)
    })
    afterEach(async () => {
      await driver.destroy(spec.id, signal())
      expect(await harness.leftovers(spec.id)).toEqual([])
    })

    /** As a cell and a gateway do: the host keeps what it has noted, and the image is made of what it has sent. */
    async function backUp(since: Backup | null): Promise<Backup> {
      const name = newId<string>()
      const sent = join(harness.directory, `sent-${name}`)
      const began = performance.now()
      const asked = { name, since: since?.name ?? null }
      const { disk, isWhole } = await driver.backupChanges!.take(spec.id, asked, signal())
      await pipeline(disk.content(), createWriteStream(sent))
      expect((await stat(sent)).size).toBe(disk.sizeBytes)
      await disk[Symbol.asyncDispose]()
      const ms = performance.now() - began
      await driver.backupChanges!.keep(spec.id, name, signal())
      if (isWhole) return { name, sent, image: sent, isWhole, ms }
      const image = join(harness.directory, `image-${name}`)
      const merged = await mergeChanges(await diskFile(since!.image), await diskFile(sent))
      await pipeline(merged.stream(), createWriteStream(image))
      return { name, sent, image, isWhole, ms }
    }

    /** Fails unless the image is the disk of the guest, which is off. */
    async function expectSame({ image }: Backup): Promise<void> {
      expect(await qemuImg('compare', image, diskOf())).toContain('Images are identical')
      expect(await qemuImg('check', '-f', 'qcow2', image)).toContain('No errors')
    }

    const bitmaps = async () => {
      const info = JSON.parse(await qemuImg('info', '-U', '--output=json', diskOf()))
      const { bitmaps: found = [] } = info['format-specific'].data
      return (found as { name: string }[]).map(({ name }) => name)
    }

    const boots = (count: number) => untilConsole(new RegExp(`boot ${count} of this disk[^]*READY`))

    /** A backup of the whole disk, and one of what the guest, which is off afterwards, has written since. */
    const wholeThenChanges = async (): Promise<readonly [Backup, Backup]> => {
      await driver.spawn(spec, signal())
      await untilConsole('READY')
      const first = await backUp(null)
      await driver.reboot(spec.id, 'soft', GRACE_MS, signal())
      await boots(2)
      await driver.pause!.pause(spec.id, signal())
      const second = await backUp(first)
      await driver.stop(spec.id, 0, signal())

      await expectSame(second)
      return [first, second]
    }

    test('one that carries changes is, merged, the disk at that moment', async () => {
      const [first, second] = await wholeThenChanges()

      expect([first, second].map(({ isWhole }) => isWhole)).toEqual([true, false])
      expect((await stat(second.sent)).size).toBeLessThan((await stat(first.sent)).size)
      await expect(qemuImg('compare', first.image, second.image)).rejects.toMatchObject(DIFFERS)
      expect(await bitmaps()).toEqual([`weir-backup-${second.name}`])
      // libvirt remembers nothing that would keep it from moving the guest.
      expect(await harness.virsh('checkpoint-list', `weir-${spec.id}`, '--name')).toBe('')
    }, 400_000)

    const inEachState = async () => {
      await driver.spawn(spec, signal())
      await untilConsole('READY')
      const first = await backUp(null)
      expect(first.isWhole).toBe(true)
      await driver.reboot(spec.id, 'soft', GRACE_MS, signal())
      await boots(2)
      const second = await backUp(first)
      await driver.reboot(spec.id, 'soft', GRACE_MS, signal())
      await boots(3)
      // A guest that is paused writes nothing until it is cut off.
      await driver.pause!.pause(spec.id, signal())
      const third = await backUp(second)
      await driver.stop(spec.id, 0, signal())
      await expectSame(third)
      await driver.start(spec.id, signal())
      await boots(4)
      await driver.stop(spec.id, GRACE_MS, signal())
      const fourth = await backUp(third)
      await expectSame(fourth)

      expect([second, third, fourth].map(({ isWhole }) => isWhole)).toEqual([false, false, false])
      const { size } = await stat(first.sent)
      for (const { sent } of [second, third, fourth])
        expect((await stat(sent)).size).toBeLessThan(size)
      await expect(qemuImg('compare', third.image, fourth.image)).rejects.toMatchObject(DIFFERS)
      expect(await bitmaps()).toEqual([`weir-backup-${fourth.name}`])
    }
    test.runIf(isFullRun)(
      'each is the disk at that moment, whether the guest runs, is paused or is off',
      inEachState,
      400_000,
    )

    test.runIf(isFullRun)(
      'a backup is whole where the host does not know all changes',
      async () => {
        await driver.spawn(spec, signal())
        await untilConsole('READY')
        const first = await backUp(null)
        const stranger = { ...first, name: newId<string>() }
        expect(await backUp(stranger)).toMatchObject({ isWhole: true })
        // It was forgotten with the one after.
        expect(await backUp(first)).toMatchObject({ isWhole: true })
        const last = await backUp(null)
        await driver.backupChanges!.keep(spec.id, null, signal())
        expect(await bitmaps()).toEqual([])
        expect(await backUp(last)).toMatchObject({ isWhole: true })

        const rebuilt = await backUp(null)
        await driver.rebuild!.rebuild(spec, { keepsEphemeral: false, runs: true }, signal())
        expect(await backUp(rebuilt)).toMatchObject({ isWhole: true })
      },
      400_000,
    )

    test.runIf(isFullRun)(
      'one that is called off leaves nothing of it, and the next has what it would have had',
      async () => {
        await driver.spawn(spec, signal())
        await untilConsole('READY')
        const first = await backUp(null)
        const late = new AbortController()
        const asked = { name: newId<string>(), since: first.name }
        const begun = driver.backupChanges!.take(spec.id, asked, late.signal)
        late.abort(new Error('called off'))
        await expect(begun).rejects.toThrow()
        // One whose process was killed.
        const again = { name: newId<string>(), since: first.name }
        for (const _ of [1, 2]) {
          const { disk, isWhole } = await driver.backupChanges!.take(spec.id, again, signal())
          expect(isWhole).toBe(false)
          await disk[Symbol.asyncDispose]()
        }
        await driver.reboot(spec.id, 'soft', GRACE_MS, signal())
        await boots(2)
        await driver.pause!.pause(spec.id, signal())
        const second = await backUp(first)
        await driver.stop(spec.id, 0, signal())
        expect(second.isWhole).toBe(false)
        await expectSame(second)
        expect(await bitmaps()).toEqual([`weir-backup-${second.name}`])
      },
      400_000,
    )

    test.runIf(isFullRun)(
      'a guest that was cut off in the midst of it is saved as a whole, and can be resized',
      async () => {
        await driver.spawn(spec, signal())
        await untilConsole('READY')
        const first = await backUp(null)
        const { stdout } = await promisify(execFile)('pgrep', ['-f', `guest=weir-${spec.id},`])
        process.kill(Number(stdout.trim().split('\n')[0]), 'SIGKILL')
        await expect
          .poll(async () => (await driver.list(signal()))[0]?.powerState, { timeout: BOOT_MS })
          .not.toBe('running')
        const larger = { ...spec, flavor: { ...spec.flavor, rootGb: spec.flavor.rootGb + 1 } }
        await driver.resize!.resize(larger, { runs: false, graceMs: 0 }, signal())
        await driver.resize!.confirm(spec.id, signal())
        const second = await backUp(first)
        expect(second.isWhole).toBe(true)
        await driver.start(spec.id, signal())
        await untilConsole(/READY[^]*READY/)
        await driver.stop(spec.id, GRACE_MS, signal())
        const third = await backUp(second)
        expect(third.isWhole).toBe(false)
        await expectSame(third)
      },
      400_000,
    )

    test.runIf(isFullRun)(
      'of a full disk of 1 GB only what has changed is sent',
      async () => {
        const path = join(harness.directory, 'full.raw')
        await qemuImg('convert', '-O', 'raw', guestPath, path)
        await truncate(path, Math.max((await stat(path)).size, 64 * MIB))
        while ((await stat(path)).size < GIB) await appendFile(path, randomBytes(16 * MIB))
        const hash = createHash('sha256')
        for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
        const about = {
          sha256: hash.digest('hex'),
          sizeBytes: GIB,
          diskFormat: 'raw',
          name: 'full',
        }
        spec = instanceSpec(harness.images.addFile(path, about))
        const [first, second] = await wholeThenChanges()

        const line = async (what: string, { sent, ms }: Backup) =>
          `${what}: ${(ms / 1_000).toFixed(1)} s, ${((await stat(sent)).size / MIB).toFixed(1)} MiB`
        process.stdout.write(
          `${await line('The whole disk', first)}\n${await line('The changes', second)}\n`,
        )
        expect((await stat(first.sent)).size).toBeGreaterThan(900 * MIB)
        expect((await stat(second.sent)).size).toBeLessThan(32 * MIB)
      },
      600_000,
    )
  },
)
