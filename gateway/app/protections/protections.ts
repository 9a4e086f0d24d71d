import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import {
  findProtection,
  type ListedProtection,
  listProtections,
  putProtection,
  removeProtection,
} from '../../db/server-protections.ts'
import { hastenReplicas, putReplica } from '../../db/server-replicas.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import type { Requester } from '../requester.ts'
import { startsFromVolume } from '../servers/acts/refuse-action.ts'
import { showServer } from '../servers/list/show-server.ts'
import { replicaCell } from './replica-cell.ts'

export interface ProtectionSettings {
  readonly everyS: number
  readonly keep: number
  /** The id or name of another cell that is to keep the newest backup too; null: none. */
  readonly to: string | null
}

type Deps = Pick<Compute, 'db' | 'cells' | 'askCell' | 'placementPolicies'>

export interface ProtectionPage {
  readonly protections: readonly ListedProtection[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

/**
 * Afterwards backups of the server are made by this schedule, the first of a new one soon, and the other cell keeps the
 * newest. Throws `not-found`, `invalid` for a server that starts from a volume, and what `replicaCell` does.
 */
export async function protectServer(
  deps: Deps,
  context: RequestContext,
  id: string,
  { everyS, keep, to }: ProtectionSettings,
): Promise<ListedProtection> {
  const { db } = deps
  const server = await showServer(db, context, id)
  if (startsFromVolume(server))
    throw new Failure(
      'invalid',
      `Server ${id} starts from a volume, of which no backups are made. Make snapshots of the volume.`,
    )
  const toCellId = to === null ? null : await replicaCell(deps, context, server, to)
  const { id: serverId, projectId } = server
  const protection = { serverId, projectId, userId: context.userId, everyS, keep, toCellId }
  await db.transaction(async (tx) => {
    await putProtection(tx, protection)
    await (toCellId === null ? hastenReplicas(tx, serverId) : putReplica(tx, serverId, toCellId))
  })
  return showProtection({ db }, context, id)
}

/** Throws `not-found` for a server that has none. */
export async function showProtection(
  { db }: Pick<Compute, 'db'>,
  requester: Requester,
  id: string,
): Promise<ListedProtection> {
  const server = await showServer(db, requester, id)
  const protection = await findProtection(db, server.id)
  if (protection === undefined) throw notProtected(id)
  return protection
}

/**
 * Afterwards no more backups of it are made; those that there are stay, and no other cell keeps one for long. Throws `not-found` for a server that has none.
 */
export async function unprotectServer(
  { db }: Pick<Compute, 'db'>,
  requester: Requester,
  id: string,
): Promise<void> {
  const server = await showServer(db, requester, id)
  if (!(await removeProtection(db, server.id))) throw notProtected(id)
  await hastenReplicas(db, server.id)
}

function notProtected(id: string): Failure {
  return new Failure(
    'not-found',
    `Server ${id} is not protected: no backups of it are made by a schedule.`,
  )
}

/** Those of the requester's project; those of all for an administrator. Throws `invalid` for a cursor that is none. */
export async function protectionPage(
  { db }: Pick<Compute, 'db'>,
  { isAdmin, projectId }: Requester,
  { limit, cursor = '' }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<ProtectionPage> {
  if (cursor !== '' && !isUuid(cursor))
    throw new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
  const found = await listProtections(db, isAdmin ? null : (projectId ?? ''), cursor, limit + 1)
  const page = found.slice(0, limit)
  return { protections: page, next: found.length > limit ? (page.at(-1)?.serverId ?? null) : null }
}
