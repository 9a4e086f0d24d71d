import type { Executor } from '#common/db/database.ts'
import { SharedReads } from '#common/db/shared-reads.ts'
import { type ApiStatus, apiStatus } from '#common/states/instance-states.ts'
import { countFailedBoots, countServers } from '../../db/federation-counts.ts'

export interface StatusCount {
  readonly status: ApiStatus
  readonly count: number
}

export interface ServerCounts {
  /** A status that no server has is left out. */
  readonly statuses: readonly StatusCount[]
  /** Of the last hour. */
  readonly failedBoots: number
}

/** It reads every server: any number of operators who look at once cause two reads. */
const COUNTS = new SharedReads<ServerCounts>()

/** The number of servers in each status that users see, and of boots that failed within the last hour. */
export function serverCounts(db: Executor): Promise<ServerCounts> {
  return COUNTS.read(db, 'servers by status', async () => {
    const counts = new Map<ApiStatus, number>()
    for (const { vmState, taskState, count } of await countServers(db)) {
      const status = apiStatus(vmState, taskState)
      counts.set(status, (counts.get(status) ?? 0) + count)
    }
    const statuses = [...counts]
      .map(([status, count]) => ({ status, count }))
      .toSorted((a, b) => (a.status < b.status ? -1 : 1))
    return { statuses, failedBoots: await countFailedBoots(db) }
  })
}
