import type { Clock } from '../clock.ts'
import type { WorkContext } from '../context.ts'
import type { Transactional, Tx } from '../db/database.ts'
import { errorChain, isFailure } from '../errors.ts'
import { errorFields, type Logger } from '../log.ts'
import { beginSpan, isTraced, withinSpan } from '../trace/span.ts'
import type { Lease } from './lease.ts'
import { type Hold, markSaga, queueSaga, queueSagaHold, SagaLost, type SagaRecord } from './log.ts'
import { type LogRow, Progress } from './progress.ts'
import {
  FastPathFailed,
  type Json,
  type LocalStep,
  type RemoteStep,
  type Saga,
  type SagaOutcome,
  type Step,
  type StepCall,
} from './saga.ts'
import { stepSpan, TRANSACTION_SPAN } from './saga-spans.ts'

export interface Execution {
  readonly db: Transactional
  readonly deps: unknown
  readonly clock: Clock
  readonly log: Logger
  readonly saga: Saga<unknown, never>
  readonly record: SagaRecord
  readonly lease: Lease
  readonly signal: AbortSignal
  /** The steps of the saga that have committed. */
  progress: Progress
}

type AnyStep = Step<unknown, never>

/** Pauses between tries of a remote step that does not answer; after the last the saga rests for `REST_MS`. */
const PAUSES_MS = [100, 300, 1_000]
export const REST_MS = 3_000

/** Changes that commit together with the beginning of sagas. */
export interface FirstTransaction {
  /** Runs first. */
  readonly before?: (tx: Tx) => Promise<void> | void
  /** Runs last: for rows many transactions want, so that they are locked for the shortest time. */
  readonly after?: (tx: Tx) => Promise<void> | void
}

/** Commits each saga's row with its local steps up to the first remote one, which the log then has as started. */
export async function firstTransaction(
  db: Transactional,
  executions: readonly Execution[],
  around: FirstTransaction,
): Promise<void> {
  const [first] = executions
  if (first === undefined) throw new Error('A transaction begins no saga')
  const begun = await inOneTransaction(db, first.record.work, async (way) => {
    const { tx } = way
    await around.before?.(tx)
    const progresses: Progress[] = []
    for (const execution of executions) progresses.push(await begin(execution, way))
    await around.after?.(tx)
    return progresses
  })
  for (const [index, execution] of executions.entries()) execution.progress = begun[index]!
}

/** Local steps by their fast paths; where one of these fails, all of the steps again without. */
function inOneTransaction<T>(
  db: Transactional,
  within: WorkContext,
  steps: (way: Way) => Promise<T>,
): Promise<T> {
  return withinSpan(within, TRANSACTION_SPAN, async (work) => {
    try {
      return await db.transaction((tx) => steps({ tx, work, isFastPath: true }))
    } catch (error) {
      if (!(error instanceof FastPathFailed)) throw error
      return db.transaction((tx) => steps({ tx, work, isFastPath: false }))
    }
  })
}

async function begin(execution: Execution, way: Way): Promise<Progress> {
  const { record, lease } = execution
  const progress = new Progress()
  const next = await runLocals(execution, way, progress)
  queueSaga(way.tx, record, lease, holdBefore(next, execution, progress))
  return progress
}

/** The log of a saga that has ended well is never read, so its last commit leaves the log as it is. */
function holdBefore(next: AnyStep | undefined, execution: Execution, { log }: Progress): Hold {
  return next === undefined ? ended(execution, 'done') : { state: 'running', log }
}

/** Takes the saga to its end from wherever the log says it is, or leaves it for later when a remote is silent. */
export async function execute(execution: Execution): Promise<SagaOutcome | 'handed-over'> {
  const { saga, record } = execution
  if (record.version !== saga.version || execution.progress.hasFailed) return unwind(execution)
  for (;;) {
    const step = nextStep(execution, execution.progress)
    if (step === undefined) return 'done'
    execution.signal.throwIfAborted()
    if (step.kind === 'local') {
      const failure = await commit(execution, [])
      if (failure !== undefined) return fail(execution, failure)
      continue
    }
    const answer = await askUntilKnown(execution, step, 'run')
    if (answer === 'silent') return 'handed-over'
    const failure = answer.ok
      ? await commit(execution, [{ step: step.name, event: 'succeeded', data: answer.value }])
      : { step, error: answer.error, before: [] }
    if (failure !== undefined) return fail(execution, failure)
  }
}

