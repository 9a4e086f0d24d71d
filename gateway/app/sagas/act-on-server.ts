import { Failure } from '#common/errors.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga } from '#common/saga/saga.ts'
import { recordedName } from '#common/states/server-actions.ts'
import type { CellAct, PlainAct } from '#openapi/wire/act.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import { findMapping, releaseServer, takeServer } from '../../db/instance-mappings.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { recordActions, type ServerAction } from '../../db/server-actions.ts'
import { applyViews } from '../../db/server-index.ts'
import type { ComputeDeps } from '../compute.ts'
import type { BootImage } from '../images/image-for-boot.ts'
import type { ActPlan } from './act-plan.ts'
import { plannedAct, promisePlan, settlePlan, withdrawPlan } from './act-plan-effects.ts'
import { buildRequest } from './build-request.ts'

export type ActOnServerParams = {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly attempt: number
  readonly operationId: string
  readonly action: CellAct['name']
  /** The image a rescue is done with; null: the server's own. */
  readonly image: BootImage | null
  /** The password it sets, sealed; null where it sets none. */
  readonly sealedPassword: string | null
  /** What a reset of its state makes it. */
  readonly state: 'active' | 'error' | null
  /** What it is besides; null for most acts. */
  readonly plan: ActPlan | null
  readonly userId: string
  readonly projectId: string
}

/** For an act of which the name says all. */
export const NO_DETAILS = { image: null, sealedPassword: null, state: null, plan: null } as const

const take: LocalStep<ComputeDeps, ActOnServerParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { deps, params, sagaId, work }) => {
    const { serverId, attempt, plan } = params
    if (!(await takeServer(tx, serverId, attempt, sagaId)))
      throw new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
    recordActions(tx, [recordOf(params, work.requestId, null)])
    if (plan !== null) await promisePlan(tx, deps, { ...params, plan })
    return null
  },
  undo: async (tx, { deps, params, sagaId, work }) => {
    const { plan } = params
    if (plan !== null) await withdrawPlan(tx, deps, { ...params, plan })
    releaseServer(tx, params.serverId, sagaId)
    recordActions(tx, [recordOf(params, work.requestId, 'Error')])
  },
}

function recordOf(
  { serverId, action, userId, projectId }: ActOnServerParams,
  requestId: string,
  message: string | null,
): ServerAction {
  const name = recordedName(action) ?? action
  return { serverId, requestId, action: name, userId, projectId, message }
}

const ask: RemoteStep<ComputeDeps, ActOnServerParams> = {
  kind: 'remote',
  name: 'ask',
  run: async ({ deps, params, work }) => {
    const { serverId, cellId, attempt, operationId } = params
    const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
    const operation = { id: operationId, serverId, attempt }
    const act = await actOf(deps, params)
    try {
      return await deps.askCell(cell, 'instance.act', { operation, act }, { work })
    } catch (error) {
      // A delete beats whatever was asked before it, and the cell need not be waited for.
      const mapping = await findMapping(deps.db, serverId)
      if (mapping === undefined || mapping.isDeleting || mapping.attempt !== attempt)
        throw new Failure('conflict', `Instance ${serverId} is being deleted.`, { cause: error })
      throw error
    }
  },
  // A failure other than silence means that the cell did nothing.
  undo: 'none',
}

/** What the cell is told. Throws `conflict` when the server went meanwhile. */
async function actOf(deps: ComputeDeps, params: ActOnServerParams): Promise<CellAct> {
  const { serverId, cellId, action, image, sealedPassword, state, plan } = params
  if (plan !== null) return plannedAct(deps, { ...params, plan })
  if (action === 'reset-state') return { name: action, state: state ?? 'error' }
  const password =
    sealedPassword === null ? '' : deps.secrets.open(sealedPassword, passwordPurpose(serverId))
  if (action === 'change-password') return { name: action, password }
  if (action !== 'rescue') return { name: action as PlainAct }
  const request = await findRequestSpec(deps.db, serverId)
  if (request === undefined) throw new Failure('conflict', `Instance ${serverId} is being deleted.`)
  const spec = image === null ? request.spec : { ...request.spec, image }
  const build = buildRequest(deps, { ...request, spec, sealedPassword: null }, cellId)
  return { name: action, build: { ...build, adminPassword: password } }
}

/** Binds a sealed password to the server it is for. */
export function passwordPurpose(serverId: string): string {
  return `new password of ${serverId}`
}

const settle: LocalStep<ComputeDeps, ActOnServerParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, call) => {
    const { params, sagaId } = call
    const { view } = call.output<CellAnswer<'instance.act'>>('ask')!
    applyViews(tx, params.cellId, [view])
    if (params.plan !== null) await settlePlan(tx, { ...params, plan: params.plan })
    releaseServer(tx, params.serverId, sagaId)
    return null
  },
  forwardOnly: true,
  // The view is the cell's truth; releasing is done by `take` too.
  undo: 'none',
}

/** Has a server's cell do something to its guest; done when the cell has accepted, and its feed tells the rest. */
export const actOnServerSaga: Saga<ComputeDeps, ActOnServerParams> = {
  name: 'act-on-server',
  version: 1,
  steps: [take, ask, settle],
}
