import { setTimeout } from 'node:timers/promises'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { newId } from '#common/ids.ts'
import type { Saga } from '#common/saga/saga.ts'
import { waitFor } from '#common/wait-for.ts'

/** A commit of a saga, by what the log of the saga says then. */
export interface CommitPoint {
  /** For the names of tests. */
  readonly label: string
  /** The remote step that begins then; null: the saga ends. */
  readonly begins: string | null
}

const WAIT_MS = 60_000
const TRIGGERS = ['insert', 'update'] as const

/**
 * Every commit of a saga that goes well, in order: one begins it, and one ends each remote step, with the local steps that
 * follow. `reached`: steps that are never reached under the test's inputs.
 */
export function commitsOf<Deps, Params>(
  { steps }: Saga<Deps, Params>,
  reached: (step: string) => boolean = () => true,
): readonly CommitPoint[] {
  const remote = steps.filter(({ name, kind }) => kind === 'remote' && reached(name))
  const labels = ['as it begins', ...remote.map(({ name }) => `after ${name}`)]
  return labels.map((label, nth) => ({ label, begins: remote[nth]?.name ?? null }))
}

/** Asks again what is refused, until `over` has settled: on a loaded machine a cell may seem unreachable. */
export async function askUntil(
  over: Promise<void>,
  ask: () => Promise<void>,
  againMs: number,
): Promise<void> {
  const ends = over.then(
    () => true,
    () => true,
  )
  for (;;) {
    const asked = ask().then(
      () => true,
      () => false,
    )
    if (await asked) return
    if (await Promise.race([ends, setTimeout(againMs, false)])) return
  }
}

/**
 * The commits of sagas of one name in a database wait at one point, in the middle of their transaction, until they are released:
 * the test stops the world between two steps.
 */
export class HeldCommit implements AsyncDisposable {
  readonly #connection: Connection
  readonly #lock = `weir-${newId<string>()}`

  private constructor(connection: Connection) {
    this.#connection = connection
  }

  static async open(databaseUrl: string, saga: string, point: CommitPoint): Promise<HeldCommit> {
    const held = new HeldCommit(await createConnection({ uri: databaseUrl }))
    await held.#hold(saga, point)
    return held
  }

  /** Returns when a transaction waits at the point. */
  async reached(withinMs = WAIT_MS): Promise<void> {
    await waitFor('a commit to wait', async () => (await this.#waiting()).length > 0, withinMs)
  }

  /** Ends the transactions that wait, whose process has ended: what they have done is rolled back. */
  async abort(): Promise<void> {
    const isOver = async () => {
      const waiting = await this.#waiting()
      for (const { ID } of waiting)
        await this.#connection.query(`KILL CONNECTION ${ID}`).catch(() => undefined)
      return waiting.length === 0
    }
    await waitFor('the transactions to end', isOver, WAIT_MS)
    await this.release()
  }

  /** Afterwards no commit waits, and those that have waited go on. */
  async release(): Promise<void> {
    await this.#connection.query('DO RELEASE_LOCK(?)', [this.#lock])
    await this.#dropTriggers()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The other way round, the triggers would wait for who waits for the lock.
    await this.release()
    await this.#connection.end()
  }

  async #hold(saga: string, { begins }: CommitPoint): Promise<void> {
    await this.#connection.query('SELECT GET_LOCK(?, 0)', [this.#lock])
    const started = JSON.stringify({ step: begins, event: 'started' })
    const isPoint = begins === null ? "NEW.state = 'done'" : `JSON_CONTAINS(NEW.log, '${started}')`
    const wait = `DO GET_LOCK('${this.#lock}', ${WAIT_MS / 1_000}); DO RELEASE_LOCK('${this.#lock}');`
    for (const event of TRIGGERS) {
      const isNew =
        event === 'insert'
          ? 'TRUE'
          : `NOT (OLD.state = NEW.state AND JSON_LENGTH(OLD.log) = JSON_LENGTH(NEW.log))`
      await this.#connection.query(
        `CREATE TRIGGER weir_held_${event} BEFORE ${event} ON sagas FOR EACH ROW
          BEGIN IF NEW.name = '${saga}' AND ${isPoint} AND ${isNew} THEN ${wait} END IF; END`,
      )
    }
  }

  async #dropTriggers(): Promise<void> {
    for (const event of TRIGGERS)
      await this.#connection.query(`DROP TRIGGER IF EXISTS weir_held_${event}`)
  }

  async #waiting(): Promise<readonly { readonly ID: number }[]> {
    const [rows] = await this.#connection.query<(RowDataPacket & { readonly ID: number })[]>(
      `SELECT ID FROM information_schema.PROCESSLIST
        WHERE DB = DATABASE() AND STATE = 'User lock' AND ID <> CONNECTION_ID()`,
    )
    return rows
  }
}
