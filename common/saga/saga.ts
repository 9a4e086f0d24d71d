import type { WorkContext } from '../context.ts'
import type { Tx } from '../db/database.ts'
import type { SagaId } from '../ids.ts'

/** Any value that a JSON column can hold. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }

/**
 * Work of several steps that must not be left half done. Every random or timed value is chosen before it starts and is
 * part of `params`; steps share only the outputs of earlier ones. A changed step list raises `version`.
 */
export interface Saga<Deps, Params> {
  readonly name: string
  readonly version: number
  readonly steps: readonly Step<Deps, Params>[]
  /** The params without secrets: all that the saga's row keeps of them once the saga has ended. */
  readonly withoutSecrets?: (params: Params) => object
}

export type Step<Deps, Params> = LocalStep<Deps, Params> | RemoteStep<Deps, Params>

interface StepBase<Deps, Params> {
  readonly name: string
  /** Absent: always. A step whose condition is false is passed over and leaves no log entry. */
  readonly when?: (call: StepCall<Deps, Params>) => boolean
  /** True from the point of no return on: a failure here is repeated, never undone. */
  readonly forwardOnly?: boolean
}

/**
 * Changes rows of this database only. It commits together with its own log entry, those of the neighbouring local
 * steps, and the `started` entry of the next remote step: so a saga costs one commit per remote step, plus one.
 */
export interface LocalStep<Deps, Params> extends StepBase<Deps, Params> {
  readonly kind: 'local'
  run(tx: Tx, call: StepCall<Deps, Params>): Promise<Json>
  /**
   * As `run` where all is as it mostly is: asks nothing and queues everything, so that the transaction is one round
   * trip. Where it is not, this or what it queued fails with `FastPathFailed`, and `run` does it in a new transaction.
   */
  readonly fastPath?: (tx: Tx, call: StepCall<Deps, Params>) => Json
  /** Afterwards what `run` did is not there, also when it never ran. 'none' wants a comment that says why. */
  readonly undo: ((tx: Tx, call: StepCall<Deps, Params>) => Promise<void>) | 'none'
}

/**
 * Changes something elsewhere. Idempotent: after a crash it runs again. A failure of kind `unavailable` means that the
 * outcome is unknown: the step is repeated until it has an answer. Any other failure means that nothing was changed.
 */
export interface RemoteStep<Deps, Params> extends StepBase<Deps, Params> {
  readonly kind: 'remote'
  run(call: StepCall<Deps, Params>, signal: AbortSignal): Promise<Json>
  readonly undo: ((call: StepCall<Deps, Params>, signal: AbortSignal) => Promise<void>) | 'none'
}

export interface StepCall<Deps, Params> {
  readonly deps: Deps
  readonly params: Params
  readonly sagaId: SagaId
  readonly work: WorkContext
  /** The logged output of an earlier step; undefined when it was passed over or has not run. */
  readonly output: <T extends Json>(step: string) => T | undefined
}

/** All is not as a step's `fastPath` takes it to be. */
export class FastPathFailed extends Error {}

/** How a saga ended. `stuck`: an undo failed for good, or it ended a process; only an operator continues it. */
export type SagaOutcome = 'done' | 'unwound' | 'stuck'
export type SagaState = 'running' | 'unwinding' | SagaOutcome
