import { sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'

const SET_ATTEMPT = ['instance_mappings', 'server_index'].map((table) =>
  sqlStatement(sql`update ${sql.raw(table)} set attempt = ${sql.placeholder('attempt')}
    where server_id = ${sql.placeholder('serverId')}`),
)

/** Afterwards a server that was just written is at this attempt, which its cell has it at. */
export function setAttempt(
  tx: Tx,
  server: { readonly serverId: string; readonly attempt: number },
): void {
  for (const each of SET_ATTEMPT) tx.queue(each, server)
}
