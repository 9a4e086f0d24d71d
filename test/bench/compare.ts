import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { cpuSeconds } from './proc.ts'
import { median, pairedRatio } from './statistics.ts'
import type { Target } from './target.ts'

/** The two sides of every comparison. */
export interface Sides {
  readonly product: Target
  readonly floor: Target
  /** Database and bus, which both work with. */
  readonly shared: readonly ProcessIdentity[]
}

/** One short run on one side. */
export interface Run {
  /** Of whatever the phase counts. */
  readonly operations: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface SideFigures {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the side's own processes, without database and bus. */
  readonly cpuUsPerOperation: number
  /** Of database and bus, while the side was at work. */
  readonly sharedCpuUsPerOperation: number
}

export interface Comparison {
  readonly product: SideFigures
  readonly floor: SideFigures
  /** Product over floor. */
  readonly ratio: {
    readonly perSecond: number
    readonly p99: number
    readonly cpu: number
    /** Of the side's processes, database and bus together. */
    readonly allCpu: number
  }
}

/** A run, and the CPU that an operation of it took. */
export interface Counted extends Run {
  readonly cpuUs: number
  readonly sharedCpuUs: number
}

const US_PER_S = 1_000_000

/**
 * Runs both sides in turns, so that whatever else the machine does meets them alike. Figures of a side are medians of
 * its runs; ratios are medians of neighbouring runs' ratios.
 */
export async function compare(
  sides: Sides,
  rounds: number,
  run: (target: Target, round: number) => Promise<Run>,
): Promise<Comparison> {
  const runs: { readonly product: Counted[]; readonly floor: Counted[] } = {
    product: [],
    floor: [],
  }
  for (let round = 0; round < rounds; round += 1)
    for (const side of ['product', 'floor'] as const)
      runs[side].push(await counted(sides[side], sides.shared, () => run(sides[side], round)))
  const ratio = (of: (run: Counted) => number) =>
    pairedRatio(runs.product.map(of), runs.floor.map(of))
  return {
    product: figures(runs.product),
    floor: figures(runs.floor),
    ratio: {
      perSecond: ratio((each) => each.perSecond),
      p99: ratio((each) => each.p99Ms),
      cpu: ratio((each) => each.cpuUs),
      allCpu: ratio((each) => each.cpuUs + each.sharedCpuUs),
    },
  }
}

/** Runs, and counts what the target's processes and the shared ones used meanwhile. */
export async function counted(
  { processes }: Pick<Target, 'processes'>,
  shared: readonly ProcessIdentity[],
  run: () => Promise<Run>,
): Promise<Counted> {
  const own = Object.values(processes)
  const before = { own: cpuSeconds(own), shared: cpuSeconds(shared) }
  const done = await run()
  const perOperation = (seconds: number) => (seconds * US_PER_S) / done.operations
  const cpuUs = perOperation(cpuSeconds(own) - before.own)
  const sharedCpuUs = perOperation(cpuSeconds(shared) - before.shared)
  return { ...done, cpuUs, sharedCpuUs }
}

/** The middle of the runs. */
export function figures(runs: readonly Counted[]): SideFigures {
  return {
    perSecond: median(runs.map((run) => run.perSecond)),
    p50Ms: median(runs.map((run) => run.p50Ms)),
    p99Ms: median(runs.map((run) => run.p99Ms)),
    cpuUsPerOperation: median(runs.map((run) => run.cpuUs)),
    sharedCpuUsPerOperation: median(runs.map((run) => run.sharedCpuUs)),
  }
}
