import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const TAIL_BYTES = 8 * 2 ** 10
const SHOWN_MAX = 300
/** Errors before these do not concern its end. */
const LINES_MAX = 12
/** In what a program of ours writes when it crashes, and in the logs of MariaDB and NATS. */
const ERROR = /error|fatal|cannot|failed|not |\[(?:ERR|FTL)\]/i
/** What Node adds to an error, and empty lines. */
const OF_A_STACK = /^(?:\s*|\s+at .*|\}|Node\.js v.*)$/
/** Of ours, of NATS, of MariaDB: a line that begins otherwise was written by a program that could not start. */
const OF_A_LOG = /^(?:\{|\[|\d{4}-)/
/** What the latter two say, and go on. */
const HARMLESS = /\[(?:WRN|INF|DBG|Warning|Note)\]/

interface LogLine {
  readonly level?: string
  readonly msg?: string
  readonly error?: string
}

/** Why a program ended; undefined where the end of its log does not tell. */
export function lastLogLine(logFile: string): string | undefined {
  const lines = tailOf(logFile)
    .split('\n')
    .filter((line) => !OF_A_STACK.test(line))
    .slice(-LINES_MAX)
  const error = lines
    .toReversed()
    .map(errorIn)
    .find((each) => each !== undefined)
  const last = lines.at(-1)
  const words = error ?? (last !== undefined && !OF_A_LOG.test(last) ? last : undefined)
  return words?.trim().slice(0, SHOWN_MAX)
}

/** The error in a line of a log of ours, or in one that a crash has left. */
function errorIn(line: string): string | undefined {
  if (!line.startsWith('{')) return ERROR.test(line) && !HARMLESS.test(line) ? line : undefined
  try {
    const { level, msg = '', error } = JSON.parse(line) as LogLine
    if (level !== 'error' && level !== 'fatal') return undefined
    return error === undefined ? msg : `${msg}: ${error}`
  } catch {
    return undefined
  }
}

/** Empty for a file that cannot be read. */
function tailOf(file: string): string {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch {
    return ''
  }
  try {
    const { size } = fstatSync(descriptor)
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES))
    const read = readSync(descriptor, bytes, 0, bytes.length, size - bytes.length)
    return bytes.toString('utf8', 0, read)
  } finally {
    closeSync(descriptor)
  }
}
