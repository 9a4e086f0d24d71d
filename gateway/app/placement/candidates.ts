import type { Executor } from '#common/db/database.ts'
import { providerTrees } from './list-providers.ts'
import type { Provider, ProviderTree } from './provider.ts'
import { hasRoom, hasRoomFor, hasTraits, isMember, treesWith } from './provider-filters.ts'
import {
  type CandidateQuery,
  type CandidateRequest,
  candidateRequest,
  type RequestGroup,
} from './request-groups.ts'
import type { Amounts, RequestedAmounts } from './resource-classes.ts'

/** A way in which a tree satisfies a request. */
export interface Candidate {
  /** Of each provider that gives something. */
  readonly allocations: ReadonlyMap<Provider, Amounts>
  /** By suffix, the providers that satisfy the group. */
  readonly mappings: ReadonlyMap<string, readonly Provider[]>
}

export interface Candidates {
  readonly candidates: readonly Candidate[]
  /** Those that have some. */
  readonly trees: readonly ProviderTree[]
  /** What any group asks for. */
  readonly requested: ReadonlySet<string>
}

/** A group as providers satisfy it. */
interface Choice {
  readonly suffix: string
  readonly parts: readonly { readonly provider: Provider; readonly amounts: RequestedAmounts }[]
}

/** Combinations, of one request. Groups multiply: a request could otherwise keep a gateway busy for hours. */
const TRIES_MAX = 20_000

/** The ways in which hosts, with the parts below them, can satisfy the whole request now. Throws `invalid`. */
export async function allocationCandidates(
  db: Executor,
  query: CandidateQuery,
  seesParts: boolean,
): Promise<Candidates> {
  return candidatesAmong(await providerTrees(db), query, seesParts)
}

/** The same of these hosts. `seesParts` false: only hosts themselves give something. */
export function candidatesAmong(
  all: readonly ProviderTree[],
  query: CandidateQuery,
  seesParts: boolean,
): Candidates {
  const request = candidateRequest(query)
  // Malformed traits and ids are refused although no host is asked for them.
  const groups = request.groups.map(checkedGroup)
  const isRoot = hasTraits(request.rootRequired === undefined ? [] : [request.rootRequired])
  const candidates: Candidate[] = []
  const trees: ProviderTree[] = []
  const budget = { tries: TRIES_MAX }
  for (const tree of all) {
    const room = (request.limit ?? Number.POSITIVE_INFINITY) - candidates.length
    if (room <= 0 || budget.tries <= 0) break
    if (!isRoot(tree[0])) continue
    const found = candidatesIn(tree, request, groups, budget)
      .filter(({ allocations }) => seesParts || [...allocations.keys()].every(isTop))
      .slice(0, room)
    if (found.length === 0) continue
    candidates.push(...found)
    trees.push(tree)
  }
  const names = request.groups.flatMap(({ amounts }) => [...amounts.keys()])
  return { candidates, trees, requested: new Set(names) }
}

const isTop = ({ parentId }: Provider) => parentId === null

/** A group with its conditions. */
interface CheckedGroup extends RequestGroup {
  readonly hasTraits: ReturnType<typeof hasTraits>
  readonly isMember: ReturnType<typeof isMember>
}

function checkedGroup(group: RequestGroup): CheckedGroup {
  treesWith([], group.inTree)
  return { ...group, hasTraits: hasTraits(group.required), isMember: isMember(group.memberOf) }
}

function candidatesIn(
  tree: ProviderTree,
  request: CandidateRequest,
  groups: readonly CheckedGroup[],
  budget: { tries: number },
): readonly Candidate[] {
  const choices = groups.map((group) => choicesOf(tree, group))
  const found = new Map<string, Candidate>()
  for (const chosen of combinations(choices)) {
    budget.tries -= 1
    if (budget.tries < 0) break
    const candidate = candidateOf(chosen)
    if (!suits(tree, candidate, chosen, request)) continue
    const key = keyOf(candidate)
    if (!found.has(key)) found.set(key, candidate)
  }
  return [...found.values()]
}

