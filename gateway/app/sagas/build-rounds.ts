import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, type InstanceId, newId } from '#common/ids.ts'
import type { Json, LocalStep, RemoteStep, Step, StepCall } from '#common/saga/saga.ts'
import type { BuildAnswer } from '#openapi/wire/cell.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { findMapping, lockMapping, queueServerRelease } from '../../db/instance-mappings.ts'
import type { RequestSpec } from '../../db/request-specs.ts'
import { queueViews } from '../../db/server-index.ts'
import { queueTraces } from '../../db/traces.ts'
import type { ComputeDeps } from '../compute.ts'
import { showVolumesAttached } from '../servers/boot/record-volumes.ts'
import { buildRequest } from './build-request.ts'
import { giveUpBuild } from './give-up-build.ts'
import { assignNextCell, CELLS_TRIED_MAX, type Target } from './next-cell.ts'

export interface BuildParams {
  readonly serverId: InstanceId
  /** Of the wire's build and delete, one per round. */
  readonly operationIds: readonly string[]
  /** It is built with volumes; absent: with none. */
  readonly hasVolumes?: true
}

/**
 * The committed answer of a cell; or the fact that it no longer matters, because the server is mapped elsewhere or is
 * being deleted.
 */
type BuildOutcome = BuildAnswer | { readonly outcome: 'superseded' }

/** `next`: the cell to ask in the following round; null when there is none to follow. */
type Settled = { readonly next: Target | null }

type BuildCall<P extends BuildParams> = StepCall<ComputeDeps, P>

const ROUNDS_MAX = CELLS_TRIED_MAX

/** As many as there can be rounds. */
export function operationIds(): readonly string[] {
  return Array.from({ length: ROUNDS_MAX }, () => newId<string>())
}

/**
 * Asks one cell after the other to build the server, the next only after the former's committed refusal. `first`
 * tells the first cell to ask; undefined: nothing is to be built.
 */
export function buildRounds<P extends BuildParams>(
  first: (call: BuildCall<P>) => Target | undefined,
): readonly Step<ComputeDeps, P>[] {
  return Array.from({ length: ROUNDS_MAX }, (_, index) => index + 1).flatMap((round) => {
    const target = (call: BuildCall<P>): Target | undefined =>
      round === 1 ? first(call) : (call.output<Settled>(`settle-${round - 1}`)?.next ?? undefined)
    return [askStep(round, target), settleStep(round, target)]
  })
}

function askStep<P extends BuildParams>(
  round: number,
  target: (call: BuildCall<P>) => Target | undefined,
): RemoteStep<ComputeDeps, P> {
  return {
    kind: 'remote',
    name: `build-${round}`,
    when: (call) => target(call) !== undefined,
    // A cell that cannot report its outcome is asked until it can: no other may build the server meanwhile.
    forwardOnly: true,
    run: async (call) => {
      const to = target(call)!
      const { deps, params } = call
      const request = await deps.specCache.find(deps.db, params.serverId)
      if (request === undefined) return SUPERSEDED
      try {
        return await askBuild(call, to, round, request)
      } catch (error) {
        if (await isSuperseded(call, to)) return SUPERSEDED
        throw error
      }
    },
    // Only for a saga begun by another version: nothing of the attempt is left, and the server shows that.
    undo: (call) => {
      const to = target(call)
      return to === undefined ? Promise.resolve() : undoBuild(call, to, round)
    },
  }
}

const SUPERSEDED = { outcome: 'superseded' } as const

async function askBuild<P extends BuildParams>(
  { deps, params, work }: BuildCall<P>,
  to: Target,
  round: number,
  request: RequestSpec,
): Promise<BuildOutcome> {
  const cell = cellRef(deps, to.cellId)
  const { spec } = request
  const image = spec.savedDisk?.image ?? spec.image
  const build = buildRequest(deps, { ...request, spec: { ...spec, image } }, to.cellId)
  const answer = await deps.askCell(
    cell,
    'instance.build',
    { operation: operationOf(params, to, round), build },
    { work },
  )
  deps.cells.answered(params.serverId, answer)
  return withoutClaim(answer)
}

/** It says nothing once the summaries of the cell have it. */
function withoutClaim(answer: BuildAnswer): BuildAnswer {
  if (answer.outcome !== 'accepted') return answer
  const { outcome, view, trace } = answer
  return { outcome, view, trace }
}

async function isSuperseded<P extends BuildParams>(
  { deps, params }: BuildCall<P>,
  { attempt }: Target,
): Promise<boolean> {
  const mapping = await findMapping(deps.db, params.serverId)
  return mapping === undefined || mapping.isDeleting || mapping.attempt !== attempt
}

async function undoBuild<P extends BuildParams>(
  { deps, params, work, sagaId }: BuildCall<P>,
  to: Target,
  round: number,
): Promise<void> {
  const operation = operationOf(params, to, round)
  const cell = cellRef(deps, to.cellId)
  const answer = await deps.askCell(cell, 'instance.delete', { operation }, { work })
  if (answer.outcome !== 'deleted')
    throw new Failure('unavailable', `Cell ${cell.name} is still deleting the server.`)
  await deps.db.transaction((tx) => giveUpBuild(tx, deps, params.serverId, sagaId))
}

function settleStep<P extends BuildParams>(
  round: number,
  target: (call: BuildCall<P>) => Target | undefined,
): LocalStep<ComputeDeps, P> {
  return {
    kind: 'local',
    name: `settle-${round}`,
    when: (call) => call.output(`build-${round}`) !== undefined,
    forwardOnly: true,
    run: (tx, call) => {
      const outcome = call.output<BuildOutcome & { [key: string]: Json }>(`build-${round}`)!
      return settle(tx, call, target(call)!, outcome)
    },
    // The build's own undo takes the server out of the cell, and with it all that this wrote.
    undo: 'none',
  }
}

async function settle<P extends BuildParams>(
  tx: Tx,
  { deps, params, sagaId, work }: BuildCall<P>,
  to: Target,
  answer: BuildOutcome,
): Promise<Settled> {
  const { serverId } = params
  if (answer.outcome === 'accepted' && params.hasVolumes) await showVolumesAttached(tx, serverId)
  if (answer.outcome === 'accepted') queueViews(tx, to.cellId, [answer.view])
  if (answer.outcome === 'accepted' || answer.outcome === 'refused')
    queueTraces(tx, [{ serverId, attempt: to.attempt, trace: answer.trace }])
  if (answer.outcome === 'refused') {
    const mapping = await lockMapping(tx, serverId)
    if (mapping === undefined || mapping.attempt !== to.attempt) return { next: null }
    const { reason } = answer
    const round = { owner: sagaId, next: sagaId, reason, requestId: work.requestId }
    return { next: (await assignNextCell(tx, deps, mapping, round)) ?? null }
  }
  queueServerRelease(tx, serverId, sagaId)
  return { next: null }
}

function operationOf(params: BuildParams, { attempt }: Target, round: number) {
  return { id: params.operationIds[round - 1]!, serverId: params.serverId, attempt }
}

/** A cell may be unknown to this process for a moment; its id is enough to ask it. */
function cellRef(deps: ComputeDeps, id: CellId): CellRef {
  return deps.cells.cell(id) ?? { id, name: id }
}
