import { and, eq, inArray, type Placeholder, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { HostCondition } from '../app/hosts/host-state.ts'
import type { FoundServer } from '../app/servers/list/server-record.ts'
import { isThere } from './host-list.ts'
import { REQUEST_ATTRIBUTES, type RequestAttributes } from './request-specs.ts'
import { hostIndex } from './schema/cells.ts'
import { serverGroupMembers } from './schema/server-groups.ts'
import { requestSpecs, serverIndex } from './schema/servers.ts'
import { SERVER_COLUMNS, type ServerRow, serverRecordOf } from './server-row.ts'

type FoundRow = ServerRow & { readonly group_id: string | null }

const FOUND_COLUMNS = { ...SERVER_COLUMNS, group_id: serverGroupMembers.groupId }
const inGroup = eq(serverGroupMembers.serverId, serverIndex.serverId)
const among = (ids: readonly Placeholder[]) => inArray(serverIndex.serverId, [...ids])

const SERVERS = new Lookup<FoundRow>(
  (ids) =>
    builder
      .select(FOUND_COLUMNS)
      .from(serverIndex)
      .leftJoin(serverGroupMembers, inGroup)
      .where(among(ids)),
  ({ server_id }) => server_id,
)

interface PlacedRow extends FoundRow {
  /** Null: the server is on no host, or on one that is gone. */
  readonly host_cell_id: CellId | null
  readonly host_is_up: string | null
  readonly host_is_disabled: string | null
  readonly host_is_forced_down: string | null
  readonly sealed_user_data: string | null
  readonly kernel_id: string | null
  readonly ramdisk_id: string | null
}

const PLACED = new Lookup<PlacedRow>(
  (ids) =>
    builder
      .select({
        ...FOUND_COLUMNS,
        ...REQUEST_ATTRIBUTES,
        host_cell_id: sql`${hostIndex.cellId}`.as('host_cell_id'),
        host_is_up: ofHost('isUp').as('host_is_up'),
        host_is_disabled: ofHost('isDisabled').as('host_is_disabled'),
        host_is_forced_down: ofHost('isForcedDown').as('host_is_forced_down'),
      })
      .from(serverIndex)
      .leftJoin(serverGroupMembers, inGroup)
      .leftJoin(hostIndex, and(eq(hostIndex.hostId, serverIndex.hostId), isThere))
      .leftJoin(requestSpecs, eq(requestSpecs.serverId, serverIndex.serverId))
      .where(among(ids)),
  ({ server_id }) => server_id,
)

function ofHost(name: string) {
  return sql`json_value(${hostIndex.view}, ${sql.raw(`'$.${name}'`)})`
}

/** The server's last known view, also of one deleted within the retention time; undefined when there is none. */
export async function findServer(db: Executor, serverId: string): Promise<FoundServer | undefined> {
  const row = await SERVERS.one(db, serverId)
  return row === undefined ? undefined : foundServer(row)
}

/** A server, with what only those are shown who may see where it is. */
export interface PlacedServer {
  readonly server: FoundServer
  /** Undefined: it is on no host, or on one that is gone. */
  readonly host: HostCondition | undefined
  readonly attributes: RequestAttributes
}

/** As `findServer`. */
export async function findPlacedServer(
  db: Executor,
  serverId: string,
): Promise<PlacedServer | undefined> {
  const row = await PLACED.one(db, serverId)
  if (row === undefined) return undefined
  return {
    server: foundServer(row),
    host: hostOf(row),
    attributes: {
      sealedUserData: row.sealed_user_data,
      kernelId: row.kernel_id,
      ramdiskId: row.ramdisk_id,
    },
  }
}

function foundServer(row: FoundRow): FoundServer {
  return { ...serverRecordOf(row), groupId: row.group_id }
}

function hostOf(row: PlacedRow): HostCondition | undefined {
  if (row.host_cell_id === null) return undefined
  return {
    cellId: row.host_cell_id,
    view: {
      isUp: row.host_is_up === '1',
      isDisabled: row.host_is_disabled === '1',
      isForcedDown: row.host_is_forced_down === '1',
    },
  }
}
