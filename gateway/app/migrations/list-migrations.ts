import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { flavorNumbers } from '../../db/flavors.ts'
import { hostsOfNames } from '../../db/host-list.ts'
import {
  findMigrationByUuid,
  listMigrations as list,
  type RecordedMigration,
} from '../../db/server-migration-list.ts'
import { parseIsoTime } from '../iso-time.ts'

export interface MigrationListQuery {
  readonly host?: string
  readonly instance_uuid?: string
  readonly source_compute?: string
  readonly status?: string
  readonly migration_type?: string
  readonly user_id?: string
  readonly project_id?: string
  /** The UUID of the last migration of the page before. */
  readonly marker?: string
  readonly 'changes-since'?: string
  readonly 'changes-before'?: string
}

/** One page of migrations, newest first. Throws `invalid` for times and markers. */
export async function listMigrations(
  db: Executor,
  query: MigrationListQuery & { readonly limit: number },
): Promise<readonly RecordedMigration[]> {
  const since = timeOf(query, 'changes-since')
  const before = timeOf(query, 'changes-before')
  if (since !== undefined && before !== undefined && since > before)
    throw new Failure(
      'invalid',
      'The value of changes-since must be less than or equal to changes-before.',
    )
  return list(db, {
    limit: query.limit,
    marker: await markerOf(db, query.marker),
    host: query.host,
    serverId: query.instance_uuid,
    sourceHost: query.source_compute,
    statuses: query.status === undefined ? undefined : [query.status],
    type: query.migration_type,
    userId: query.user_id,
    projectId: query.project_id,
    since,
    before,
  })
}

/** A migration with its destination and flavors; null where these are unknown here by now. */
export type ShownMigration = RecordedMigration & {
  readonly destAddress: string | null
  readonly oldFlavorNumber: number | null
  readonly newFlavorNumber: number | null
}

export async function shownMigrations(
  db: Executor,
  migrations: readonly RecordedMigration[],
): Promise<readonly ShownMigration[]> {
  const names = new Set(migrations.flatMap(({ destHost }) => destHost ?? []))
  const flavors = new Set(migrations.flatMap((each) => [each.oldFlavorId, each.newFlavorId]))
  const [hosts, numbers] = await Promise.all([
    hostsOfNames(db, [...names]),
    flavorNumbers(db, [...flavors]),
  ])
  return migrations.map((migration) => {
    const { cellId, destHost, oldFlavorId, newFlavorId } = migration
    const host = hosts.find((each) => each.cellId === cellId && each.view.name === destHost)
    return {
      ...migration,
      destAddress: host?.view.inventory?.hypervisor.address ?? null,
      oldFlavorNumber: numbers.get(oldFlavorId) ?? null,
      newFlavorNumber: numbers.get(newFlavorId) ?? null,
    }
  })
}

function timeOf(
  query: MigrationListQuery,
  name: 'changes-since' | 'changes-before',
): Date | undefined {
  const text = query[name]
  return text === undefined ? undefined : parseIsoTime(text, name)
}

async function markerOf(
  db: Executor,
  marker: string | undefined,
): Promise<RecordedMigration | undefined> {
  if (marker === undefined) return undefined
  const found = await findMigrationByUuid(db, marker)
  if (found === undefined) throw new Failure('invalid', `Marker ${marker} could not be found.`)
  return found
}
