import { workContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { type FeedPosition, queueFeedAdvance } from '../../db/cell-mappings.ts'
import { applyHostViews, forgetHostVersions } from '../../db/host-index.ts'
import { markMissing } from '../../db/missing-servers.ts'
import { ownServers, queueViews } from '../../db/server-index.ts'
import { queueMigrations } from '../../db/server-migrations.ts'
import { supersededServers } from '../../db/superseded-servers.ts'
import type { ComputeDeps } from '../compute.ts'
import { resyncVolumeSnapshots } from './resync-volume-snapshots.ts'
import { resyncVolumes } from './resync-volumes.ts'

export interface Resynced {
  readonly position: FeedPosition
  readonly report: {
    readonly instances: number
    /** Shown here as in the cell and unknown there: marked, for no copy can delete; a delete of them ends well. */
    readonly missing: number
  }
}

type Page = CellAnswer<'snapshot.read'>

const PAGE_ROWS = 500
/** Five million instances in one cell. */
const PAGES_MAX = 10_000

/**
 * Reads a full copy of the cell's data. Afterwards the index shows this data, and the feed continues from a position
 * that is not newer than the copy. Only here may the version of a view become lower: when another database, with
 * another incarnation, has replaced the cell's.
 */
export async function resync(
  deps: ComputeDeps,
  cell: CellRef,
  was: FeedPosition,
): Promise<Resynced> {
  const work = workContext({})
  let first: Page | undefined
  let after: string | null = null
  let instances = 0
  let missing = 0
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const ask: { afterInstance: string | null; limit: number } = {
      afterInstance: after,
      limit: PAGE_ROWS,
    }
    const page = await deps.askCell(cell, 'snapshot.read', ask, { work })
    first ??= page
    if (page.incarnation !== first.incarnation) throw changedMeanwhile(cell)
    const upTo = page.isLast ? null : page.instances.at(-1)!.serverId
    missing += await applyPage(deps, cell, was, { page, after, upTo })
    await endOver(deps, cell, page)
    instances += page.instances.length
    if (page.isLast) return finish(deps, cell, was, first, { instances, missing })
    after = upTo
  }
  throw tooLarge(cell)
}

interface PageOf {
  readonly page: Page
  /** The instance before the page's first; null: none is. */
  readonly after: string | null
  /** Its last; null: no page follows. */
  readonly upTo: string | null
}

async function applyPage(
  deps: ComputeDeps,
  cell: CellRef,
  was: FeedPosition,
  { page, after, upTo }: PageOf,
): Promise<number> {
  const mode = page.incarnation === was.incarnation ? 'newer' : 'resync'
  return deps.db.transaction(async (tx) => {
    // Moves nothing, but fails once another process has moved it: a slow copy must not overwrite newer rows.
    queueFeedAdvance(tx, cell.id, was, was)
    queueViews(tx, cell.id, page.instances, mode)
    await applyOwnMigrations(tx, cell.id, page.migrations ?? [])
    const launched = page.instances.filter((view) => view.launchedAt !== null)
    await deps.network.bind(tx, cell.id, launched)
    const known = page.instances.map(({ serverId }) => serverId)
    return markMissing(tx, cell.id, { after, upTo, known })
  })
}

/** A database that is older than a delete, or than a move to another cell, still has the server: the delete is sent again. */
async function endOver(deps: ComputeDeps, cell: CellRef, { instances }: Page): Promise<void> {
  const had = instances.map(({ serverId, attempt }) => ({ serverId, attempt }))
  for (const { serverId, attempt } of await supersededServers(deps.db, had)) {
    const operation = { id: newId<string>(), serverId, attempt }
    await deps.askCell(cell, 'instance.delete', { operation }, { work: workContext({}) })
    deps.log.warn(
      { cell: cell.name, server_id: serverId, attempt },
      'ended a server that the cell should not have',
    )
  }
}

async function applyOwnMigrations(
  tx: Tx,
  cellId: CellId,
  migrations: readonly MigrationView[],
): Promise<void> {
  const own = await ownServers(tx, cellId, new Set(migrations.map(({ serverId }) => serverId)))
  queueMigrations(
    tx,
    cellId,
    migrations.filter(({ serverId }) => own.has(serverId)),
  )
}

/** As they are now: at least as new as the position that was read before them. */
async function readHosts(
  deps: ComputeDeps,
  cell: CellRef,
  incarnation: string,
): Promise<readonly HostView[]> {
  const hosts: HostView[] = []
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const ask = { afterHost: hosts.at(-1)?.hostId ?? null }
    const page = await deps.askCell(cell, 'snapshot.hosts', ask, { work: workContext({}) })
    if (page.incarnation !== incarnation) throw changedMeanwhile(cell)
    hosts.push(...page.hosts)
    if (page.isLast) return hosts
  }
  throw tooLarge(cell)
}

function changedMeanwhile({ name }: CellRef): Failure {
  return new Failure('unavailable', `Cell ${name} changed its database meanwhile.`)
}

function tooLarge({ name }: CellRef): Failure {
  return new Failure('unavailable', `Cell ${name} has more rows than a copy can have.`)
}

async function finish(
  deps: ComputeDeps,
  cell: CellRef,
  was: FeedPosition,
  first: Page,
  report: Resynced['report'],
): Promise<Resynced> {
  const { incarnation, position } = first
  const hosts = await readHosts(deps, cell, incarnation)
  const copy = { incarnation, isReplaced: incarnation !== was.incarnation }
  // First: a volume is ended after its snapshots.
  await resyncVolumeSnapshots(deps, cell, copy)
  await resyncVolumes(deps, cell, copy)
  const next = { incarnation, position, needsResync: false }
  await deps.db.transaction(async (tx) => {
    queueFeedAdvance(tx, cell.id, was, { ...next, isResynced: true })
    if (incarnation !== was.incarnation) await forgetHostVersions(tx, cell.id)
    await applyHostViews(tx, cell.id, hosts)
  })
  const level = report.missing > 0 ? 'warn' : 'info'
  deps.log[level]({ cell: cell.name, ...report }, 'cell resynced')
  return { position: next, report }
}
