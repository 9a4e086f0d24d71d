import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { readFailure } from '#common/saga/log.ts'
import { settledWithin } from '#common/settled-within.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { PowerAction } from '#openapi/wire/host.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { powerServerSaga } from '../sagas/power-server.ts'
import { placedServer } from './placed-server.ts'
import { refuseAction } from './refuse-action.ts'

/** Within a request's patience; what is not answered by then goes on without it. */
const WAIT_MS = 15_000

/**
 * Afterwards the server's cell has accepted to change its power, and the server shows that. Throws `not-found`;
 * `conflict` in a state that forbids it, or while another request changes the server; `unavailable` while its cell is
 * dark; `unsupported` for what its host cannot do.
 */
export async function powerServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  action: PowerAction,
): Promise<void> {
  const { server, cell } = await placedServer(compute, context, id, (record) =>
    refuseAction(record, context, action),
  )
  const { attempt, projectId } = server
  const actionName = SERVER_ACTIONS[action].name
  const run = await compute.sagas.start(powerServerSaga, {
    subject: server.id,
    params: {
      serverId: server.id,
      cellId: cell.id,
      attempt,
      operationId: newId<string>(),
      action,
      actionName,
      userId: context.userId,
      projectId,
    },
    work: context,
  })
  const outcome = await settledWithin(compute.clock, WAIT_MS, run.finished)
  if (outcome !== 'unwound' && outcome !== 'stuck') return
  const failure = await readFailure(compute.db, run.id)
  throw failure ?? new Failure('conflict', `Cannot '${actionName}' instance ${server.id}.`)
}
