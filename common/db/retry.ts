import { Failure } from '../errors.ts'
import { codeOf, databaseFailure, isFull, isOvertaken, messageOf } from './failures.ts'

/** The database was not reached: nothing was sent. */
export class NotReached extends Failure {
  constructor(cause: unknown) {
    super('unavailable', 'The database did not answer. Please try again.', { cause })
  }
}

/**
 * With these nothing has happened of a statement that commits by itself, nor of a transaction whose commit it answers:
 * the database refused the connection, was not ready (Galera: 1047), is to be read only, or rolled the work back.
 */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'ENOENT',
  'ER_CON_COUNT_ERROR',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_UNKNOWN_COM_ERROR',
])

/** What the driver says of a connection that ended before; it has no code for that. */
const CLOSED = 'closed state'

/** True when the database cannot serve the work now, and nothing of the work has happened. */
export function isWithoutEffect(error: unknown): boolean {
  if (error instanceof NotReached) return true
  const code = codeOf(error)
  return (code !== undefined && WITHOUT_EFFECT.has(code)) || messageOf(error).includes(CLOSED)
}

/** True when the database cannot serve now: gone, not ready, or a connection that ended. A full disk, or too many waiting, are none of these. */
export function isAway(error: unknown): boolean {
  return isWithoutEffect(error) || isCut(error)
}

/** With these a connection ended under a statement. */
const CUT: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'PROTOCOL_CONNECTION_LOST',
  'ER_SERVER_SHUTDOWN',
  'ER_CONNECTION_KILLED',
  // Galera ends what runs, even a commit, on a node that leaves the cluster.
  'ER_QUERY_INTERRUPTED',
  'ER_ERROR_DURING_COMMIT',
])

/** True when nothing shows whether what was sent has had its effect: its connection ended before the answer came. */
export function isCut(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && CUT.has(code) && !isFull(error)
}

/** For how long a program repeats work by default: longer than a cluster takes to choose another writer. */
export const RETRY_MS = { usual: 8_000, max: 60_000 } as const

const OVERTAKEN_MAX = 6
const PAUSE_MS = 100

/**
 * Runs the work again when another transaction overtook it (bounded), and for `retryMs` while it fails with an error that `mayRepeat`. Every
 * failure leaves it as `databaseFailure` makes it.
 */
export async function retried<T>(
  work: () => Promise<T>,
  retryMs: number,
  mayRepeat: (error: unknown) => boolean,
): Promise<T> {
  const until = performance.now() + retryMs
  let overtaken = 0
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (isOvertaken(error) && overtaken < OVERTAKEN_MAX) {
        overtaken += 1
        continue
      }
      if (performance.now() + PAUSE_MS > until || !mayRepeat(error)) throw databaseFailure(error)
      // Not all at once: they would meet again.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * (0.5 + Math.random())))
    }
  }
}

/** True for a statement that changes nothing, which may be repeated after any failure. */
export function isRead(text: string): boolean {
  return /^[\s(]*(?:select|show)\b/i.test(text) && !/\bfor update\b/i.test(text)
}
