import { and, desc, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { SelectedFields } from 'drizzle-orm/mysql-core'
import type { Executor } from '#common/db/database.ts'
import { SharedReads } from '#common/db/shared-reads.ts'
import { builder, type Statement, statement } from '#common/db/statement.ts'
import type { ServerRecord } from '../app/servers/list/server-record.ts'
import {
  after,
  inSlices,
  orderOf,
  ROWS_MAX,
  rowsOfIds,
  SLICE_OF_IDS,
  type SortColumn,
  sliceOfIds,
} from './keyset.ts'
import { serverIndex } from './schema/servers.ts'
import {
  isNotSoft,
  type ServerCondition,
  type ServerTextField,
  serverCondition,
  TEXT_FIELDS,
} from './server-conditions.ts'
import { SERVER_COLUMNS, type ServerRow, serverRecordOf } from './server-row.ts'

const SORT_COLUMNS = {
  access_ip_v4: sql`${serverIndex.accessIPv4}`,
  access_ip_v6: sql`${serverIndex.accessIPv6}`,
  auto_disk_config: sql`${serverIndex.diskConfig}`,
  availability_zone: sql`coalesce(${serverIndex.zone}, ${serverIndex.requestedZone})`,
  config_drive: sql`${serverIndex.configDrive}`,
  created_at: sql`${serverIndex.createdAt}`,
  display_description: sql`${serverIndex.description}`,
  display_name: sql`${serverIndex.name}`,
  host: sql`${serverIndex.host}`,
  hostname: sql`${serverIndex.hostname}`,
  image_ref: sql`${serverIndex.imageId}`,
  instance_type_id: sql`${serverIndex.flavorId}`,
  kernel_id: TEXT_FIELDS.kernel_id,
  key_name: sql`${serverIndex.keyName}`,
  launch_index: sql`${serverIndex.launchIndex}`,
  launched_at: sql`${serverIndex.launchedAt}`,
  locked: sql`${serverIndex.isLocked}`,
  locked_by: sql`${serverIndex.lockedBy}`,
  node: sql`${serverIndex.hypervisorHostname}`,
  power_state: sql`${serverIndex.powerState}`,
  project_id: sql`${serverIndex.projectId}`,
  ramdisk_id: TEXT_FIELDS.ramdisk_id,
  task_state: sql`${serverIndex.taskState}`,
  terminated_at: sql`${serverIndex.terminatedAt}`,
  updated_at: sql`${serverIndex.updatedAt}`,
  user_id: sql`${serverIndex.userId}`,
  uuid: sql`${serverIndex.serverId}`,
  vm_state: sql`${serverIndex.vmState}`,
} as const
export type ServerSortKey = keyof typeof SORT_COLUMNS

export function isServerSortKey(key: string): key is ServerSortKey {
  return Object.hasOwn(SORT_COLUMNS, key)
}

export interface ServerOrder {
  readonly key: ServerSortKey
  readonly isDescending: boolean
}

export interface ServerPageQuery {
  readonly conditions: readonly ServerCondition[]
  readonly order: readonly ServerOrder[]
  /** The server the page starts after. */
  readonly marker: string | undefined
  readonly limit: number
}

/** A server with the texts a caller wants to look at itself. */
export interface ServerWithTexts {
  readonly server: ServerRecord
  readonly texts: Readonly<Partial<Record<ServerTextField, string | null>>>
}

const newestOfProject = (further?: SQL) =>
  statement(
    builder
      .select(SERVER_COLUMNS)
      .from(serverIndex)
      .where(
        and(
          eq(serverIndex.projectId, sql.placeholder('projectId')),
          isNull(serverIndex.deletedAt),
          isNotSoft,
          further,
        ),
      )
      .orderBy(desc(serverIndex.createdAt), desc(serverIndex.serverId))
      .limit(sql.placeholder('limit')),
  )
const NEWEST_OF_PROJECT = newestOfProject()
const NEXT_OF_PROJECT = newestOfProject(sql`
  ${serverIndex.createdAt} <= ${sql.placeholder('createdAt')}
  and (${serverIndex.createdAt} < ${sql.placeholder('createdAt')}
    or ${serverIndex.serverId} < ${sql.placeholder('serverId')})`)

const NEWEST = new SharedReads<readonly ServerRecord[]>()

/** What lists ask for most: the first page of a project's servers, newest first, in prepared queries. */
export function newestServers(
  db: Executor,
  projectId: string,
  limit: number,
): Promise<readonly ServerRecord[]> {
  return NEWEST.read(db, `${limit} ${projectId}`, () => readNewest(db, projectId, limit))
}

function readNewest(
  db: Executor,
  projectId: string,
  limit: number,
): Promise<readonly ServerRecord[]> {
  return inSlices<ServerRecord>(limit, async (rows, last) => {
    const query = last === undefined ? NEWEST_OF_PROJECT : NEXT_OF_PROJECT
    const after = { createdAt: last?.createdAt ?? null, serverId: last?.id ?? null }
    // mysql2 sends numbers as doubles, which LIMIT does not take.
    const found = await db.rows<ServerRow>(query, { projectId, limit: BigInt(rows), ...after })
    return found.map(serverRecordOf)
  })
}

/** One page of the servers of which all conditions hold; `texts` names what else to read of each. */
export async function listServerPage(
  db: Executor,
  query: ServerPageQuery,
  texts: readonly ServerTextField[] = [],
): Promise<readonly ServerWithTexts[]> {
  const withTexts = (row: ServerRow & TextColumns) => {
    return { server: serverRecordOf(row), texts: textsOf(row, texts) }
  }
  const whole = async () => {
    const rows = await readPage<ServerRow & TextColumns>(db, query, columnsWith(texts))
    return rows.map(withTexts)
  }
  if (query.limit <= ROWS_MAX) return whole()
  const keys = await readPage<Pick<ServerRow, 'server_id'>>(db, query, ID_COLUMN)
  const ids = keys.map(({ server_id }) => server_id)
  const found = await rowsOfIds(ids, (slice) => rowsById(db, slice, texts))
  const byId = new Map(found.map((row) => [row.server_id, row]))
  // One was purged meanwhile: a page that is not full would end the list.
  if (byId.size < ids.length) return whole()
  return ids.map((id) => withTexts(byId.get(id)!))
}

const ID_COLUMN = { server_id: serverIndex.serverId }

// Statements of lists are built at every call, but read without drizzle's own mapping, which takes longer than the
// database does.

async function readPage<Row>(
  db: Executor,
  query: ServerPageQuery,
  columns: SelectedFields,
): Promise<readonly Row[]> {
  const keys = sortKeys(query.order)
  const start = query.marker === undefined ? undefined : await afterMarker(db, keys, query.marker)
  if (start === 'unknown') return []
  const page = statement(
    builder
      .select(columns)
      .from(serverIndex)
      .where(and(...query.conditions.map(serverCondition), start))
      .orderBy(...orderOf(keys))
      .limit(sql.placeholder('limit')),
  )
  return db.rows<Row>(page, { limit: BigInt(query.limit) })
}

/** By the names of their texts. */
const BY_IDS = new Map<string, Statement>()

function rowsById(
  db: Executor,
  ids: readonly string[],
  texts: readonly ServerTextField[],
): Promise<readonly (ServerRow & TextColumns)[]> {
  const key = texts.join()
  const known = BY_IDS.get(key) ?? byIds(texts)
  BY_IDS.set(key, known)
  return db.rows(known, sliceOfIds(ids))
}

function byIds(texts: readonly ServerTextField[]): Statement {
  const ofIds = inArray(serverIndex.serverId, SLICE_OF_IDS)
  return statement(builder.select(columnsWith(texts)).from(serverIndex).where(ofIds))
}

/** True when a marker names a server of which the conditions hold. */
export async function isServerListed(
  db: Executor,
  serverId: string,
  conditions: readonly ServerCondition[],
): Promise<boolean> {
  const rows = await db.orm
    .select({ one: sql`1` })
    .from(serverIndex)
    .where(and(eq(serverIndex.serverId, serverId), ...conditions.map(serverCondition)))
  return rows.length > 0
}

function sortKeys(order: readonly ServerOrder[]): readonly SortColumn[] {
  const asked = order.map(({ key, isDescending }) => ({ column: SORT_COLUMNS[key], isDescending }))
  const isDescending = order.at(-1)?.isDescending ?? true
  return [...asked, { column: SORT_COLUMNS.uuid, isDescending }]
}

async function afterMarker(
  db: Executor,
  keys: readonly SortColumn[],
  marker: string,
): Promise<SQL | 'unknown'> {
  const columns = Object.fromEntries(
    keys.map(({ column }, i) => [`k${i}`, sql`${column}`.as(`k${i}`)]),
  )
  const [row] = await db.orm
    .select(columns)
    .from(serverIndex)
    .where(eq(serverIndex.serverId, marker))
  if (row === undefined) return 'unknown'
  return after(
    keys,
    keys.map((_, i) => row[`k${i}`]),
  )
}

/** Called `text_` and the field's name. */
type TextColumns = Readonly<Record<`text_${string}`, string | null>>

function columnsWith(texts: readonly ServerTextField[]) {
  const further = texts.map((field) => [`text_${field}`, TEXT_FIELDS[field].as(`text_${field}`)])
  return { ...SERVER_COLUMNS, ...(Object.fromEntries(further) as Record<string, SQL.Aliased>) }
}

function textsOf(row: TextColumns, texts: readonly ServerTextField[]): ServerWithTexts['texts'] {
  return Object.fromEntries(texts.map((field) => [field, row[`text_${field}`] ?? null]))
}
