import { and, eq, inArray, isNotNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { parseJson } from '#common/db/json.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { BuildSpec } from '../app/servers/build-spec.ts'
import { requestSpecs } from './schema/servers.ts'

/** What the user asked for, with the secrets still sealed. */
export interface RequestSpec {
  readonly serverId: string
  readonly spec: BuildSpec
  readonly sealedUserData: string | null
  readonly sealedPassword: string | null
}

interface RequestSpecRow {
  readonly server_id: string
  readonly spec: unknown
  readonly sealed_user_data: string | null
  readonly sealed_password: string | null
}

const INSERT = rowsInsert(requestSpecs, ['serverId', 'spec', 'sealedUserData', 'sealedPassword'])

const FIND = statement(
  builder
    .select({
      server_id: requestSpecs.serverId,
      spec: requestSpecs.spec,
      sealed_user_data: requestSpecs.sealedUserData,
      sealed_password: requestSpecs.sealedPassword,
    })
    .from(requestSpecs)
    .where(eq(requestSpecs.serverId, sql.placeholder('serverId'))),
)

export function insertRequestSpecs(tx: Tx, specs: readonly RequestSpec[]): Promise<void> {
  return INSERT.run(tx, specs)
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
    spec: parseJson(row.spec),
    sealedUserData: row.sealed_user_data,
    sealedPassword: row.sealed_password,
  }
}

/** The user data of those of the servers that have any, sealed, by server. */
export async function findSealedUserData(
  db: Executor,
  serverIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (serverIds.length === 0) return new Map()
  const rows = await db.orm
    .select({ serverId: requestSpecs.serverId, sealed: requestSpecs.sealedUserData })
    .from(requestSpecs)
    .where(
      and(inArray(requestSpecs.serverId, [...serverIds]), isNotNull(requestSpecs.sealedUserData)),
    )
  return new Map(rows.map(({ serverId, sealed }) => [serverId, sealed!]))
}

/** Afterwards nobody can tell these servers' first passwords any more, the gateway included. */
export async function erasePasswords(tx: Tx, serverIds: readonly string[]): Promise<void> {
  if (serverIds.length === 0) return
  await tx.orm
    .update(requestSpecs)
    .set({ sealedPassword: null })
    .where(
      and(inArray(requestSpecs.serverId, [...serverIds]), isNotNull(requestSpecs.sealedPassword)),
    )
}