interface StepFailure {
  readonly step: AnyStep
  readonly error: unknown
  /** Rows known before the step failed, whose transaction was rolled back with it. */
  readonly before: readonly LogRow[]
}

/** One transaction: the results known already, all local steps that follow, and the start of the next remote step. */
async function commit(
  execution: Execution,
  known: readonly LogRow[],
): Promise<StepFailure | undefined> {
  const { db, record, lease } = execution
  let failed: AnyStep | undefined
  try {
    execution.progress = await inOneTransaction(db, record.work, async (way) => {
      const progress = execution.progress.with(known)
      failed = undefined
      const entering = (step: AnyStep) => (failed = step)
      const next = await runLocals(execution, { ...way, entering }, progress)
      queueSagaHold(way.tx, record.id, lease, holdBefore(next, execution, progress))
      return progress
    })
    return undefined
  } catch (error) {
    // A statement that the last step queued fails with the commit, and counts as that step's failure.
    const isLost = error instanceof SagaLost || isFailure(error, 'unavailable')
    if (failed === undefined || isLost) throw error
    return { step: failed, error, before: known }
  }
}

/** How local steps are run. */
interface Way {
  readonly tx: Tx
  /** Of the transaction. */
  readonly work: WorkContext
  readonly isFastPath: boolean
  readonly entering?: (step: AnyStep) => void
}

/** Runs local steps until a remote one is next; returns that one, its start in `progress`, or undefined at the end. */
async function runLocals(
  execution: Execution,
  { tx, work, isFastPath, entering }: Way,
  progress: Progress,
): Promise<RemoteStep<unknown, never> | undefined> {
  for (;;) {
    const step = nextStep(execution, progress)
    if (step === undefined) return undefined
    if (step.kind === 'remote') {
      progress.add({ step: step.name, event: 'started', data: null })
      return step
    }
    entering?.(step)
    const span = isTraced(work) ? beginSpan(work, stepSpan(execution.record, step.name)) : undefined
    const call = stepCall(execution, progress, span?.work)
    const fastPath = isFastPath ? step.fastPath : undefined
    try {
      const data = fastPath === undefined ? await step.run(tx, call) : fastPath(tx, call)
      progress.add({ step: step.name, event: 'succeeded', data })
    } catch (error) {
      span?.end(error)
      throw error
    }
    span?.end()
  }
}

function nextStep(execution: Execution, progress: Progress): AnyStep | undefined {
  const call = stepCall(execution, progress)
  return execution.saga.steps.find(
    (step) => !progress.has(step.name, 'succeeded') && (step.when?.(call) ?? true),
  )
}

function stepCall(
  execution: Execution,
  progress: Progress,
  work?: WorkContext,
): StepCall<unknown, never> {
  const { deps, record } = execution
  return {
    deps,
    params: record.params as never,
    sagaId: record.id,
    work: work ?? record.work,
    output: <T extends Json>(step: string) => progress.output(step) as T | undefined,
  }
}

type Answer =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: unknown }

/** Asks until the outcome is known; 'silent' when it stayed unknown and the saga has been put to rest. */
async function askUntilKnown(
  execution: Execution,
  step: RemoteStep<unknown, never>,
  what: 'run' | 'undo',
): Promise<Answer | 'silent'> {
  const { clock, signal } = execution
  for (const [before, pause] of [...PAUSES_MS, undefined].entries()) {
    try {
      return { ok: true, value: await askOnce(execution, step, what, before + 1) }
    } catch (error) {
      signal.throwIfAborted()
      if (!isFailure(error, 'unavailable')) return { ok: false, error }
      if (pause === undefined) await rest(execution, error)
      else await clock.sleep(pause, signal)
    }
  }
  return 'silent'
}

function askOnce(
  execution: Execution,
  step: RemoteStep<unknown, never>,
  what: 'run' | 'undo',
  tries: number,
): Promise<Json> {
  const { record, progress, signal } = execution
  const once = async (work: WorkContext): Promise<Json> => {
    const call = stepCall(execution, progress, work)
    if (what === 'run') return step.run(call, signal)
    if (step.undo !== 'none') await step.undo(call, signal)
    return null
  }
  const isUndo = what === 'undo'
  return withinSpan(record.work, stepSpan(record, step.name, { tries, isUndo }), once)
}

