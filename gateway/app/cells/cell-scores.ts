import type { Cell } from '../../cell-client/cell.ts'
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
  { group }: CellRequest,
  { policy, random }: Ranking,
): readonly ScoreParts[] {
  const partsOf = PARTS[policy](cells, random)
  return cells.map((cell) => ({
    ...partsOf(cell),
    ...(group?.cellId === cell.id && { group: NEAR_GROUP }),
  }))
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
