import { Failure } from '../errors.ts'

/** MySQL and driver codes that mean: the database is not there, or not able, right now. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'ENOENT',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'ER_CON_COUNT_ERROR',
  'ER_SERVER_SHUTDOWN',
  'ER_CONNECTION_KILLED',
  'ER_QUERY_INTERRUPTED',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_LOCK_DEADLOCK',
  'ER_OPTION_PREVENTS_STATEMENT',
])

/** mysql2 gives these no code. */
const UNAVAILABLE_TEXTS = ['Queue limit reached.', 'Pool is closed.', 'closed state']

/** Codes of the database for a lack of room for a row, an index, its log or a temporary table. */
const FULL: ReadonlySet<string> = new Set([
  'ER_DISK_FULL',
  'ER_RECORD_FILE_FULL',
  'ER_TEMP_FILE_WRITE_FAILURE',
  'ER_ERROR_ON_WRITE',
  'ER_FILSORT_ABORT',
])
/** Storage engines pass on the operating system's number: ENOSPC, or EDQUOT. */
const FULL_TEXT = /\b(errno: |error:? )"?(28|122)\b|No space left on device/

/** A comparison of an ASCII column, which ids and states are, with text that has other characters. */
const NOT_COMPARABLE = 'ER_CANT_AGGREGATE_2COLLATIONS'

/**
 * A lost, full or overloaded database becomes `unavailable`, and text that no id or state can equal `invalid`; everything
 * else stays what it was.
 */
export function databaseFailure(error: unknown): unknown {
  if (error instanceof Failure) return error
  const code = codeOf(error)
  if (code === NOT_COMPARABLE)
    return new Failure('invalid', 'An ID or filter in this request contains invalid characters.', {
      cause: error,
    })
  const text = error instanceof Error ? error.message : ''
  if ((code !== undefined && FULL.has(code)) || FULL_TEXT.test(text))
    return new Failure('unavailable', 'The database cannot store more: its disk is full.', {
      cause: error,
    })
  const isGone =
    (code !== undefined && UNAVAILABLE.has(code)) ||
    UNAVAILABLE_TEXTS.some((part) => text.includes(part))
  if (!isGone) return error
  return new Failure('unavailable', 'The database did not answer. Please try again.', {
    cause: error,
  })
}

/** True when the whole transaction may be run again: InnoDB chose it as a deadlock's victim. */
export function isDeadlock(error: unknown): boolean {
  return codeOf(error) === 'ER_LOCK_DEADLOCK'
}

const TRIES_MAX = 6

/** Runs a whole transaction, or a statement that commits by itself, again after each deadlock (bounded). */
export async function withoutDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isDeadlock(error) || tries === TRIES_MAX) throw databaseFailure(error)
    }
  }
}

/** With these a connection ended under a statement. */
const CUT: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'ER_SERVER_SHUTDOWN',
  'ER_CONNECTION_KILLED',
])

/** True when nothing says whether the transaction has committed: its connection ended before the answer came. */
export function isOutcomeUnknown(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && CUT.has(code)
}

/** True when a unique key already holds the row. `key`, when given, is the key's name. */
export function isDuplicate(error: unknown, key?: string): boolean {
  if (codeOf(error) !== 'ER_DUP_ENTRY') return false
  return key === undefined || messageOf(error).includes(key)
}

/** True when a table to be created exists: the database was made by other migrations than these. */
export function isTableThere(error: unknown): boolean {
  return codeOf(error) === 'ER_TABLE_EXISTS_ERROR'
}

/** The driver's error becomes the cause of the failure. */
function driverError(error: unknown): unknown {
  let e = error
  for (let depth = 0; depth < 3 && e instanceof Error; depth += 1) {
    if (typeof (e as { code?: unknown }).code === 'string') return e
    e = e.cause
  }
  return error
}

function codeOf(error: unknown): string | undefined {
  const code = (driverError(error) as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

function messageOf(error: unknown): string {
  const e = driverError(error)
  return e instanceof Error ? e.message : ''
}
