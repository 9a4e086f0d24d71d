import { eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import { requestSpecs } from './schema/servers.ts'
import { ascii, BY_KEY } from './server-attempts.ts'

export interface PublishedPassword {
  readonly serverId: string
  readonly attempt: number
  readonly password: string
  /** How often it had been cleared when the guest published it. */
  readonly clears: number
}

const PUBLISH = sqlStatement(sql`
  update json_table(${sql.placeholder('passwords')}, '$[*]' columns (
    server_id ${ascii(36)} path '$.serverId', attempt int path '$.attempt',
    password text path '$.password', clears int path '$.clears')) v
  straight_join instance_mappings m${BY_KEY} on m.server_id = v.server_id
  straight_join request_specs r${BY_KEY} on r.server_id = v.server_id
  set r.guest_password = v.password
  where m.attempt = v.attempt and m.cell_id = ${sql.placeholder('cellId')}
    and r.password_clears = v.clears`)

/** Afterwards these passwords are shown, of servers that are in the cell at these attempts. */
export function queueGuestPasswords(
  tx: Tx,
  cellId: CellId,
  passwords: readonly PublishedPassword[],
): void {
  if (passwords.length === 0) return
  const ordered = passwords.toSorted((a, b) => (a.serverId < b.serverId ? -1 : 1))
  tx.queue(PUBLISH, { passwords: JSON.stringify(ordered), cellId })
}

/** Null: the guest has published none since it was cleared last. */
export async function findGuestPassword(db: Executor, serverId: string): Promise<string | null> {
  const [row] = await db.orm
    .select({ password: requestSpecs.guestPassword })
    .from(requestSpecs)
    .where(eq(requestSpecs.serverId, serverId))
  return row?.password ?? null
}

/** Afterwards none is shown, and the guest may publish another. */
export async function clearGuestPassword(tx: Tx, serverId: string): Promise<void> {
  await tx.orm
    .update(requestSpecs)
    .set({ guestPassword: null, passwordClears: sql`${requestSpecs.passwordClears} + 1` })
    .where(eq(requestSpecs.serverId, serverId))
}
