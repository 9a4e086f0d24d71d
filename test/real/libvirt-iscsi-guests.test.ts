import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, type HostId, newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { CONTENT_AT } from '#drivers/libvirt/volumes/iscsi/lun-label.ts'
import type { Evacuation } from '#drivers/move.ts'
import { run } from '#drivers/run.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type IscsiTarget, isTargetHere, startTarget } from '#test/env/iscsi/target.ts'
import { driverVolumeMovesContract } from '../contract/driver-volume-moves.contract.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { giveIscsiPool, ISCSI_POOL, lunContent } from './libvirt-iscsi-harness.ts'
import { type PoolHosts, printed } from './libvirt-pool-hosts.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const MIB = 1024 ** 2
const LUN_BYTES = 65 * MIB
const why =
  isFullRun && isTargetHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no target of iSCSI'

interface IscsiHosts extends Omit<PoolHosts, 'pool'> {
  readonly target: IscsiTarget
}

/** Two daemons with the LUNs of one target, which asks for a password and knows each by a name of its own. */
async function startHosts(): Promise<IscsiHosts> {
  await using owned = new AsyncDisposableStack()
  const login = { user: 'weir', password: 'a-long-password' }
  const target = owned.use(await startTarget({ sizes: Array(4).fill(LUN_BYTES), login }))
  const one = owned.use(await startLibvirtHarness('leaver'))
  const two = owned.use(await startLibvirtHarness('taker'))
  const cellId = one.owner.cellId
  const open = async (harness: LibvirtHarness, name: string) => {
    owned.use(await giveIscsiPool(harness, target, `iqn.2026-01.org.example:${name}`))
    return owned.use(await harness.openAs({ cellId, hostId: newId<HostId>() }, ISCSI_POOL))
  }
  const [here, there] = [await open(one, 'leaver'), await open(two, 'taker')]
  const parts = owned.move()
  const { image } = one
  return { here, there, image, one, two, target, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

describe.skipIf(why !== undefined)(
  `guests with volumes on iSCSI LUNs${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumeMovesContract('libvirt (iscsi)', startHosts)

    describe('with an operating system', () => {
      let hosts: IscsiHosts
      let store: string
      let content: ReturnType<typeof lunContent>
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
      /** The guest writes so many random bytes to a disk, and says what their digest is. */
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
        hosts = await startHosts()
        const first = async () => (await hosts.here.volumes!.stores(signal()))[0]?.id
        store = await waitFor('a store', first, 60_000)
        content = lunContent(hosts.target, hosts.one.owner)
      }, 300_000)
      afterAll(() => hosts?.[Symbol.asyncDispose]())

      test('what a guest has written is there after a live migration, the loss of the target and detach, and gone with the volume', async () => {
        const { here, there, target } = hosts
        const volumes = there.volumes!
        const [ref, image] = [await newVolume(8 * MIB), await imageOn(hosts.one)]
        const wanted = attachment(ref)
        const spec = instanceSpec(image)
        await here.spawn(spec, signal())
        expect(await printed(here, spec, 'test -e /dev/vdb && echo yes || echo no')).toBe('no')
        await here.volumes!.attach(spec.id, wanted, signal())
        const written = await writeRandom(here, spec, 4)

        const other = { ...instanceSpec(hosts.image), volumes: [attachment(ref)] }
        await expect(there.spawn(other, signal())).rejects.toMatchObject({ kind: 'conflict' })
        const announced = await here.liveMove!.announce(spec.id, signal())
        const moving = { ...spec, image: await imageOn(hosts.two), volumes: [wanted] }
        const expected = await there.liveMove!.expect(moving, announced, signal())
        await here.liveMove!.send(spec.id, expected, signal())
        await there.liveMove!.finish(moving, true, signal())
        await here.destroy(spec.id, signal())
        const xml = await hosts.two.virsh('dumpxml', `weir-${spec.id}`)
        expect(xml).toContain("<iqn name='iqn.2026-01.org.example:taker'/>")
        expect(await readBack(there, spec, 4)).toBe(written)
        await expect(there.spawn(other, signal())).rejects.toMatchObject({ kind: 'conflict' })
        await expect(here.spawn(other, signal())).rejects.toMatchObject({ kind: 'conflict' })

        // A command before it may be asked again, and would wait for the disk.
        await printed(there, spec, 'echo calm')
        // The guest stalls and goes on; what asks the store meanwhile ends in time, and other work goes on.
        target.pause()
        await printed(
          there,
          spec,
          'test -e /tmp/begun || { touch /tmp/begun; { dd if=/tmp/x of=/dev/vdb bs=64k seek=64 conv=fsync && echo all >/tmp/done; } >/dev/null 2>&1 & }; echo begun',
        )
        const listed = volumes.list(store, signal())
        await expect(listed).rejects.toMatchObject({ kind: 'unavailable' })
        expect(await there.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
        target.goOn()
        const isDone = () => printed(there, spec, 'cat /tmp/done 2>/dev/null || echo waits')
        await expect.poll(isDone, { timeout: 120_000 }).toBe('all')

        await volumes.detach(spec.id, wanted.attachmentId, signal())
        expect(await digestOf(ref, 4)).toBe(written)
        const end = (await content.read(ref)).subarray(4 * MIB)
        expect(createHash('md5').update(end).digest('hex')).toBe(written)
        await there.destroy(spec.id, signal())
        const { path } = await content.lunOf(ref.id)
        await volumes.destroy(ref, signal())
        const left = (await readFile(path)).subarray(CONTENT_AT)
        expect(left.equals(Buffer.alloc(LUN_BYTES - CONTENT_AT))).toBe(true)
      }, 600_000)

      test('a server whose host is lost is evacuated only once an operator has said that its guest is gone', async () => {
        const { here, there, target } = hosts
        const [ref, image] = [await newVolume(8 * MIB), await imageOn(hosts.one)]
        const spec = { ...instanceSpec(image), volumes: [attachment(ref)] }
        await here.spawn(spec, signal())
        const written = await writeRandom(here, spec, 4)
        // Nobody asks this host any more, and its guest runs on.
        await hosts.one.host.stopDaemon()
        const elsewhere = { ...spec, image: await imageOn(hosts.two) }

        const refused = there.move!.evacuate(elsewhere, { runs: true }, signal())
        await expect(refused).rejects.toMatchObject({
          kind: 'conflict',
          message: expect.stringContaining('cannot be shut out'),
        })
        await hosts.one.host.restartDaemon()
        const isBack = () =>
          here.list(signal()).then(
            () => true,
            () => false,
          )
        await expect.poll(isBack).toBe(true)
        await hosts.one.virsh('destroy', `weir-${spec.id}`)
        const { path } = await content.lunOf(ref.id)
        const number = target.luns.indexOf(path) + 1
        // As the documentation tells operators.
        const lun = `iscsi://127.0.0.1:${target.port}/${target.name}/${number}`
        const { user, password } = target.login!
        await run('qemu-io', ['-c', 'write -z 4096 4096', '-c', 'flush', lun], {
          timeoutMs: 30_000,
          env: {
            PATH: process.env['PATH']!,
            LIBISCSI_CHAP_USERNAME: user,
            LIBISCSI_CHAP_PASSWORD: password,
          },
        })
        await there.move!.evacuate(elsewhere, { runs: true }, signal())

        expect(await readBack(there, elsewhere, 4)).toBe(written)
        // The host that was lost finds its guest, and must not start it.
        await expect(here.start(spec.id, signal())).rejects.toMatchObject({ kind: 'conflict' })
        await here.destroy(spec.id, signal())
        const other = { ...instanceSpec(hosts.image), volumes: [attachment(ref)] }
        await expect(here.spawn(other, signal())).rejects.toMatchObject({ kind: 'conflict' })
        await there.destroy(spec.id, signal())
        await there.volumes!.destroy(ref, signal())
      }, 600_000)

      test('a server whose host was powered off is evacuated at once', async () => {
        const { here, there } = hosts
        const ref = await newVolume(MIB)
        const spec = { ...instanceSpec(hosts.image), volumes: [attachment(ref)] }
        await here.spawn(spec, signal())
        await hosts.one.virsh('destroy', `weir-${spec.id}`)
        const elsewhere = { ...spec, image: hosts.two.image }
        const evacuate = (how: Pick<Evacuation, 'sourceIsOff'>) =>
          there.move!.evacuate(elsewhere, { runs: true, ...how }, signal())
        await expect(evacuate({})).rejects.toMatchObject({ kind: 'conflict' })

        for (const _ of [1, 2]) await evacuate({ sourceIsOff: true })

        await expect(here.start(spec.id, signal())).rejects.toMatchObject({ kind: 'conflict' })
        await here.destroy(spec.id, signal())
        await expect(here.volumes!.destroy(ref, signal())).rejects.toMatchObject({
          kind: 'conflict',
        })
        await there.destroy(spec.id, signal())
        await there.volumes!.destroy(ref, signal())
      }, 120_000)

      test('a guest starts from a LUN, and another one from a copy of it', async () => {
        const { here, there } = hosts
        const image = await imageOn(hosts.one)
        const [root, copy] = [1, 2].map(() => ({ store, id: newId<VolumeId>() }))
        await here.volumes!.create({ ...root!, bytes: 64 * MIB, from: { image } }, signal())
        const boot = async (driver: Driver, ref: VolumeRef) => {
          const volumes = [{ ...attachment(ref), isRoot: true as const }]
          const spec = { ...instanceSpec({ ...image, sha256: '0'.repeat(64) }), volumes }
          await driver.spawn(spec, signal())
          expect(await printed(driver, spec, 'echo booted')).toBe('booted')
          return spec.id
        }

        await here.destroy(await boot(here, root!), signal())
        await there.volumes!.create(
          { ...copy!, bytes: 64 * MIB, from: { volume: root!.id } },
          signal(),
        )
        await here.volumes!.destroy(root!, signal())
        await there.destroy(await boot(there, copy!), signal())

        await there.volumes!.destroy(copy!, signal())
        expect(await content.leftovers(copy!.id)).toEqual([])
      }, 600_000)
    })
  },
)
