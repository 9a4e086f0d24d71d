import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { type AttachmentId, type CellId, type HostId, newId, type VolumeId } from '#common/ids.ts'
import type { LibvirtHost } from '../../host.ts'
import type { AttachedVolume } from '../volume-device.ts'
import type { IscsiStore } from './iscsi-pools.ts'
import { iscsiStore } from './iscsi-store.ts'
import { encodeBlock, type LunLabel, type LunUse } from './lun-label.ts'
import { startMemoryTarget } from './testing.ts'

const NAME = 'iqn.2026-01.org.example:storage'
const MIB = 1024 ** 2
const signal = AbortSignal.timeout(20_000)

/** A host with a target whose LUN 1 has this volume. */
async function world(change: Partial<LunUse> = {}) {
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const id = newId<VolumeId>()
  const use = { cell: owner.cellId, volume: id, bytes: MIB, state: 'ready', ...change } as const
  const label: LunLabel = { weir: 1, store: 'store', wiped: 2 * MIB, use }
  const disk = Buffer.concat([encodeBlock(label, 512)], 3 * MIB)
  const target = await startMemoryTarget({ name: NAME, luns: { 1: disk } })
  const login = {
    portal: { host: '127.0.0.1', port: target.port },
    ...{ target: NAME, initiator: 'iqn.2026-01.org.example:host' },
  }
  const found = { id: 'store', name: 'luns', source: login, login } as unknown as IscsiStore
  const store = iscsiStore({ owner, stateDirectory: tmpdir() } as LibvirtHost, found)
  const attachmentId = newId<AttachmentId>()
  const attached = async (): Promise<AttachedVolume> => ({
    ...{ store: 'store', id, attachmentId, isReadOnly: false, isShared: false },
    ...(await store.sourceOf(id, signal)),
  })
  const dispose = () => target[Symbol.asyncDispose]()
  return { owner, id, disk, label, target, store, attached, [Symbol.asyncDispose]: dispose }
}

test('a guest is not started whose disk names a LUN that its volume is not on any more', async () => {
  await using at = await world()
  const { id, disk, target, store, attached } = at
  const volume = await attached()
  expect(volume).toMatchObject({ path: `${NAME}/1`, iscsi: { lun: 1, bytes: MIB } })
  await store.admit(volume, signal)

  target.luns.delete(1)
  target.luns.set(5, disk).set(1, Buffer.alloc(3 * MIB))

  for (const asked of ['admit', 'reserve', 'follow'] as const)
    await expect(store[asked](volume, signal)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('is LUN 5 now'),
    })
  await store.release(volume, signal)
  await store.admit(await attached(), signal)
  await expect(store.refuseOpen(id, signal)).rejects.toMatchObject({ kind: 'conflict' })
})

test('a guest is not started whose volume is half written, which goes with the guest, and says whose it is', async () => {
  await using at = await world()
  const { owner, id, disk, label, store, attached } = at
  const volume = await attached()
  await store.admit(volume, signal)
  const half = { ...label.use!, state: 'reimaging', by: owner.hostId } as const
  encodeBlock({ ...label, use: half }, 512).copy(disk)

  for (const asked of ['admit', 'reserve', 'follow'] as const)
    await expect(store[asked](volume, signal)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('half written'),
    })
  expect(await store.sizeOf(id, signal)).toBe(MIB)
  expect(await store.list(signal)).toEqual([{ id, bytes: MIB, snapshots: [] }])
  await expect(store.refuseOpen(id, signal)).rejects.toMatchObject({ kind: 'conflict' })
  await store.release(volume, signal)
  await store.refuseOpen(id, signal)
})
