import { and, asc, eq, gt, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { hostIndex } from './schema/cells.ts'
import { serverIndex } from './schema/servers.ts'

/** The last known view of a host, and whose it is. */
export interface HostRecord {
  readonly cellId: CellId
  /** The small number by which clients below microversion 2.53 know the host and its service. */
  readonly serial: number
  readonly view: HostView
  /** When the host first reported. */
  readonly createdAt: Date
}

/** More hosts than this are not shown in one answer that has no pages. */
const HOSTS_MAX = 10_000

/** For a row of `host_index`: the host is still in its cell. */
export const isThere = sql`not ${hostIndex.isDeleted}`

/** For a row of `host_index`: the host's driver has the optional part of this name, as SQL. */
export function isAbleTo(capability: SQL): SQL {
  return sql`json_contains(${hostIndex.capabilities}, json_quote(${capability}))`
}

const COLUMNS = {
  hostId: sql`${hostIndex.hostId}`.as('hostId'),
  cellId: sql`${hostIndex.cellId}`.as('cellId'),
  serial: hostIndex.serial,
  view: hostIndex.view,
  createdAt: sql`${hostIndex.createdAt}`.as('createdAt'),
}

export interface HostRange {
  readonly after: number
  readonly limit: number
  /** Of one cell; absent: of all. */
  readonly cellId?: string | undefined
  /** Whose driver has this optional part; absent: any. */
  readonly capability?: string | undefined
}

/** Hosts in the order of their serials, from after the one given. */
export function listHosts(
  db: Executor,
  page: HostRange = { after: 0, limit: HOSTS_MAX },
): Promise<readonly HostRecord[]> {
  const ofCell = page.cellId === undefined ? undefined : eq(hostIndex.cellId, page.cellId)
  const able = page.capability === undefined ? undefined : isAbleTo(sql`${page.capability}`)
  return select(db, and(gt(hostIndex.serial, page.after), ofCell, able), page.limit)
}

export async function findHost(db: Executor, hostId: string): Promise<HostRecord | undefined> {
  return (await select(db, eq(hostIndex.hostId, hostId), 1))[0]
}

export async function findHostBySerial(
  db: Executor,
  serial: number,
): Promise<HostRecord | undefined> {
  return (await select(db, eq(hostIndex.serial, serial), 1))[0]
}

const IS_UP_AND_ABLE = and(
  isThere,
  sql`${hostIndex.isUp}`,
  isAbleTo(sql`${sql.placeholder('capability')}`),
)
const ABLE = statement(builder.select(COLUMNS).from(hostIndex).where(IS_UP_AND_ABLE))
const ABILITIES = statement(
  builder
    .selectDistinct({
      cellId: sql`${hostIndex.cellId}`.as('cellId'),
      capabilities: hostIndex.capabilities,
    })
    .from(hostIndex)
    .where(and(isThere, sql`${hostIndex.isUp}`)),
)

/** Hosts that are up and whose driver has this optional part. */
export async function hostsAbleTo(
  db: Executor,
  capability: string,
): Promise<readonly HostRecord[]> {
  return await db.rows<HostRecord>(ABLE, { capability })
}

/** For each cell with a host that is up, the optional parts that any of these hosts' drivers has. */
export async function abilitiesOfCells(
  db: Executor,
): Promise<ReadonlyMap<CellId, ReadonlySet<string>>> {
  const rows = await db.rows<{ cellId: CellId; capabilities: string | null }>(ABILITIES, {})
  const byCell = Map.groupBy(rows, ({ cellId }) => cellId)
  return new Map(
    [...byCell].map(([cellId, each]) => [
      cellId,
      new Set(each.flatMap(({ capabilities }) => JSON.parse(capabilities ?? '[]') as string[])),
    ]),
  )
}

/** Every host of this name: names are unique within a cell only. */
export function hostsNamed(db: Executor, name: string): Promise<readonly HostRecord[]> {
  return select(db, eq(hostIndex.name, name), HOSTS_MAX)
}

/** The same of any of these names. */
export async function hostsOfNames(
  db: Executor,
  names: readonly string[],
): Promise<readonly HostRecord[]> {
  return names.length === 0 ? [] : select(db, inArray(hostIndex.name, [...names]), HOSTS_MAX)
}

const BY_ID = new Lookup<HostRecord & { readonly hostId: string }>(
  (ids) =>
    builder
      .select(COLUMNS)
      .from(hostIndex)
      .where(and(inArray(hostIndex.hostId, [...ids]), isThere)),
  ({ hostId }) => hostId,
)

/** Without those that are not there; servers that are shown at once ask for the same few. */
export async function hostsByIds(
  db: Executor,
  hostIds: readonly string[],
): Promise<readonly HostRecord[]> {
  const found = await Promise.all([...new Set(hostIds)].map((id) => BY_ID.all(db, id)))
  return found.flat()
}

async function select(
  db: Executor,
  where: SQL | undefined,
  limit: number,
): Promise<readonly HostRecord[]> {
  const rows = await db.orm
    .select({
      cellId: hostIndex.cellId,
      serial: hostIndex.serial,
      view: hostIndex.view,
      createdAt: hostIndex.createdAt,
    })
    .from(hostIndex)
    .where(and(where, isThere))
    .orderBy(asc(hostIndex.serial))
    .limit(limit)
  return rows.map(({ cellId, view, ...row }) => {
    return { ...row, cellId: cellId as CellId, view: view as HostView }
  })
}

export interface HostedServer {
  readonly id: string
  /** As the hypervisor knows it. */
  readonly name: string
}

/** The servers on each of the hosts; a host without any is absent. */
export async function serversOnHosts(
  db: Executor,
  hostIds: readonly string[],
): Promise<ReadonlyMap<string, readonly HostedServer[]>> {
  if (hostIds.length === 0) return new Map()
  const rows = await db.orm
    .select({
      hostId: serverIndex.hostId,
      id: serverIndex.serverId,
      name: serverIndex.instanceName,
    })
    .from(serverIndex)
    .where(and(inArray(serverIndex.hostId, [...hostIds]), isNull(serverIndex.deletedAt)))
    .orderBy(asc(serverIndex.serverId))
    .limit(HOSTS_MAX)
  const servers = rows.map(({ hostId, id, name }) => ({
    hostId: hostId ?? '',
    id,
    name: name ?? '',
  }))
  return Map.groupBy(servers, ({ hostId }) => hostId)
}
