import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { readFailure } from '#common/saga/log.ts'
import { settledWithin } from '#common/settled-within.ts'
import type { Cell } from '../../../cell-client/cell.ts'
import type { Compute } from '../../compute.ts'
import { type RequestContext, requesterOf } from '../../request-context.ts'
import { type ChangeNicParams, changeNicSaga } from '../../sagas/change-nic.ts'
import type { ServerRecord } from '../list/server-record.ts'

/** Less than a client waits for its request; a change without an answer by then continues in the background. */
const WAIT_MS = 15_000

export interface NicChange extends Pick<ChangeNicParams, 'action' | 'portId'> {
  readonly server: ServerRecord
  readonly cell: Cell
  /** Commits together with the beginning of the change. */
  readonly before?: (tx: Tx) => Promise<void>
}

/** Afterwards the server's host has made the change, or it continues in the background. Throws the host's refusal. */
export async function changeNic(
  compute: Compute,
  context: RequestContext,
  { server, cell, action, portId, before }: NicChange,
): Promise<void> {
  const run = await compute.sagas.start(changeNicSaga, {
    subject: server.id,
    params: {
      serverId: server.id,
      cellId: cell.id,
      attempt: server.attempt,
      operationId: newId<string>(),
      action,
      portId,
      ...requesterOf(context, server),
    },
    work: context,
    ...(before === undefined ? {} : { before }),
  })
  const outcome = await settledWithin(compute.clock, WAIT_MS, run.finished)
  if (outcome !== 'unwound' && outcome !== 'stuck') return
  const failure = await readFailure(compute.db, run.id)
  throw failure ?? new Failure('conflict', `The NIC on port ${portId} could not be changed.`)
}
