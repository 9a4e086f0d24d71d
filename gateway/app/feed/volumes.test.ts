import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  type AttachmentId,
  type CellId,
  type InstanceId,
  newId,
  type SagaId,
  type VolumeId,
} from '#common/ids.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import {
  copiedCell,
  failuresOf,
  addVolume as fedVolume,
  volumeView as view,
} from '#test/env/fed-volumes.ts'
import { addCell, globalDatabase } from '#test/env/indexed-servers.ts'
import { queueHeldStatus, queueVolumeLock } from '../../db/held-volumes.ts'
import { volumeMessages } from '../../db/schema/block-storage.ts'
import {
  attachmentsOfVolumes,
  queueAttached,
  queueAttachment,
} from '../../db/volume-attachments.ts'
import { beginVolumeMove, endVolumeMove } from '../../db/volume-moves.ts'
import { volumeQuotaRows } from '../../db/volume-quotas.ts'
import {
  findVolume,
  lockVolume,
  unownedVolumeDeletes,
  writeLockedVolume,
} from '../../db/volumes.ts'
import { waitingWork } from '../../db/waiting-work.ts'
import type { ComputeDeps } from '../compute.ts'
import { releaseVolumes } from '../volumes/hold-volume.ts'
import { chargeVolumes } from '../volumes/quotas.ts'
import { takeVolumeFromLostCell } from '../volumes/take-from-lost-cell.ts'
import { applyVolumes } from './apply-volumes.ts'
import { resyncVolumes } from './resync-volumes.ts'

// Goal: volumes are shown as their cell has them, whatever comes late, twice, out of order or from another cell.

let db: Database

const isHeld = () => new Error('The server has the volume.')
let cellId: CellId
let projectId: string

beforeAll(async () => {
  db = await globalDatabase('feed_volumes')
})
beforeEach(async () => {
  cellId = await addCell(db, newId())
  projectId = newId()
})
afterAll(() => db?.[Symbol.asyncDispose]())

const addVolume = (change: { readonly sagaId?: SagaId } = {}) =>
  fedVolume(db, { cellId, projectId, ...change })

async function apply(bodies: readonly FeedBody[], from = cellId): Promise<void> {
  const rows = bodies.map((body, index) => ({ n: index + 1, body }))
  await db.transaction((tx) => applyVolumes(tx, from, rows))
}

const shown = (of: VolumeView): FeedBody => ({ kind: 'volume', view: of })
const gone = (volumeId: string, attempt = 1): FeedBody => {
  return { kind: 'volume-deleted', volumeId, attempt, at: 1 }
}

async function used(): Promise<Readonly<Record<string, number>>> {
  const rows = await volumeQuotaRows(db, projectId)
  return Object.fromEntries(rows.map((row) => [row.resource, row.used]))
}

async function mark(id: VolumeId, change: Parameters<typeof writeLockedVolume>[2]): Promise<void> {
  await db.transaction(async (tx) => {
    await lockVolume(tx, id)
    await writeLockedVolume(tx, id, change, { isIntent: true })
  })
}

test('the newest view of the mapped cell and attempt counts, and no other', async () => {
  const id = await addVolume()

  await apply([shown(view(id, { version: 3 })), shown(view(id, { version: 2, state: 'creating' }))])
  await apply([shown(view(id, { version: 9, state: 'error' }))], newId<CellId>())
  await apply([shown(view(id, { version: 9, attempt: 2, state: 'error' }))])

  expect(await findVolume(db, id)).toMatchObject({
    status: 'available',
    cellVersion: 3,
    storeName: 'fast',
    zone: 'nova',
  })
})

test('rows about a volume that is not known change nothing, and the rows after them count', async () => {
  const [id, unknown] = [await addVolume(), newId<string>()]
  const released = { kind: 'volume-released', volumeId: unknown, attachmentId: newId() } as const

  await apply([shown(view(unknown)), gone(unknown), released, shown(view(id))])

  expect(await findVolume(db, unknown)).toBeUndefined()
  expect(await findVolume(db, id)).toMatchObject({ status: 'available' })
})

test('a project is told which request has failed, once, and not of what ends well or is deleted', async () => {
  const [failed, deleted] = [await addVolume(), await addVolume()]
  const ended = (id: VolumeId, change: Partial<VolumeView>): FeedBody => {
    return { kind: 'volume', view: view(id, change), requestId: `req-${change.version}` }
  }
  const said = () => failuresOf(db, failed)
  await mark(deleted, { isDeleting: true, status: 'deleting' })

  await apply([ended(failed, { version: 2 })])
  expect(await said()).toEqual([])
  await mark(failed, { status: 'extending' })
  const refused = ended(failed, { version: 3, fault: 'no room in store fast' })
  await apply([refused], newId<CellId>())
  expect(await said()).toEqual([])
  for (let time = 0; time < 2; time += 1) await apply([refused])
  await apply([ended(deleted, { version: 4, fault: 'no room', state: 'error' })])

  expect(await said()).toEqual(['VOLUME_VOLUME_007_010 req-3'])
  expect(await db.orm.$count(volumeMessages)).toBe(1)
  await apply([gone(deleted)])
})

