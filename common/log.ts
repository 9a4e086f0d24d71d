import { type Logger as Pino, pino } from 'pino'
import { errorChain, Failure } from './errors.ts'

export type Logger = Pino

/** Names whose values are never logged, at any depth up to two. */
const SECRET_NAMES = [
  'password',
  'adminPass',
  'admin_pass',
  'token',
  'x-auth-token',
  'x-subject-token',
  'authorization',
  'secret',
  'user_data',
  'userData',
  'personality',
  'seed',
  'databaseUrl',
]

const PATHS = SECRET_NAMES.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])

/** One JSON line per event on standard output. A message is a fixed string; data are fields. */
export function createLogger(name: string, level = 'info'): Logger {
  return pino({
    name,
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: PATHS, censor: '[redacted]' },
    formatters: { level: (label) => ({ level: label }) },
  })
}

/** Fields that describe an error: the whole chain of causes, the kind, and a stack for bugs only. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (error instanceof Failure) return { kind: error.kind, error: errorChain(error) }
  const stack = error instanceof Error ? error.stack : undefined
  return { kind: 'internal', error: errorChain(error), stack }
}
