import { and, eq, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { parseShared } from './json-text.ts'
import { requestSpecs } from './schema/servers.ts'
import { SERVER_IDS } from './server-attempts.ts'

/** What was asked for a server and still holds, as far as it is shown. */
export interface ServerWish {
  /** The zone it does not leave; null: it may run in any. */
  readonly zone: string | null
  readonly hints: SchedulerHints
  /** Of its image, as they were when it was made or rebuilt. */
  readonly imageProperties: Readonly<Record<string, string>>
  /** Ids of what a signature of its image may be checked with; null: none were named. */
  readonly trustedCertificates: readonly string[] | null
}

/** What the scheduler was told when the server was made, every value in a list, as Nova keeps it. */
export type SchedulerHints = Readonly<Record<string, readonly string[]>>

const zone = sql<string | null>`json_value(${requestSpecs.spec}, '$.zone')`

const FIND = sqlStatement(sql`
  select r.server_id, json_value(r.spec, '$.zone') as zone, cast(r.hints as char) as hints,
    cast(json_query(r.spec, '$.image.properties') as char) as image_properties,
    cast(json_query(r.spec, '$.remarks.trustedCertificates') as char) as trusted_certificates
  from ${SERVER_IDS} straight_join request_specs r on r.server_id = v.server_id`)

interface WishRow {
  readonly server_id: string
  readonly zone: string | null
  readonly hints: string
  readonly image_properties: string
  readonly trusted_certificates: string | null
}

/** By server; without those that are gone. */
export async function findServerWishes(
  db: Executor,
  serverIds: readonly string[],
): Promise<ReadonlyMap<string, ServerWish>> {
  if (serverIds.length === 0) return new Map()
  const rows = await db.rows<WishRow>(FIND, { servers: JSON.stringify(serverIds) })
  return new Map(
    rows.map((row) => [
      row.server_id,
      {
        zone: row.zone,
        hints: parseShared<SchedulerHints>(row.hints),
        imageProperties: parseShared<ServerWish['imageProperties']>(row.image_properties),
        trustedCertificates:
          row.trusted_certificates === null
            ? null
            : parseShared<readonly string[]>(row.trusted_certificates),
      },
    ]),
  )
}

/** Afterwards the server is bound to the zone, or to none. False, and nothing is written, when it was not as `from` says. */
export async function pinServer(
  db: Executor,
  serverId: string,
  { from, to }: { readonly from: string | null; readonly to: string | null },
): Promise<boolean> {
  const [result] = await db.orm
    .update(requestSpecs)
    .set({ spec: sql`json_set(${requestSpecs.spec}, '$.zone', ${to})` })
    .where(and(eq(requestSpecs.serverId, serverId), sql`${zone} <=> ${from}`))
  return result.affectedRows === 1
}
