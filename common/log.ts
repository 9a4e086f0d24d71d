import { LRUCache } from 'lru-cache'
import { type DestinationStream, type LoggerOptions, type Logger as Pino, pino } from 'pino'
import { type Clock, systemClock } from './clock.ts'
import { errorChain, Failure } from './errors.ts'
import { logOutput } from './log-output.ts'
import { redacted } from './redact.ts'

export type Logger = Pino

/** A repeated failure is logged once in this time, with the number of repeats. */
export const REPORT_EVERY_MS = 30_000
/** Different failures whose repeats are counted. */
const REMEMBERED_MAX = 1_000

interface LoggedLine {
  readonly at: number
  repeats: number
}

/**
 * One JSON line per event on standard output, or `to`. A message is a fixed string; data are fields. A line with an
 * `error` that equals an earlier one in all of its fields is written twice a minute at most; `repeats` is then the
 * number of lines that it stands for.
 */
export function createLogger(
  name: string,
  level = 'info',
  to?: DestinationStream,
  clock: Pick<Clock, 'elapsed'> = systemClock,
): Logger {
  const logged = new LRUCache<string, LoggedLine>({ max: REMEMBERED_MAX })
  const options: LoggerOptions = {
    name,
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => redacted(fields) as Record<string, unknown>,
    },
    hooks: {
      logMethod(args, write) {
        const [fields] = args as unknown as readonly [unknown]
        const repeats = hasError(fields) ? repeatsOf(logged, [this.bindings(), ...args], clock) : 1
        if (repeats === 0) return
        const [, ...rest] = args
        if (repeats === 1) write.apply(this, args)
        else write.apply(this, [{ ...(fields as object), repeats }, ...rest] as typeof args)
      },
    },
  }
  return pino(options, to ?? logOutput())
}

function hasError(fields: unknown): boolean {
  return typeof fields === 'object' && fields !== null && 'error' in fields
}

/** The number of lines that this one stands for; 0 if it is not written yet. */
function repeatsOf(
  logged: LRUCache<string, LoggedLine>,
  line: readonly unknown[],
  clock: Pick<Clock, 'elapsed'>,
): number {
  const key = JSON.stringify(line)
  const at = clock.elapsed()
  const last = logged.get(key)
  if (last !== undefined && at - last.at < REPORT_EVERY_MS) {
    last.repeats += 1
    return 0
  }
  logged.set(key, { at, repeats: 0 })
  return 1 + (last?.repeats ?? 0)
}

/** Fields that describe an error: the whole chain of causes, the kind, and a stack for bugs only. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (error instanceof Failure) return { kind: error.kind, error: errorChain(error) }
  const stack = error instanceof Error ? error.stack : undefined
  return { kind: 'internal', error: errorChain(error), stack }
}
