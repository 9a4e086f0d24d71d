import { type Env, EnvReader } from '#common/env.ts'
import type { Retention } from './app/purge.ts'

const DAY_MS = 24 * 3_600_000
const DAYS_MAX = 3_650

/** Reads GATEWAY_RETENTION_* with a reader of GATEWAY_*, which then reports the problems of them. */
export function readRetention(read: EnvReader): Retention {
  const days = (name: string, usual: number) =>
    read.integer(`RETENTION_${name}_DAYS`, usual, 1, DAYS_MAX) * DAY_MS
  return {
    idempotencyKeysMs: days('IDEMPOTENCY_KEYS', 1),
    actionsMs: days('ACTIONS', 90),
    eventsMs: days('EVENTS', 7),
    auditMs: days('AUDIT', 365),
    deadLettersMs: days('WEBHOOK_DEAD_LETTERS', 7),
    sagasMs: days('SAGAS', 7),
    operationsMs: days('OPERATIONS', 90),
    deletedServersMs: days('DELETED_SERVERS', 30),
  }
}

/** Reads the GATEWAY_RETENTION_* variables of an environment; others are ignored. */
export function retentionFromEnv(env: Env): Retention {
  const prefix = 'GATEWAY_'
  const own = Object.entries(env).filter(([name]) => name.startsWith(`${prefix}RETENTION_`))
  const read = new EnvReader(Object.fromEntries(own), prefix)
  const retention = readRetention(read)
  read.finish()
  return retention
}
