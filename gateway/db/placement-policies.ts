import { and, asc, eq, inArray, or, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { Labels, TaintEffect } from './cell-mappings.ts'
import { placementPolicies, placementPolicyBindings } from './schema/placement-policies.ts'

/** Taints in spite of which servers come to a cell. */
export interface Toleration {
  readonly key: string
  /** Null: any. */
  readonly value: string | null
  /** Null: both. */
  readonly effect: TaintEffect | null
}

/** The cells of these names that have all of these labels. */
export interface CellSelector {
  /** Empty: of any name. */
  readonly cells: readonly string[]
  readonly labels: Labels
}

/** How evenly the servers of a project are placed. */
export interface Spread {
  /** Among what: cells, or the zones of cells. */
  readonly over: 'cell' | 'zone'
  /** How many servers more one may have than another, 1 at least. */
  readonly maxSkew: number
  /** False: more uneven rather than not at all. */
  readonly isRequired: boolean
}

/** What a project may have in each cell; null: as much as its quota allows. */
export interface CellLimits {
  readonly servers: number | null
  readonly vcpus: number | null
  readonly memoryMb: number | null
}

/** How servers are placed over cells. */
export interface PlacementRules {
  readonly tolerations: readonly Toleration[]
  /** Cells of a later entry are for servers that no cell of an earlier one can take. Empty: all cells are alike. */
  readonly preference: readonly CellSelector[]
  /** Null: it does not matter. */
  readonly spread: Spread | null
  /** Null: none. */
  readonly limits: CellLimits | null
  /** How much a low price counts beside the scheduling policy, whose scores and the prices are both scaled to 1; 0: not at all. */
  readonly costWeight: number
  /** What becomes of servers whose host was fenced: they are built again on another, start when it is back, or stay off. */
  readonly onHostFailure: 'evacuate' | 'restart' | 'none'
  /** What becomes of servers whose guest has ended by itself: they stay off, or are started again. */
  readonly onGuestFailure: 'none' | 'restart'
  /** True: users may move their servers to other cells. */
  readonly usersMayMove: boolean
  /** True: drains move servers that no other host of their cell takes to other cells, also where they were not asked to. */
  readonly drainsToOtherCells: boolean
}

/** Of a policy that says nothing. */
export const NO_RULES: PlacementRules = {
  tolerations: [],
  preference: [],
  spread: null,
  limits: null,
  costWeight: 0,
  onHostFailure: 'evacuate',
  onGuestFailure: 'none',
  usersMayMove: false,
  drainsToOtherCells: false,
}

/** To whose servers a policy applies. */
export interface PolicyBindings {
  /** True: to those to which no other applies. */
  readonly isDefault: boolean
  readonly projectIds: readonly string[]
  readonly flavorIds: readonly string[]
}

/** What operators say of a policy. */
export interface PolicyContent extends PolicyBindings {
  readonly name: string
  readonly description: string | null
  /** True where users may choose it by a hint. */
  readonly isSelectable: boolean
  readonly rules: PlacementRules
}

export interface PlacementPolicy extends PolicyContent {
  readonly id: string
  /** Grows with every change. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

type Kind = 'project' | 'flavor' | 'default'
type BindingRow = typeof placementPolicyBindings.$inferSelect

const now = sql`now(3)`

/** By name. There are few, and each gateway keeps them in memory. */
export async function listPlacementPolicies(db: Executor): Promise<readonly PlacementPolicy[]> {
  const rows = await db.orm.select().from(placementPolicies).orderBy(asc(placementPolicies.name))
  if (rows.length === 0) return []
  const { kind, targetId } = placementPolicyBindings
  const bindings = await db.orm
    .select()
    .from(placementPolicyBindings)
    .orderBy(asc(kind), asc(targetId))
  return rows.map((row) => policyOf(row, bindings))
}

/** Throws a duplicate-key error for a name in use. */
export async function insertPlacementPolicy(
  tx: Tx,
  id: string,
  { name, description, isSelectable, rules }: PolicyContent,
): Promise<void> {
  const times = { createdAt: now, updatedAt: now }
  await tx.orm
    .insert(placementPolicies)
    .values({ id, name, description, isSelectable, rules, ...times })
}

/** False, and nothing changed, where it was changed or deleted since `revision`. Throws a duplicate-key error for a name in use. */
export async function updatePlacementPolicy(
  tx: Tx,
  { id, revision }: Pick<PlacementPolicy, 'id' | 'revision'>,
  { name, description, isSelectable, rules }: PolicyContent,
): Promise<boolean> {
  const [result] = await tx.orm
    .update(placementPolicies)
    .set({ name, description, isSelectable, rules, revision: revision + 1, updatedAt: now })
    .where(and(eq(placementPolicies.id, id), eq(placementPolicies.revision, revision)))
  return result.affectedRows === 1
}

/** Afterwards the policy has these bindings and no others. Throws a duplicate-key error where another policy has one. */
export async function replaceBindings(tx: Tx, id: string, bindings: PolicyBindings): Promise<void> {
  await tx.orm.delete(placementPolicyBindings).where(eq(placementPolicyBindings.policyId, id))
  const rows = targets(bindings).map((target) => ({ ...target, policyId: id }))
  if (rows.length > 0) await tx.orm.insert(placementPolicyBindings).values(rows)
}

/** The bindings among these that other policies have. */
export async function bindingsOfOthers(
  db: Executor,
  id: string,
  bindings: PolicyBindings,
): Promise<readonly { readonly kind: string; readonly targetId: string; readonly name: string }[]> {
  const wanted = (['project', 'flavor', 'default'] as const).flatMap((kind) => {
    const ids = targets(bindings).flatMap((each) => (each.kind === kind ? [each.targetId] : []))
    const { kind: kinds, targetId } = placementPolicyBindings
    return ids.length === 0 ? [] : [and(eq(kinds, kind), inArray(targetId, ids))]
  })
  if (wanted.length === 0) return []
  const rows = await db.orm
    .select({
      kind: placementPolicyBindings.kind,
      targetId: placementPolicyBindings.targetId,
      policyId: placementPolicyBindings.policyId,
      name: placementPolicies.name,
    })
    .from(placementPolicyBindings)
    .innerJoin(placementPolicies, eq(placementPolicies.id, placementPolicyBindings.policyId))
    .where(or(...wanted))
  return rows.filter(({ policyId }) => policyId !== id)
}

/** False where there was none of this revision. */
export async function deletePlacementPolicy(
  tx: Tx,
  { id, revision }: Pick<PlacementPolicy, 'id' | 'revision'>,
): Promise<boolean> {
  const [result] = await tx.orm
    .delete(placementPolicies)
    .where(and(eq(placementPolicies.id, id), eq(placementPolicies.revision, revision)))
  if (result.affectedRows === 0) return false
  await tx.orm.delete(placementPolicyBindings).where(eq(placementPolicyBindings.policyId, id))
  return true
}

function targets({
  isDefault,
  projectIds,
  flavorIds,
}: PolicyBindings): readonly { readonly kind: Kind; readonly targetId: string }[] {
  return [
    ...projectIds.map((targetId) => ({ kind: 'project', targetId }) as const),
    ...flavorIds.map((targetId) => ({ kind: 'flavor', targetId }) as const),
    ...(isDefault ? [{ kind: 'default', targetId: '' } as const] : []),
  ]
}

function policyOf(
  row: typeof placementPolicies.$inferSelect,
  bindings: readonly BindingRow[],
): PlacementPolicy {
  const own = bindings.filter(({ policyId }) => policyId === row.id)
  const idsOf = (kind: Kind) => own.flatMap((each) => (each.kind === kind ? [each.targetId] : []))
  return {
    ...row,
    // A policy that a former release wrote lacks later rules.
    rules: { ...NO_RULES, ...(row.rules as Partial<PlacementRules>) },
    isDefault: idsOf('default').length > 0,
    projectIds: idsOf('project'),
    flavorIds: idsOf('flavor'),
  }
}
