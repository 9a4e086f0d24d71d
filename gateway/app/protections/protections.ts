import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import {
  findProtection,
  type ListedProtection,
  listProtections,
  putProtection,
  removeProtection,
} from '../../db/server-protections.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import type { Requester } from '../requester.ts'
import { startsFromVolume } from '../servers/acts/refuse-action.ts'
import { showServer } from '../servers/list/show-server.ts'

export interface ProtectionSettings {
  readonly everyS: number
  readonly keep: number
}

export interface ProtectionPage {
  readonly protections: readonly ListedProtection[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

/**
 * Afterwards backups of the server are made by this schedule, the first of a new one soon. Throws `not-found`, and
 * `invalid` for a server that starts from a volume.
 */
export async function protectServer(
  { db }: Pick<Compute, 'db'>,
  context: RequestContext,
  id: string,
  settings: ProtectionSettings,
): Promise<ListedProtection> {
  const server = await showServer(db, context, id)
  if (startsFromVolume(server))
    throw new Failure(
      'invalid',
      `Server ${id} starts from a volume, of which no backups are made. Make snapshots of the volume.`,
    )
  const { projectId } = server
  const protection = { serverId: server.id, projectId, userId: context.userId, ...settings }
  await db.transaction((tx) => putProtection(tx, protection))
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

/** Afterwards no more backups of it are made; those that there are stay. Throws `not-found` for a server that has none. */
export async function unprotectServer(
  { db }: Pick<Compute, 'db'>,
  requester: Requester,
  id: string,
): Promise<void> {
  const server = await showServer(db, requester, id)
  if (!(await removeProtection(db, server.id))) throw notProtected(id)
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
