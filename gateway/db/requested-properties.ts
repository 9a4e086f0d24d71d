import { sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { RequestedProperties } from '../app/servers/boot/requested-properties.ts'
import { BY_KEY } from './server-attempts.ts'

/** The properties of a server whose column `requested` is null. */
export const NO_REQUESTED_PROPERTIES: RequestedProperties = {
  zone: null,
  hints: {},
  imageProperties: {},
  trustedCertificates: null,
}

const p = sql.placeholder
const requested = sql`coalesce(s.requested, ${JSON.stringify(NO_REQUESTED_PROPERTIES)})`

const SHOW = sqlStatement(sql`
  update server_index s set s.requested = json_set(${requested}, '$.zone', ${p('zone')},
    '$.imageProperties', json_extract(${p('imageProperties')}, '$'),
    '$.trustedCertificates', json_extract(${p('trustedCertificates')}, '$'))
  where s.server_id = ${p('serverId')} and s.deleted_at is null`)

/** Afterwards the server shows the fields of the latest request; its hints stay. */
export function queueRequestedProperties(
  tx: Tx,
  serverId: string,
  now: Omit<RequestedProperties, 'hints'>,
): void {
  tx.queue(SHOW, {
    serverId,
    zone: now.zone,
    imageProperties: JSON.stringify(now.imageProperties),
    trustedCertificates: JSON.stringify(now.trustedCertificates),
  })
}

/** Afterwards the server is bound to the zone, or to none. False, and nothing is written, when it was not as `from` says. */
export async function pinServer(
  db: Executor,
  serverId: string,
  { from, to }: { readonly from: string | null; readonly to: string | null },
): Promise<boolean> {
  const [result] = await db.orm.execute(sql`
    update request_specs r straight_join server_index s${BY_KEY} on s.server_id = r.server_id
    set r.spec = json_set(r.spec, '$.zone', ${to}), s.requested = json_set(${requested}, '$.zone', ${to})
    where r.server_id = ${serverId} and json_value(r.spec, '$.zone') <=> ${from}`)
  return result.affectedRows > 0
}
