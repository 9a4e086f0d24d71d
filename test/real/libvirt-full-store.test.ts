import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver } from '#drivers/driver.ts'
import { run } from '#drivers/run.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 180_000
const MIB = 1024 ** 2
const STORE = 112 * MIB
/** What the guest writes in all; a store that is full takes a part of it. */
const WRITTEN = 24 * MIB
const why = isFullRun ? whyNoGuests(COMMANDS) : 'not asked for'

const signal = () => AbortSignal.timeout(60_000)

describe.skipIf(why !== undefined)(
  `a store of a libvirt host that is full${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let pool: string
    let harness: LibvirtHarness
    let driver: Driver
    const mount = (...args: string[]) => run('mount', args, { timeoutMs: 10_000 })
    const ballast = () => join(pool, 'ballast')

    beforeAll(async () => {
      pool = await mkdtemp(join(tmpdir(), 'weir-full-'))
      // Before the host has a mount namespace of its own.
      await mount('-t', 'tmpfs', '-o', `size=${STORE},mode=711`, 'weir-full', pool)
      harness = await startLibvirtHarness('full')
      await harness.virsh('pool-define-as', 'small', 'dir', '--target', pool)
      driver = await harness.openAs(harness.owner, { volumePools: ['small'] })
    }, 60_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
      await run('umount', [pool], { timeoutMs: 10_000 })
      await rm(pool, { recursive: true })
    })

    test('pauses the guest, which runs on when there is room and has lost nothing, unless its user has paused it', async () => {
      const built = await buildGuestImage(GUEST_CACHE)
      const image = harness.images.addFile(built.path, {
        ...built,
        diskFormat: 'qcow2',
        name: 'tiny',
      })
      const [store] = await driver.volumes!.stores(signal())
      const volume = { store: store!.id, id: newId<VolumeId>() }
      await driver.volumes!.create({ ...volume, bytes: 64 * MIB }, signal())
      const how = { attachmentId: newId<AttachmentId>(), isReadOnly: false, isShared: false }
      const spec = { ...instanceSpec(image), volumes: [{ ...volume, ...how }] }
      await driver.spawn(spec, signal())
      let shown = ''
      const openSerial = async () => {
        const serial = await driver.console!.open(spec.id, 'serial', signal())
        return serial.on('data', (chunk: Buffer) => {
          shown += chunk.toString('latin1')
        })
      }
      const poll = { timeout: BOOT_MS, interval: 1_000 }
      const report = async () => (await driver.list(signal())).find(({ id }) => id === spec.id)
      const resume = () => driver.ioErrors!.resume(signal())
      const full = { powerState: 'paused', noSpace: `disk vdb, volume ${volume.id}` }
      await writeFile(ballast(), Buffer.alloc(STORE - WRITTEN / 2))
      const before = await openSerial()
      await expect.poll(() => (before.write('\n'), shown), poll).toContain('# ')
      before.write(
        `head -c ${WRITTEN} /dev/urandom >/tmp/x; dd if=/tmp/x of=/dev/vdb bs=64k conv=fsync; `,
      )
      before.write('echo 3 >/proc/sys/vm/drop_caches; ')
      before.write(
        `echo $(sha256sum </tmp/x) $(head -c ${WRITTEN} /dev/vdb | sha256sum) >/tmp/sums\n`,
      )
      await expect.poll(report, poll).toMatchObject(full)

      // There is no room, and a user who pauses the guest meanwhile is obeyed even when there is.
      expect(await resume()).toEqual([])
      await driver.pause!.pause(spec.id, signal())
      await rm(ballast())
      expect(await resume()).toEqual([])
      expect(await report()).toEqual({ id: spec.id, powerState: 'paused' })
      await writeFile(ballast(), Buffer.alloc(STORE - WRITTEN / 2 - MIB))
      await driver.pause!.unpause(spec.id, signal())
      await expect.poll(report, poll).toMatchObject(full)

      // It is known also to a daemon that has started again.
      await harness.host.restartDaemon()
      await expect.poll(() => report().catch(() => undefined), poll).toMatchObject(full)
      expect(await resume()).toEqual([])
      await mount('-o', `remount,size=${3 * STORE}`, pool)
      expect(await resume()).toEqual([spec.id])

      // The daemon's end was that of the first connection.
      const after = await openSerial()
      const sums = /([0-9a-f]{64}) - ([0-9a-f]{64}) -/
      await expect.poll(() => (after.write('cat /tmp/sums\n'), shown), poll).toMatch(sums)
      const [, written, read] = sums.exec(shown)!
      expect(read).toBe(written)
      after.destroy()
      await driver.destroy(spec.id, signal())
      expect(await sha256Of(join(pool, `weir-${harness.owner.cellId}-${volume.id}`))).toBe(written)
      await driver.volumes!.destroy(volume, signal())
    }, 600_000)
  },
)

/** Of what the guest wrote. */
async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { end: WRITTEN - 1 }), hash)
  return hash.digest('hex')
}
