import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { findServer } from '../../db/find-server.ts'
import { lockMapping } from '../../db/instance-mappings.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { findVolume } from '../../db/volumes.ts'
import { attachmentsInOrder } from './build-volumes.ts'
import { whyNoRoomForAll } from './choose-cell.ts'
import { whyUnmovable } from './movable.ts'
import type { Volume } from './volume.ts'

// The volumes that a server takes along to another cell.

/** The volumes of a server, the one that it starts from first. */
export async function volumesOf(db: Executor, serverId: InstanceId): Promise<readonly Volume[]> {
  const volumes: Volume[] = []
  for (const { volumeId } of await attachmentsInOrder(db, serverId)) {
    const volume = await findVolume(db, volumeId)
    if (volume !== undefined) volumes.push(volume)
  }
  return volumes
}

/** Why one of the volumes cannot go along with its server, with what to do; undefined: all can. */
export async function whyNotAlong(
  db: Executor,
  serverId: InstanceId,
  volumes: readonly Volume[],
): Promise<string | undefined> {
  for (const volume of volumes) {
    const attachments = await attachmentsOfVolumes(db, [volume.id])
    const { length: snapshots } = await snapshotsOfVolume(db, volume.id)
    const why = whyUnmovable(volume, { attachments, snapshots }, serverId)
    if (why !== undefined) return `volume ${volume.id} cannot go along: ${why}`
  }
  return undefined
}

/** The cells whose stores can take all of the volumes; where none can, the reasons. */
export function cellsWithRoom<C extends Cell>(
  cells: readonly C[],
  volumes: readonly Volume[],
): { readonly cells: readonly C[]; readonly reason: string } {
  const reasons = new Map(
    cells.map((cell) => [cell, whyNoRoomForAll(cell, volumes.map(wantedOf))] as const),
  )
  const full = [...reasons].flatMap(([cell, why]) =>
    why === undefined ? [] : [`cell ${cell.name} ${why}`],
  )
  return { cells: cells.filter((cell) => reasons.get(cell) === undefined), reason: full.join('; ') }
}

function wantedOf({ sizeGb, specs, encryption }: Volume) {
  return { sizeGb, specs, encryption, zone: null, only: null, tried: [] }
}

/**
 * Locks the server that takes a volume along, so that nothing starts it before the transaction ends. Throws `conflict`
 * unless it is on no host.
 */
export async function refuseCarrierAtWork(tx: Tx, serverId: InstanceId): Promise<void> {
  const mapping = await lockMapping(tx, serverId)
  const server = await findServer(tx, serverId)
  const isAway = mapping?.cellId === null || server?.vmState === 'shelved_offloaded'
  const isIdle = mapping?.sagaId === null && !mapping.isDeleting && server?.taskState === null
  if (!isAway || !isIdle)
    throw new Failure('conflict', `Server ${serverId} is being changed by another request.`)
}

/** Throws `conflict` unless all volumes of a server, which the transaction has locked, are in this cell, and stay there. */
export async function refuseElsewhere(tx: Tx, serverId: InstanceId, cellId: CellId): Promise<void> {
  const volumes = await volumesOf(tx, serverId)
  const moving = volumes.find(
    (each) => each.cellId !== cellId || (each.status === 'maintenance' && each.sagaId !== null),
  )
  if (moving === undefined) return
  throw new Failure(
    'conflict',
    `Volume ${moving.id} of server ${serverId} is on its way to another cell. Cancel the move of the server, and repeat the request once that has ended: ./weir operation list`,
  )
}
