import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { isCephRbdHere } from '#test/env/ceph/rbd.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { driverVolumeMovesContract } from '../contract/driver-volume-moves.contract.ts'
import type { LibvirtHarness } from './libvirt-harness.ts'
import { printed } from './libvirt-pool-hosts.ts'
import { type CephHosts, rbdContent, startCephHosts } from './libvirt-rbd-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const MIB = 1024 ** 2
const why = isFullRun && isCephRbdHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no Ceph'

describe.skipIf(why !== undefined)(
  `guests with volumes in a Ceph${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumeMovesContract('libvirt (rbd)', startCephHosts)

    describe('with an operating system', () => {
      let hosts: CephHosts
      let store: string
      let content: ReturnType<typeof rbdContent>
      const signal = () => AbortSignal.timeout(180_000)
      const newVolume = async (bytes: number) => {
        const ref = { store, id: newId<VolumeId>() }
        await hosts.here.volumes!.create({ ...ref, bytes }, signal())
        return ref
      }
      const attachment = (ref: VolumeRef) => {
        const attachmentId = newId<AttachmentId>()
        return { ...ref, attachmentId, isReadOnly: false, isShared: false }
      }
      const imageOn = async ({ images }: LibvirtHarness) => {
        const built = await buildGuestImage(GUEST_CACHE)
        return images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
      }
      /** The guest writes so many random bytes, and says what their digest is. */
      const writeRandom = (driver: Driver, spec: InstanceSpec, mib: number) =>
        printed(
          driver,
          spec,
          `test -e /tmp/x || dd if=/dev/urandom of=/tmp/x bs=1M count=${mib} 2>/dev/null; dd if=/tmp/x of=/dev/vdb bs=64k conv=fsync 2>/dev/null && md5sum </tmp/x | cut -c1-32`,
        )
      const readBack = (driver: Driver, spec: InstanceSpec, mib: number) =>
        printed(
          driver,
          spec,
          `echo 3 >/proc/sys/vm/drop_caches; dd if=/dev/vdb bs=1M count=${mib} 2>/dev/null | md5sum | cut -c1-32`,
        )
      const digestOf = async (ref: VolumeRef, mib: number) =>
        createHash('md5')
          .update((await content.read(ref)).subarray(0, mib * MIB))
          .digest('hex')

      beforeAll(async () => {
        hosts = await startCephHosts()
        const first = async () => (await hosts.here.volumes!.stores(signal()))[0]?.id
        store = await waitFor('a store', first, 60_000)
        content = rbdContent(hosts.ceph, hosts.one.owner)
      }, 300_000)
      afterAll(() => hosts?.[Symbol.asyncDispose]())

      test('what a guest has written is there after extend, snapshot, copy, loss of the store and detach', async () => {
        const { here, there, ceph } = hosts
        const volumes = here.volumes!
        const [ref, image] = [await newVolume(8 * MIB), await imageOn(hosts.one)]
        const wanted = attachment(ref)
        const spec = { ...instanceSpec(image), volumes: [wanted] }
        await here.spawn(spec, signal())
        const written = await writeRandom(here, spec, 4)

        const other = { ...instanceSpec(hosts.image), volumes: [attachment(ref)] }
        await expect(there.spawn(other, signal())).rejects.toMatchObject({ kind: 'conflict' })
        await volumes.extend(ref, 16 * MIB, signal())
        expect(await printed(here, spec, 'cat /sys/block/vdb/size')).toBe(String(32 * 1024))
        const snapshot = newId<VolumeSnapshotId>()
        await volumes.snapshot(ref, snapshot, signal())
        await printed(here, spec, 'rm /tmp/x; echo done')
        const rewritten = await writeRandom(here, spec, 4)
        expect(rewritten).not.toBe(written)
        const copy = { store, id: newId<VolumeId>() }
        const from = { volume: ref.id, snapshot }
        await volumes.create({ ...copy, bytes: 16 * MIB, from }, signal())
        expect(await digestOf(copy, 4)).toBe(written)

        // The guest writes over and over, stalls in the middle and goes on; what asks the store meanwhile ends in time, and other
        // work goes on.
        await printed(
          here,
          spec,
          'test -e /tmp/begun || { touch /tmp/begun; { n=0; until test -e /tmp/end; do dd if=/tmp/x of=/dev/vdb bs=64k seek=64 conv=fsync && n=$((n+1)) && echo $n >/tmp/rounds; done; echo all >/tmp/done; } >/dev/null 2>&1 & }; echo begun',
        )
        const rounds = async () =>
          Number(await printed(here, spec, 'cat /tmp/rounds 2>/dev/null || echo 0'))
        const poll = { timeout: 120_000 }
        await expect.poll(rounds, poll).toBeGreaterThan(0)
        await ceph.killStore()
        const stalledAt = await rounds()
        const listed = volumes.list(store, signal())
        await expect(listed).rejects.toMatchObject({ kind: 'unavailable' })
        expect(await here.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
        expect(await rounds()).toBe(stalledAt)
        await ceph.startStore()
        await expect.poll(rounds, poll).toBeGreaterThan(stalledAt)
        const isDone = () =>
          printed(here, spec, 'touch /tmp/end; cat /tmp/done 2>/dev/null || echo no')
        await expect.poll(isDone, poll).toBe('all')

        expect(await readBack(here, spec, 4)).toBe(rewritten)
        await volumes.detach(spec.id, wanted.attachmentId, signal())
        expect(await digestOf(ref, 4)).toBe(rewritten)
        const end = (await content.read(ref)).subarray(4 * MIB, 8 * MIB)
        expect(createHash('md5').update(end).digest('hex')).toBe(rewritten)
        await here.destroy(spec.id, signal())
        await volumes.destroySnapshot(ref, snapshot, signal())
        for (const each of [ref, copy]) await volumes.destroy(each, signal())
        expect(await content.leftovers(ref.id)).toEqual([])
      }, 600_000)

      test('a server whose host is lost is evacuated, and its former guest cannot write any more', async () => {
        const { here, there } = hosts
        const [ref, image] = [await newVolume(8 * MIB), await imageOn(hosts.one)]
        const wanted = attachment(ref)
        const spec = { ...instanceSpec(image), volumes: [wanted] }
        await here.spawn(spec, signal())
        const written = await writeRandom(here, spec, 4)
        // Nobody asks this host any more, and its guest runs on.
        await hosts.one.host.stopDaemon()

        const elsewhere = { ...spec, image: await imageOn(hosts.two) }
        await there.move!.evacuate(elsewhere, { runs: true }, signal())

        expect(await readBack(there, elsewhere, 4)).toBe(written)
        const own = await printed(there, elsewhere, 'echo two | dd of=/dev/vdb conv=fsync; echo ok')
        expect(own).toBe('ok')
        await hosts.one.host.restartDaemon()
        const isBack = () =>
          here.list(signal()).then(
            () => true,
            () => false,
          )
        await expect.poll(isBack).toBe(true)
        const late = 'dd if=/tmp/x of=/dev/vdb bs=64k conv=fsync 2>/dev/null && echo yes || echo no'
        expect(await printed(here, spec, late)).toBe('no')
        expect((await content.read(ref)).toString('latin1', 0, 4)).toBe('two\n')
        await here.destroy(spec.id, signal())
        await there.destroy(spec.id, signal())
        await there.volumes!.destroy(ref, signal())
      }, 600_000)

      test('guests of two hosts share a volume, a snapshot of it is made meanwhile, and nobody else gets it', async () => {
        const { here, there } = hosts
        const ref = await newVolume(8 * MIB)
        const shared = () => ({ ...attachment(ref), isShared: true })
        const first = { ...instanceSpec(await imageOn(hosts.one)), volumes: [shared()] }
        const second = { ...instanceSpec(await imageOn(hosts.two)), volumes: [shared()] }
        await here.spawn(first, signal())
        await there.spawn(second, signal())
        const written = await writeRandom(here, first, 4)

        expect(await readBack(there, second, 4)).toBe(written)
        const lonely = { ...instanceSpec(hosts.image), volumes: [attachment(ref)] }
        await expect(here.spawn(lonely, signal())).rejects.toMatchObject({ kind: 'conflict' })
        const snapshot = newId<VolumeSnapshotId>()
        await here.volumes!.snapshot(ref, snapshot, signal())
        expect(await writeRandom(there, second, 4)).not.toBe(written)
        await here.destroy(first.id, signal())
        await there.destroy(second.id, signal())
        await here.volumes!.revert(ref, snapshot, signal())

        expect(await digestOf(ref, 4)).toBe(written)
        await here.volumes!.destroySnapshot(ref, snapshot, signal())
        await here.volumes!.destroy(ref, signal())
      }, 600_000)

      test('guests start from copies of one image that is in the pool once, and is gone with the last', async () => {
        const { here } = hosts
        const image = await imageOn(hosts.one)
        const roots = [1, 2].map(() => ({ store, id: newId<VolumeId>() }))
        for (const root of roots)
          await here.volumes!.create({ ...root, bytes: 64 * MIB, from: { image } }, signal())
        expect(await content.leftovers(image.sha256)).toHaveLength(1)
        const volumes = [{ ...attachment(roots[1]!), isRoot: true as const }]
        const spec = { ...instanceSpec({ ...image, sha256: '0'.repeat(64) }), volumes }
        await here.spawn(spec, signal())

        expect(await printed(here, spec, 'echo booted')).toBe('booted')

        await here.destroy(spec.id, signal())
        for (const root of roots) await here.volumes!.destroy(root, signal())
        expect(await content.leftovers('weir')).toEqual([])
      }, 600_000)
    })
  },
)