/** Two candidates may have the same amounts of the same providers, for other groups. */
function keyOf({ allocations, mappings }: Candidate): string {
  const held = [...allocations].map(([{ id }, amounts]) => `${id} ${amountsText(amounts)}`)
  const groups = [...mappings].map(([suffix, of]) => [suffix, of.map(({ id }) => id).toSorted()])
  return JSON.stringify([held.toSorted(), groups])
}

function amountsText(amounts: Amounts): string {
  const texts = Object.entries(amounts).map(([name, amount]) => `${name}:${amount}`)
  return texts.toSorted().join(',')
}

function choicesOf(tree: ProviderTree, group: CheckedGroup): readonly Choice[] {
  const { suffix, amounts, inTree } = group
  if (treesWith([tree], inTree).length === 0) return []
  const providers = tree.filter(group.isMember)
  if (suffix !== '')
    return providers
      .filter((provider) => group.hasTraits(provider) && hasRoom(amounts)(provider))
      .map((provider) => ({ suffix, parts: [{ provider, amounts }] }))
  const perClass = [...amounts].map(([name, amount]) =>
    providers
      .filter((provider) => hasRoomFor(provider, name, amount))
      .map((provider) => ({ provider, amounts: new Map([[name, amount]]) })),
  )
  return [...combinations(perClass)]
    .filter((parts) => group.hasTraits(withTraitsOfAll(parts.map(({ provider }) => provider))))
    .map((parts) => ({ suffix, parts }))
}

/** The group without a suffix has the traits that any of its providers has. */
function withTraitsOfAll(providers: readonly Provider[]): Pick<Provider, 'traits'> {
  return { traits: providers.flatMap(({ traits }) => traits) }
}

function candidateOf(chosen: readonly Choice[]): Candidate {
  const allocations = new Map<Provider, Record<string, number>>()
  const mappings = new Map<string, readonly Provider[]>()
  for (const { suffix, parts } of chosen) {
    mappings.set(suffix, [...new Set(parts.map(({ provider }) => provider))])
    for (const { provider, amounts } of parts) {
      if (amounts.size === 0) continue
      const sum = allocations.get(provider) ?? {}
      for (const [name, amount] of amounts) sum[name] = (sum[name] ?? 0) + amount
      allocations.set(provider, sum)
    }
  }
  return { allocations, mappings }
}

function suits(
  tree: ProviderTree,
  { allocations, mappings }: Candidate,
  chosen: readonly Choice[],
  { isIsolated, subtrees }: CandidateRequest,
): boolean {
  const granular = chosen.filter(({ suffix }) => suffix !== '')
  const own = new Set(granular.flatMap(({ parts }) => parts.map(({ provider }) => provider)))
  if (isIsolated && own.size < granular.length) return false
  const together = (suffixes: readonly string[]) =>
    isOneSubtree(
      tree,
      suffixes.flatMap((suffix) => mappings.get(suffix) ?? []),
    )
  if (!subtrees.every(together)) return false
  return [...allocations].every(([provider, amounts]) => fitsTogether(provider, amounts))
}

/** What several groups take of one provider. */
function fitsTogether({ inventories }: Provider, amounts: Amounts): boolean {
  return Object.entries(amounts).every(([name, amount]) => {
    const { used, capacity, maxUnit } = inventories.get(name)!
    return used + amount <= capacity && amount <= maxUnit
  })
}

/** One of them is above all others, or they are the same. */
function isOneSubtree(tree: ProviderTree, providers: readonly Provider[]): boolean {
  const isBelow = (provider: Provider, top: Provider): boolean => {
    if (provider === top) return true
    const parent = tree.find(({ id }) => id === provider.parentId)
    return parent !== undefined && isBelow(parent, top)
  }
  return providers.some((top) => providers.every((provider) => isBelow(provider, top)))
}

/** One of each list, in every combination. */
function* combinations<T>(lists: readonly (readonly T[])[]): Generator<readonly T[]> {
  const [first, ...rest] = lists
  if (first === undefined) {
    yield []
    return
  }
  for (const one of first) for (const others of combinations(rest)) yield [one, ...others]
}
