import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { jsonText, parseShared } from './json-text.ts'
import { requestSpecs } from './schema/servers.ts'

/** What was asked for a server and still holds, as far as it is shown. */
export interface ServerWish {
  /** The zone it does not leave; null: it may run in any. */
  readonly zone: string | null
  readonly hints: SchedulerHints
  /** Of its image, as they were when it was made or rebuilt. */
  readonly imageProperties: Readonly<Record<string, string>>
}

/** What the scheduler was told when the server was made, every value in a list, as Nova keeps it. */
export type SchedulerHints = Readonly<Record<string, readonly string[]>>

const zone = sql<string | null>`json_value(${requestSpecs.spec}, '$.zone')`

/** By server; without those that are gone. */
export async function findServerWishes(
  db: Executor,
  serverIds: readonly string[],
): Promise<ReadonlyMap<string, ServerWish>> {
  if (serverIds.length === 0) return new Map()
  const rows = await db.orm
    .select({
      serverId: requestSpecs.serverId,
      zone,
      hints: jsonText(requestSpecs.hints, 'hints'),
      imageProperties: sql<string>`cast(json_query(${requestSpecs.spec}, '$.image.properties') as char)`,
    })
    .from(requestSpecs)
    .where(inArray(requestSpecs.serverId, [...serverIds]))
  return new Map(
    rows.map((row) => [
      row.serverId,
      {
        zone: row.zone,
        hints: parseShared<SchedulerHints>(row.hints),
        imageProperties: parseShared<ServerWish['imageProperties']>(row.imageProperties),
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
