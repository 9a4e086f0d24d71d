import type { NatsConnection } from '@nats-io/transport-node'
import type { Database } from '#common/db/database.ts'
import { errorChain } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { withDeadline } from '#common/with-deadline.ts'
import { databaseReadiness } from '../db/readiness.ts'

const READY_WAIT_MS = 2_000

export interface Needed {
  readonly db: Database
  readonly nats: Pick<NatsConnection, 'rtt'>
  readonly log: Logger
}

/**
 * Why this gateway cannot serve all there is, or undefined when it can. It is ready without any cell, and not without the
 * bus: another gateway that has it hears the cells, and serves what this one answers 503.
 */
export async function unreadiness(needed: Needed): Promise<string | undefined> {
  return (await databaseUnreadiness(needed)) ?? (await busUnreadiness(needed))
}

/** The same of its database alone. */
export async function databaseUnreadiness({
  db,
  log,
}: Pick<Needed, 'db' | 'log'>): Promise<string | undefined> {
  try {
    return await withDeadline(READY_WAIT_MS, databaseReadiness(db))
  } catch (error) {
    log.warn({ error: errorChain(error) }, 'database not ready')
    return 'the database does not answer'
  }
}

/** The same of the bus alone. */
export async function busUnreadiness({
  nats,
  log,
}: Pick<Needed, 'nats' | 'log'>): Promise<string | undefined> {
  try {
    await withDeadline(READY_WAIT_MS, nats.rtt())
    return undefined
  } catch (error) {
    log.warn({ error: errorChain(error) }, 'bus not ready')
    return 'the bus does not answer'
  }
}
