import { type Env, EnvReader } from '#common/env.ts'

/** How long things are kept that no longer matter. */
export interface Retention {
  /** How long the cell keeps its answers; longer than gateways keep deleted servers. */
  readonly operationsMs: number
  readonly sagasMs: number
  /** Changes of the feed that no gateway fetches; a gateway that misses them later reads a full copy. */
  readonly feedMs: number
  readonly feedRowsMax: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS_MAX = 3_650

/** Reads CELL_RETENTION_* with a reader of CELL_*, which then reports the problems of them. */
export function readRetention(read: EnvReader): Retention {
  return {
    operationsMs: read.integer('RETENTION_OPERATIONS_DAYS', 30, 1, DAYS_MAX) * DAY_MS,
    sagasMs: read.integer('RETENTION_SAGAS_DAYS', 7, 1, DAYS_MAX) * DAY_MS,
    feedMs: read.integer('RETENTION_FEED_HOURS', 24, 1, DAYS_MAX * 24) * HOUR_MS,
    feedRowsMax: read.integer('RETENTION_FEED_ROWS_MAX', 500_000, 1_000),
  }
}

/** Reads the CELL_RETENTION_* variables of an environment; others are ignored. */
export function retentionFromEnv(env: Env): Retention {
  const prefix = 'CELL_'
  const own = Object.entries(env).filter(([name]) => name.startsWith(`${prefix}RETENTION_`))
  const read = new EnvReader(Object.fromEntries(own), prefix)
  const retention = readRetention(read)
  read.finish()
  return retention
}
