import { Failure } from '#common/errors.ts'
import { endAllLeases } from '#common/saga/lease.ts'
import { afterRestore } from '#gateway/app/after-restore.ts'
import { type ActiveSite, activateSite, type Site } from '#gateway/db/sites.ts'
import { askSite, type OwnSite, recordedAt, withDatabaseOf } from './own-site.ts'
import {
  applyReceived,
  endReplication,
  onServer,
  replicationOf,
  setReadOnly,
} from './replication.ts'

export interface PromoteOptions {
  /** How the active site was stopped, in the operator's words; needed while it answers. */
  readonly stopped?: string | undefined
  /** True: also a site that stepped down and has not followed since; the changes made elsewhere since are lost. */
  readonly abandonsChanges?: boolean | undefined
}

export interface Promoted {
  readonly site: Site
  readonly generation: number
}

/**
 * Afterwards this site is the active one, with every change that it had received. Its gateways serve within a second, and
 * cells refuse those of the site before. Throws `conflict` while that site answers, unless it was stated how it was
 * stopped, and at a site whose database is no copy. Safe to repeat.
 */
export async function promoteSite(own: OwnSite, options: PromoteOptions): Promise<Promoted> {
  const { active: recorded, sites } = await recordedAt(own)
  const site = sites.find(({ name }) => name === own.name)
  if (recorded === undefined || site === undefined)
    throw new Failure(
      'conflict',
      `Site ${own.name} has no copy of the database. Make one with: ./weir standby follow`,
    )
  return onServer(own.databaseUrl, async (connection) => {
    const replication = await replicationOf(connection)
    if (recorded.name === own.name && recorded.successor === undefined) {
      // A promotion may have been interrupted: the database would follow the other site again after a restart.
      if (replication !== undefined) await endReplication(connection)
      return { site, generation: recorded.generation }
    }
    assertCopy(own, recorded, replication !== undefined, options)
    await assertStopped(own, sites, options)
    if (replication !== undefined) {
      await applyReceived(connection)
      await connection.query('STOP SLAVE')
    }
    await setReadOnly(connection, false)
    const { stopped: statement } = options
    const generation = await withDatabaseOf(own, async (db) => {
      await afterRestore(db)
      await endAllLeases(db)
      return db.transaction((tx) => activateSite(tx, { name: own.name, statement }))
    })
    await endReplication(connection)
    return { site, generation }
  })
}

function assertCopy(
  own: OwnSite,
  { successor, name }: ActiveSite,
  isReplica: boolean,
  { abandonsChanges = false }: PromoteOptions,
): void {
  if (isReplica || abandonsChanges) return
  const newer = successor?.name ?? name
  throw new Failure(
    'conflict',
    `The database of site ${own.name} does not follow that of site ${newer}, so changes made there would be lost. Run ./weir standby follow first. If site ${newer} is gone for good, add --abandon-changes.`,
  )
}

async function assertStopped(
  own: OwnSite,
  sites: readonly Site[],
  { stopped }: PromoteOptions,
): Promise<void> {
  if (stopped !== undefined && stopped.trim() !== '') return
  for (const other of sites.filter(({ name }) => name !== own.name)) {
    const said = await askSite(own, other)
    if (said?.isActive !== true) continue
    throw new Failure(
      'conflict',
      `Site ${other.name} still answers at ${other.url}, and is active. Stop its gateways first, or state how it was stopped: --stopped 'its power was cut at 12:04'`,
    )
  }
}