test('a volume that is offered to another project stays so, whatever of it comes late, until it is broken', async () => {
  const id = await addVolume()
  await apply([shown(view(id))])
  await mark(id, { status: 'awaiting-transfer' })

  await apply([shown(view(id, { version: 3 }))])
  expect(await findVolume(db, id)).toMatchObject({ status: 'awaiting-transfer', cellVersion: 3 })
  await apply([shown(view(id, { version: 4, state: 'error' }))])

  expect(await findVolume(db, id)).toMatchObject({ status: 'error' })
})

test('a volume that goes with its server is deleted as soon as that is gone, not when it has grown old', async () => {
  const id = await addVolume()
  await apply([shown(view(id))])
  const serverId = newId<InstanceId>()
  const lease = { name: 'me', holder: 'h', generation: 1 }
  await db.transaction(async (tx) => {
    const held = { id: newId<AttachmentId>(), volumeId: id, serverId, device: null, tag: null }
    queueAttachment(tx, { ...held, deletesVolume: true, isRoot: false }, isHeld)
  })
  expect(await waitingWork(db, lease)).not.toContain('volumes')

  await db.transaction((tx) => releaseVolumes(tx, [serverId]))

  expect(await findVolume(db, id)).toMatchObject({ status: 'deleting', isDeleting: true })
  expect(await waitingWork(db, lease)).toContain('volumes')
  expect(await unownedVolumeDeletes(db, [], 10_000, 10)).toContain(id)
})

test('a volume that its guest released late is free, if its own cell says so, and only that attachment ends', async () => {
  const id = await addVolume()
  await apply([shown(view(id))])
  const attachment = { id: newId<AttachmentId>(), volumeId: id, serverId: newId<InstanceId>() }
  const how = { tag: null, isRoot: false, device: null, deletesVolume: true }
  await db.transaction(async (tx) => {
    queueVolumeLock(tx, id)
    queueAttachment(tx, { ...attachment, ...how }, isHeld)
    queueAttached(tx, attachment.id)
    queueHeldStatus(tx, id)
  })
  const released = (attachmentId: string): FeedBody => {
    return { kind: 'volume-released', volumeId: id, attachmentId }
  }

  await apply([released(newId())])
  await apply([released(attachment.id)], newId<CellId>())
  expect(await findVolume(db, id)).toMatchObject({ status: 'in-use' })
  for (const _ of [1, 2]) await apply([released(attachment.id)])

  expect(await attachmentsOfVolumes(db, [id])).toEqual([])
  expect(await findVolume(db, id)).toMatchObject({ status: 'available', isDeleting: false })
})

test('an extension that its store refused gives back what it was charged', async () => {
  const id = await addVolume()
  await apply([shown(view(id))])
  await mark(id, { status: 'extending', chargedGb: 8 })
  await db.transaction((tx) => chargeVolumes(tx, { projectId, typeId: null }, { gigabytes: 5 }))

  await apply([shown(view(id, { version: 3, state: 'extending' }))])
  expect(await used()).toEqual({ volumes: 1, gigabytes: 8 })
  await apply([shown(view(id, { version: 4, fault: 'The store is full.' }))])

  expect(await used()).toEqual({ volumes: 1, gigabytes: 3 })
  expect(await findVolume(db, id)).toMatchObject({ status: 'available', chargedGb: 3, sizeGb: 3 })
})

test('a volume that is deleted stays so until it is gone, once, or its cell says that it could not', async () => {
  const [id, kept] = [await addVolume(), await addVolume()]
  for (const each of [id, kept]) await mark(each, { status: 'deleting', isDeleting: true })

  await apply([shown(view(id)), shown(view(kept, { state: 'error-deleting', version: 3 }))])
  expect(await findVolume(db, id)).toMatchObject({ status: 'deleting' })
  expect(await findVolume(db, kept)).toMatchObject({ status: 'error_deleting', isDeleting: false })
  await apply([gone(id, 2)])
  expect(await findVolume(db, id)).toBeDefined()
  await apply([gone(id), gone(id)])

  expect(await findVolume(db, id)).toBeUndefined()
  expect(await used()).toEqual({ volumes: 1, gigabytes: 3 })
})

const resync = async (volumes: readonly VolumeView[], isReplaced = false) => {
  const { deps, copy, deleted } = copiedCell(db, { volumes }, isReplaced)
  await resyncVolumes(deps, { id: cellId, name: 'north' }, copy)
  return deleted
}

test('a full copy shows what was missed, ends what is nowhere, and deletes what should not be there', async () => {
  const [missed, ended, lost, beginning] = [
    await addVolume(),
    await addVolume(),
    await addVolume(),
    await addVolume({ sagaId: newId<SagaId>() }),
  ]
  await apply([shown(view(ended)), shown(view(lost))])
  await mark(ended, { status: 'deleting', isDeleting: true })
  const stranger = newId<string>()

  const deleted = await resync([view(missed), view(stranger)])

  expect(deleted).toEqual([stranger])
  expect(await findVolume(db, missed)).toMatchObject({ status: 'available' })
  expect(await findVolume(db, ended)).toBeUndefined()
  expect(await findVolume(db, lost)).toMatchObject({ status: 'error', cellId: null })
  expect(await findVolume(db, beginning)).toMatchObject({ status: 'creating', cellId })
})

