import { Failure, isFailure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { newestSnapshots } from '../../db/image-snapshots.ts'
import { findImage } from '../../db/images.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { findProtection } from '../../db/server-protections.ts'
import { type CellRequest, imageReason } from '../cells/cell-filters.ts'
import { findOperatedCell, type OperatedCell } from '../cells/operated-cells.ts'
import type { Compute } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import { hostFormat } from '../images/formats/format.ts'
import { whyNotMovable } from '../placement-policies/users-may-move.ts'
import type { RequestContext } from '../request-context.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'

type Deps = Pick<Compute, 'db' | 'cells' | 'askCell' | 'placementPolicies'>

/**
 * The cell of this id or name, which can keep backups of the server. Throws `forbidden` for a user who may not choose cells,
 * `invalid` for a cell that is not there, `conflict` for the server's own, one that was declared lost and one that cannot use such
 * images, `unsupported` for one without an image cache, `unavailable` for one that does not answer.
 */
export async function replicaCell(
  deps: Deps,
  context: RequestContext,
  server: ServerRecord,
  wanted: string,
): Promise<CellId> {
  const { db } = deps
  const no = (kind: 'forbidden' | 'conflict', why: string) =>
    new Failure(kind, `Backups of server ${server.id} cannot be kept at cell ${wanted}: ${why}`)
  const forbidden = await whyNotMovable(deps, context, server)
  if (forbidden !== undefined) throw no('forbidden', forbidden)
  const { id, loss, reported } = await namedInBody(deps, wanted)
  if (id === server.cellId) throw no('conflict', 'the server is in that cell. Name another cell.')
  if (loss !== null) throw no('conflict', 'it was declared lost. Name another cell.')
  const cell = reachable(reported)
  const why = whyUnusable(cell, await imageToKeep(deps, server))
  if (why !== undefined) throw no('conflict', `it ${why}. Name another cell.`)
  const before = await findProtection(db, server.id)
  // Proves that it has a cache, and knows what is asked of it.
  if (before?.toCellId !== id)
    await deps.askCell(cell, 'image.unpin', { serverId: server.id }, { work: context })
  return id
}

/** Why the drivers of the cell cannot build a server from the image; undefined: they can. */
export function whyUnusable(cell: Cell, image: CellRequest['image']): string | undefined {
  if (cell.summary === undefined) return 'has not said what its hosts can build'
  return imageReason(cell, { image })
}

async function namedInBody({ db, cells }: Deps, wanted: string): Promise<OperatedCell> {
  try {
    return await findOperatedCell(db, cells, wanted)
  } catch (error) {
    throw isFailure(error, 'not-found') ? new Failure('invalid', error.message) : error
  }
}

/** The newest backup or snapshot of the server; as long as there is none, its own image, which they will be like. */
async function imageToKeep(
  { db }: Deps,
  { id, projectId }: ServerRecord,
): Promise<CellRequest['image']> {
  const newest = (await newestSnapshots(db, [{ id, projectId }])).get(id)
  const saved = newest === undefined ? undefined : await findImage(db, newest)
  const diskFormat = saved === undefined ? null : hostFormat(saved)
  if (saved !== undefined && diskFormat !== null) return { ...saved, diskFormat }
  const request = await findRequestSpec(db, id)
  if (request === undefined) throw new Failure('conflict', `Instance ${id} is being deleted.`)
  return request.spec.image
}
