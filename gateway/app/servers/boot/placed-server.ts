import { Failure } from '#common/errors.ts'
import type { Cell } from '../../../cell-client/cell.ts'
import type { ComputeDeps } from '../../compute.ts'
import type { RequestContext } from '../../request-context.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'

/**
 * A server and its cell, which is reachable. `check` runs before the answer reveals anything about the cell. Throws
 * `not-found`; `conflict` for a server in no cell; `unavailable` while the cell is unreachable.
 */
export async function placedServer(
  { db, cells }: Pick<ComputeDeps, 'db' | 'cells'>,
  context: RequestContext,
  id: string,
  check: (server: ServerRecord) => void = () => {},
): Promise<{ readonly server: ServerRecord; readonly cell: Cell }> {
  const server = await showServer(db, context, id)
  check(server)
  const cell = server.cellId === null ? undefined : cells.cell(server.cellId)
  if (cell === undefined) throw new Failure('conflict', `Instance ${server.id} is not ready`)
  if (!cell.isReachable)
    throw new Failure(
      'unavailable',
      `Cell ${cell.name} of instance ${server.id} cannot be reached at the moment. Please try again when it is back; until then only deleting, starting and stopping it, and changing its name, description, metadata, tags and lock, are accepted.`,
    )
  return { server, cell }
}
