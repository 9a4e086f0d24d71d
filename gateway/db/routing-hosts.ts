import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { isAbleTo, isThere } from './host-list.ts'
import { hostIndex } from './schema/cells.ts'
import { serverIndex } from './schema/servers.ts'

/** A host whose backend has routers of its own, as last known. */
export interface RoutingHost {
  readonly id: string
  readonly cellId: string
  readonly name: string
  /** By the names of physical networks; `cidrs` empty: its subnets are not shown. */
  readonly externalNetworks: readonly { readonly name: string; readonly cidrs: readonly string[] }[]
  /** Why it routes to none of them. */
  readonly problem: string | null
}

const CAN_ROUTE = isAbleTo(sql`'routing'`)
const COLUMNS = {
  id: hostIndex.hostId,
  cellId: hostIndex.cellId,
  name: hostIndex.name,
  externalNetworks: sql<
    RoutingHost['externalNetworks'] | null
  >`json_extract(${hostIndex.view}, '$.inventory.externalNetworks')`,
  problem: sql<string | null>`json_value(${hostIndex.view}, '$.inventory.routingProblem')`,
}

/** Those of all cells, whether they are up or not. */
export async function routingHosts(db: Executor): Promise<readonly RoutingHost[]> {
  return rows(db.orm.select(COLUMNS).from(hostIndex).where(and(isThere, CAN_ROUTE)))
}

/** The host of a server, if its backend has routers of its own. */
export async function routingHostOf(
  db: Executor,
  serverId: string,
): Promise<RoutingHost | undefined> {
  const onHost: SQL | undefined = and(
    eq(hostIndex.hostId, serverIndex.hostId),
    eq(hostIndex.cellId, serverIndex.cellId),
  )
  const found = await rows(
    db.orm
      .select(COLUMNS)
      .from(serverIndex)
      .innerJoin(hostIndex, onHost)
      .where(and(eq(serverIndex.serverId, serverId), CAN_ROUTE)),
  )
  return found[0]
}

type Row = Omit<RoutingHost, 'externalNetworks'> & {
  readonly externalNetworks: RoutingHost['externalNetworks'] | null
}

async function rows(query: PromiseLike<readonly Row[]>): Promise<readonly RoutingHost[]> {
  return (await query).map(({ externalNetworks, ...row }) => ({
    ...row,
    externalNetworks: externalNetworks ?? [],
  }))
}
