import { type Placeholder, sql } from 'drizzle-orm'
import type { Executor } from './database.ts'
import { type Statement, statement } from './statement.ts'

interface Asked<Row> extends PromiseWithResolvers<readonly Row[]> {
  readonly key: string
}

/** A query for the rows of so many keys. */
type QueryOf = (keys: readonly Placeholder[]) => { toSQL(): { sql: string; params: unknown[] } }

/** Few sizes, so that few statements are prepared per connection. */
const SIZES = [1, 2, 4, 8, 16] as const
const SIZE_MAX = 16

/**
 * Looks up rows by their key. Keys requested in one turn of the event loop share a statement: a round trip costs the
 * process, and the database, more than a row does. A single key is looked up alone, and no later.
 */
export class Lookup<Row> {
  readonly #statements: ReadonlyMap<number, Statement>
  readonly #keyOf: (row: Row) => string
  readonly #read: (row: Row) => Row
  readonly #asked = new WeakMap<Executor, Asked<Row>[]>()

  /** `read` makes of a row as the driver hands it over what callers get. */
  constructor(query: QueryOf, keyOf: (row: Row) => string, read: (row: Row) => Row = (row) => row) {
    const sized = (size: number) => statement(query(placeholders(size)))
    this.#statements = new Map(SIZES.map((size) => [size, sized(size)]))
    this.#keyOf = keyOf
    this.#read = read
  }

  /** The row with this key; undefined when there is none. */
  async one(db: Executor, key: string): Promise<Row | undefined> {
    const [row] = await this.all(db, key)
    return row
  }

  /** The rows with this key. */
  all(db: Executor, key: string): Promise<readonly Row[]> {
    const asked = this.#asked.get(db) ?? this.#open(db)
    const answer = { key, ...Promise.withResolvers<readonly Row[]>() }
    asked.push(answer)
    return answer.promise
  }

  #open(db: Executor): Asked<Row>[] {
    const asked: Asked<Row>[] = []
    this.#asked.set(db, asked)
    setImmediate(() => {
      this.#asked.delete(db)
      while (asked.length > 0) void this.#ask(db, asked.splice(0, SIZE_MAX))
    })
    return asked
  }

  async #ask(db: Executor, asked: readonly Asked<Row>[]): Promise<void> {
    try {
      const keys = [...new Set(asked.map(({ key }) => key))]
      const size = SIZES.find((each) => each >= keys.length)!
      const found = await db.rows<Row>(this.#statements.get(size)!, valuesOf(keys, size))
      const rows = Map.groupBy(found.map(this.#read), this.#keyOf)
      for (const { key, resolve } of asked) resolve(rows.get(key) ?? [])
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }
}

function placeholders(size: number): Placeholder[] {
  return Array.from({ length: size }, (_, place) => sql.placeholder(String(place)))
}

/** The places that are left say the last key again. */
function valuesOf(keys: readonly string[], size: number) {
  const keyAt = (place: number) => keys[Math.min(place, keys.length - 1)]!
  return Object.fromEntries(Array.from({ length: size }, (_, place) => [place, keyAt(place)]))
}
