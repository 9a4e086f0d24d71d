import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { queueFeedRow } from '../db/feed.ts'
import { findHosts, updateHost } from '../db/hosts.ts'
import { type Host, hostView } from './host.ts'

/** Others change the same row seldom: every minute, and when an operator says so. */
const TRIES_MAX = 5

/**
 * Afterwards the host is as `change` makes it of what its row says now, and the gateways receive it. `change` may
 * return the host itself: then nothing happens. `also` is part of the same commit. Throws `not-found`.
 */
export async function changeHost(
  { db, ratios, feedChanged }: Pick<Conductor, 'db' | 'ratios' | 'feedChanged'>,
  id: HostId,
  change: (host: Host) => Host,
  also: (tx: Tx, changed: Host) => Promise<void> = async () => {},
): Promise<Host> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const [host] = await findHosts(db, [id])
    if (host === undefined || host.isDeleted)
      throw new Failure('not-found', `Host ${id} could not be found.`)
    const changed = change(host)
    if (changed === host) return host
    const next = { ...changed, version: host.version + 1 }
    const isWritten = await db.transaction(async (tx) => {
      if (!(await updateHost(tx, host.version, next))) return false
      await also(tx, next)
      queueFeedRow(tx, [{ kind: 'host', view: hostView(next, ratios) }])
      return true
    })
    if (!isWritten) continue
    feedChanged()
    return next
  }
  throw new Failure('conflict', `Host ${id} is being changed.`)
}
