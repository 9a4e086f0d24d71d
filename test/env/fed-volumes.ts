import assert from 'node:assert/strict'
import { eq } from 'drizzle-orm'
import type { WorkContext } from '#common/context.ts'
import type { Database } from '#common/db/database.ts'
import {
  type CellId,
  newId,
  type SagaId,
  type VolumeId,
  type VolumeSnapshotId,
} from '#common/ids.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import { chargeVolumes } from '#gateway/app/volumes/quotas.ts'
import { volumeMessages } from '#gateway/db/schema/block-storage.ts'
import { insertSnapshot } from '#gateway/db/volume-snapshots.ts'
import { insertVolume } from '#gateway/db/volumes.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import type { VolumeSnapshotView } from '#openapi/wire/cell-volume-snapshot.ts'

interface Place {
  readonly cellId: CellId
  readonly projectId: string
  /** The work that makes it, if that has not ended. */
  readonly sagaId?: SagaId | undefined
}

/** A volume that a cell is to make, charged to its project. */
export async function addVolume(
  db: Database,
  { cellId, projectId, sagaId }: Place,
): Promise<VolumeId> {
  const id = newId<VolumeId>()
  await db.transaction(async (tx) => {
    await insertVolume(tx, {
      id,
      projectId,
      userId: 'user',
      name: null,
      description: null,
      metadata: {},
      typeId: null,
      specs: {},
      zone: null,
      sizeGb: 3,
      isBootable: false,
      isMultiattach: false,
      encryption: null,
      source: null,
      imageMetadata: null,
      cellId,
      status: 'creating',
      fault: null,
      sagaId: sagaId ?? null,
    })
    await chargeVolumes(tx, { projectId, typeId: null }, { volumes: 1, gigabytes: 3 })
  })
  return id
}

/** A view of a volume that its cell has made. */
export function volumeView(volumeId: string, change: Partial<VolumeView> = {}): VolumeView {
  return {
    volumeId,
    attempt: 1,
    version: 2,
    state: 'available',
    sizeGb: 3,
    storeId: 'store',
    storeName: 'fast',
    zone: 'nova',
    fault: null,
    updatedAt: 1,
    ...change,
  }
}

/** A snapshot that a cell is to make, charged to its project. */
export async function addSnapshot(
  db: Database,
  { cellId, projectId, sagaId }: Place,
): Promise<VolumeSnapshotId> {
  const id = newId<VolumeSnapshotId>()
  const named = { name: null, description: null, metadata: {} }
  const of = { volumeId: newId<VolumeId>(), typeId: null, sizeGb: 3 }
  const at = { cellId, sagaId: sagaId ?? null }
  await db.transaction(async (tx) => {
    await insertSnapshot(tx, { id, projectId, userId: 'user', ...named, ...of, ...at })
    await chargeVolumes(tx, { projectId, typeId: null }, { snapshots: 1, gigabytes: 3 })
  })
  return id
}

/** A view of a snapshot that its cell has made. */
export function snapshotView(
  snapshotId: string,
  change: Partial<VolumeSnapshotView> = {},
): VolumeSnapshotView {
  const base = { snapshotId, version: 2, state: 'available', sizeGb: 3 } as const
  return { ...base, fault: null, updatedAt: 1, ...change }
}

/** The kind and the request of each message that a project has about a volume or a snapshot. */
export async function failuresOf(db: Database, resourceId: string): Promise<readonly string[]> {
  const about = eq(volumeMessages.resourceId, resourceId)
  const rows = await db.orm.select().from(volumeMessages).where(about)
  return rows.map(({ eventId, requestId }) => `${eventId} ${requestId}`)
}

/** Arguments of `askCell`. */
type AskCell = readonly [unknown, operation: string, ask: object, { readonly work: WorkContext }]

interface Copied {
  readonly volumes?: readonly VolumeView[]
  readonly snapshots?: readonly VolumeSnapshotView[]
}

/** A gateway and a cell that has these: what the cell is asked to delete, and which warnings the gateway writes. */
export function copiedCell(db: Database, has: Copied, isReplaced = false) {
  const incarnation = newId<string>()
  const deleted: string[] = []
  const warned: object[] = []
  const askCell = async (...[, operation, ask, { work }]: AskCell) => {
    assert(work.requestId)
    await Promise.resolve()
    if (operation.startsWith('snapshot.')) return { incarnation, position: 1, ...has, isLast: true }
    const told = ask as { operation: { volumeId?: string; snapshotId?: string } }
    deleted.push(told.operation.volumeId ?? told.operation.snapshotId!)
    return { outcome: 'deleted' }
  }
  const log = { warn: (fields: object) => void warned.push(fields) }
  const deps = { db, askCell, log } as unknown as ComputeDeps
  return { deps, copy: { incarnation, isReplaced }, deleted, warned }
}
