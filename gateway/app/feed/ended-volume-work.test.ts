import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import { endedVolumeWork } from './ended-volume-work.ts'

const volume = (fault: string | null, requestId?: string): FeedBody => ({
  kind: 'volume',
  view: {
    ...{ volumeId: newId<string>(), attempt: 1, version: 2, state: 'available', sizeGb: 1 },
    ...{ storeId: newId<string>(), storeName: 'default', zone: 'north', fault, updatedAt: 1 },
  },
  ...(requestId !== undefined && { requestId }),
})

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
  const rows = [made, failed, changed, snapshot, gone].map((body, index) => ({
    n: index + 1,
    body,
  }))

  expect(endedVolumeWork(rows)).toMatchObject([
    { request_id: 'req-1', state: 'available', result: 'Success' },
    { request_id: 'req-2', result: 'Error', error: 'no room' },
    { request_id: 'req-3', trace_id: 'a'.repeat(32), snapshot_id: snapshotId, result: 'Success' },
    { request_id: 'req-4', volume_id: gone.volumeId, state: 'deleted', result: 'Success' },
  ])
})
