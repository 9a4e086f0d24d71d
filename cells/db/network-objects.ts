import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  NETWORK_KINDS,
  type NetworkChanges,
  type NetworkKind,
  type NetworkObjectRef,
  type NetworkState,
} from '#openapi/wire/network.ts'
import { forgetPortBindings } from './port-bindings.ts'
import { networkObjects, networkWriter } from './schema/network.ts'

const WRITER_ID = 1

/** By kind and id, at most `limit` after this one. */
export async function listNetworkObjects(
  db: Executor,
  after: Pick<NetworkObjectRef, 'kind' | 'id'> | null,
  limit: number,
): Promise<readonly NetworkObjectRef[]> {
  const { kind, id, digest } = networkObjects
  const rows = await db.orm
    .select({ kind, id, digest })
    .from(networkObjects)
    .where(after === null ? undefined : sql`(${kind}, ${id}) > (${after.kind}, ${after.id})`)
    .orderBy(asc(kind), asc(id))
    .limit(limit)
  return rows.map((row) => ({ ...row, kind: row.kind as NetworkKind }))
}

/**
 * Afterwards the objects are as the changes say. Throws `conflict` for a generation older than the last that wrote: its
 * gateway has lost its lease.
 */
export async function writeNetworkChanges(
  tx: Tx,
  generation: number,
  { put, digests, removed }: NetworkChanges,
): Promise<void> {
  await takeWriter(tx, generation)
  const digestOf = new Map(digests.map(({ kind, id, digest }) => [`${kind} ${id}`, digest]))
  const rows = NETWORK_KINDS.flatMap((kind) =>
    put[kind].map((body) => {
      const digest = digestOf.get(`${kind} ${body.id}`)
      if (digest === undefined) throw new Failure('invalid', `${kind} ${body.id} has no digest.`)
      return { kind, id: body.id, digest, body }
    }),
  )
  if (rows.length > 0)
    await tx.orm
      .insert(networkObjects)
      .values(rows)
      .onDuplicateKeyUpdate({ set: { digest: sql`values(digest)`, body: sql`values(body)` } })
  const gone = removed.filter(({ kind }) => kind === 'ports')
  await forgetPortBindings(
    tx,
    gone.map(({ id }) => id),
  )
  for (const [kind, refs] of Map.groupBy(removed, (ref) => ref.kind))
    await tx.orm.delete(networkObjects).where(
      and(
        eq(networkObjects.kind, kind),
        inArray(
          networkObjects.id,
          refs.map(({ id }) => id),
        ),
      ),
    )
}

/** The row that all writers take first. */
async function takeWriter(tx: Tx, generation: number): Promise<void> {
  const { version } = networkWriter
  await tx.orm
    .insert(networkWriter)
    .values({ id: WRITER_ID, generation, version: 1 })
    .onDuplicateKeyUpdate({
      set: { generation: sql`greatest(generation, ${generation})`, version: sql`${version} + 1` },
    })
  const [row] = await tx.orm.select().from(networkWriter).where(eq(networkWriter.id, WRITER_ID))
  if (row!.generation > generation)
    throw new Failure('conflict', 'Another gateway writes the network state of this cell now.')
}

/** Afterwards the networks are written again: what the cell itself knows of its servers has changed. */
export async function touchNetworkState(tx: Tx): Promise<void> {
  const { id, version } = networkWriter
  await tx.orm
    .update(networkWriter)
    .set({ version: sql`${version} + 1` })
    .where(eq(id, WRITER_ID))
}

/** Grows with each change; 0 before the first. */
export async function networkVersion(db: Executor): Promise<number> {
  const [row] = await db.orm.select().from(networkWriter).where(eq(networkWriter.id, WRITER_ID))
  return row?.version ?? 0
}

/** The whole network state, as the gateways last sent it. */
export async function readNetworkState(db: Executor): Promise<NetworkState> {
  const { kind, body } = networkObjects
  const rows = await db.orm.select({ kind, body }).from(networkObjects)
  const byKind = Map.groupBy(rows, (row) => row.kind)
  const lists = NETWORK_KINDS.map((each) => [each, (byKind.get(each) ?? []).map((row) => row.body)])
  return Object.fromEntries(lists) as NetworkState
}
