import { eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { BuildSpec } from '../app/servers/boot/build-spec.ts'
import type { RequestedProperties } from '../app/servers/boot/requested-properties.ts'
import { queueRequestedProperties } from './requested-properties.ts'
import { requestSpecs } from './schema/servers.ts'
import {
  BY_KEY,
  boundAttempts,
  SERVER_ATTEMPTS,
  SERVER_IDS,
  type ServerAttempt,
} from './server-attempts.ts'

/** The user's request, with its secrets still sealed. */
export interface RequestSpec {
  readonly serverId: string
  readonly spec: BuildSpec
  readonly sealedUserData: string | null
  readonly sealedFiles: string | null
  readonly sealedPassword: string | null
}

interface RequestSpecRow {
  readonly server_id: string
  readonly spec: BuildSpec
  readonly sealed_user_data: string | null
  readonly sealed_files: string | null
  readonly sealed_password: string | null
}

const INSERT = rowsInsert(requestSpecs, [
  'serverId',
  'spec',
  'sealedUserData',
  'sealedFiles',
  'sealedPassword',
])

const FIND = statement(
  builder
    .select({
      server_id: requestSpecs.serverId,
      spec: requestSpecs.spec,
      sealed_user_data: requestSpecs.sealedUserData,
      sealed_files: requestSpecs.sealedFiles,
      sealed_password: requestSpecs.sealedPassword,
    })
    .from(requestSpecs)
    .where(eq(requestSpecs.serverId, sql.placeholder('serverId'))),
)

/** What to select to know a request's `RequestAttributes`. */
export const REQUEST_ATTRIBUTES = {
  sealed_user_data: requestSpecs.sealedUserData,
  kernel_id: sql<string | null>`json_value(${requestSpecs.spec}, '$.image.kernel.id')`.as(
    'kernel_id',
  ),
  ramdisk_id: sql<string | null>`json_value(${requestSpecs.spec}, '$.image.ramdisk.id')`.as(
    'ramdisk_id',
  ),
}

const ATTRIBUTES = sqlStatement(sql`
  select r.server_id, r.sealed_user_data, json_value(r.spec, '$.image.kernel.id') as kernel_id,
    json_value(r.spec, '$.image.ramdisk.id') as ramdisk_id
  from ${SERVER_IDS} straight_join request_specs r${BY_KEY} on r.server_id = v.server_id`)

/** The cell and attempt are checked: a cell may end the need for a password only of a server it has. */
const ERASE = sqlStatement(sql`
  update ${SERVER_ATTEMPTS}
  straight_join instance_mappings m${BY_KEY} on m.server_id = v.server_id
  straight_join request_specs r${BY_KEY} on r.server_id = v.server_id
  set r.sealed_password = null
  where r.sealed_password is not null and m.attempt = v.attempt
    and m.cell_id <=> ${sql.placeholder('cellId')}`)

export function queueRequestSpecs(tx: Tx, specs: readonly RequestSpec[]): void {
  INSERT.queue(tx, specs)
}

const REPLACE = statement(
  builder
    .update(requestSpecs)
    .set({
      spec: sql`${sql.placeholder('spec')}`,
      sealedUserData: sql`${sql.placeholder('sealedUserData')}`,
      sealedFiles: sql`${sql.placeholder('sealedFiles')}`,
      sealedPassword: sql`${sql.placeholder('sealedPassword')}`,
    })
    .where(eq(requestSpecs.serverId, sql.placeholder('serverId'))),
)

/** Afterwards the server's request is this one, and the server shows the properties `requested`. */
export async function replaceRequestSpec(
  tx: Tx,
  request: RequestSpec,
  requested: Omit<RequestedProperties, 'hints'>,
): Promise<void> {
  await tx.run(REPLACE, { ...request, spec: JSON.stringify(request.spec) })
  queueRequestedProperties(tx, request.serverId, requested)
}

/** Undefined once the server is gone. */
export async function findRequestSpec(
  db: Executor,
  serverId: string,
): Promise<RequestSpec | undefined> {
  const [row] = await db.rows<RequestSpecRow>(FIND, { serverId })
  if (row === undefined) return undefined
  return {
    serverId: row.server_id,
    spec: row.spec,
    sealedUserData: row.sealed_user_data,
    sealedFiles: row.sealed_files,
    sealedPassword: row.sealed_password,
  }
}

/** The fields of a request that are shown only to callers who may see the hosts of servers. */
export interface RequestAttributes {
  readonly sealedUserData: string | null
  /** Of the kernel and the ramdisk that its image names; null: it names none. */
  readonly kernelId: string | null
  readonly ramdiskId: string | null
}

interface AttributesRow {
  readonly server_id: string
  readonly sealed_user_data: string | null
  readonly kernel_id: string | null
  readonly ramdisk_id: string | null
}

/** By server; without those that are gone. */
export async function findRequestAttributes(
  db: Executor,
  serverIds: readonly string[],
): Promise<ReadonlyMap<string, RequestAttributes>> {
  if (serverIds.length === 0) return new Map()
  const rows = await db.rows<AttributesRow>(ATTRIBUTES, { servers: JSON.stringify(serverIds) })
  return new Map(
    rows.map((row) => [
      row.server_id,
      {
        sealedUserData: row.sealed_user_data,
        kernelId: row.kernel_id,
        ramdiskId: row.ramdisk_id,
      },
    ]),
  )
}

/** Afterwards the first passwords of these servers are erased; the gateway itself cannot read them either. */
export function queuePasswordErasure(
  tx: Tx,
  cellId: CellId | null,
  servers: readonly ServerAttempt[],
): void {
  if (servers.length === 0) return
  tx.queue(ERASE, { cellId, servers: boundAttempts(servers) })
}
