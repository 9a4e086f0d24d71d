import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  findServerMigration,
  listMigrations,
  type RecordedMigration,
} from '../../db/server-migration-list.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { actOnServer } from '../servers/acts/act-on-server.ts'
import { refuseAction } from '../servers/acts/refuse-action.ts'
import { showServer } from '../servers/list/show-server.ts'

const LIVE = 'live-migration'
const UNDER_WAY: readonly string[] = ['queued', 'preparing', 'running', 'post-migrating']
/** A server has one at a time. */
const LIST_MAX = 100

export function isUnderWay({ type, status }: RecordedMigration): boolean {
  return type === LIVE && UNDER_WAY.includes(status)
}

/** The live migrations of a server that are under way. Throws `not-found` for the server. */
export async function listLiveMigrations(
  db: Executor,
  context: RequestContext,
  id: string,
): Promise<readonly RecordedMigration[]> {
  const server = await showServer(db, context, id)
  return listMigrations(db, {
    serverId: server.id,
    type: LIVE,
    statuses: UNDER_WAY,
    limit: LIST_MAX,
  })
}

/** Throws `not-found` for an unknown server, and for a migration that is not a live migration of it under way. */
export async function showLiveMigration(
  db: Executor,
  context: RequestContext,
  id: string,
  number: string,
): Promise<RecordedMigration> {
  const server = await showServer(db, context, id)
  const migration = await findOf(db, server.id, number)
  const refuse = (why: string) => {
    throw new Failure('not-found', why)
  }
  if (migration === undefined)
    return refuse(`In-progress live migration ${number} is not found for server ${id}.`)
  if (migration.type !== LIVE)
    return refuse(`Migration ${number} for server ${id} is not live-migration.`)
  if (!isUnderWay(migration))
    return refuse(`Live migration ${number} for server ${id} is not in progress.`)
  return migration
}

/**
 * Afterwards the server's host has been asked to abort its live migration, or to complete it soon. Throws `not-found` for the
 * server, `conflict` when it is not migrating, `missing` for a migration it does not have, `invalid` in a state that
 * forbids it.
 */
export async function endLiveMigration(
  compute: Compute,
  context: RequestContext,
  id: string,
  number: string,
  how: {
    readonly action: 'force-complete' | 'abort-migration'
    readonly method: string
    readonly from: readonly string[]
    readonly missing: 'invalid' | 'not-found'
  },
): Promise<void> {
  const { db } = compute
  const server = await showServer(db, context, id)
  refuseAction(server, context, how.action)
  const migration = await findOf(db, server.id, number)
  if (migration === undefined)
    throw new Failure(how.missing, `Migration ${number} not found for instance ${id}`)
  if (!how.from.includes(migration.status))
    throw new Failure(
      'invalid',
      `Migration ${number} state of instance ${id} is ${migration.status}. Cannot ${how.method} while the migration is in this state.`,
    )
  const { uuid: migrationId } = migration
  await actOnServer(compute, context, id, { name: how.action, migrationId })
}

async function findOf(
  db: Executor,
  serverId: string,
  number: string,
): Promise<RecordedMigration | undefined> {
  return /^\d{1,15}$/.test(number) ? findServerMigration(db, serverId, Number(number)) : undefined
}
