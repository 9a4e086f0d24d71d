import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { expect } from 'vitest'
import { Database } from '#common/db/database.ts'
import { joinDatabaseUrls, withDatabase } from '#common/db/database-url.ts'
import type { TestGalera } from '../../env/galera.ts'
import { Relay } from '../../env/relay.ts'

const WRITERS = 3
/** Large rows: another node needs a moment to apply them. */
const BYTES = 1_000_000
/** Once both have written so many rows they use the new writer, and none waits for the other one's commits any more. */
const SETTLED_ROWS = 200

/** A program that writes rows, and reads those of another one. */
class Program implements AsyncDisposable {
  /** The newest row of which it has been told that it is written. */
  written = 0
  readonly missed: string[] = []
  readonly #db: Database
  readonly #name: string
  #next = 1
  #isOver = false
  #work: Promise<unknown> = Promise.resolve()

  constructor(name: string, url: string) {
    this.#name = name
    this.#db = new Database({
      url,
      connectionsMax: 2 * WRITERS,
      retryMs: 30_000,
      marksCommits: true,
    })
  }

  begin(other: Program): void {
    const work = [this.#read(other), ...Array.from({ length: WRITERS }, () => this.#write())]
    this.#work = Promise.all(work)
  }

  async #write(): Promise<void> {
    while (!this.#isOver) {
      const id = this.#next++
      await this.#db.transaction(async (tx) => {
        await tx.orm.execute(
          sql`insert into seen values (${this.#name}, ${id}, repeat('x', ${BYTES}))`,
        )
      })
      this.written = Math.max(this.written, id)
      await sleep(5)
    }
  }

  async #read(other: Program): Promise<void> {
    while (!this.#isOver) {
      const { written } = other
      const [rows] = await this.#db.orm.execute(
        sql`select max(id) as newest from seen where program = ${other.#name}`,
      )
      const newest = Number((rows as unknown as readonly { newest: unknown }[])[0]?.newest ?? 0)
      if (newest < written) this.missed.push(`${this.#name}: ${written}, and sees ${newest}`)
      await sleep(5)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#work
    await this.#db[Symbol.asyncDispose]()
  }
}

/**
 * A program that gets no answer of the writer any more, which others use, takes another writer; all follow, and none of
 * them misses a row that was reported as written.
 */
export async function passOverWriter(galera: TestGalera, on: Database): Promise<void> {
  await on.orm.execute(
    sql`create table seen (program varchar(10), id int, text mediumtext, primary key (program, id))`,
  )
  const writer = await galera.writer()
  await using relay = await Relay.open(galera.rootUrls[writer]!)
  const ways = galera.rootUrls.map((url, nth) => (nth === writer ? relay.url : url))
  const throughRelay = withDatabase(joinDatabaseUrls(ways as [string, ...string[]]), 'weir')
  await using far = new Program('far', throughRelay)
  await using near = new Program('near', galera.url('weir'))
  near.begin(far)
  far.begin(near)
  await expect.poll(() => Math.min(near.written, far.written)).toBeGreaterThan(20)

  relay.set('hold')
  await expect.poll(() => galera.writer()).not.toBe(writer)
  for (const each of [near, far]) {
    const { written } = each
    await expect.poll(() => each.written).toBeGreaterThan(written + SETTLED_ROWS)
  }

  expect([...near.missed, ...far.missed]).toEqual([])
}
