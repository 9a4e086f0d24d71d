import { expect, test } from 'vitest'
import {
  type HostId,
  newId,
  type SagaId,
  type VolumeId,
  type VolumeSnapshotId,
} from '#common/ids.ts'
import { MISSING, storeFindings } from './store-findings.ts'
import type { Volume } from './volume.ts'
import type { VolumeSnapshot } from './volume-snapshot.ts'

const NOW = 10_000_000
const common = {
  ...{ version: 2, sizeGb: 1, storeId: 's', storeName: 's' },
  ...{ hostId: newId<HostId>(), fault: null, imageId: null, sagaId: null, updatedAt: 0 },
} as const

const volume = (change: Partial<Volume> = {}): Volume => {
  const id = newId<VolumeId>()
  return { ...common, state: 'available', id, attempt: 1, projectId: 'p', zone: 'z', ...change }
}
const snapshot = (volumeId: VolumeId, change: Partial<VolumeSnapshot> = {}): VolumeSnapshot => {
  const id = newId<VolumeSnapshotId>()
  return { ...common, state: 'available', id, volumeId, ...change }
}
const rows = (
  volumes: readonly Volume[],
  snapshots: readonly VolumeSnapshot[] = [],
  copies: readonly VolumeId[] = [],
) => ({ volumes, snapshots, copies })
const listed = ({ id }: Volume, snapshots: readonly string[] = []) => ({
  id,
  bytes: 1,
  snapshots: [...snapshots],
})
const NONE = {
  ...{ missing: [], returned: [], missingSnapshots: [], returnedSnapshots: [] },
  ...{ unknown: [], unknownSnapshots: [] },
}

test('what is in the store and in a row is no finding', () => {
  const one = volume()
  const of = snapshot(one.id)
  const known = rows([one], [of])
  expect(storeFindings([listed(one, [of.id])], known, known, NOW)).toEqual(NONE)
})

test('a volume is missing if its row is available and nothing has changed it for minutes', () => {
  const gone = volume()
  const known = rows([gone])
  expect(storeFindings([], known, known, NOW)).toEqual({ ...NONE, missing: [gone] })

  const others: readonly Partial<Volume>[] = [
    { state: 'extending', sagaId: newId<SagaId>() },
    { state: 'error' },
    { updatedAt: NOW - 300_000 },
  ]
  for (const change of others) {
    const other = rows([volume(change)])
    expect(storeFindings([], other, other, NOW)).toEqual(NONE)
  }
  expect(storeFindings([], known, rows([{ ...gone, version: 3 }]), NOW)).toEqual(NONE)
  expect(storeFindings([], rows([]), known, NOW)).toEqual(NONE)
  expect(storeFindings([], known, rows([]), NOW)).toEqual(NONE)
})

test('a snapshot is missing only from a volume that is there', () => {
  const one = volume()
  const of = snapshot(one.id)
  const known = rows([one], [of])
  const found = storeFindings([listed(one)], known, known, NOW)
  expect(found).toEqual({ ...NONE, missingSnapshots: [of] })
  expect(storeFindings([], known, known, NOW)).toEqual({ ...NONE, missing: [one] })
})

test('what was missing and is there has returned; what is in error for another reason has not', () => {
  const back = volume({ state: 'error', fault: MISSING })
  const broken = volume({ state: 'error', fault: 'It could not be made.' })
  const of = snapshot(back.id, { state: 'error', fault: MISSING })
  const known = rows([back, broken], [of])
  expect(storeFindings([listed(back, [of.id]), listed(broken)], known, known, NOW)).toEqual({
    ...NONE,
    returned: [back],
    returnedSnapshots: [of],
  })
})

test('an object is unknown if it has no row, neither before nor after', () => {
  const one = volume()
  const of = snapshot(one.id)
  const found = storeFindings([listed(one, [of.id])], rows([]), rows([]), NOW)
  const unknownSnapshots = [{ volumeId: one.id, snapshotId: of.id }]
  expect(found).toEqual({ ...NONE, unknown: [listed(one, [of.id])], unknownSnapshots })
  for (const [before, after] of [
    [rows([one], [of]), rows([])],
    [rows([]), rows([one], [of])],
  ] as const)
    expect(storeFindings([listed(one, [of.id])], before, after, NOW)).toEqual(NONE)
})

test('content of a volume that is on its way to or from the store is neither unknown nor missing', () => {
  const one = volume()
  const before = rows([], [], [one.id])
  expect(storeFindings([listed(one)], before, before, NOW)).toEqual(NONE)
  expect(storeFindings([], before, before, NOW)).toEqual(NONE)
  expect(storeFindings([listed(one)], rows([one]), before, NOW)).toEqual(NONE)
})
