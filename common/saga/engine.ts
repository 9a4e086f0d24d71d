import { type Clock, untilTick } from '../clock.ts'
import type { WorkContext } from '../context.ts'
import type { Transactional } from '../db/database.ts'
import { errorChain, isFailure } from '../errors.ts'
import { withinTask } from '../escaped.ts'
import { newId, type SagaId } from '../ids.ts'
import type { IsolatedRunner } from '../isolated/isolated-runner.ts'
import { errorFields, type Logger } from '../log.ts'
import { secondsSince } from '../metrics/measure.ts'
import { sagaMeasure } from '../metrics/measures.ts'
import { settledWithin } from '../settled-within.ts'
import type { IsolatedSaga } from './execute-isolated.ts'
import { type Execution, execute, type FirstTransaction, firstTransaction } from './execution.ts'
import { HeldLease, type Lease, seizeLease } from './lease.ts'
import {
  type AdoptedSaga,
  adoptSagas,
  markSaga,
  postponeSuspect,
  releaseSagas,
  type SagaRecord,
} from './log.ts'
import { Progress } from './progress.ts'
import type { Json, Saga, SagaOutcome } from './saga.ts'

export interface SagaEngineOptions<Deps> {
  readonly db: Transactional
  readonly deps: Deps
  // Each saga has params of its own; the engine only hands them back to the saga they came from.
  readonly sagas: readonly Saga<Deps, never>[]
  /** The process's name, stable over restarts: a restarted process takes up its predecessor's sagas at once. */
  readonly processName: string
  readonly clock: Clock
  readonly log: Logger
  /** Called with each saga that this process has brought to its end, or set aside as stuck. */
  readonly onEnded?: (saga: SagaRecord, outcome: SagaOutcome) => void
  /** Where suspects are executed, by `executeIsolated`; absent: here, as all others. */
  readonly isolated?: Pick<IsolatedRunner, 'run'>
}

export interface SagaStart<Params> extends FirstTransaction {
  /** Chosen by the caller where other rows name the saga; absent: a new one. */
  readonly id?: SagaId
  readonly subject: string
  readonly params: Params
  readonly work: WorkContext
}

/** A saga whose first transaction has committed. */
export interface SagaRun {
  readonly id: SagaId
  /** The output of a step of the first transaction; undefined for any other step. */
  output<T extends Json>(step: string): T | undefined
  /**
   * Settles when this process has finished with the saga; 'handed-over' when the saga continues later or in another
   * process.
   */
  readonly finished: Promise<SagaOutcome | 'handed-over'>
}

const LEASE_TTL_MS = 10_000
const LEASE_RENEW_MS = 3_000
const LEASE_CHECK_MS = 1_500
const ADOPT_MAX = 200
const LAST_STEP_MS = 1_000
/** What could not be tried in an isolated process is tried again later. */
const ISOLATED_RETRY_MS = 5_000

/** Runs the sagas of one process, and takes up those left unfinished by a process that is gone. */
export class SagaEngine<Deps> implements AsyncDisposable {
  readonly #options: SagaEngineOptions<Deps>
  readonly #byName: ReadonlyMap<string, Saga<Deps, never>>
  readonly #running = new Map<SagaId, Promise<SagaOutcome | 'handed-over'>>()
  /** Their first transaction may have committed without this process knowing. */
  readonly #beginning = new Set<SagaId>()
  /** One set per running adoption: the sagas that this process executed when it began, and those begun since. */
  readonly #adoptions = new Set<Set<SagaId>>()
  /** Handed over by this process, which has not ended at them. */
  readonly #released = new Set<SagaId>()
  readonly #stop = new AbortController()
  readonly #lease: Lease
  /** True: sagas that are begun here run in the process that holds this lease. */
  readonly #isIsolated: boolean
  #renewal: Promise<void> = Promise.resolve()

  private constructor(options: SagaEngineOptions<Deps>, lease: Lease, isIsolated: boolean) {
    this.#options = options
    this.#lease = lease
    this.#isIsolated = isIsolated
    this.#byName = new Map(options.sagas.map((saga) => [saga.name, saga]))
  }

