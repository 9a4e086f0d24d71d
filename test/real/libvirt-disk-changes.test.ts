import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { appendFile, copyFile, stat, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { DiskImage, Driver, ImageSpec, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { driverChangesContract } from '../contract/driver-changes.contract.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a disk that is saved in two passes has every byte that its guest has left, and only what has changed is left for the second.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const WAIT = { timeout: BOOT_MS, interval: 20 }
const MIB = 2 ** 20
const GIB = 2 ** 30
const GRACE_MS = 30_000
const why = whyNoGuests(COMMANDS)
const qemuImg = async (...args: readonly string[]) =>
  (await promisify(execFile)('qemu-img', args)).stdout

describe.skipIf(why !== undefined)(
  `changes of disks of libvirt guests${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverChangesContract('libvirt', () => startLibvirtHarness('changes'))

    describe('a guest with an operating system', () => {
      let harness: LibvirtHarness
      let driver: Driver
      let guestPath: string
      let guest: ImageSpec
      const signal = () => AbortSignal.timeout(BOOT_MS)
      const consoleOf = async ({ id }: InstanceSpec) =>
        Buffer.from(await driver.consoleLog!.read(id, 65_536, signal())).toString()
      const untilConsole = (spec: InstanceSpec, text: string | RegExp) =>
        expect.poll(() => consoleOf(spec), { timeout: BOOT_MS }).toMatch(text)
      const fileOf = ({ id }: Pick<InstanceSpec, 'id'>) =>
        join(harness.directory, `state-${harness.owner.cellId}`, 'instances', id, 'root.qcow2')

      beforeAll(async () => {
        const [started, built] = await Promise.all([
          startLibvirtHarness('delta'),
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

      /** Keeps the content in a file, and gives the image on the host up. */
      async function kept(disk: DiskImage, name: string): Promise<ImageSpec & { path: string }> {
        const path = join(harness.directory, name)
        await pipeline(disk.content(), createWriteStream(path))
        await disk[Symbol.asyncDispose]()
        const image = harness.images.addFile(path, await described(path, disk.diskFormat))
        return { ...image, path }
      }

      async function described(path: string, diskFormat: string) {
        const hash = createHash('sha256')
        for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
        const { size: sizeBytes } = await stat(path)
        return { sha256: hash.digest('hex'), sizeBytes, diskFormat, name: 'saved' }
      }

      /** Fails unless both passes together are the disk that the guest has left. */
      async function expectSame(
        spec: InstanceSpec,
        first: { readonly path: string },
        second: { readonly path: string },
      ): Promise<void> {
        const merged = `${second.path}.merged`
        await copyFile(second.path, merged)
        await qemuImg('rebase', '-u', '-f', 'qcow2', '-b', first.path, '-F', 'qcow2', merged)
        expect(await qemuImg('compare', merged, fileOf(spec))).toContain('Images are identical')
        // The guest has written something, or this would prove nothing.
        const differs = { code: 1 }
        await expect(qemuImg('compare', first.path, fileOf(spec))).rejects.toMatchObject(differs)
      }

      test('both passes together are its disk, and in the long run boot elsewhere as that does', async () => {
        const spec = instanceSpec(guest)
        await driver.spawn(spec, signal())
        await untilConsole(spec, 'READY')
        const first = await kept(await driver.diskChanges!.begin(spec.id, signal()), 'first')
        await driver.reboot(spec.id, 'soft', GRACE_MS, signal())
        await untilConsole(spec, /boot 2 of this disk[^]*READY/)
        await driver.stop(spec.id, GRACE_MS, signal())

        const second = await kept(await driver.diskChanges!.take(spec.id, signal()), 'second')

        await expectSame(spec, first, second)
        expect(second.sizeBytes).toBeLessThan(first.sizeBytes)
        if (isFullRun) await expectBoots(first, second)
        await driver.destroy(spec.id, signal())
        expect(await harness.leftovers(spec.id)).toEqual([])
      }, 400_000)

      /** Also that the changes alone are no disk of another size. */
      async function expectBoots(first: ImageSpec, second: ImageSpec): Promise<void> {
        const copy = instanceSpec({ ...first, changes: second })
        await driver.spawn(copy, signal())
        await untilConsole(copy, 'boot 3 of this disk')
        const small = instanceSpec({ ...guest, changes: second }, { flavor: copy.flavor })
        await expect(driver.spawn(small, signal())).rejects.toMatchObject({
          kind: 'invalid',
          message: expect.stringContaining('The changes of image'),
        })
        for (const { id } of [copy, small]) {
          await driver.destroy(id, signal())
          expect(await harness.leftovers(id)).toEqual([])
        }
      }

      test.runIf(isFullRun)(
        'a guest that was cut off in the midst of it is saved as a whole',
        async () => {
          const spec = instanceSpec(guest)
          await driver.spawn(spec, signal())
          await untilConsole(spec, 'READY')
          await (await driver.diskChanges!.begin(spec.id, signal()))[Symbol.asyncDispose]()
          const pid = await qemuOf(spec)
          process.kill(pid, 'SIGKILL')
          await expect
            .poll(async () => (await driver.list(signal()))[0]?.powerState, { timeout: BOOT_MS })
            .not.toBe('running')

          await expect(driver.diskChanges!.take(spec.id, signal())).rejects.toMatchObject({
            kind: 'conflict',
          })
          await (await driver.snapshot!.take(spec.id, signal()))[Symbol.asyncDispose]()
          await driver.diskChanges!.forget(spec.id, signal())
          await driver.destroy(spec.id, signal())
        },
        400_000,
      )

      /** The process of the guest. */
      async function qemuOf({ id }: InstanceSpec): Promise<number> {
        const { stdout } = await promisify(execFile)('pgrep', ['-f', `guest=weir-${id},`])
        return Number(stdout.trim().split('\n')[0])
      }

      test.runIf(isFullRun)(
        'of a full disk of 1 GB, two passes leave a small part for when it is off',
        async () => {
          const path = join(harness.directory, 'full.raw')
          await qemuImg('convert', '-O', 'raw', guestPath, path)
          await truncate(path, Math.max((await stat(path)).size, 64 * MIB))
          while ((await stat(path)).size < GIB) await appendFile(path, randomBytes(16 * MIB))
          const full = harness.images.addFile(path, await described(path, 'raw'))
          const spec = instanceSpec(full)
          await driver.spawn(spec, signal())
          await untilConsole(spec, 'READY')

          await callOff(spec)
          const first = await timed(() => driver.diskChanges!.begin(spec.id, signal()), 'a')
          await driver.reboot(spec.id, 'soft', GRACE_MS, signal())
          await untilConsole(spec, /boot 2 of this disk[^]*READY/)
          await driver.stop(spec.id, GRACE_MS, signal())
          const second = await timed(() => driver.diskChanges!.take(spec.id, signal()), 'b')
          const whole = await timed(() => driver.snapshot!.take(spec.id, signal()), 'c')

          await expectSame(spec, first.image, second.image)
          const line = (name: string, { ms, image }: typeof first) =>
            `${name}: ${(ms / 1_000).toFixed(1)} s, ${(image.sizeBytes / MIB).toFixed(1)} MiB`
          process.stdout.write(
            `${[
              line('One pass, while the guest is off', whole),
              line('Two passes, the first while the guest runs', first),
              line('Two passes, the second while the guest is off', second),
            ].join('\n')}\n`,
          )
          expect(whole.image.sizeBytes).toBeGreaterThan(900 * MIB)
          expect(second.image.sizeBytes).toBeLessThan(32 * MIB)
          await driver.destroy(spec.id, signal())
        },
        600_000,
      )

      /** Fails unless a first pass that is called off in the midst of it leaves no trace. */
      async function callOff({ id }: Pick<InstanceSpec, 'id'>): Promise<void> {
        const late = new AbortController()
        const copy = join(dirname(fileOf({ id })), 'snapshot.qcow2')
        const begun = driver.diskChanges!.begin(id, late.signal)
        const noted = async () =>
          harness.virsh(
            'qemu-monitor-command',
            `weir-${id}`,
            '{"execute":"query-named-block-nodes"}',
          )
        await expect.poll(async () => (await stat(copy)).size, WAIT).toBeGreaterThan(MIB)
        late.abort(new Error('called off'))
        await expect(begun).rejects.toThrow()
        await expect(stat(copy)).rejects.toMatchObject({ code: 'ENOENT' })
        expect(await noted()).not.toContain('weir-changes')
      }

      /** With the time until the host has read the content, as it does to send it. */
      async function timed(take: () => Promise<DiskImage>, name: string) {
        const began = performance.now()
        const disk = await take()
        const image = await kept(disk, name)
        return { ms: performance.now() - began, image }
      }
    })
  },
)
