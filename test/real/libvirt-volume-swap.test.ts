import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, InstanceReport } from '#drivers/driver.ts'
import { run } from '#drivers/run.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-img', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 240_000
const MIB = 1024 ** 2
const SMALL_STORE = 80 * MIB
const VOLUME = 64 * MIB
/** What the guest writes at a time. */
const WRITTEN = 8 * MIB
const why = isFullRun ? whyNoGuests(COMMANDS) : 'not asked for'

const signal = () => AbortSignal.timeout(120_000)

describe.skipIf(why !== undefined)(
  `volumes of libvirt guests that are swapped${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let small: string
    let large: string
    let harness: LibvirtHarness
    let driver: Driver

    beforeAll(async () => {
      small = await mkdtemp(join(tmpdir(), 'weir-small-'))
      // Before the host has a mount namespace of its own.
      const options = `size=${SMALL_STORE},mode=711`
      await run('mount', ['-t', 'tmpfs', '-o', options, 'weir-small', small], { timeoutMs: 10_000 })
      harness = await startLibvirtHarness('swap')
      large = join(harness.directory, 'pool')
      await mkdir(large, { mode: 0o711 })
      await harness.virsh('pool-define-as', 'large', 'dir', '--target', large)
      await harness.virsh('pool-define-as', 'small', 'dir', '--target', small)
      driver = await harness.openAs(harness.owner, { volumePools: ['large', 'small'] })
      // It promises more than it has room for.
      await writeFile(join(small, 'ballast'), Buffer.alloc(SMALL_STORE - WRITTEN))
    }, 60_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
      await run('umount', [small], { timeoutMs: 10_000 })
      await rm(small, { recursive: true })
    })

    async function newVolume(pool: 'large' | 'small'): Promise<VolumeRef> {
      const stores = await driver.volumes!.stores(signal())
      const { id: store } = stores.find(({ name }) => name === pool)!
      const volume = { store, id: newId<VolumeId>() }
      await driver.volumes!.create({ ...volume, bytes: VOLUME }, signal())
      return volume
    }

    test('a guest that writes during a swap loses no byte and is never shown as paused, and keeps its volume when the new store fills up', async () => {
      const built = await buildGuestImage(GUEST_CACHE)
      const named = { ...built, diskFormat: 'qcow2', name: 'tiny' }
      const image = harness.images.addFile(built.path, named)
      const [from, to, tight] = [
        await newVolume('large'),
        await newVolume('large'),
        await newVolume('small'),
      ]
      const how = { attachmentId: newId<AttachmentId>(), isReadOnly: false, isShared: false }
      const spec = { ...instanceSpec(image), volumes: [{ ...from, ...how }] }
      await driver.spawn(spec, signal())
      const told: InstanceReport[] = []
      await using _watch = driver.watch((each) => told.push(each))
      let shown = ''
      const serial = await driver.console!.open(spec.id, 'serial', signal())
      serial.on('data', (chunk: Buffer) => {
        shown += chunk.toString('latin1')
      })
      const poll = { timeout: BOOT_MS, interval: 1_000 }
      await expect.poll(() => (serial.write('\n'), shown), poll).toContain('# ')
      serial.write(`dd if=/dev/urandom of=/dev/vdb bs=64k seek=256 count=256 conv=fsync; `)
      serial.write(`echo fi''lled $(dd if=/dev/vdb bs=64k skip=256 count=256 | sha256sum)\n`)
      await expect.poll(() => shown, poll).toMatch(/filled [0-9a-f]{64}/)
      const [, filled] = /filled ([0-9a-f]{64})/.exec(shown)!
      serial.write(`n=0; while [ ! -e /tmp/stop ]; do head -c ${WRITTEN} /dev/urandom >/tmp/x; `)
      serial.write(`dd if=/tmp/x of=/dev/vdb bs=64k conv=fsync 2>/dev/null; n=$((n+1)); `)
      serial.write(`echo rou''nd $n; done &\n`)
      await expect.poll(() => shown, poll).toContain('round 1')

      const swap = driver.volumes!.swap!
      const refused = swap.copy(spec.id, { ...tight, ...how }, signal())
      await expect(refused).rejects.toMatchObject({ kind: 'conflict' })
      await driver.volumes!.destroy(tight, signal())
      await swap.copy(spec.id, { ...to, ...how }, signal())
      const [beforePivot = ''] = shown.match(/round \d+/g)?.slice(-1) ?? []
      await swap.pivot(spec.id, { ...to, ...how }, signal())
      await driver.volumes!.destroy(from, signal())
      const definition = await harness.virsh('dumpxml', '--inactive', `weir-${spec.id}`)
      expect(definition).toContain(`<serial>${to.id}</serial>`)
      expect(definition).not.toContain(from.id)
      const later = `round ${Number(beforePivot.slice('round '.length)) + 2}`
      await expect.poll(() => shown, poll).toContain(later)

      serial.write('touch /tmp/stop; wait; echo 3 >/proc/sys/vm/drop_caches; ')
      serial.write(`echo su''ms $(sha256sum </tmp/x) $(head -c ${WRITTEN} /dev/vdb | sha256sum) `)
      serial.write('$(dd if=/dev/vdb bs=64k skip=256 count=256 2>/dev/null | sha256sum)\n')
      const SUMS = /sums ([0-9a-f]{64}) +- +([0-9a-f]{64}) +- +([0-9a-f]{64})/
      await expect.poll(() => shown, poll).toMatch(SUMS)
      const [, written, read, kept] = SUMS.exec(shown)!
      expect([read, kept]).toEqual([written, filled])
      expect(told.filter(({ powerState }) => powerState !== 'running')).toEqual([])
      await driver.destroy(spec.id, signal())

      const path = join(large, `weir-${harness.owner.cellId}-${to.id}`)
      expect(await sumOf(path, 0, WRITTEN)).toBe(written)
      expect(await sumOf(path, 16 * MIB, 16 * MIB)).toBe(filled)
      await driver.volumes!.destroy(to, signal())
    }, 900_000)
  },
)

async function sumOf(path: string, start: number, bytes: number): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { start, end: start + bytes - 1 }), hash)
  return hash.digest('hex')
}
