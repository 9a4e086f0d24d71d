import { type DestinationStream, type LoggerOptions, type Logger as Pino, pino } from 'pino'
import { errorChain, Failure } from './errors.ts'
import { redacted } from './redact.ts'

export type Logger = Pino

/** One JSON line per event on standard output, or `to`. A message is a fixed string; data are fields. */
export function createLogger(name: string, level = 'info', to?: DestinationStream): Logger {
  const options: LoggerOptions = {
    name,
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => redacted(fields) as Record<string, unknown>,
    },
  }
  return to === undefined ? pino(options) : pino(options, to)
}

/** Fields that describe an error: the whole chain of causes, the kind, and a stack for bugs only. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (error instanceof Failure) return { kind: error.kind, error: errorChain(error) }
  const stack = error instanceof Error ? error.stack : undefined
  return { kind: 'internal', error: errorChain(error), stack }
}
