import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { type CellId, newId } from '#common/ids.ts'
import { type MissingServer, missingServers } from '../../db/missing-servers.ts'
import type { Compute } from '../compute.ts'
import { deleteServerSaga } from '../sagas/delete-server.ts'
import type { RowReconciler } from './row-reconciler.ts'

const EVERY_MS = 5_000
const BATCH_MAX = 500

/**
 * A server that its cell has committed the delete of is deleted here, too: after a restore this database may be older
 * than that delete. Others that a cell does not have stay as they are, for an operator to judge.
 */
export function endMissing(compute: Compute): RowReconciler<MissingServer> {
  return {
    name: 'missing servers',
    everyMs: EVERY_MS,
    due: async () => {
      const due: MissingServer[] = []
      let missing: readonly MissingServer[] = []
      do {
        const after = missing.at(-1)?.serverId ?? ''
        missing = await missingServers(compute.db, after, BATCH_MAX)
        const byCell = [...Map.groupBy(missing, ({ cellId }) => cellId)]
        const ended = byCell.map(([cellId, servers]) => endedOf(compute, cellId, servers))
        due.push(...(await Promise.all(ended)).flat())
        // Those that are left for an operator to judge keep no others waiting.
      } while (missing.length === BATCH_MAX && due.length < BATCH_MAX)
      return due
    },
    keyOf: ({ serverId }) => serverId,
    work: (server) => end(compute, server),
  }
}

async function endedOf(
  { cells, askCell }: Compute,
  cellId: CellId,
  servers: readonly MissingServer[],
): Promise<readonly MissingServer[]> {
  const cell = cells.cell(cellId)
  if (cell?.isReachable !== true) return []
  const ask = { serverIds: servers.map(({ serverId }) => serverId) }
  try {
    const { ended } = await askCell(cell, 'snapshot.ended', ask, { work: workContext({}) })
    const attempts = new Map(ended.map(({ serverId, attempt }) => [serverId, attempt]))
    return servers.filter(({ serverId, attempt }) => attempts.get(serverId) === attempt)
  } catch (error) {
    // A cell of an older release does not know the question.
    if (isFailure(error, 'unavailable')) return []
    throw error
  }
}

async function end({ sagas }: Compute, { serverId }: MissingServer): Promise<void> {
  const params = { serverId, operationId: newId<string>(), requester: null }
  try {
    await sagas.start(deleteServerSaga, { subject: serverId, params, work: workContext({}) })
  } catch (error) {
    if (!isFailure(error, 'not-found', 'conflict')) throw error
  }
}
