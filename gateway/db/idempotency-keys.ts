import { and, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { builder, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import { idempotencyKeys } from './schema/servers.ts'

/** Names one request of a project's, or of a user's who has none; a repeat under the same key must have the same fingerprint. */
export interface IdempotencyKey {
  readonly projectId: string
  readonly keyHash: string
  readonly fingerprint: string
}

/** The servers that a request created. */
export interface CreatedServers {
  readonly serverIds: readonly string[]
  readonly reservationId: string
}

/** The objects that the first request with a key created: ids, never a secret. */
export type FirstResult<Made> = Made & { readonly fingerprint: string }

const isKey = and(
  eq(idempotencyKeys.projectId, sql.placeholder('projectId')),
  eq(idempotencyKeys.keyHash, sql.placeholder('keyHash')),
)

const INSERT = statement(
  builder.insert(idempotencyKeys).values({
    projectId: sql.placeholder('projectId'),
    keyHash: sql.placeholder('keyHash'),
    fingerprint: sql.placeholder('fingerprint'),
    result: sql.placeholder('result'),
    createdAt: sql`now(3)`,
  }),
)

const INSERT_OF_DELETE = statement(
  builder
    .insert(idempotencyKeys)
    .ignore()
    .values({
      projectId: sql.placeholder('projectId'),
      keyHash: sql.placeholder('keyHash'),
      fingerprint: sql.placeholder('fingerprint'),
      result: {},
      createdAt: sql`now(3)`,
    }),
)

const FIND = statement(
  builder
    .select({ fingerprint: idempotencyKeys.fingerprint, result: idempotencyKeys.result })
    .from(idempotencyKeys)
    .where(and(isKey, sql`${idempotencyKeys.createdAt} > now(3) - interval 24 hour`)),
)

const DROP_EXPIRED = statement(
  builder
    .delete(idempotencyKeys)
    .where(and(isKey, sql`${idempotencyKeys.createdAt} <= now(3) - interval 24 hour`)),
)

/** The objects created with the key within the last 24 hours; undefined when there are none. */
export async function findFirstResult<Made extends object>(
  db: Executor,
  key: IdempotencyKey,
): Promise<FirstResult<Made> | undefined> {
  const [row] = await db.rows<{ fingerprint: string; result: Made }>(FIND, { ...key })
  if (row === undefined) return undefined
  return { fingerprint: row.fingerprint, ...row.result }
}

/** Takes the key for an object that this transaction deletes, unless it is taken. */
export function queueDeleteKey(tx: Tx, key: IdempotencyKey): void {
  tx.queue(INSERT_OF_DELETE, { ...key })
}

/** Takes the key for what this transaction makes. Throws `conflict` when another request has it, or is taking it. */
export async function takeIdempotencyKey(
  tx: Tx,
  key: IdempotencyKey,
  result: object,
): Promise<void> {
  await tx.run(DROP_EXPIRED, { ...key })
  try {
    await tx.run(INSERT, { ...key, result })
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw new Failure('conflict', 'Another request with this Idempotency-Key has just begun.')
  }
}
