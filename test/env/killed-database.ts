import type { Executor, StatementValues, Transactional, Tx } from '#common/db/database.ts'
import { isRead } from '#common/db/retry.ts'
import type { Statement } from '#common/db/statement.ts'
import { ormThrough } from './orm-through.ts'

/** When the process of a `KilledDatabase` dies. */
export interface Death {
  /** Which of the commits that count; infinite: never. */
  readonly atCommit: number
  readonly when: 'before' | 'after'
  /** Which statements make a commit count, by their texts. */
  readonly counts: RegExp
}

/**
 * A database whose process dies at its nth commit: of a transaction, or of a statement that commits by itself. From then on
 * nothing works for that process, as for one that was killed.
 */
export class KilledDatabase implements Transactional {
  readonly orm: Transactional['orm']
  /** Resolves when the process dies. */
  readonly died: Promise<void>
  readonly #db: Transactional
  readonly #died = Promise.withResolvers<void>()
  #death: Death | undefined
  /** Those that counted since it was armed. */
  commits = 0
  #isDead = false

  constructor(db: Transactional) {
    this.#db = db
    this.died = this.#died.promise
    this.orm = ormThrough(db.orm, (text, work) => this.#byItself(text, work))
  }

  /** From now on commits are counted. */
  arm(death: Death): void {
    this.#death = death
  }

  get isDead(): boolean {
    return this.#isDead
  }

  run(statement: Statement, values: StatementValues): ReturnType<Executor['run']> {
    return this.#byItself(statement.text, () => this.#db.run(statement, values))
  }

  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    return this.#byItself(statement.text, () => this.#db.rows<Row>(statement, values))
  }

  async transaction<T>(work: (tx: Tx) => Promise<T> | T): Promise<T> {
    this.#assertAlive()
    let isLast = false
    const result = await this.#db.transaction(async (tx) => {
      const texts: string[] = []
      const done = await work(noting(tx, texts))
      // Queued statements may fail here: only a transaction that is about to commit counts.
      await tx.flush()
      isLast = this.#isLast(texts)
      if (isLast && this.#death?.when === 'before') throw this.#die()
      return done
    })
    if (isLast) throw this.#die()
    return result
  }

  onCommit(listener: () => void): () => void {
    return this.#db.onCommit(listener)
  }

  async #byItself<T>(text: string, work: () => Promise<T>): Promise<T> {
    this.#assertAlive()
    const isLast = this.#isLast([text])
    if (isLast && this.#death?.when === 'before') throw this.#die()
    const result = await work()
    if (isLast) throw this.#die()
    return result
  }

  /** Whether the commit of these statements is the one at which the process dies. */
  #isLast(texts: readonly string[]): boolean {
    const { atCommit = Number.POSITIVE_INFINITY, counts = /./ } = this.#death ?? {}
    const isCounted = texts.some((text) => !isRead(text) && counts.test(text))
    if (this.#death === undefined || !isCounted) return false
    this.commits += 1
    return this.commits === atCommit
  }

  #die(): Error {
    this.#isDead = true
    this.#died.resolve()
    return new Error('killed')
  }

  #assertAlive(): void {
    if (this.#isDead) throw new Error('killed')
  }
}

/** The same transaction; the texts of its statements are added to `texts`. */
function noting(tx: Tx, texts: string[]): Tx {
  let orm: Tx['orm'] | undefined
  return {
    transactional: true,
    get orm() {
      orm ??= ormThrough(tx.orm, (text, work) => {
        texts.push(text)
        return work()
      })
      return orm
    },
    run: (statement, values) => {
      texts.push(statement.text)
      return tx.run(statement, values)
    },
    rows: (statement, values) => {
      texts.push(statement.text)
      return tx.rows(statement, values)
    },
    queue: (statement, values, expected) => {
      texts.push(statement.text)
      tx.queue(statement, values, expected)
    },
    flush: () => tx.flush(),
    afterCommit: (done) => tx.afterCommit(done),
    shownBy: (hasCommitted) => tx.shownBy(hasCommitted),
  }
}