test('a full copy spares what another cell makes of a volume that moves there, until the move has failed', async () => {
  const id = await addVolume()
  await apply([shown(view(id))])
  const from = cellId
  const to = await addCell(db, newId())
  const move = await db.transaction((tx) =>
    beginVolumeMove(tx, {
      ...{ subjectId: id, subject: 'moving', cellId: from, toCellId: to, attempt: 2 },
      ...{ reason: null, userId: 'user', requestId: 'req-1' },
    }),
  )
  await mark(id, { status: 'maintenance', lastAttempt: 2 })
  cellId = to

  expect(await resync([view(id, { attempt: 2 })])).toEqual([])
  expect(await findVolume(db, id)).toMatchObject({ cellId: from, attempt: 1 })
  await db.transaction((tx) =>
    endVolumeMove(tx, { id: move!, volumeId: id, cellId: from }, 'failed', 'No room.'),
  )

  expect(await resync([view(id, { attempt: 2 })])).toEqual([id])
  expect(await findVolume(db, id)).toMatchObject({ cellId: from, attempt: 1 })
})

test('a volume that moved after the backup is kept, and is that cell’s once the former says that it has it no more', async () => {
  const id = await addVolume()
  await apply([shown(view(id))])
  const from = cellId
  const to = await addCell(db, newId())
  const copyOf = async (cell: CellId, volumes: readonly VolumeView[]) => {
    cellId = cell
    return resync(volumes)
  }

  expect(await copyOf(to, [view(id, { attempt: 2 })])).toEqual([])
  expect(await findVolume(db, id)).toMatchObject({ cellId: from, attempt: 1 })
  await copyOf(from, [])
  expect(await findVolume(db, id)).toMatchObject({ cellId: null, status: 'error' })
  expect(await copyOf(to, [view(id, { attempt: 2 })])).toEqual([])

  const there = { cellId: to, attempt: 2, lastAttempt: 2, status: 'available', fault: null }
  expect(await findVolume(db, id)).toMatchObject(there)
  expect(await used()).toEqual({ volumes: 1, gigabytes: 3 })
})

test('a volume that moves stays in maintenance, whatever its cell says of its upload, until it is broken', async () => {
  const id = await addVolume()
  await apply([shown(view(id))])
  await mark(id, { status: 'maintenance' })

  await apply([
    shown(view(id, { version: 3, state: 'uploading' })),
    shown(view(id, { version: 4 })),
  ])
  expect(await findVolume(db, id)).toMatchObject({ status: 'maintenance', cellVersion: 4 })
  await apply([shown(view(id, { version: 5, state: 'error' }))])

  expect(await findVolume(db, id)).toMatchObject({ status: 'error' })
})

test('a copy of a database that replaced the cell’s counts, though its versions are lower', async () => {
  const id = await addVolume()
  await apply([shown(view(id, { version: 9, state: 'extending' }))])

  await resync([view(id, { version: 4 })])
  expect(await findVolume(db, id)).toMatchObject({ status: 'extending' })
  await resync([view(id, { version: 4 })], true)

  expect(await findVolume(db, id)).toMatchObject({ status: 'available', cellVersion: 4 })
})

test('a cell of a release without volumes is left alone', async () => {
  const id = await addVolume()
  const askCell = () => Promise.reject(new Failure('unsupported', 'An old release.'))
  const deps = { db, askCell, log: { warn: () => {} } } as unknown as ComputeDeps

  await resyncVolumes(
    deps,
    { id: cellId, name: 'old' },
    { incarnation: newId(), isReplaced: false },
  )

  expect(await findVolume(db, id)).toMatchObject({ status: 'creating' })
})

test('the volumes of a lost cell are in error, and come back with it', async () => {
  const [id, doomed] = [await addVolume(), await addVolume()]
  await apply([shown(view(id)), shown(view(doomed))])
  await mark(doomed, { status: 'deleting', isDeleting: true })
  const cell = { id: cellId, name: 'north' } as Parameters<typeof takeVolumeFromLostCell>[1]

  const attachment = { id: newId<AttachmentId>(), volumeId: id, serverId: newId<InstanceId>() }
  await db.transaction((tx) =>
    queueAttachment(
      tx,
      { ...attachment, tag: null, isRoot: false, device: null, deletesVolume: false },
      isHeld,
    ),
  )

  for (const each of [id, doomed]) await takeVolumeFromLostCell(db, cell, each)
  expect(await attachmentsOfVolumes(db, [id])).toEqual([])
  expect(await findVolume(db, id)).toMatchObject({ status: 'error', cellId })
  expect(await findVolume(db, doomed)).toBeUndefined()
  const deleted = await resync([view(id), view(doomed)])

  expect(deleted).toEqual([doomed])
  expect(await findVolume(db, id)).toMatchObject({ status: 'available' })
})
