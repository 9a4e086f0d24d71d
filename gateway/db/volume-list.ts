import { and, count, desc, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { SharedReads } from '#common/db/shared-reads.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { ShownVolume, Volume } from '../app/volumes/volume.ts'
import { inSlices } from './keyset.ts'
import { type Collection, matching, type ResourcePage, readPage } from './resource-page.ts'
import { volumes } from './schema/volumes.ts'
import { hasMetadata } from './volume-metadata.ts'
import { shownVolumeOf, VOLUME_COLUMNS, type VolumeRow } from './volume-row.ts'

const COLLECTION: Collection = {
  table: volumes,
  id: volumes.id,
  attributes: {
    id: volumes.id,
    name: volumes.name,
    status: volumes.status,
    size: volumes.sizeGb,
    bootable: volumes.isBootable,
    availability_zone: volumes.zone,
    volume_type_id: volumes.typeId,
    user_id: volumes.userId,
    project_id: volumes.projectId,
    created_at: volumes.createdAt,
    updated_at: volumes.updatedAt,
    cell_id: volumes.cellId,
    store_name: volumes.storeName,
  },
  conditions: {
    encrypted: ([isEncrypted]) =>
      isEncrypted === true ? isNotNull(volumes.encryption) : isNull(volumes.encryption),
    metadata: (pairs) => hasMetadata(volumes.metadata, pairs),
  },
}

/** A page of the volumes of a project; of all projects where that is null. Throws `invalid` for what cannot be sorted by. */
export function listVolumes(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly ShownVolume[]> {
  if (projectId !== null && isNewest(page)) return newestVolumes(db, projectId, page.limit)
  const visible = projectId === null ? undefined : eq(volumes.projectId, projectId)
  return readPage(db, COLLECTION, visible, page, async ({ where, orderBy, limit }) => {
    const query = builder.select(VOLUME_COLUMNS).from(volumes).where(where)
    const ordered = query.orderBy(...orderBy).limit(sql.placeholder('limit'))
    // The query builder takes longer to read the rows of a large page than the database does.
    const rows = await db.rows<VolumeRow>(statement(ordered), { limit: BigInt(limit) })
    return rows.map(shownVolumeOf)
  })
}

/** True of the page that lists ask for most: the first of all volumes, the newest first. */
function isNewest({ filters, sort, marker, isReversed }: ResourcePage): boolean {
  const order = sort.map(({ attribute, direction }) => `${attribute}:${direction}`).join()
  const isWhole = filters.length === 0 && marker === undefined && !isReversed
  return isWhole && order === NEWEST_FIRST
}

const NEWEST_FIRST = 'created_at:desc,id:desc'

const p = sql.placeholder

const newestOfProject = (further?: SQL) =>
  statement(
    builder
      .select(VOLUME_COLUMNS)
      .from(volumes)
      .where(and(eq(volumes.projectId, p('projectId')), further))
      .orderBy(desc(volumes.createdAt), desc(volumes.id))
      .limit(p('limit')),
  )
const NEWEST_OF_PROJECT = newestOfProject()
const NEXT_OF_PROJECT = newestOfProject(sql`
  ${volumes.createdAt} <= ${p('createdAt')}
  and (${volumes.createdAt} < ${p('createdAt')} or ${volumes.id} < ${p('id')})`)

const NEWEST = new SharedReads<readonly ShownVolume[]>()

/** The newest volumes of a project, in prepared queries, which all share that ask for them at the same time. */
function newestVolumes(
  db: Executor,
  projectId: string,
  limit: number,
): Promise<readonly ShownVolume[]> {
  return NEWEST.read(db, `${limit} ${projectId}`, () =>
    inSlices<ShownVolume>(limit, async (max, last) => {
      const query = last === undefined ? NEWEST_OF_PROJECT : NEXT_OF_PROJECT
      const after = { createdAt: last?.createdAt ?? null, id: last?.id ?? null }
      // mysql2 sends numbers as doubles, which LIMIT does not take.
      const rows = await db.rows<VolumeRow>(query, { projectId, limit: BigInt(max), ...after })
      return rows.map(shownVolumeOf)
    }),
  )
}

/** How many volumes of a project, or of all, the filters leave, and their GiB. */
export async function sumVolumes(
  db: Executor,
  projectId: string | null,
  filters: ResourcePage['filters'],
): Promise<{ readonly volumes: number; readonly sizeGb: number }> {
  const visible = projectId === null ? undefined : eq(volumes.projectId, projectId)
  const [row] = await db.orm
    .select({ volumes: count(), size: sql<number | string>`coalesce(sum(${volumes.sizeGb}), 0)` })
    .from(volumes)
    .where(matching(COLLECTION, visible, filters))
  return { volumes: row?.volumes ?? 0, sizeGb: Number(row?.size ?? 0) }
}

/** The metadata of the volumes of a project, or of all projects. */
export async function metadataOfVolumes(
  db: Executor,
  projectId: string | null,
): Promise<readonly Volume['metadata'][]> {
  const rows = await db.orm
    .select({ metadata: volumes.metadata })
    .from(volumes)
    .where(projectId === null ? undefined : eq(volumes.projectId, projectId))
  return rows.map(({ metadata }) => metadata)
}
