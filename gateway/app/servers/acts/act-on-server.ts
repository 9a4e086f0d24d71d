import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { FirstTransaction } from '#common/saga/execution.ts'
import { readFailure } from '#common/saga/log.ts'
import { settledWithin } from '#common/settled-within.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { Compute } from '../../compute.ts'
import { type RequestContext, requesterOf } from '../../request-context.ts'
import { actOnServerSaga } from '../../sagas/act-on-server.ts'
import { placedServer } from '../boot/placed-server.ts'
import { untilFree } from '../boot/until-free.ts'
import { refuseAction } from './refuse-action.ts'
import { type ServerAct, storedAct } from './server-act.ts'

/** Less than a client waits for its request; an act without an answer by then continues in the background. */
const WAIT_MS = 15_000
/**
 * Acts that Nova accepts before it looks for room (nova/compute/api.py: `resize` and `unshelve` are cast): without room
 * the server keeps its state, and its action has the failure.
 */
const PLACED_LATER: ReadonlySet<ServerAct['name']> = new Set(['resize', 'unshelve'])

/**
 * Afterwards the server's cell has accepted to do it, and the server shows that. Throws `not-found`; `conflict` in a
 * state that forbids it, or while another request changes the server; `unavailable` while its cell is unreachable;
 * `unsupported` for what its host cannot do; and what `around` throws, which commits together with the beginning of the act.
 */
export async function actOnServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  act: ServerAct,
  around: FirstTransaction = {},
): Promise<void> {
  const action = act.name
  const { server, cell } = await placedServer(compute, context, id, (record) =>
    refuseAction(record, context, action),
  )
  // An act that may interrupt others begins once its cell knows of them: in Nova, the client of such a reboot is never
  // told to try again.
  if (SERVER_ACTIONS[action].over !== undefined) await untilFree(compute, server.id, WAIT_MS)
  const run = await compute.sagas.start(actOnServerSaga, {
    subject: server.id,
    params: {
      serverId: server.id,
      cellId: cell.id,
      attempt: server.attempt,
      operationId: newId<string>(),
      act: storedAct(compute.secrets, server.id, act),
      ...requesterOf(context, server),
    },
    work: context,
    ...around,
  })
  const outcome = await settledWithin(compute.clock, WAIT_MS, run.finished)
  if (outcome !== 'unwound' && outcome !== 'stuck') return
  const failure = await readFailure(compute.db, run.id)
  if (isFailure(failure, 'no-capacity')) {
    if (PLACED_LATER.has(action)) return
    // Nova answers so where it looks for a host before it answers (nova/api/openstack/compute/migrate_server.py).
    throw new Failure('invalid', failure.message)
  }
  const { name } = SERVER_ACTIONS[action]
  throw failure ?? new Failure('conflict', `Cannot '${name}' instance ${server.id}.`)
}
