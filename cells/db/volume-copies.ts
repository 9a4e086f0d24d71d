import { and, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { VolumeId } from '#common/ids.ts'
import { volumeCopies } from './schema/volumes.ts'

const p = sql.placeholder

const INSERT = statement(
  builder.insert(volumeCopies).values({
    volumeId: p('volumeId'),
    storeId: p('storeId'),
    sizeGb: p('sizeGb'),
    createdAt: sql`now(3)`,
  }),
)
const DELETE = statement(
  builder
    .delete(volumeCopies)
    .where(and(eq(volumeCopies.volumeId, p('volumeId')), eq(volumeCopies.storeId, p('storeId')))),
)

/** Content of a volume in a store that is not the volume's, which that store counts. */
export interface VolumeCopy {
  readonly volumeId: VolumeId
  readonly storeId: string
  readonly sizeGb: number
}

/** The transaction fails with a duplicate-key error where the store has content of the volume already. */
export function queueVolumeCopy(tx: Tx, copy: VolumeCopy): void {
  tx.queue(INSERT, { ...copy })
}

/** False where there is none. */
export async function removeVolumeCopy(
  tx: Tx,
  copy: Pick<VolumeCopy, 'volumeId' | 'storeId'>,
): Promise<boolean> {
  return (await tx.run(DELETE, { ...copy })).affectedRows === 1
}

/** The stores that have content of the volume besides its own. */
export async function copiesOfVolume(
  db: Executor,
  volumeId: string,
): Promise<readonly VolumeCopy[]> {
  return copiesWhere(db, eq(volumeCopies.volumeId, volumeId))
}

/** The volumes of which the store has content, though it is not theirs. */
export async function copiesInStore(db: Executor, storeId: string): Promise<readonly VolumeCopy[]> {
  return copiesWhere(db, eq(volumeCopies.storeId, storeId))
}

async function copiesWhere(
  db: Executor,
  condition: ReturnType<typeof eq>,
): Promise<readonly VolumeCopy[]> {
  const { volumeId, storeId, sizeGb } = volumeCopies
  const rows = await db.orm
    .select({ volumeId, storeId, sizeGb })
    .from(volumeCopies)
    .where(condition)
  return rows.map((row) => ({ ...row, volumeId: row.volumeId as VolumeId }))
}
