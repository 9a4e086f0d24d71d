import type { Executor } from '#common/db/database.ts'
import { yieldToEventLoop } from '#common/yield-to-event-loop.ts'
import { combinations, firstOf } from './combinations.ts'
import { treePages } from './list-providers.ts'
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

/** For how long other requests may wait for a slice of the search. */
const SLICE_MS = 10

/** The ways in which hosts, with the parts below them, can satisfy the whole request now. Throws `invalid`. */
export async function allocationCandidates(
  db: Executor,
  query: CandidateQuery,
  seesParts: boolean,
): Promise<Candidates> {
  const search = new CandidateSearch(query, seesParts)
  const slice = { began: performance.now() }
  for await (const trees of treePages(db))
    for (const tree of trees) {
      if (search.isOver) return search.found()
      await inSlices(search.look(tree), slice)
    }
  return search.found()
}

async function inSlices(steps: Iterable<undefined>, slice: { began: number }): Promise<void> {
  for (const _ of steps) {
    if (performance.now() - slice.began < SLICE_MS) continue
    await yieldToEventLoop()
    slice.began = performance.now()
  }
}

/** The same of these hosts. `seesParts` false: only hosts themselves give something. */
export function candidatesAmong(
  all: readonly ProviderTree[],
  query: CandidateQuery,
  seesParts: boolean,
): Candidates {
  const search = new CandidateSearch(query, seesParts)
  for (const tree of all) {
    if (search.isOver) break
    for (const _ of search.look(tree));
  }
  return search.found()
}

/** What is found for a request while hosts are looked at one after another: its limit alone ends the search. */
class CandidateSearch {
  readonly #request: CandidateRequest
  readonly #groups: readonly CheckedGroup[]
  readonly #isRoot: ReturnType<typeof hasTraits>
  readonly #seesParts: boolean
  readonly #candidates: Candidate[] = []
  readonly #trees: ProviderTree[] = []

  /** Malformed traits and ids are refused although no host is asked for them. */
  constructor(query: CandidateQuery, seesParts: boolean) {
    this.#request = candidateRequest(query)
    this.#groups = this.#request.groups.map(checkedGroup)
    const { rootRequired } = this.#request
    this.#isRoot = hasTraits(rootRequired === undefined ? [] : [rootRequired])
    this.#seesParts = seesParts
  }

  /** True: it has as many as the request wants. */
  get isOver(): boolean {
    return this.#candidates.length >= (this.#request.limit ?? Number.POSITIVE_INFINITY)
  }

  /** Takes what the host gives; a pause is possible after each combination. */
  *look(tree: ProviderTree): Generator<undefined, undefined> {
    if (!this.#isRoot(tree[0])) return
    const choices = this.#groups.map((group) => choicesOf(tree, group))
    const known = new Set<string>()
    const before = this.#candidates.length
    for (const chosen of firstOf(combinations(choices))) {
      const candidate = candidateOf(chosen)
      if (this.#suits(tree, candidate, chosen)) {
        const key = keyOf(candidate)
        if (!known.has(key)) this.#candidates.push(candidate)
        known.add(key)
      }
      if (this.isOver) break
      yield
    }
    if (this.#candidates.length > before) this.#trees.push(tree)
  }

  found(): Candidates {
    const names = this.#request.groups.flatMap(({ amounts }) => [...amounts.keys()])
    return { candidates: this.#candidates, trees: this.#trees, requested: new Set(names) }
  }

  #suits(tree: ProviderTree, candidate: Candidate, chosen: readonly Choice[]): boolean {
    const isSeen = this.#seesParts || [...candidate.allocations.keys()].every(isTop)
    return isSeen && suits(tree, candidate, chosen, this.#request)
  }
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
  return [...firstOf(combinations(perClass))]
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
