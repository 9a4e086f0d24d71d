import { workContext } from '#common/context.ts'
import { type ErrorKind, isFailure } from '#common/errors.ts'
import { type BackupPart, findBackupParts } from '../../db/backup-parts.ts'
import type { Image } from '../../db/image.ts'
import { newestSnapshots } from '../../db/image-snapshots.ts'
import { findImage } from '../../db/images.ts'
import {
  noteReplica,
  type ReplicaNote,
  type ReplicatedServer,
  removeReplica,
  type ServerReplica,
  TAKEN_S,
} from '../../db/server-replicas.ts'
import { listOperatedCells, type OperatedCell } from '../cells/operated-cells.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import { hostFormat } from '../images/formats/format.ts'
import { whyUnusable } from './replica-cell.ts'

type Deps = Pick<ComputeDeps, 'db' | 'cells' | 'askCell' | 'imageTicket'>

/** While the cell fetches the image. */
const FETCHING_S = 5
/** After a failure that may be over soon. */
const FAILED_S = 30
/** A cache may have lost what it keeps, and an image may have been deleted. */
const LOOK_S = 300

/** A replica, its cell, and what that is to keep. */
export interface SeenReplica extends ServerReplica {
  /** Undefined: it has left. */
  readonly cell: OperatedCell | undefined
  /** The newest that the server's recovery would use; undefined: there is none. */
  readonly newest: Image | undefined
  /** Its host has sent changes of a backup that the cell may have; undefined: it has sent all of it. */
  readonly part: BackupPart | undefined
}

/** Looks up all that is needed of so many replicas, in as many statements as for one. */
export async function seeReplicas(
  { db, cells }: Pick<Deps, 'db' | 'cells'>,
  replicas: readonly ServerReplica[],
): Promise<readonly SeenReplica[]> {
  if (replicas.length === 0) return []
  const all = new Map((await listOperatedCells(db, cells)).map((cell) => [cell.id, cell]))
  const servers = replicas.flatMap(({ server }) => server ?? [])
  const newest = await newestSnapshots(db, servers)
  // Asked for together, they are read together.
  const ids = [...newest.values()]
  const found = await Promise.all(ids.map((id) => findImage(db, id)))
  const parts = await findBackupParts(db, ids)
  const images = new Map(found.flatMap((image) => (image === undefined ? [] : [[image.id, image]])))
  return replicas.map((replica) => {
    const imageId = newest.get(replica.serverId) ?? ''
    const cell = all.get(replica.cellId)
    return { ...replica, cell, newest: images.get(imageId), part: parts.get(imageId) }
  })
}

/**
 * Takes it one step further: a cell at which a server is protected keeps its newest backup or snapshot, from which a recovery
 * would build it; any other cell lets go of what it has kept.
 */
export async function replicate(deps: Deps, replica: SeenReplica): Promise<void> {
  const { db } = deps
  try {
    if (replica.server !== undefined)
      return await noteReplica(db, replica, await keep(deps, replica, replica.server))
    await release(deps, replica)
  } catch (error) {
    if (!isFailure(error)) throw error
    if (replica.server === undefined && error.kind === 'unsupported')
      return removeReplica(db, replica)
    await noteReplica(db, replica, {
      image: keptBefore(replica),
      error: error.message,
      againS: LASTING.has(error.kind) ? LOOK_S : FAILED_S,
    })
  }
}

/** Of one that the cell has let go of once. */
const LET_GO = 'The cell has let go of it.'

/**
 * A gateway that has just asked the cell to keep an image may be heard only now, so the cell is asked a second time, when that
 * gateway has ended.
 */
async function release(deps: Deps, replica: SeenReplica): Promise<void> {
  const { db } = deps
  const { cell } = replica
  // One that is lost may come back, with what it keeps.
  if (cell !== undefined) await letGo(deps, replica, cell)
  if (cell === undefined || replica.lastError === LET_GO) return removeReplica(db, replica)
  await noteReplica(db, replica, { image: null, error: LET_GO, againS: TAKEN_S })
}

const LASTING: ReadonlySet<ErrorKind> = new Set(['unsupported', 'not-found', 'invalid'])

async function keep(
  deps: Deps,
  replica: SeenReplica,
  server: ReplicatedServer,
): Promise<ReplicaNote> {
  const { cell, newest: image } = replica
  const none = (error: string) => ({ image: null, error, againS: LOOK_S })
  if (cell === undefined) return none('The cell has left. Name another cell.')
  const { name } = cell
  if (cell.loss !== null) return none(`Cell ${name} was declared lost.`)
  if (server.cellId === cell.id) {
    await letGo(deps, replica, cell)
    return none(`The server itself is in cell ${name} now. Name another cell.`)
  }
  if (image === undefined) {
    if (replica.imageId !== null) await letGo(deps, replica, cell)
    return none('There is no backup yet.')
  }
  return pin(deps, replica, cell, image)
}

async function pin(
  { askCell, imageTicket }: Deps,
  replica: SeenReplica,
  { name, reported }: OperatedCell,
  newest: Image,
): Promise<ReplicaNote> {
  const { id, createdAt, content, properties } = newest
  const diskFormat = hostFormat(newest)
  const image = keptBefore(replica)
  const cell = reachable(reported)
  if (content === null || diskFormat === null)
    return { image, error: 'The newest backup has no content.', againS: LOOK_S }
  const why = whyUnusable(cell, { diskFormat, properties })
  if (why !== undefined) return { image, error: `Cell ${name} ${why}.`, againS: LOOK_S }
  const { sizeBytes, sha256 } = content
  const file = { id, sizeBytes, sha256, ticket: imageTicket(id, cell.id) }
  const { serverId, part } = replica
  const madeOf = part && {
    before: part.before,
    changes: { ...part.changes, ticket: imageTicket(part.changes.id, cell.id) },
  }
  const work = workContext({})
  const { state, fetchedBytes } = await askCell(
    cell,
    'image.pin',
    { serverId, image: file, ...(madeOf && { madeOf }) },
    { work },
  )
  if (state === 'cached') return { image: { id, at: createdAt }, error: null, againS: LOOK_S }
  const error = `The cell has ${fetchedBytes} of ${sizeBytes} bytes of the backup of ${createdAt.toISOString()}.`
  return { image, error, againS: FETCHING_S }
}

async function letGo(
  { askCell }: Deps,
  { serverId }: ServerReplica,
  { reported }: OperatedCell,
): Promise<void> {
  await askCell(reachable(reported), 'image.unpin', { serverId }, { work: workContext({}) })
}

function keptBefore({ imageId, imageAt }: ServerReplica): ReplicaNote['image'] {
  return imageId === null || imageAt === null ? null : { id: imageId, at: imageAt }
}
