import { and, eq, inArray, ne, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { type ResourcePage, readPage } from './resource-page.ts'
import { networks, ports, rbacPolicies } from './schema/network.ts'

/** The target that stands for every project. */
export const EVERY_PROJECT = '*'

/** Lets a project, or every one, use a network as if it were its own. */
export interface RbacPolicy {
  readonly id: string
  /** Whose policy it is, which need not be the network's owner. */
  readonly projectId: string
  readonly networkId: string
  /** A project's id, or `*`. */
  readonly target: string
}

const POLICIES = {
  table: rbacPolicies,
  id: rbacPolicies.id,
  attributes: {
    id: rbacPolicies.id,
    project_id: rbacPolicies.projectId,
    tenant_id: rbacPolicies.projectId,
    object_id: rbacPolicies.networkId,
    target_project: rbacPolicies.target,
    target_tenant: rbacPolicies.target,
  },
  conditions: {
    object_type: (anyOf: readonly unknown[]) =>
      anyOf.includes('network') ? sql`TRUE` : sql`FALSE`,
    action: (anyOf: readonly unknown[]) =>
      anyOf.includes('access_as_shared') ? sql`TRUE` : sql`FALSE`,
  },
}

/** A page of the project's policies; null sees all. */
export function listRbacPolicies(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly RbacPolicy[]> {
  const visible = projectId === null ? undefined : eq(rbacPolicies.projectId, projectId)
  return readPage(db, POLICIES, visible, page, ({ where, orderBy, limit }) =>
    db.orm
      .select()
      .from(rbacPolicies)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit),
  )
}

export async function findRbacPolicy(db: Executor, id: string): Promise<RbacPolicy | undefined> {
  const [row] = await db.orm.select().from(rbacPolicies).where(eq(rbacPolicies.id, id))
  return row
}

/** The policies of the network, or those of them with this target. */
export async function policiesOfNetwork(
  db: Executor,
  networkId: string,
  target?: string,
): Promise<readonly RbacPolicy[]> {
  const isTarget = target === undefined ? undefined : eq(rbacPolicies.target, target)
  const where = and(eq(rbacPolicies.networkId, networkId), isTarget)
  return db.orm.select().from(rbacPolicies).where(where)
}

/** Afterwards the policy holds; false when the network has one with this target. */
export async function insertRbacPolicy(tx: Tx, policy: RbacPolicy): Promise<boolean> {
  try {
    await tx.orm.insert(rbacPolicies).values(policy)
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
  await showShared(tx, policy.networkId)
  return true
}

/** Afterwards there is no such policy; false when there was none. */
export async function deleteRbacPolicy(tx: Tx, { id, networkId }: RbacPolicy): Promise<boolean> {
  const [result] = await tx.orm.delete(rbacPolicies).where(eq(rbacPolicies.id, id))
  await showShared(tx, networkId)
  return result.affectedRows === 1
}

/** Afterwards the policy has another target; false when the network has one with it. */
export async function changeTarget(
  tx: Tx,
  { id, networkId, target }: RbacPolicy,
): Promise<boolean> {
  try {
    await tx.orm.update(rbacPolicies).set({ target }).where(eq(rbacPolicies.id, id))
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
  await showShared(tx, networkId)
  return true
}

/** A network's row says whether all projects share it, so that readers of the row need no second query. */
async function showShared(tx: Tx, networkId: string): Promise<void> {
  const everyone = await policiesOfNetwork(tx, networkId, EVERY_PROJECT)
  const isShared = everyone.length > 0
  await tx.orm.update(networks).set({ isShared }).where(eq(networks.id, networkId))
}

/** True when projects have ports on the network that no policy but this lets them have. */
export async function isReliedOn(
  tx: Tx,
  { id, networkId, target }: RbacPolicy,
  owner: string,
): Promise<boolean> {
  const others = sql`EXISTS (SELECT 1 FROM ${rbacPolicies} WHERE ${rbacPolicies.networkId} = ${networkId}
    AND ${rbacPolicies.id} <> ${id} AND ${rbacPolicies.target} IN (${EVERY_PROJECT}, ${ports.projectId}))`
  const isConcerned = target === EVERY_PROJECT ? undefined : eq(ports.projectId, target)
  const rows = await tx.orm
    .select({ id: ports.id })
    .from(ports)
    .where(
      and(
        eq(ports.networkId, networkId),
        ne(ports.projectId, owner),
        isConcerned,
        sql`NOT ${others}`,
      ),
    )
    .limit(1)
  return rows.length > 0
}

/** Those of the networks that a policy shares with this very project. */
export async function networksSharedWith(
  db: Executor,
  projectId: string | null,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (projectId === null || ids.length === 0) return new Set()
  const rows = await db.orm
    .select({ networkId: rbacPolicies.networkId })
    .from(rbacPolicies)
    .where(and(inArray(rbacPolicies.networkId, [...ids]), eq(rbacPolicies.target, projectId)))
  return new Set(rows.map(({ networkId }) => networkId))
}

/** True, in a statement, of a network that a policy shares with this very project. */
export function isSharedWith(networkId: typeof networks.id | SQL, projectId: string): SQL {
  return sql`EXISTS (SELECT 1 FROM ${rbacPolicies} WHERE ${rbacPolicies.networkId} = ${networkId} AND ${rbacPolicies.target} = ${projectId})`
}
