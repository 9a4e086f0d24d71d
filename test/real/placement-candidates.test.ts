import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { candidatesAmong } from '#gateway/app/placement/candidates.ts'
import type { ProviderTree } from '#gateway/app/placement/provider.ts'
import { isFullRun } from '../env/full-run.ts'
import { SeededRandom } from '../env/random.ts'
import { RealPlacement, whyNoPlacement } from '../env/real-placement.ts'
import {
  type Classes,
  HOST_CLASSES,
  hostTrees,
  type Query,
  RANDOM_CLASSES,
  randomQuery,
  randomTrees,
} from './placement-worlds.ts'

// Goal: of the same trees of providers, Weir and OpenStack's Placement answer the same to the same request for candidates.

const QUERIES = Number(process.env['PLACEMENT_QUERIES'] ?? 600)
/** Other requests of other trees. */
const SEED = Number(process.env['PLACEMENT_SEED'] ?? 0)
const WORLD_MS = 300_000
const why = isFullRun ? whyNoPlacement() : 'with --all only'

type Amounts = Readonly<Record<string, number>>
type Mappings = Readonly<Record<string, readonly string[]>>

interface Candidate {
  readonly allocations: Readonly<Record<string, { readonly resources: Amounts }>>
  readonly mappings: Mappings
}

/** What clients see of an answer, in an order of its own; `summarized` are the ids of providers. */
interface Answer {
  readonly status: number
  readonly candidates: readonly Candidate[]
  readonly summarized: readonly string[]
}

const WORLDS = [
  ['hosts of Weir', 1, HOST_CLASSES, hostTrees],
  ['trees of chance', 2, RANDOM_CLASSES, (random: SeededRandom) => randomTrees(random, 10)],
  ['other trees of chance', 3, RANDOM_CLASSES, (random: SeededRandom) => randomTrees(random, 20)],
] as const

describe.skipIf(why !== undefined)(
  `OpenStack's Placement${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    describe.each(WORLDS)('of %s', (_, seed, classes, treesOf) => {
      const random = new SeededRandom(SEED + seed)
      const trees = treesOf(random)
      let placement: RealPlacement
      beforeAll(async () => {
        placement = await RealPlacement.start()
        await placement.add(trees)
      }, WORLD_MS)
      afterAll(() => placement?.[Symbol.asyncDispose]())

      test(
        `answers ${QUERIES} requests for candidates as Weir does`,
        async () => {
          const kinds = { refused: 0, none: 0, some: 0, granular: 0, subtree: 0 }
          const different: object[] = []
          for (let nth = 0; nth < QUERIES; nth += 1) {
            const query = randomQuery(random, classes as Classes, trees)
            const theirs = await askedOf(placement, query)
            const ours = answered(trees, query)
            count(kinds, query, theirs)
            const [expected, actual] = comparable(query, theirs, ours)
            if (JSON.stringify(expected) !== JSON.stringify(actual))
              different.push({ query, expected, actual })
          }

          expect(different.slice(0, 3)).toEqual([])
          // Requests of every kind were among them.
          expect(
            Object.values(kinds).every((each) => each >= 5),
            JSON.stringify(kinds),
          ).toBe(true)
        },
        WORLD_MS,
      )
    })
  },
)

function count(
  kinds: Record<'refused' | 'none' | 'some' | 'granular' | 'subtree', number>,
  query: Query,
  { status, candidates }: Answer,
): void {
  if (status !== 200) kinds.refused += 1
  else if (candidates.length === 0) kinds.none += 1
  else {
    kinds.some += 1
    if (Object.keys(query).some((name) => /^resources./.test(name))) kinds.granular += 1
    if (query['same_subtree'] !== undefined) kinds.subtree += 1
  }
}

async function askedOf(placement: RealPlacement, query: Query): Promise<Answer> {
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, String(one)] as [string, string]),
  )
  const path = `/allocation_candidates?${new URLSearchParams(parameters).toString()}`
  const { status, body } = await placement.ask('GET', path)
  if (status !== 200) return { status, candidates: [], summarized: [] }
  const { allocation_requests, provider_summaries } = body as {
    readonly allocation_requests: readonly Candidate[]
    readonly provider_summaries: Readonly<Record<string, object>>
  }
  return { status, candidates: allocation_requests, summarized: Object.keys(provider_summaries) }
}

function answered(trees: readonly ProviderTree[], { limit, ...query }: Query): Answer {
  try {
    const asked = { ...query, ...(limit !== undefined && { limit: Number(limit) }) }
    const { candidates, trees: found } = candidatesAmong(trees, asked, true)
    return {
      status: 200,
      candidates: candidates.map(({ allocations, mappings }) => ({
        allocations: Object.fromEntries(
          [...allocations].map(([{ id }, resources]) => [id, { resources }]),
        ),
        mappings: Object.fromEntries(
          [...mappings].map(([suffix, providers]) => [suffix, providers.map(({ id }) => id)]),
        ),
      })),
      summarized: found.flat().map(({ id }) => id),
    }
  } catch (error) {
    if (!isFailure(error, 'invalid')) throw error
    return { status: 400, candidates: [], summarized: [] }
  }
}

/** Of both answers, what must be the same. */
function comparable(query: Query, theirs: Answer, ours: Answer): readonly [unknown, unknown] {
  const sizes = [theirs, ours].map(({ status, candidates }) => [status, candidates.length])
  // Which of them are the first is up to each.
  if (query['limit'] !== undefined) return [sizes[0], sizes[1]]
  const [whole, own] = [theirs, ours].map(({ status, candidates, summarized }) => ({
    status,
    candidates: candidates.map(textOf).toSorted(),
    summarized: summarized.toSorted(),
  }))
  if (!isAddedTwice(query)) return [whole, own]
  const groups = new Set(ours.candidates.map(({ mappings }) => textOf({ mappings })))
  const unknown = theirs.candidates.filter(({ mappings }) => !groups.has(textOf({ mappings })))
  return [
    [theirs.status, []],
    [ours.status, unknown],
  ]
}

/**
 * Where the group without a suffix and another ask for the same class, and the policy is not `none`, Placement adds the amounts
 * of all candidates to one record, so that it answers with more than was asked for (`copy_arr_if_needed`, to this day). Its
 * candidates are still some of the right ones.
 */
function isAddedTwice(query: Query): boolean {
  const classes = (name: string) =>
    [query[name] ?? []].flat().flatMap((text) => text.split(',').map((part) => part.split(':')[0]))
  const common = new Set(classes('resources'))
  const granular = Object.keys(query).filter((name) => /^resources./.test(name))
  return (
    query['group_policy'] !== 'none' &&
    query['resources'] !== undefined &&
    granular.some((name) => classes(name).some((each) => common.has(each)))
  )
}

/** The same text for the same candidate, in whatever order its parts are. */
function textOf({ allocations = {}, mappings }: Partial<Candidate>): string {
  const held = Object.entries(allocations).map(([id, { resources }]) => {
    const amounts = Object.entries(resources).map(([name, amount]) => `${name}:${amount}`)
    return `${id} ${amounts.toSorted().join(',')}`
  })
  const groups = Object.entries(mappings ?? {}).map(([suffix, ids]) => {
    return `${suffix} ${ids.toSorted().join(',')}`
  })
  return JSON.stringify([held.toSorted(), groups.toSorted()])
}