  /** Takes the process's lease, which fences off a predecessor of the same name that may still run. */
  static async open<Deps>(options: SagaEngineOptions<Deps>): Promise<SagaEngine<Deps>> {
    const lease = await seizeLease(options.db, options.processName, newId(), LEASE_TTL_MS)
    const engine = new SagaEngine(options, lease, false)
    engine.#renewal = engine.#renewForever()
    return engine
  }

  /** Of an isolated process: it only begins sagas, which the process whose lease this is then takes up. */
  static isolated<Deps>(options: SagaEngineOptions<Deps>, lease: Lease): SagaEngine<Deps> {
    return new SagaEngine(options, lease, true)
  }

  /** The lease of this process, which fences its sagas. */
  get lease(): Lease {
    return { ...this.#lease }
  }

  /** True where some must be marked as let go of before they can be taken up again: `recover` does so. */
  get hasLetGo(): boolean {
    return this.#released.size > 0
  }

  /**
   * Commits the saga with all steps up to its first remote step, and continues it in the background. A failure of that
   * first transaction leaves nothing behind and is thrown here.
   */
  async start<Params>(saga: Saga<Deps, Params>, start: SagaStart<Params>): Promise<SagaRun> {
    const [run] = await this.startTogether(saga, [start], start)
    return run!
  }

  /** Like `start`, for several sagas at once: all of them begin in one transaction, or none does. */
  async startTogether<Params>(
    saga: Saga<Deps, Params>,
    starts: readonly Omit<SagaStart<Params>, keyof FirstTransaction>[],
    around: FirstTransaction,
  ): Promise<readonly SagaRun[]> {
    const executions = starts.map((start) => {
      const { id = newId<SagaId>(), subject, params, work } = start
      const { name, version } = saga
      const record = { id, name, version, subject, params: params as Json, work }
      return this.#execution(saga as Saga<Deps, never>, record, new Progress())
    })
    const ids = executions.map(({ record }) => record.id)
    for (const seen of [this.#beginning, ...this.#adoptions]) for (const id of ids) seen.add(id)
    try {
      await firstTransaction(this.#options.db, executions, around)
      return executions.map((execution) => ({
        id: execution.record.id,
        output: <T extends Json>(step: string) => execution.progress.output(step) as T | undefined,
        finished: this.#isIsolated ? Promise.resolve('handed-over') : this.#track(execution),
      }))
    } finally {
      for (const id of ids) this.#beginning.delete(id)
    }
  }

  /** A reconciler: takes up every unfinished saga that is due and not running here. Returns how many. */
  async recover(): Promise<number> {
    const { db, isolated } = this.#options
    const released = [...this.#released]
    if (released.length > 0) await releaseSagas(db, this.#lease, released)
    for (const id of released) this.#released.delete(id)
    const idle = await this.#adoptIdle()
    for (const { log, isSuspect, ...record } of idle) {
      // Taken up by another look meanwhile.
      if (this.#running.has(record.id)) continue
      const saga = this.#byName.get(record.name)
      if (saga === undefined) {
        this.#options.log.error({ saga: record.id, saga_name: record.name }, 'saga of unknown name')
        continue
      }
      if (isSuspect && isolated !== undefined)
        void this.#keepRunning(record.id, this.#tryIsolated(record, isolated))
      else void this.#track(this.#execution(saga, record, new Progress(log)))
    }
    return idle.length
  }

  /**
   * Unfinished sagas that are due and that this process is not at. A saga that begins and ends while the database is read
   * is found there as unfinished: taken up, it would be carried out a second time.
   */
  async #adoptIdle(): Promise<readonly AdoptedSaga[]> {
    const running = new Set([...this.#running.keys(), ...this.#beginning])
    this.#adoptions.add(running)
    try {
      return await adoptSagas(this.#options.db, this.#lease, { max: ADOPT_MAX, running })
    } finally {
      this.#adoptions.delete(running)
    }
  }

  async #tryIsolated(
    record: SagaRecord,
    isolated: Pick<IsolatedRunner, 'run'>,
  ): Promise<SagaOutcome | 'handed-over'> {
    const { db, log, onEnded } = this.#options
    const { id } = record
    const task: IsolatedSaga = { kind: 'saga', id, lease: { ...this.#lease } }
    const end = await isolated.run(task as unknown as Json)
    try {
      if (end.kind === 'guilty') {
        await this.#setAside(record, end.why)
        return 'stuck'
      }
      if (end.kind === 'ended' && end.answer !== 'handed-over') {
        const outcome = end.answer as SagaOutcome
        onEnded?.(record, outcome)
        return outcome
      }
      await postponeSuspect(db, this.#lease, id, ISOLATED_RETRY_MS)
    } catch (error) {
      log.warn({ saga: id, ...errorFields(error) }, 'isolated saga handed over')
    }
    return 'handed-over'
  }

  /** A saga that ends processes must not end the next one: it stays stuck until an operator continues it. */
  async #setAside(record: SagaRecord, why: string): Promise<void> {
    const { db, log, onEnded } = this.#options
    const { id, name, subject } = record
    await markSaga(db, id, this.#lease, { state: 'stuck', why })
    log.error({ saga: id, saga_name: name, subject, why }, 'saga stuck')
    onEnded?.(record, 'stuck')
  }

  /** The process ends, so none of its sagas takes another step: a step of this one could make it due again. */
  async #setEscapedAside(record: SagaRecord, why: string): Promise<void> {
    const { clock } = this.#options
    this.#stop.abort()
    const running = this.#running.get(record.id)
    if (running !== undefined) await settledWithin(clock, LAST_STEP_MS, running)
    await this.#setAside(record, why)
  }

  /** Stops taking steps; unfinished sagas go on in the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled([...this.#running.values(), this.#renewal])
    if (!this.#isIsolated) await releaseSagas(this.#options.db, this.#lease).catch(() => undefined)
  }

  #execution(saga: Saga<Deps, never>, record: SagaRecord, progress: Progress): Execution {
    const { db, deps, clock, log } = this.#options
    const lease = this.#lease
    // Deps go in and come out of the same saga; the execution between only carries them.
    const carried = saga as Saga<unknown, never>
    const { signal } = this.#stop
    return { db, deps, clock, log, saga: carried, record, lease, signal, progress }
  }

  #track(execution: Execution): Promise<SagaOutcome | 'handed-over'> {
    const { id, name } = execution.record
    const setAside = (why: string) => this.#setEscapedAside(execution.record, why)
    const startedAt = performance.now()
    const finished = withinTask({ setAside }, () => this.#finish(execution))
    void finished.then((outcome) =>
      sagaMeasure.report({ saga: name, outcome, seconds: secondsSince(startedAt) }),
    )
    return this.#keepRunning(id, finished)
  }

  #keepRunning(
    id: SagaId,
    finished: Promise<SagaOutcome | 'handed-over'>,
  ): Promise<SagaOutcome | 'handed-over'> {
    this.#running.set(id, finished)
    void finished.finally(() => this.#running.delete(id))
    return finished
  }

  async #finish(execution: Execution): Promise<SagaOutcome | 'handed-over'> {
    const { id, name } = execution.record
    const { log, onEnded } = this.#options
    try {
      const outcome = await execute(execution)
      if (outcome !== 'handed-over') onEnded?.(execution.record, outcome)
      return outcome
    } catch (error) {
      this.#released.add(id)
      // The database or the lease is gone: the next holder of the lease continues from the log.
      if (!this.#stop.signal.aborted) {
        const level = isFailure(error, 'unavailable', 'conflict') ? 'warn' : 'error'
        log[level]({ saga: id, name, ...errorFields(error) }, 'saga handed over')
      }
      return 'handed-over'
    }
  }

  async #renewForever(): Promise<void> {
    const { clock, db, log, processName: name } = this.#options
    const terms = { name, holder: this.#lease.holder, ttlMs: LEASE_TTL_MS, renewMs: LEASE_RENEW_MS }
    let held = new HeldLease(db, clock, terms, this.#lease)
    while (!this.#stop.signal.aborted) {
      try {
        await clock.sleep(untilTick(clock, LEASE_CHECK_MS), this.#stop.signal)
        if (await held.keep()) continue
        // Harmless to the sagas, which are fenced; but of two processes under one name, one gets nothing done.
        held = new HeldLease(db, clock, terms, this.#lease)
        log.error(
          { process: name },
          'another process has this name: give each process its own name',
        )
      } catch (error) {
        if (!this.#stop.signal.aborted)
          log.warn({ error: errorChain(error) }, 'saga lease not renewed')
      }
    }
  }
}
