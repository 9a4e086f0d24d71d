import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { readFailure } from '#common/saga/log.ts'
import { settledWithin } from '#common/settled-within.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { PlainAct } from '#openapi/wire/act.ts'
import type { Compute } from '../compute.ts'
import type { BootImage } from '../images/image-for-boot.ts'
import type { RequestContext } from '../request-context.ts'
import { actOnServerSaga, passwordPurpose } from '../sagas/act-on-server.ts'
import type { ActPlan } from '../sagas/act-plan.ts'
import type { PlannedWireAct } from '../sagas/act-plan-effects.ts'
import { placedServer } from './placed-server.ts'
import { refuseAction } from './refuse-action.ts'

/** Within a request's patience; what is not answered by then goes on without it. */
const WAIT_MS = 15_000

/** What is done to a server's guest. */
export type ServerAct =
  | { readonly name: PlainAct }
  /** `image` null: the server's own. */
  | { readonly name: 'rescue'; readonly image: BootImage | null; readonly password: string }
  | { readonly name: 'change-password'; readonly password: string }
  | { readonly name: 'reset-state'; readonly state: 'active' | 'error' }
  | { readonly name: PlannedWireAct['name']; readonly plan: ActPlan }

/**
 * Afterwards the server's cell has accepted to do it, and the server shows that. Throws `not-found`; `conflict` in a
 * state that forbids it, or while another request changes the server; `unavailable` while its cell is dark;
 * `unsupported` for what its host cannot do.
 */
export async function actOnServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  act: ServerAct,
): Promise<void> {
  const action = act.name
  const { server, cell } = await placedServer(compute, context, id, (record) =>
    refuseAction(record, context, action),
  )
  const { attempt, projectId } = server
  const run = await compute.sagas.start(actOnServerSaga, {
    subject: server.id,
    params: {
      serverId: server.id,
      cellId: cell.id,
      attempt,
      operationId: newId<string>(),
      action,
      image: 'image' in act ? act.image : null,
      sealedPassword:
        'password' in act ? compute.secrets.seal(act.password, passwordPurpose(server.id)) : null,
      state: 'state' in act ? act.state : null,
      plan: 'plan' in act ? act.plan : null,
      userId: context.userId,
      projectId,
    },
    work: context,
  })
  const outcome = await settledWithin(compute.clock, WAIT_MS, run.finished)
  if (outcome !== 'unwound' && outcome !== 'stuck') return
  const failure = await readFailure(compute.db, run.id)
  // Nova answers so where it looks for a host before it answers (nova/api/openstack/compute/migrate_server.py).
  if (isFailure(failure, 'no-capacity')) throw new Failure('invalid', failure.message)
  const { name } = SERVER_ACTIONS[action]
  throw failure ?? new Failure('conflict', `Cannot '${name}' instance ${server.id}.`)
}
