import type { Executor } from '#common/db/database.ts'
import { type HostRecord, listHosts } from '../../db/host-list.ts'

/** All hosts there are, for what is summed up over them. */
export function everyHost(db: Executor): Promise<readonly HostRecord[]> {
  return listHosts(db)
}
