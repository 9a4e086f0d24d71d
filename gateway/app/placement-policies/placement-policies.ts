import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { listCellMappings } from '../../db/cell-mappings.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import {
  bindingsOfOthers,
  insertPlacementPolicy,
  listPlacementPolicies,
  NO_RULES,
  type PlacementPolicy,
  type PlacementRules,
  type PolicyContent,
  deletePlacementPolicy as remove,
  replaceBindings,
  updatePlacementPolicy as update,
} from '../../db/placement-policies.ts'
import { idOf } from '../federation/named.ts'
import { oncePerKey } from '../once-per-key.ts'
import type { Caller } from '../request-context.ts'
import type { Prices } from '../usage/prices.ts'
import type { KnownPolicies } from './known-policies.ts'

export interface PolicyDeps {
  readonly db: Transactional
  readonly placementPolicies: KnownPolicies
  readonly prices: Prices | undefined
}

/** What to decide again; the rest stays. */
export interface PolicyChange {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly isSelectable?: boolean | undefined
  readonly isDefault?: boolean | undefined
  /** Ids or names. */
  readonly projects?: readonly string[] | undefined
  /** Ids or names. */
  readonly flavors?: readonly string[] | undefined
  readonly rules: { readonly [Name in keyof PlacementRules]?: PlacementRules[Name] | undefined }
}

const NEW: Omit<PolicyContent, 'name'> = {
  description: null,
  isSelectable: false,
  isDefault: false,
  projectIds: [],
  flavorIds: [],
  rules: NO_RULES,
}

/** By name. */
export function listPolicies({ db }: Pick<PolicyDeps, 'db'>): Promise<readonly PlacementPolicy[]> {
  return listPlacementPolicies(db)
}

/** The policy of this id or name. Throws `not-found`, saying which there are. */
export async function findPolicy(db: Executor, idOrName: string): Promise<PlacementPolicy> {
  const all = await listPlacementPolicies(db)
  const found = all.find(({ id }) => id === idOrName) ?? all.find(({ name }) => name === idOrName)
  if (found !== undefined) return found
  const names = all.map(({ name }) => name).join(', ')
  throw new Failure(
    'not-found',
    `There is no placement policy ${idOrName}. There are: ${names || 'none'}.`,
  )
}

/**
 * Afterwards the policy applies to choices of cells, at this gateway at once and at the others within a second. Returns its
 * id. Throws `invalid` for unknown projects, flavors and cells, `conflict` for a name or a binding that another policy has.
 */
export async function createPolicy(
  deps: PolicyDeps,
  caller: Pick<Caller, 'isExternal'>,
  { name, ...change }: PolicyChange & { readonly name: string },
  key: IdempotencyKey | null,
): Promise<string> {
  refuseWithoutPrices(deps, change)
  const content = await contentOf(deps.db, caller, { ...NEW, name }, change)
  const fresh = newId<string>()
  const { policyId } = await oncePerKey(deps.db, key, async (tx) => {
    await withOwnNames(tx, fresh, content, () => insertPlacementPolicy(tx, fresh, content))
    return { policyId: fresh }
  })
  return policyId
}

/** Afterwards it is so, and no server has moved. Throws as `createPolicy`, and `conflict` when another operator was quicker. */
export async function changePolicy(
  deps: PolicyDeps,
  caller: Pick<Caller, 'isExternal'>,
  policy: PlacementPolicy,
  change: PolicyChange,
): Promise<void> {
  refuseWithoutPrices(deps, change)
  const content = await contentOf(deps.db, caller, policy, change)
  await deps.db.transaction((tx) =>
    withOwnNames(tx, policy.id, content, async () => {
      if (!(await update(tx, policy, content))) throw changedMeanwhile(policy)
    }),
  )
}

/** Afterwards it applies to no choice any more. Throws `conflict` when another operator changed it meanwhile. */
export async function deletePolicy(deps: PolicyDeps, policy: PlacementPolicy): Promise<void> {
  if (!(await deps.db.transaction((tx) => remove(tx, policy)))) throw changedMeanwhile(policy)
}

async function contentOf(
  db: Executor,
  { isExternal }: Pick<Caller, 'isExternal'>,
  from: PolicyContent,
  { projects, flavors, rules, ...change }: PolicyChange,
): Promise<PolicyContent> {
  const idsOf = async (what: 'project' | 'flavor', names: readonly string[]) => [
    ...new Set(await Promise.all(names.map((name) => idOf(db, what, name)))),
  ]
  const { name = from.name, description = from.description } = change
  const { isSelectable = from.isSelectable, isDefault = from.isDefault } = change
  await refuseUnknownCells(db, rules)
  // Only an identity service elsewhere knows its projects.
  const projectIds = isExternal ? projects : projects && (await idsOf('project', projects))
  return {
    ...{ name, description, isSelectable, isDefault },
    projectIds: projectIds ?? from.projectIds,
    flavorIds: flavors === undefined ? from.flavorIds : await idsOf('flavor', flavors),
    rules: { ...from.rules, ...given(rules) },
  }
}

function given({
  tolerations,
  preference,
  spread,
  limits,
  costWeight,
  onHostFailure,
  onGuestFailure,
  usersMayMove,
  drainsToOtherCells,
}: PolicyChange['rules']): Partial<PlacementRules> {
  return {
    ...(tolerations !== undefined && { tolerations }),
    ...(preference !== undefined && { preference }),
    ...(spread !== undefined && { spread }),
    ...(limits !== undefined && { limits }),
    ...(costWeight !== undefined && { costWeight }),
    ...(onHostFailure !== undefined && { onHostFailure }),
    ...(onGuestFailure !== undefined && { onGuestFailure }),
    ...(usersMayMove !== undefined && { usersMayMove }),
    ...(drainsToOtherCells !== undefined && { drainsToOtherCells }),
  }
}

/** Throws `invalid`: without prices a cost weight has no effect. */
function refuseWithoutPrices(
  { prices }: PolicyDeps,
  { rules: { costWeight = 0 } }: PolicyChange,
): void {
  if (costWeight === 0 || prices !== undefined) return
  throw new Failure(
    'invalid',
    `cost_weight ${costWeight} has no effect: this gateway has no prices. Set GATEWAY_PRICES_FILE first.`,
  )
}

/** Throws `invalid`: an entry with a misspelt name would select no cell. */
async function refuseUnknownCells(
  db: Executor,
  { preference }: PolicyChange['rules'],
): Promise<void> {
  const named = preference?.flatMap(({ cells }) => cells) ?? []
  if (named.length === 0) return
  const names = (await listCellMappings(db)).map(({ name }) => name)
  const unknown = named.find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new Failure(
      'invalid',
      `There is no cell ${unknown}. There are: ${names.join(', ') || 'none'}.`,
    )
}

/** Writes the policy and its bindings. Throws `conflict`, naming what another policy has. */
async function withOwnNames(
  tx: Tx,
  id: string,
  content: PolicyContent,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw new Failure('conflict', `There is a placement policy ${content.name} already.`)
  }
  try {
    await replaceBindings(tx, id, content)
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const [other] = await bindingsOfOthers(tx, id, content)
    if (other === undefined) throw error
    const what = other.kind === 'default' ? 'The default' : `${other.kind} ${other.targetId}`
    throw new Failure(
      'conflict',
      `${what[0]!.toUpperCase()}${what.slice(1)} has the placement policy ${other.name} already. Take it out of that one first.`,
    )
  }
}

function changedMeanwhile({ name }: PlacementPolicy): Failure {
  return new Failure('conflict', `Placement policy ${name} was changed meanwhile. Read it again.`)
}
