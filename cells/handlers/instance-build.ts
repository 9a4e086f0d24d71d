import type { WorkContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { type InstanceId, newId, type SagaId } from '#common/ids.ts'
import type { SagaRun } from '#common/saga/engine.ts'
import type { BuildAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import type { Cell } from '../cell.ts'
import { type Decision, decideOnFreshHosts } from '../conductor/decide.ts'
import { instanceView } from '../conductor/instance.ts'
import { building } from '../conductor/sagas/boot/building.ts'
import { type Claimed, claimStep } from '../conductor/sagas/boot/outputs.ts'
import type { BootParams } from '../conductor/sagas/boot/params.ts'
import { bootSaga } from '../conductor/sagas/boot.ts'
import { findInstance } from '../db/instances.ts'
import {
  type AttemptRecord,
  findBuildRecord,
  insertBuildRecord,
  queueBuildRecord,
  recordTrace,
} from '../db/operations.ts'
import { nodeWish } from '../placement/node-wish.ts'
import { resourcesOf } from '../placement/resources.ts'
import { noHostReason } from '../scheduler/trace.ts'
import { withStores } from '../volumes/build-volumes.ts'

type Ask = CellAsk<'instance.build'>

/** Decisions made again when every candidate of the one before had filled up meanwhile. */
const DECISIONS_MAX = 3
/** A record read may end before its instance is read; it cannot begin again. */
const READS_MAX = 3

/** Accepts the server, claimed and in the hands of a boot saga, or refuses it: once for this attempt, committed. */
export async function instanceBuild(cell: Cell, ask: Ask, work: WorkContext): Promise<BuildAnswer> {
  try {
    return await acceptOrRefuse(cell, ask, work)
  } catch (error) {
    if (!isDuplicate(error)) throw error
    return answerAgain(cell, ask)
  }
}

async function acceptOrRefuse(cell: Cell, ask: Ask, work: WorkContext): Promise<BuildAnswer> {
  const { conductor } = cell
  const { build } = ask
  const taken = { resources: resourcesOf(build), imageProperties: build.image.properties }
  for (let tries = 1; ; tries += 1) {
    let nth: number | undefined
    // At once: the servers of one request are asked for together, and would all choose the same host.
    const decision = await decideOnFreshHosts(conductor, build, (best) => {
      nth = conductor.hosts.reserve(best, taken)
    })
    if (nth === undefined) return refuse(cell, ask, decision, [])
    try {
      const answer = await accept(cell, ask, work, decision)
      conductor.hosts.settleClaim(nth)
      return answer.outcome === 'accepted'
        ? { ...answer, claim: { processId: cell.processId, nth } }
        : answer
    } catch (error) {
      conductor.hosts.settleClaim(nth)
      if (!isFailure(error, 'no-capacity')) throw error
      const lost = decision.selection.hosts.map(({ name }) => name)
      if (tries === DECISIONS_MAX) return refuse(cell, ask, decision, lost)
      await conductor.hosts.refresh()
    }
  }
}

async function accept(
  cell: Cell,
  { operation, build }: Ask,
  work: WorkContext,
  decision: Decision,
): Promise<BuildAnswer> {
  const { conductor, sagas } = cell
  const params = bootParams(cell, { operation, build }, decision)
  const attempt = { id: operation.serverId as InstanceId, attempt: operation.attempt }
  const [best] = decision.selection.hosts
  const id = newId<SagaId>()
  conductor.builds.keep(attempt, await withStores(conductor.db, build))
  const expected = decision.trace({ lostClaims: [], chosen: best?.name ?? null })
  const record = { operation, outcome: 'accepted', trace: JSON.stringify(expected) } as const
  const before = (tx: Tx) => queueBuildRecord(tx, record, newerAttempt)
  try {
    const start = { id, subject: operation.serverId, params, work, before }
    const run = await sagas.start(bootSaga, start)
    void run.finished.finally(() => conductor.builds.drop(attempt))
    return await accepted(cell, params, run, decision)
  } catch (error) {
    conductor.builds.drop(attempt)
    if (!isFailure(error, 'conflict')) throw error
    return { outcome: 'refused', reason: error.message, trace: expected }
  }
}

function newerAttempt(): Failure {
  return new Failure('conflict', 'The cell has a newer attempt of the server.')
}

function bootParams(
  { conductor }: Cell,
  { operation, build }: Ask,
  decision: Decision,
): BootParams {
  const nodes = nodeWish(build)
  return {
    operation,
    projectId: build.projectId,
    resources: resourcesOf(build),
    ...(nodes !== null && { nodes }),
    imageProperties: build.image.properties,
    ...(build.group !== undefined && { group: build.group }),
    candidates: decision.selection.hosts.map(({ hostId }) => hostId),
    startedAt: conductor.clock.now(),
  }
}

async function accepted(
  { conductor }: Cell,
  params: BootParams,
  run: SagaRun,
  decision: Decision,
): Promise<BuildAnswer> {
  const claimed = run.output<Claimed>(claimStep(1))
  if (claimed?.outcome !== 'claimed') throw new Error('A boot began without its claim')
  const { placed, lost, version } = claimed
  const trace = decision.trace({ lostClaims: lost, chosen: placed.host })
  const instance = building(params, placed, version, run.id)
  // Seldom enough for a commit of its own; until then the record names the best candidate.
  if (lost.length > 0) await recordTrace(conductor.db, instance, trace)
  return { outcome: 'accepted', view: instanceView(instance), trace }
}

async function refuse(
  { conductor }: Cell,
  { operation }: Ask,
  decision: Decision,
  lostClaims: readonly string[],
): Promise<BuildAnswer> {
  const trace = decision.trace({ lostClaims, chosen: null })
  const reason = noHostReason(decision.selection)
  const record = { operation, outcome: 'refused', reason, trace: JSON.stringify(trace) } as const
  await insertBuildRecord(conductor.db, record)
  return { outcome: 'refused', reason, trace }
}

/** The earlier answer to this attempt, with its present state. */
async function answerAgain({ conductor }: Cell, { operation }: Ask): Promise<BuildAnswer> {
  for (let read = 0; read < READS_MAX; read += 1) {
    const record = await findBuildRecord(conductor.db, operation)
    if (record === undefined)
      throw new Failure('conflict', 'An older attempt of the server is still in this cell.')
    if (record.outcome === 'deleted' || record.ended === 'deleted') return { outcome: 'deleted' }
    if (record.outcome === 'refused' || record.ended === 'not-built') return refusedAgain(record)
    const instance = await findInstance(conductor.db, operation.serverId as InstanceId)
    if (instance?.attempt === operation.attempt)
      return { outcome: 'accepted', view: instanceView(instance), trace: traceOf(record) }
  }
  throw new Failure('unavailable', 'The server is changing too fast to be shown.')
}

function refusedAgain(record: AttemptRecord): BuildAnswer {
  return { outcome: 'refused', reason: record.reason ?? '', trace: traceOf(record) }
}

function traceOf({ trace }: AttemptRecord): Trace {
  if (trace === null) throw new Error('A build was answered without a trace')
  return trace
}
