import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import { endedVolumeWork } from './ended-volume-work.ts'

type VolumeRow = Extract<FeedBody, { kind: 'volume' }>
const volume = (fault: string | null, requestId?: string): VolumeRow => ({
  kind: 'volume',
  view: {
    ...{ volumeId: newId<string>(), attempt: 1, version: 2, state: 'available', sizeGb: 1 },
    ...{ storeId: newId<string>(), storeName: 'default', zone: 'north', fault, updatedAt: 1 },
  },
  ...(requestId !== undefined && { requestId }),
})

const idOf = ({ view }: VolumeRow) => view.volumeId

test('requests about volumes and snapshots whose work ended are named, with its error', () => {
  const [made, failed, changed] = [volume(null, 'req-1'), volume('no room', 'req-2'), volume(null)]
  const snapshotId = newId<string>()
  const snapshot: FeedBody = {
    kind: 'volume-snapshot',
    view: { snapshotId, version: 1, state: 'available', sizeGb: 1, fault: null, updatedAt: 1 },
    ...{ requestId: 'req-3', traceId: 'a'.repeat(32) },
  }
  const gone: FeedBody = {
    ...{ kind: 'volume-deleted', volumeId: newId<string>(), attempt: 1, at: 1, requestId: 'req-4' },
  }
  const snapshotGone: FeedBody = {
    ...{ kind: 'volume-snapshot-deleted', snapshotId, at: 1, requestId: 'req-5' },
  }
  const bodies = [made, failed, changed, snapshot, gone, snapshotGone]
  const rows = bodies.map((body, index) => ({ n: index + 1, body }))

  const done = { state: 'available', result: 'Success' }
  const ended = { state: 'deleted', result: 'Success' }
  const trace_id = 'a'.repeat(32)
  expect(endedVolumeWork(rows)).toStrictEqual([
    { volume_id: idOf(made), request_id: 'req-1', ...done },
    { volume_id: idOf(failed), request_id: 'req-2', ...done, result: 'Error', error: 'no room' },
    { snapshot_id: snapshotId, request_id: 'req-3', trace_id, ...done },
    { volume_id: gone.volumeId, request_id: 'req-4', ...ended },
    { snapshot_id: snapshotId, request_id: 'req-5', ...ended },
  ])
})
