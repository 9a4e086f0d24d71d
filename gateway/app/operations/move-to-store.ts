import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import type { OperationRecord } from '../../db/operations.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { runningVolumeMove } from '../../db/volume-moves.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { findVolume } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import { foundIdOf } from '../federation/named.ts'
import { reachable } from '../hosts/host-state.ts'
import { findEarlierResult } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import {
  changeEncryptionSaga,
  type MigrateVolumeParams,
  migrateVolumeSaga,
} from '../sagas/migrate-volume.ts'
import { isAllowed } from '../volumes/choose-cell.ts'
import { unmovable, whyUnmovable } from '../volumes/movable.ts'
import type { Volume } from '../volumes/volume.ts'
import { beginVolumeMove, begunOnce } from './begin-volume-move.ts'
import { findOperation } from './operations.ts'

export interface StoreMoveRequest {
  /** The store that is to have it, by id or name. */
  readonly store: string
  readonly reason: string | null
}

/**
 * Begins to move a volume of any project, named by id or name, to another store of its cell, or returns the operation that does
 * so already, or did under this key. Throws `not-found`; `invalid` for a store that the cell does not have; `conflict` for a
 * volume that cannot be moved now, for a store that cannot take it, and for a name of several volumes; `unavailable` while the
 * cell is unreachable.
 */
export async function moveVolumeToStore(
  compute: Compute,
  context: RequestContext,
  idOrName: string,
  { store, reason }: StoreMoveRequest,
  key: IdempotencyKey | null = null,
): Promise<OperationRecord> {
  const { db, cells } = compute
  const earlier = await findEarlierResult<{ readonly operationId: string }>(db, key)
  if (earlier !== undefined) return findOperation(db, earlier.operationId)
  const id = await foundIdOf(db, 'volume', idOrName)
  const volume = await findVolume(db, id)
  if (volume === undefined)
    throw new Failure('not-found', `There is no volume with the id or name ${idOrName}.`)
  const running = await runningTo(compute, volume, store)
  if (running !== undefined) return running
  await refuseBound(compute, volume)
  const cell = reachable(cells.cell(volume.cellId ?? ''))
  const amongStores = storesFor(cell, volume, store)
  const params = { volumeId: volume.id, reason, userId: context.userId, toStore: store, zone: null }
  return begunOnce(
    () => beginMigration(compute, context, { ...params, amongStores }, key),
    () => runningTo(compute, volume, store),
  )
}

/** The operation that moves the volume to this store. Throws `conflict` for one that moves it elsewhere. */
async function runningTo(
  { db }: Compute,
  volume: Volume,
  store: string,
): Promise<OperationRecord | undefined> {
  const running = await runningVolumeMove(db, volume.id)
  if (running === undefined || running.toStore === store) return running
  throw unmovable(volume, `operation ${running.id} moves it elsewhere. Cancel that first.`)
}

async function refuseBound({ db }: Compute, volume: Volume): Promise<void> {
  const attachments = await attachmentsOfVolumes(db, [volume.id])
  const { length: snapshots } = await snapshotsOfVolume(db, volume.id)
  const why = whyUnmovable(volume, { attachments, snapshots })
  if (why !== undefined) throw unmovable(volume, why)
}

/** The ids of the stores of this name or id that can take the volume, as far as the cell says. */
function storesFor({ name, summary }: Cell, volume: Volume, wanted: string): readonly string[] {
  const stores = summary?.stores ?? []
  const named = stores.filter((store) => store.id === wanted || store.name === wanted)
  if (named.length === 0) {
    const names = [...new Set(stores.map((store) => store.name))].join(', ')
    throw new Failure(
      'invalid',
      `Cell ${name} of volume ${volume.id} has no store ${wanted}. It has: ${names || 'none'}.`,
    )
  }
  const others = named.filter(({ id }) => id !== volume.storeId)
  if (others.length === 0)
    throw unmovable(volume, `it is in store ${wanted} already. Name another store.`)
  const reasons = others.map((store) => [store, whyNotIn(store, volume)] as const)
  const fitting = reasons.filter(([, why]) => why === undefined)
  if (fitting.length === 0)
    throw unmovable(
      volume,
      `store ${wanted} ${[...new Set(reasons.map(([, why]) => why))].join(', and ')}.`,
    )
  return fitting.map(([{ id }]) => id)
}

function whyNotIn(store: StoreSummary, { specs, encryption, sizeGb }: Volume): string | undefined {
  if (!store.isUp) return 'is reached by no host that is up'
  if (!isAllowed(store, specs)) return 'is not allowed by its type'
  if (encryption !== null && store.encrypts !== true) return 'encrypts no volumes'
  if (store.roomGb !== undefined && store.roomGb < sizeGb)
    return `has room for ${store.roomGb} of ${sizeGb} GiB`
  return undefined
}

/** Afterwards the volume is on its way to another store, and the operation is shown. Throws what the saga's first step throws. */
export function beginMigration(
  compute: Compute,
  context: RequestContext,
  given: Omit<MigrateVolumeParams, 'requestId'>,
  key: IdempotencyKey | null = null,
): Promise<OperationRecord> {
  const params = { ...given, requestId: newId<string>() }
  const isChange = given.retype?.encryption !== undefined
  const saga = isChange ? changeEncryptionSaga : migrateVolumeSaga
  return beginVolumeMove(compute, context, { saga, params }, key)
}
