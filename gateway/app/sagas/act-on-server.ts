import { Failure } from '#common/errors.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga } from '#common/saga/saga.ts'
import { recordedName } from '#common/states/server-actions.ts'
import type { CellAct } from '#openapi/wire/act.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import { queueRestartEnd } from '../../db/guest-restarts.ts'
import { findMapping, queueServerRelease, takeServer } from '../../db/instance-mappings.ts'
import { findRequestSpec, type RequestSpec } from '../../db/request-specs.ts'
import { queueActions, type ServerAction } from '../../db/server-actions.ts'
import { queueViews } from '../../db/server-index.ts'
import type { ComputeDeps } from '../compute.ts'
import {
  type MoveAct,
  passwordPurpose,
  type StoredAct,
  withoutSecrets,
} from '../servers/acts/server-act.ts'
import { currentSpec } from '../servers/boot/current-spec.ts'
import {
  type PlannedAct,
  plannedAct,
  reservePlan,
  settleMigration,
  settlePlan,
  withdrawPlan,
} from './act-plan-effects.ts'
import { buildRequest } from './build-request.ts'

export type ActOnServerParams = {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly attempt: number
  readonly operationId: string
  readonly act: StoredAct
  /** True: the act names the state the server is to be in, and is done where the server is in it already. */
  readonly isDesiredState?: boolean
  /** The former name of `isDesiredState`, in sagas that a gateway of the last release began or takes over. */
  readonly isWish?: boolean
  /** Of the request: who sent it, with a token of which project. */
  readonly userId: string
  readonly projectId: string
}

const take: LocalStep<ComputeDeps, ActOnServerParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { deps, params, sagaId, work }) => {
    const { serverId, attempt } = params
    const planned = plannedOf(params)
    if (!(await takeServer(tx, serverId, attempt, sagaId)))
      throw new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
    queueActions(tx, [recordOf(params, work.requestId, null)])
    if (params.act.name === 'stop') queueRestartEnd(tx, serverId)
    if (planned !== undefined) await reservePlan(tx, deps, planned)
    return null
  },
  undo: async (tx, { deps, params, sagaId, work }) => {
    const planned = plannedOf(params)
    if (planned !== undefined) await withdrawPlan(tx, deps, planned, sagaId)
    queueServerRelease(tx, params.serverId, sagaId)
    queueActions(tx, [recordOf(params, work.requestId, 'Error')])
  },
}

function plannedOf({ act, ...of }: ActOnServerParams): PlannedAct | undefined {
  return 'plan' in act ? { ...of, action: act.name, plan: act.plan } : undefined
}

function recordOf(
  { serverId, act, userId, projectId }: ActOnServerParams,
  requestId: string,
  message: string | null,
): ServerAction {
  const name = recordedName(act.name) ?? act.name
  const saved = 'plan' in act && act.plan.kind === 'save' ? act.plan.order.imageId : undefined
  const action = { serverId, requestId, action: name, userId, projectId, message }
  return { ...action, ...(saved !== undefined && { imageId: saved }) }
}

const ask: RemoteStep<ComputeDeps, ActOnServerParams> = {
  kind: 'remote',
  name: 'ask',
  run: async ({ deps, params, work }) => {
    const { serverId, cellId, attempt, operationId, isWish, isDesiredState = isWish } = params
    const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
    const operation = { id: operationId, serverId, attempt }
    const act = await actOf(deps, params)
    const asked = {
      operation,
      act,
      ...(isDesiredState === true && { isDesiredState, isWish: true }),
    }
    try {
      return await deps.askCell(cell, 'instance.act', asked, { work })
    } catch (error) {
      // A delete supersedes every earlier request, and need not wait for the cell.
      const mapping = await findMapping(deps.db, serverId)
      if (mapping === undefined || mapping.isDeleting || mapping.attempt !== attempt)
        throw new Failure('conflict', `Instance ${serverId} is being deleted.`, { cause: error })
      throw error
    }
  },
  // A failure other than silence means that the cell did nothing.
  undo: 'none',
}

/** The act as the cell gets it. Throws `conflict` when the server was deleted meanwhile. */
async function actOf(deps: ComputeDeps, params: ActOnServerParams): Promise<CellAct> {
  const { serverId, cellId, act } = params
  if ('plan' in act) return plannedAct(deps, { ...params, action: act.name, plan: act.plan })
  if ('isAwaited' in act) return moveOf(deps, params, act)
  if (act.name === 'change-password')
    return { name: act.name, password: opened(deps, serverId, act.sealed) }
  if (act.name !== 'rescue') return act
  const request = await getRequestSpec(deps, serverId)
  const now = await currentSpec(deps, deps.db, serverId, request.spec)
  const spec = act.image === null ? now : { ...now, image: act.image }
  const build = buildRequest(deps, { ...request, spec, sealedPassword: null }, cellId)
  return { name: act.name, build: { ...build, adminPassword: opened(deps, serverId, act.sealed) } }
}

/** A moved server is bound to no host, except to one that the request names, and takes along what it has now. */
async function moveOf(
  deps: ComputeDeps,
  { serverId, cellId, userId, projectId }: ActOnServerParams,
  { flavor, sealedPassword, ...move }: MoveAct,
): Promise<CellAct> {
  const request = await getRequestSpec(deps, serverId)
  const now = await currentSpec(deps, deps.db, serverId, request.spec)
  const spec = { ...now, flavor, requestedHost: move.host }
  return {
    ...move,
    userId,
    projectId,
    build: buildRequest(deps, { ...request, spec, sealedPassword }, cellId),
  }
}

async function getRequestSpec({ db }: ComputeDeps, serverId: InstanceId): Promise<RequestSpec> {
  const request = await findRequestSpec(db, serverId)
  if (request !== undefined) return request
  throw new Failure('conflict', `Instance ${serverId} is being deleted.`)
}

function opened({ secrets }: ComputeDeps, serverId: string, sealed: string): string {
  return secrets.open(sealed, passwordPurpose(serverId))
}

const settle: LocalStep<ComputeDeps, ActOnServerParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, call) => {
    const { params, sagaId } = call
    const { view } = call.output<CellAnswer<'instance.act'>>('ask')!
    queueViews(tx, params.cellId, [view])
    const planned = plannedOf(params)
    if (planned !== undefined) await settlePlan(tx, planned)
    if (params.act.name === 'migrate') await settleMigration(tx, params.serverId, params.act.flavor)
    queueServerRelease(tx, params.serverId, sagaId)
    return null
  },
  forwardOnly: true,
  // The view is the cell's truth; releasing is done by `take` too.
  undo: 'none',
}

/** Has a server's cell act on its guest; done when the cell has accepted, and the result comes with its feed. */
export const actOnServerSaga: Saga<ComputeDeps, ActOnServerParams> = {
  name: 'act-on-server',
  version: 1,
  steps: [take, ask, settle],
  withoutSecrets: (params) => ({ ...params, act: withoutSecrets(params.act) }),
}
