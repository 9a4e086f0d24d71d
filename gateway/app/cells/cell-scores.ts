import type { Cell } from '../../cell-client/cell.ts'
import { hourlyCost, type Prices } from '../usage/prices.ts'
import type { CellRequest } from './cell-filters.ts'

/**
 * How the gateway ranks cells: by free memory, at random, the least loaded first, or in the zone with the fewest instances
 * the least loaded first. As a cell ranks its hosts.
 */
export const CELL_POLICIES = ['filter', 'chance', 'simple', 'zone'] as const
export type CellPolicy = (typeof CELL_POLICIES)[number]

/** The parts whose sum is a cell's score; the greatest score wins. */
export type ScoreParts = Readonly<Record<string, number>>

export interface Ranking {
  readonly policy: CellPolicy
  /** From 0 to below 1; breaks ties. */
  readonly random: () => number
  /** Undefined where servers have none. */
  readonly prices: Prices | undefined
}

/** Free room differs by less than this between cells that are as good as each other. */
const TIE = 0.01
/** For shares of what a cell has, which are at most 1. */
const LOAD_TIE = 1e-6
/** More than any amount of free memory: where its group is, a server goes if it can. */
const NEAR_GROUP = 1e12
/** More than any load counts, for any two zones that differ by an instance. */
const ZONE_WEIGHT = 1_000_000

/** The scores of these cells, which all can take the server, in their order. */
export function cellScores(
  cells: readonly Cell[],
  request: CellRequest,
  { policy, random, prices }: Ranking,
): readonly ScoreParts[] {
  const scores = cells.map(PARTS[policy](cells, random))
  const weight = request.policy?.rules.costWeight ?? 0
  const priced =
    weight > 0 && prices ? withPrices(cells, request, scores, { weight, prices }) : scores
  const { group } = request
  return cells.map(({ id }, nth) => ({
    ...priced[nth],
    ...(group?.cellId === id && { group: NEAR_GROUP }),
  }))
}

/** As Nova's weighers: each of both is scaled to a range of 1 among these cells, so that the weight alone says which counts more. */
function withPrices(
  cells: readonly Cell[],
  { charge, resources }: CellRequest,
  scores: readonly ScoreParts[],
  { weight, prices }: { readonly weight: number; readonly prices: Prices },
): readonly ScoreParts[] {
  const size = { ...charge, diskGb: resources.diskGb }
  const costs = scaled(cells.map(({ name }) => hourlyCost(prices, name, size)))
  const others = scaled(scores.map(scoreOf))
  return cells.map((_, nth) => ({ others: others[nth]!, cost: -weight * costs[nth]! }))
}

/** From 0 for the least to 1 for the greatest; all 0 where they are equal. */
function scaled(values: readonly number[]): readonly number[] {
  const least = Math.min(...values)
  const range = Math.max(...values) - least
  return values.map((value) => (range === 0 ? 0 : (value - least) / range))
}

/** The greatest wins. */
export function scoreOf(parts: ScoreParts): number {
  return Object.values(parts).reduce((total, part) => total + part, 0)
}

type Parts = (cells: readonly Cell[], random: () => number) => (cell: Cell) => ScoreParts

const PARTS: Readonly<Record<CellPolicy, Parts>> = {
  filter: (_, random) => (cell) => ({
    freeMemoryMbPerHost: freeMemoryPerHost(cell),
    chance: random() * TIE,
  }),
  chance: (_, random) => () => ({ chance: random() }),
  simple: (_, random) => (cell) => ({ load: -load(cell), chance: random() * LOAD_TIE }),
  zone: (cells, random) => {
    const instances = instancesByZone(cells)
    return (cell) => ({
      zone: -ZONE_WEIGHT * Math.min(...cell.summary!.zones.map((zone) => instances.get(zone)!)),
      load: -load(cell),
      chance: random() * LOAD_TIE,
    })
  },
}

/** Per host, so that a large cell that is nearly full does not draw everything. */
function freeMemoryPerHost({ summary, reserved, weight }: Cell): number {
  const free = summary!.free.memoryMb - reserved.memoryMb
  return (free / Math.max(summary!.hostsUp, 1)) * weight
}

/** The share of the busiest resource that is in use; 1 for a cell of a release that does not say what it uses. */
function load({ summary, reserved }: Cell): number {
  const { used, limits } = summary!
  if (used === undefined || limits === undefined) return 1
  const share = (name: 'vcpus' | 'memoryMb' | 'diskGb') =>
    limits[name] === 0 ? 1 : (used[name] + reserved[name]) / limits[name]
  return Math.max(share('vcpus'), share('memoryMb'), share('diskGb'))
}

/** A cell with hosts in several zones counts in each of them. */
function instancesByZone(cells: readonly Cell[]): ReadonlyMap<string, number> {
  const instances = new Map<string, number>()
  for (const { summary, reservedServers } of cells)
    for (const zone of summary!.zones)
      instances.set(zone, (instances.get(zone) ?? 0) + summary!.instances + reservedServers)
  return instances
}
