import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { findHost, type HostRecord } from '../../db/host-list.ts'

/** The host that does the work of this agent. Throws `not-found`. */
export async function findAgent(db: Executor, id: string): Promise<HostRecord> {
  const host = isUuid(id) ? await findHost(db, id) : undefined
  if (host === undefined) throw new Failure('not-found', `Agent ${id} could not be found`)
  return host
}
