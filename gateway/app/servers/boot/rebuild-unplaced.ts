import { Failure } from '#common/errors.ts'
import type { FirstTransaction } from '#common/saga/execution.ts'
import { markBuildPending } from '../../../db/pending-mappings.ts'
import { type RequestSpec, replaceRequestSpec } from '../../../db/request-specs.ts'
import { queueActions } from '../../../db/server-actions.ts'
import { runningMoveOf } from '../../../db/server-moves.ts'
import { showRebuilt } from '../../../db/show-rebuilt.ts'
import { refuseAllUnreachable } from '../../cells/unheard-cells.ts'
import type { Compute } from '../../compute.ts'
import { type RequestContext, requesterOf } from '../../request-context.ts'
import type { Rebuilt } from '../../sagas/act-plan.ts'
import { operationIds } from '../../sagas/build-rounds.ts'
import { retryBuildSaga } from '../../sagas/retry-build.ts'
import { volumesOf } from '../../volumes/carried.ts'
import { freeVolumes } from '../../volumes/hold-volume.ts'
import type { ServerRecord } from '../list/server-record.ts'
import type { BuildSpec } from './build-spec.ts'
import { changeableProperties } from './requested-properties.ts'

/** The request that the server is built from, and the fields to show. */
export interface UnplacedRebuild extends Omit<RequestSpec, 'serverId'> {
  readonly shown: Rebuilt
  /** What it is built from; absent: the image of its request. */
  readonly savedDisk?: NonNullable<BuildSpec['savedDisk']>
}

function isMoving(serverId: string): string {
  return `Instance ${serverId} is on its way to another cell with its volumes, and is built there or where it was. See ./weir operation list.`
}

/**
 * Afterwards a server that is in no cell is being built in one, with the ports and the quota it has; where none fits it is in
 * ERROR again, and says why. A host that was insisted on was one of the cell it lost. Throws `conflict` where another
 * request changes it, or a move that brings its volumes, `unavailable` when every cell is unreachable, and what `after`
 * throws, which commits together with the beginning.
 */
export async function rebuildUnplaced(
  compute: Compute,
  context: RequestContext,
  server: ServerRecord,
  { spec, shown, savedDisk, ...sealed }: UnplacedRebuild,
  around: Pick<FirstTransaction, 'after'> = {},
): Promise<void> {
  const { id: serverId, attempt } = server
  refuseAllUnreachable(compute.cells.cells())
  await compute.sagas.start(retryBuildSaga, {
    subject: serverId,
    params: { serverId, attempt, operationIds: operationIds() },
    work: context,
    before: async (tx) => {
      if (!(await markBuildPending(tx, { serverId, attempt })))
        throw new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
      if (
        (await runningMoveOf(tx, serverId)) !== undefined &&
        (await volumesOf(tx, serverId)).length > 0
      )
        throw new Failure('conflict', isMoving(serverId))
      // Those that it was to be built with were released when it came to be in no cell, or are in another than was lost.
      await freeVolumes(tx, serverId)
      const { volumes: _released, savedDisk: _before, ...rest } = spec
      const nics = [...(await compute.network.nicsOf(tx, serverId))]
      const built = { ...rest, nics, requestedHost: null, ...(savedDisk && { savedDisk }) }
      const request = { serverId, spec: built, ...sealed }
      await replaceRequestSpec(tx, request, changeableProperties(spec))
      await showRebuilt(tx, serverId, shown)
      const who = { requestId: context.requestId, ...requesterOf(context, server) }
      queueActions(tx, [{ serverId, action: 'rebuild', message: null, ...who }])
    },
    ...around,
  })
}
