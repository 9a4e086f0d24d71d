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
  // Of Galera: a node that is not in its cluster, or leaves it during a commit.
  'ER_UNKNOWN_COM_ERROR',
  'ER_ERROR_DURING_COMMIT',
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
  if (isFull(error))
    return new Failure('unavailable', 'The database cannot store more: its disk is full.', {
      cause: error,
    })
  const text = error instanceof Error ? error.message : ''
  const isGone =
    (code !== undefined && UNAVAILABLE.has(code)) ||
    UNAVAILABLE_TEXTS.some((part) => text.includes(part))
  if (!isGone) return error
  return new Failure('unavailable', 'The database did not answer. Please try again.', {
    cause: error,
  })
}

/** True when the database lacks room for what it is to store. */
export function isFull(error: unknown): boolean {
  const code = codeOf(error)
  return (code !== undefined && FULL.has(code)) || FULL_TEXT.test(messageOf(error))
}

/** InnoDB chose the transaction as a deadlock's victim, or Galera as the later of two that change one row. */
const DEADLOCK = 'ER_LOCK_DEADLOCK'

/** Another transaction took the row that a foreign key names, or gave a row such a child, since this one looked. */
const OVERTAKEN: ReadonlySet<string> = new Set(['ER_NO_REFERENCED_ROW_2', 'ER_ROW_IS_REFERENCED_2'])

/** True when the whole transaction may be run again at once, and may then find what others have changed. */
export function isOvertaken(error: unknown): boolean {
  const code = codeOf(error)
  return code === DEADLOCK || (code !== undefined && OVERTAKEN.has(code))
}

/** True when a unique key already holds the row. `key`, when given, is the key's name. */
export function isDuplicate(error: unknown, key?: string): boolean {
  if (codeOf(error) !== 'ER_DUP_ENTRY') return false
  return key === undefined || messageOf(error).includes(key)
}

/** True when a statement had no value for a column that must have one. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ER_BAD_NULL_ERROR'
}

/** True when a table to be created exists: the database was made by other migrations than these. */
export function isTableThere(error: unknown): boolean {
  return codeOf(error) === 'ER_TABLE_EXISTS_ERROR'
}

const CAUSES_MAX = 3

/** The driver's error becomes the cause of the failure. Some that the driver makes itself have no code: then it is the innermost. */
function driverError(error: unknown): unknown {
  let e = error
  for (let depth = 0; depth < CAUSES_MAX && e instanceof Error; depth += 1) {
    if (typeof (e as { code?: unknown }).code === 'string' || !(e.cause instanceof Error)) return e
    e = e.cause
  }
  return e
}

/** The code that the driver gave the error, or its cause. */
export function codeOf(error: unknown): string | undefined {
  const code = (driverError(error) as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** The message of the driver's error. */
export function messageOf(error: unknown): string {
  const e = driverError(error)
  return e instanceof Error ? e.message : ''
}
