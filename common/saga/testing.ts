import type { Executor, StatementValues, Transactional, Tx } from '../db/database.ts'
import type { Statement } from '../db/statement.ts'
import { Failure } from '../errors.ts'
import type { Saga, SagaOutcome, Step, StepCall } from './saga.ts'

/** One way to put a saga to the test, and how it must end. */
export interface Trial<Deps, Params> {
  readonly label: string
  readonly saga: Saga<Deps, Params>
  readonly ends: SagaOutcome
}

type Call<Deps, Params> = StepCall<Deps, Params>

const injected = () => new Failure('internal', 'injected')

/**
 * The three trials every saga must pass, for every step: it does its work and then reports failure (the harder
 * case: the undo has something to undo); it runs twice; its undo runs twice. A step added later is covered at once.
 * Steps that are never reached under the test's inputs end as 'done', so give `reached`.
 */
export function trialsOf<Deps, Params>(
  saga: Saga<Deps, Params>,
  reached: (step: string) => boolean = () => true,
): readonly Trial<Deps, Params>[] {
  const steps = saga.steps.filter(({ name }) => reached(name))
  const undoable = steps.filter(({ forwardOnly }) => forwardOnly !== true)
  const last = undoable.at(-1)
  return [
    ...undoable.map(({ name }): Trial<Deps, Params> => {
      return { label: `fails after ${name}`, saga: failingAfter(saga, name), ends: 'unwound' }
    }),
    ...steps.map(({ name }): Trial<Deps, Params> => {
      return { label: `runs ${name} twice`, saga: repeating(saga, name), ends: 'done' }
    }),
    ...undoable.map(({ name }): Trial<Deps, Params> => {
      const twice = undoingTwice(saga, name)
      const failing = last === undefined ? twice : failingAfter(twice, last.name)
      return { label: `undoes ${name} twice`, saga: failing, ends: 'unwound' }
    }),
  ]
}

/** The same saga, whose step does its work and then reports that it failed. */
function failingAfter<Deps, Params>(saga: Saga<Deps, Params>, name: string): Saga<Deps, Params> {
  return changed(saga, name, (step) => {
    if (step.kind === 'local')
      return {
        ...step,
        run: async (tx: Tx, call: Call<Deps, Params>) => {
          await step.run(tx, call)
          throw injected()
        },
        ...(step.fastPath && {
          fastPath: (tx: Tx, call: Call<Deps, Params>) => {
            step.fastPath!(tx, call)
            throw injected()
          },
        }),
      }
    return {
      ...step,
      run: async (call: Call<Deps, Params>, signal: AbortSignal) => {
        await step.run(call, signal)
        throw injected()
      },
    }
  })
}

function repeating<Deps, Params>(saga: Saga<Deps, Params>, name: string): Saga<Deps, Params> {
  return changed(saga, name, (step) => {
    // A local step commits with its log entry, so only a remote one can ever run a second time.
    if (step.kind === 'local') return step
    return {
      ...step,
      run: async (call: Call<Deps, Params>, signal: AbortSignal) => {
        await step.run(call, signal)
        return step.run(call, signal)
      },
    }
  })
}

function undoingTwice<Deps, Params>(saga: Saga<Deps, Params>, name: string): Saga<Deps, Params> {
  return changed(saga, name, (step) => {
    if (step.undo === 'none') return step
    if (step.kind === 'local') {
      const { undo } = step
      return {
        ...step,
        undo: async (tx: Tx, call: Call<Deps, Params>) => {
          await undo(tx, call)
          await undo(tx, call)
        },
      }
    }
    const { undo } = step
    return {
      ...step,
      undo: async (call: Call<Deps, Params>, signal: AbortSignal) => {
        await undo(call, signal)
        await undo(call, signal)
      },
    }
  })
}

function changed<Deps, Params>(
  saga: Saga<Deps, Params>,
  name: string,
  change: (step: Step<Deps, Params>) => Step<Deps, Params>,
): Saga<Deps, Params> {
  const steps = saga.steps.map((step) => (step.name === name ? change(step) : step))
  return { ...saga, steps }
}

/**
 * A database whose process dies at its nth transaction: just before it commits anything, or just after it did. From
 * then on nothing works for that process, as for one that was killed.
 */
export class CrashingDatabase implements Transactional {
  readonly orm: Transactional['orm']
  readonly #db: Transactional
  #dieAt: number
  readonly #when: 'before' | 'after'
  transactions = 0

  constructor(db: Transactional, dieAt: number, when: 'before' | 'after') {
    this.#db = db
    this.orm = db.orm
    this.#dieAt = dieAt
    this.#when = when
  }

  /** Lets the process live so far, and die at its nth transaction from now. */
  dieIn(transactions: number): void {
    this.#dieAt = this.transactions + transactions
  }

  get isDead(): boolean {
    return this.transactions >= this.#dieAt
  }

  run(statement: Statement, values: StatementValues): ReturnType<Executor['run']> {
    this.#assertAlive()
    return this.#db.run(statement, values)
  }

  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    this.#assertAlive()
    return this.#db.rows(statement, values)
  }

  async transaction<T>(work: (tx: Tx) => Promise<T> | T): Promise<T> {
    this.#assertAlive()
    const result = await this.#db.transaction(async (tx) => {
      const done = await work(tx)
      // Queued statements may fail here: only a transaction that is about to commit counts.
      await tx.flush()
      this.transactions += 1
      if (this.isDead && this.#when === 'before') throw new Error('killed before its commit')
      return done
    })
    if (this.isDead) throw new Error('killed after its commit')
    return result
  }

  onCommit(listener: () => void): () => void {
    return this.#db.onCommit(listener)
  }

  #assertAlive(): void {
    if (this.isDead) throw new Error('killed')
  }
}