/** Leaves the saga for the recovery to take up again a little later. */
async function rest(execution: Execution, error: unknown): Promise<'handed-over'> {
  const { db, record, lease, log, progress } = execution
  const state = progress.hasFailed ? 'unwinding' : 'running'
  await markSaga(db, record.id, lease, { state, pauseMs: REST_MS })
  log.info({ ...fieldsOf(record), error: errorChain(error) }, 'saga rests')
  return 'handed-over'
}

async function fail(
  execution: Execution,
  { step, error, before }: StepFailure,
): Promise<SagaOutcome | 'handed-over'> {
  const { db, record, lease, log } = execution
  if (step.forwardOnly === true) return rest(execution, error)
  log.info({ ...fieldsOf(record), step: step.name, ...errorFields(error) }, 'saga unwinds')
  const kind = isFailure(error) ? error.kind : 'internal'
  const failed: LogRow = {
    step: step.name,
    event: 'failed',
    data: { kind, message: error instanceof Error ? error.message : '', chain: errorChain(error) },
  }
  const progress = execution.progress.with([...before, failed])
  await db.transaction((tx) => {
    queueSagaHold(tx, record.id, lease, { state: 'unwinding', log: progress.log })
  })
  execution.progress = progress
  return unwind(execution)
}

async function unwind(execution: Execution): Promise<SagaOutcome | 'handed-over'> {
  const { db, record, lease } = execution
  for (const step of execution.progress.toUndo(execution.saga)) {
    execution.signal.throwIfAborted()
    const outcome = await undoStep(execution, step)
    if (outcome !== 'undone') return outcome
  }
  await markSaga(db, record.id, lease, ended(execution, 'unwound'))
  return 'unwound'
}

async function undoStep(
  execution: Execution,
  step: AnyStep,
): Promise<'undone' | 'stuck' | 'handed-over'> {
  const { db, record, lease, log } = execution
  const row: LogRow = { step: step.name, event: 'undone', data: null }
  try {
    if (step.kind === 'remote' && step.undo !== 'none') {
      const answer = await askUntilKnown(execution, step, 'undo')
      if (answer === 'silent') return 'handed-over'
      if (!answer.ok) throw answer.error
    }
    const progress = execution.progress.with([row])
    await untilUnchanged(() =>
      db.transaction(async (tx) => {
        if (step.kind === 'local') await undoLocal(execution, step, tx)
        queueSagaHold(tx, record.id, lease, { state: 'unwinding', log: progress.log })
      }),
    )
    execution.progress = progress
    return 'undone'
  } catch (error) {
    if (isFailure(error, 'unavailable') || execution.signal.aborted) throw error
    log.error({ ...fieldsOf(record), step: step.name, ...errorFields(error) }, 'saga stuck')
    const why = `step ${step.name} could not be undone: ${errorChain(error)}`
    await markSaga(db, record.id, lease, { state: 'stuck', why })
    return 'stuck'
  }
}

/** So often is an undo tried that finds, at each try, that others have changed what it read. */
const UNDO_TRIES_MAX = 5

/** No caller could repeat an undo that met a row which changed meanwhile, so it is repeated here with the row as it is now. */
async function untilUnchanged(undo: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await undo()
      return
    } catch (error) {
      const isChanged = isFailure(error, 'conflict') && !(error instanceof SagaLost)
      if (!isChanged || tries === UNDO_TRIES_MAX) throw error
    }
  }
}

async function undoLocal(
  execution: Execution,
  step: LocalStep<unknown, never>,
  tx: Tx,
): Promise<void> {
  const { undo } = step
  if (undo === 'none') return
  const { record, progress } = execution
  const once = (work: WorkContext) => undo(tx, stepCall(execution, progress, work))
  return withinSpan(record.work, stepSpan(record, step.name, { isUndo: true }), once)
}

/** A saga that has ended needs its secrets no more; one that is stuck may be continued. */
function ended({ saga, record }: Execution, state: 'done' | 'unwound'): Hold {
  return { state, params: saga.withoutSecrets?.(record.params as never) }
}

/** Names the saga and the request that began it in a log. */
function fieldsOf({ id, name, subject, work }: SagaRecord): Record<string, unknown> {
  return { saga: id, saga_name: name, subject, request_id: work.requestId }
}
