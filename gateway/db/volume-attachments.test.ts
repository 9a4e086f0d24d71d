import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type AttachmentId, type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { volumeAttachments } from './schema/volumes.ts'
import {
  attachmentsOfServers,
  attachmentsOfVolumes,
  type VolumeAttachment,
} from './volume-attachments.ts'

const SERVERS = 2
let db: Database
/** Those of a volume one after the other, the oldest first. */
const all: readonly VolumeAttachment[] = Array.from({ length: 260 }, newId<VolumeId>).flatMap(
  (volumeId) => Array.from({ length: SERVERS }, (_, nth) => attachment(volumeId, nth)),
)
const volumeIds = [...new Set(all.map(({ volumeId }) => volumeId))]

beforeAll(async () => {
  const url = await migratedDatabase('volume_attachments', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
  await db.orm.insert(volumeAttachments).values(all.toReversed())
})
afterAll(() => db?.[Symbol.asyncDispose]())

function attachment(volumeId: VolumeId, nth: number): VolumeAttachment {
  return {
    ...{ id: newId<AttachmentId>(), volumeId, serverId: newId<InstanceId>(), state: 'attached' },
    ...{ device: null, tag: null, deletesVolume: nth === 0, isRoot: nth === 1 },
    createdAt: new Date(Date.UTC(2026, 0, 1, 0, nth)),
  }
}

test.each([0, 1, 2, 125, 126, 260])(
  'of %d volumes each has its attachments, the oldest first',
  async (count) => {
    const found = await attachmentsOfVolumes(db, volumeIds.slice(0, count))

    const byVolume = Map.groupBy(found, ({ volumeId }) => volumeId)
    expect(volumeIds.slice(0, count).flatMap((id) => byVolume.get(id) ?? [])).toEqual(
      all.slice(0, count * SERVERS),
    )
    expect(found).toHaveLength(count * SERVERS)
  },
)

test('a server has only its own', async () => {
  const [first, second] = all

  expect(await attachmentsOfServers(db, [second!.serverId])).toEqual([second])
  expect(await attachmentsOfServers(db, [second!.serverId, first!.serverId])).toEqual([
    first,
    second,
  ])
})
