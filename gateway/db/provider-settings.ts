import { eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import type { ProviderSettings } from '#openapi/wire/provider.ts'
import { providerSettings } from './schema/placement.ts'

/** What administrators decided about a host as a resource provider. */
export interface DecidedProvider {
  /** How often they have. */
  readonly generation: number
  readonly settings: ProviderSettings
}

/** Of a host about which administrators have decided nothing. */
export const NOTHING_DECIDED: DecidedProvider = { generation: 0, settings: { traits: [] } }

/** By the host's id; operators decide about few hosts. */
export async function listProviderSettings(
  db: Executor,
): Promise<ReadonlyMap<string, DecidedProvider>> {
  const rows = await db.orm.select().from(providerSettings)
  return new Map(rows.map(({ hostId, generation, settings }) => [hostId, { generation, settings }]))
}

export async function findProviderSettings(db: Executor, hostId: string): Promise<DecidedProvider> {
  const [row] = await db.orm
    .select()
    .from(providerSettings)
    .where(eq(providerSettings.hostId, hostId))
  return row ?? NOTHING_DECIDED
}

/** What was decided about the host, locked until the transaction ends. */
export async function lockProviderSettings(tx: Tx, hostId: string): Promise<DecidedProvider> {
  await tx.orm
    .insert(providerSettings)
    .ignore()
    .values({ hostId, ...NOTHING_DECIDED })
  await lockRows(tx, providerSettings, eq(providerSettings.hostId, hostId))
  return findProviderSettings(tx, hostId)
}

/** Afterwards this is decided, and the generation is another. */
export async function updateProviderSettings(
  tx: Tx,
  hostId: string,
  settings: ProviderSettings,
): Promise<void> {
  await tx.orm
    .update(providerSettings)
    .set({ settings, generation: sql`${providerSettings.generation} + 1` })
    .where(eq(providerSettings.hostId, hostId))
}

/** Afterwards nothing is decided about the host. */
export async function deleteProviderSettings(tx: Tx, hostId: string): Promise<void> {
  await tx.orm.delete(providerSettings).where(eq(providerSettings.hostId, hostId))
}
