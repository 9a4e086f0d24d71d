import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { findHost, findHostBySerial, type HostRecord } from '../../db/host-list.ts'

/** How hosts and their services are named by a client: by number until microversion 2.52, by UUID since. */
export type HostIds = 'number' | 'uuid'

const NUMBER = /^\d{1,9}$/

/** The host; throws `not-found`, and `invalid` for what should be a UUID and is none. */
export async function findHypervisor(db: Executor, id: string, ids: HostIds): Promise<HostRecord> {
  const host = await hostOf(db, id, ids)
  if (host === undefined) throw new Failure('not-found', `Compute host ${id} could not be found.`)
  return host
}

/** The host a client means; undefined when there is none. Throws `invalid` as `findHypervisor`. */
export async function hostOf(
  db: Executor,
  id: string,
  ids: HostIds,
): Promise<HostRecord | undefined> {
  if (ids === 'number') return NUMBER.test(id) ? findHostBySerial(db, Number(id)) : undefined
  if (!isUuid(id)) throw new Failure('invalid', `Invalid uuid ${id}`)
  return findHost(db, id)
}
