import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import {
  type AttachmentId,
  type CellId,
  type InstanceId,
  newId,
  type VolumeId,
} from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { queueHeldStatus, queueHold, queueVolumeLock } from './held-volumes.ts'
import { eventInbox } from './schema/events.ts'
import { attachmentsOfVolumes, queueAttached, queueAttachment } from './volume-attachments.ts'
import { findVolume, insertVolume } from './volumes.ts'

let db: Database
const cellId = newId<CellId>()

beforeAll(async () => {
  const url = await migratedDatabase('held_volumes', 'gateway')
  db = new Database({ url, connectionsMax: 4 })
})
afterAll(() => db?.[Symbol.asyncDispose]())

async function added(isMultiattach: boolean): Promise<VolumeId> {
  const id = newId<VolumeId>()
  await db.transaction((tx) =>
    insertVolume(tx, {
      ...{ id, projectId: 'p', userId: 'u', name: null, description: null, metadata: {} },
      ...{ typeId: null, specs: {}, zone: null, sizeGb: 1, isBootable: false, encryption: null },
      ...{ isMultiattach, source: null, imageMetadata: null, cellId, fault: null },
      ...{ status: 'available', sagaId: null },
    }),
  )
  return id
}

const isTaken = () => new Error('taken')

/** Transactions without a read that begin in one turn commit together. */
function heldAtOnce(id: VolumeId, isMultiattach: boolean, times: number) {
  const wanted = { id, cellId, attempt: 1, isMultiattach, isReadOnly: false }
  return Promise.allSettled(
    Array.from({ length: times }, async () => {
      const attachmentId = newId<AttachmentId>()
      const pair = { id: attachmentId, volumeId: id, serverId: newId<InstanceId>() }
      const how = { device: null, tag: null, deletesVolume: false, isRoot: false }
      await db.transaction((tx) => {
        queueHold(tx, wanted, isTaken)
        queueAttachment(tx, { ...pair, ...how }, isTaken)
      })
      return attachmentId
    }),
  )
}

const events = async (id: VolumeId) => {
  const rows = await db.orm.select().from(eventInbox).where(eq(eventInbox.volumeId, id))
  return rows.map(({ details }) => (JSON.parse(details) as { readonly state: string }).state)
}

test('of transactions that would hold a volume at once, and commit together, one does', async () => {
  for (let round = 0; round < 10; round += 1) {
    const id = await added(false)

    const ends = await heldAtOnce(id, false, 3)

    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await attachmentsOfVolumes(db, [id])).toHaveLength(1)
    expect(await findVolume(db, id)).toMatchObject({ status: 'attaching' })
    expect(await events(id)).toEqual(['available', 'attaching'])
  }
})

test('a shared volume is held by all of them, and each change of its status is told once', async () => {
  const id = await added(true)
  const [first] = await heldAtOnce(id, true, 1)
  const attach = (attachmentId: AttachmentId) =>
    db.transaction((tx) => {
      queueVolumeLock(tx, id)
      queueAttached(tx, attachmentId)
      queueHeldStatus(tx, id)
    })
  await attach((first as PromiseFulfilledResult<AttachmentId>).value)

  const others = await heldAtOnce(id, true, 3)
  await Promise.all(
    others.map((each) => attach((each as PromiseFulfilledResult<AttachmentId>).value)),
  )

  expect(others.map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'))
  expect(await findVolume(db, id)).toMatchObject({ status: 'in-use' })
  expect(await events(id)).toEqual(['available', 'attaching', 'in-use'])
})
