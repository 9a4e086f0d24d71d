import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { volumeQuotaClasses, volumeQuotas } from './schema/block-storage.ts'

/** The class whose limits hold for projects without limits of their own. */
export const DEFAULT_CLASS = 'default'

export interface VolumeQuotaRow {
  readonly resource: string
  readonly used: number
  /** Null while the default holds. */
  readonly limit: number | null
}

/** Limits by resource. */
export type LimitsByResource = ReadonlyMap<string, number>

const { placeholder } = sql
const isRow = and(
  eq(volumeQuotas.projectId, placeholder('projectId')),
  eq(volumeQuotas.resource, placeholder('resource')),
)
const byClass = sql`(select hard_limit from volume_quota_classes c
  where c.class_name = ${DEFAULT_CLASS} and c.resource = ${placeholder('resource')})`
const effective = sql`coalesce(${volumeQuotas.limit}, ${byClass}, ${placeholder('defaultLimit')})`

const CHARGE = statement(
  builder
    .update(volumeQuotas)
    .set({ used: sql`${volumeQuotas.used} + ${placeholder('amount')}` })
    .where(
      and(
        isRow,
        sql`(${effective} < 0 or ${volumeQuotas.used} + ${placeholder('amount')} <= ${effective})`,
      ),
    ),
  { sums: ['amount'] },
)

const OPEN = statement(
  builder
    .insert(volumeQuotas)
    .values({ projectId: placeholder('projectId'), resource: placeholder('resource'), used: 0 })
    .onDuplicateKeyUpdate({ set: { used: sql`${volumeQuotas.used}` } }),
)

const REFUND = statement(
  builder
    .update(volumeQuotas)
    .set({ used: sql`greatest(${volumeQuotas.used} - ${placeholder('amount')}, 0)` })
    .where(isRow),
)

export interface VolumeCharge {
  readonly projectId: string
  readonly resource: string
  readonly amount: number
  readonly defaultLimit: number
}

/** Raises what the project uses, unless that passes its limit: then false, and nothing changed. */
export async function chargeVolumeQuota(tx: Tx, charge: VolumeCharge): Promise<boolean> {
  const values = { ...charge }
  if ((await tx.run(CHARGE, values)).affectedRows === 1) return true
  await tx.run(OPEN, values)
  return (await tx.run(CHARGE, values)).affectedRows === 1
}

/** Lowers what the project uses. */
export function queueVolumeRefund(
  tx: Tx,
  refund: Pick<VolumeCharge, 'projectId' | 'resource' | 'amount'>,
): void {
  tx.queue(REFUND, { ...refund })
}

export async function volumeQuotaRows(
  db: Executor,
  projectId: string,
): Promise<readonly VolumeQuotaRow[]> {
  const { resource, used, limit } = volumeQuotas
  return db.orm
    .select({ resource, used, limit })
    .from(volumeQuotas)
    .where(eq(volumeQuotas.projectId, projectId))
}

/** Afterwards these limits hold for the project, also if it uses more already. */
export async function setVolumeLimits(
  tx: Tx,
  projectId: string,
  limits: LimitsByResource,
): Promise<void> {
  for (const [resource, limit] of limits)
    await tx.orm
      .insert(volumeQuotas)
      .values({ projectId, resource, used: 0, limit })
      .onDuplicateKeyUpdate({ set: { limit } })
}

/** Afterwards the defaults hold for the project. */
export async function clearVolumeLimits(db: Executor, projectId: string): Promise<void> {
  await db.orm
    .update(volumeQuotas)
    .set({ limit: null })
    .where(eq(volumeQuotas.projectId, projectId))
}

/** The limits set for the class. */
export async function volumeClassLimits(
  db: Executor,
  className: string,
): Promise<LimitsByResource> {
  const { resource, limit } = volumeQuotaClasses
  const rows = await db.orm
    .select({ resource, limit })
    .from(volumeQuotaClasses)
    .where(eq(volumeQuotaClasses.className, className))
  return new Map(rows.map((row) => [row.resource, row.limit]))
}

/** Afterwards the class has these limits; those not named stay. */
export async function setVolumeClassLimits(
  tx: Tx,
  className: string,
  limits: LimitsByResource,
): Promise<void> {
  for (const [resource, limit] of limits)
    await tx.orm
      .insert(volumeQuotaClasses)
      .values({ className, resource, limit })
      .onDuplicateKeyUpdate({ set: { limit } })
}

/** True if any project uses some of one of these resources. */
export async function isAnyUsed(db: Executor, resources: readonly string[]): Promise<boolean> {
  const used = and(inArray(volumeQuotas.resource, [...resources]), gt(volumeQuotas.used, 0))
  return (await db.orm.$count(volumeQuotas, used)) > 0
}

/** Afterwards the limits of these resources are gone, but for those of projects that use some. */
export async function forgetUnused(tx: Tx, resources: readonly string[]): Promise<void> {
  const names = [...resources]
  const unused = and(inArray(volumeQuotas.resource, names), eq(volumeQuotas.used, 0))
  await tx.orm.delete(volumeQuotas).where(unused)
  await tx.orm.delete(volumeQuotaClasses).where(inArray(volumeQuotaClasses.resource, names))
}
