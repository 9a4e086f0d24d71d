import { sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { AskedFor } from '../app/servers/boot/asked-for.ts'
import { BY_KEY } from './server-attempts.ts'

/** Of a server of which the index has null. */
export const NOTHING_ASKED: AskedFor = {
  zone: null,
  hints: {},
  imageProperties: {},
  trustedCertificates: null,
}

const p = sql.placeholder
const asked = sql`coalesce(s.asked, ${JSON.stringify(NOTHING_ASKED)})`

const SHOW = sqlStatement(sql`
  update server_index s set s.asked = json_set(${asked}, '$.zone', ${p('zone')},
    '$.imageProperties', json_extract(${p('imageProperties')}, '$'),
    '$.trustedCertificates', json_extract(${p('trustedCertificates')}, '$'))
  where s.server_id = ${p('serverId')} and s.deleted_at is null`)

/** Afterwards the server shows the fields of the latest request; its hints stay. */
export function queueAsked(tx: Tx, serverId: string, now: Omit<AskedFor, 'hints'>): void {
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
    set r.spec = json_set(r.spec, '$.zone', ${to}), s.asked = json_set(${asked}, '$.zone', ${to})
    where r.server_id = ${serverId} and json_value(r.spec, '$.zone') <=> ${from}`)
  return result.affectedRows > 0
}
