import { sql } from 'drizzle-orm'

/** A server at one of its attempts, the pair that cells are asked about. */
export interface ServerAttempt {
  readonly serverId: string
  readonly attempt: number
}

/** For columns of `json_table` that are compared with machine-made text columns. */
export const ascii = (length: number) =>
  sql.raw(`varchar(${length}) character set ascii collate ascii_bin`)

/**
 * After a table that is joined by its primary key: of few rows MariaDB would read all instead, and lock those of others, which
 * ends in deadlocks.
 */
export const BY_KEY = sql` force index (primary)`

/** Any number of `ServerAttempt`s, bound as JSON under `servers`, as a table `v` in one prepared statement. */
export const SERVER_ATTEMPTS = sql`json_table(${sql.placeholder('servers')}, '$[*]' columns (
  server_id ${ascii(36)} path '$.serverId', attempt int path '$.attempt')) v`

/** The value of `servers` for `SERVER_ATTEMPTS`: of larger objects the pair alone, for the database reads all that it gets. */
export function boundAttempts(servers: readonly ServerAttempt[]): string {
  return JSON.stringify(servers.map(({ serverId, attempt }) => ({ serverId, attempt })))
}

/** Any number of ids of servers, bound as a JSON list under `servers`, as a table `v`. */
export const SERVER_IDS = sql`json_table(${sql.placeholder('servers')}, '$[*]' columns (
  server_id ${ascii(36)} path '$')) v`
