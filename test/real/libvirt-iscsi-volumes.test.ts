import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type HostId, newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type IscsiTarget, isTargetHere, startTarget } from '#test/env/iscsi/target.ts'
import { driverVolumesContract } from '../contract/driver-volumes.contract.ts'
import type { VolumesHarness } from '../contract/volumes-world.ts'
import { startLibvirtHarness } from './libvirt-harness.ts'
import { giveIscsiPool, ISCSI_POOL, lunContent } from './libvirt-iscsi-harness.ts'
import { whyNoGuests } from './requirements.ts'

const MIB = 1024 ** 2
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'dnsmasq', 'genisoimage']
const why =
  isFullRun && isTargetHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no target of iSCSI'

interface World extends VolumesHarness {
  readonly target: IscsiTarget
  readonly lunOf: ReturnType<typeof lunContent>['lunOf']
  readonly put: ReturnType<typeof lunContent>['put']
}

/** Two hosts over one daemon, with the LUNs of one target for both. */
async function startWorld(): Promise<World> {
  await using owned = new AsyncDisposableStack()
  const target = owned.use(await startTarget({ sizes: Array(6).fill(9 * MIB) }))
  const libvirt = owned.use(await startLibvirtHarness('iscsi'))
  owned.use(await giveIscsiPool(libvirt, target, 'iqn.2026-01.org.example:host'))
  const { owner } = libvirt
  const { read, write, leaveHalf, leftovers, lunOf, put } = lunContent(target, owner)
  const openFrom = (cellId: typeof owner.cellId) => {
    const other = { cellId, hostId: newId<HostId>() }
    return libvirt.openAs(other, ISCSI_POOL, join(libvirt.directory, `state-${other.hostId}`))
  }
  const parts = owned.move()
  return {
    ...libvirt,
    target,
    lunOf,
    put,
    open: () => libvirt.openAs(owner, ISCSI_POOL),
    openNeighbour: () => openFrom(owner.cellId),
    openOtherCell: () => openFrom(newId()),
    leaveHalf,
    volumeLeftovers: leftovers,
    content: { read, write },
    // Its guests have no operating system.
    guestsRelease: false,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

describe.skipIf(why !== undefined)(
  `volumes of libvirt hosts on iSCSI LUNs${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumesContract('libvirt (iscsi)', startWorld)

    test('hosts that make volumes at once get LUNs of their own, and none that is too small or has what others wrote', async () => {
      await using world = await startWorld()
      const { target, put, lunOf } = world
      // A partition table's copy, at the end of a LUN that is empty otherwise.
      await put(target.luns[0]!, 9 * MIB - 512, Buffer.from('EFI PART'))
      // Others have used this one, and left something far behind both ends.
      await put(target.luns[1]!, 5 * MIB, Buffer.from('secret of others'))
      await using one = await world.open()
      await using two = await world.openNeighbour()
      const signal = () => AbortSignal.timeout(60_000)
      const first = async () => (await one.volumes!.stores(signal()))[0]
      const { id: store, freeBytes, totalBytes } = await waitFor('a store', first, 60_000)
      expect([freeBytes, totalBytes]).toEqual([5 * 8 * MIB, 5 * 8 * MIB])
      const refs = Array.from({ length: 7 }, () => ({ store, id: newId<VolumeId>() }))

      const made = await Promise.allSettled(
        refs.map((ref, index) =>
          [one, two][index % 2]!.volumes!.create({ ...ref, bytes: 8 * MIB }, signal()),
        ),
      )

      const whole = refs.filter((_, index) => made[index]!.status === 'fulfilled')
      for (const each of made)
        if (each.status === 'rejected')
          expect(each.reason).toMatchObject({
            kind: 'no-capacity',
            detail: `storage pool luns has no free LUN, and ${8 * MIB} bytes are needed`,
          })
      expect(whole).toHaveLength(5)
      const luns = await Promise.all(whole.map(async ({ id }) => (await lunOf(id)).path))
      expect(luns.toSorted()).toEqual(target.luns.slice(1))
      for (const ref of whole)
        expect((await world.content!.read(ref)).equals(Buffer.alloc(8 * MIB))).toBe(true)
      for (const ref of whole) await two.volumes!.destroy(ref, signal())
      const tooLarge = two.volumes!.create({ ...refs[0]!, bytes: 9 * MIB }, signal())
      await expect(tooLarge).rejects.toMatchObject({ kind: 'no-capacity' })
      expect(
        (await readFile(target.luns[0]!)).toString('latin1', 9 * MIB - 512, 9 * MIB - 504),
      ).toBe('EFI PART')
    }, 120_000)

    test('a volume takes the smallest LUN, grows to the end of it and no further, and a failure leaves the LUN free', async () => {
      await using world = await startWorld()
      const { target, lunOf } = world
      const small = join(target.directory, 'small')
      await writeFile(small, Buffer.alloc(3 * MIB))
      await target.addLun(small)
      await using driver = await world.open()
      const volumes = driver.volumes!
      const signal = () => AbortSignal.timeout(60_000)
      const store = await waitFor(
        'a store',
        async () => (await volumes.stores(signal()))[0]?.id,
        60_000,
      )
      const ref = { store, id: newId<VolumeId>() }
      await volumes.create({ ...ref, bytes: MIB }, signal())
      expect((await lunOf(ref.id)).path).toBe(small)

      await volumes.extend(ref, 2 * MIB, signal())
      const tooMuch = volumes.extend(ref, 2 * MIB + 512, signal())
      await expect(tooMuch).rejects.toMatchObject({
        kind: 'no-capacity',
        detail: `LUN 7 of storage pool luns has ${2 * MIB} bytes for the volume, and ${2 * MIB + 512} are needed`,
      })
      expect(await volumes.list(store, signal())).toEqual([
        { id: ref.id, bytes: 2 * MIB, snapshots: [] },
      ])

      const other = { store, id: newId<VolumeId>() }
      const image = world.refused['is raw and declared qcow2']!
      const failed = volumes.create({ ...other, bytes: MIB, from: { image } }, signal())
      await expect(failed).rejects.toMatchObject({ kind: 'invalid' })
      expect(await world.volumeLeftovers(other.id)).toEqual([])
      const { image: tiny } = world
      await volumes.create({ ...other, bytes: 8 * MIB, from: { image: tiny } }, signal())
      expect((await world.content!.read(other)).equals(Buffer.alloc(8 * MIB))).toBe(true)
    }, 120_000)
  },
)
