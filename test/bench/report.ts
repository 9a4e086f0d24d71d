import type { Comparison } from './compare.ts'
import type { Machine } from './machine.ts'
import type { BatchFigures } from './phases/batch.ts'
import type { RetryFigures } from './phases/contention.ts'
import type { FirstFigures } from './phases/first.ts'
import type { IdleFigures } from './phases/idle.ts'
import type { Held } from './phases/memory.ts'
import type { PageFigures } from './phases/pages.ts'
import type { VariantFigures, Variants } from './phases/variants.ts'
import { table } from './table.ts'

/** Everything one run of the bench found out. */
export interface Results {
  readonly startedAt: string
  readonly machine: Machine
  readonly readyMs: number
  readonly idle: Readonly<Record<string, IdleFigures>>
  /** The first request at each microversion. */
  readonly first: Readonly<Record<string, FirstFigures>>
  /** By phase. */
  readonly comparisons: Readonly<Record<string, Comparison>>
  /** Ways to ask the product for the same, each held against the first of its kind. */
  readonly variants: Variants
  /** Pages of a thousand servers. */
  readonly pages: Readonly<Record<string, PageFigures>>
  /** Requests for many servers at once. */
  readonly batches: Readonly<Record<string, BatchFigures>>
  /** What boots that wanted the same room did again. */
  readonly retries: Readonly<Record<string, RetryFigures>>
  /** At the start, and after so many boots each. */
  readonly memory: readonly Held[]
}

const HEADINGS = [
  'phase',
  'product/s',
  'floor/s',
  'ratio',
  'p50 ms',
  'p99 ms',
  'floor p99',
  'p99 ratio',
  'CPU us',
  'floor CPU',
  'CPU ratio',
  'DB+bus CPU',
  'floor DB+bus',
  'all CPU ratio',
] as const

/** The results for people: lines of text. */
export function report(results: Results): readonly string[] {
  const { readyMs, idle, first, comparisons, variants, pages, batches, retries, memory } = results
  const { machine, startedAt } = results
  return [
    `${startedAt}  ${Object.values(machine).join(', ')}`,
    `ready ${(readyMs / 1_000).toFixed(2)} s after the start of database, bus and all processes`,
    '',
    ...table(['idle', 'PSS MiB', 'CPU %'], Object.entries(idle).map(idleRow)),
    '',
    ...table(
      ['first at', 'microversions', 'p50 ms', 'max ms', 'again p50', 'again max'],
      Object.entries(first).map(firstRow),
    ),
    '',
    ...table(HEADINGS, Object.entries(comparisons).map(comparisonRow)),
    '',
    ...table(
      [
        'beside each other',
        '/s',
        'ratio',
        'p50 ms',
        'p99 ms',
        'CPU us',
        'DB+bus CPU',
        'all CPU ratio',
      ],
      Object.entries(variants).map(variantRow),
    ),
    '',
    ...table(
      ['pages', 'pages/s', 'p50 ms', 'others p50', 'others max', 'loop max ms'],
      Object.entries(pages).map(pageRow),
    ),
    '',
    ...table(['many at once', 'answered ms', 'ACTIVE ms'], Object.entries(batches).map(batchRow)),
    '',
    ...table(
      ['of the same room', 'servers', 'choices again', 'claims lost', 'throughput lost'],
      Object.entries(retries).map(([name, each]) => retryRow(name, each, variants[name]!)),
    ),
    '',
    ...memoryTable(memory),
  ]
}

function variantRow([name, { ratio, ...figures }]: [string, VariantFigures]): readonly string[] {
  return [
    name,
    figures.perSecond.toFixed(0),
    ratio.perSecond.toFixed(2),
    figures.p50Ms.toFixed(2),
    figures.p99Ms.toFixed(2),
    figures.cpuUsPerOperation.toFixed(0),
    figures.sharedCpuUsPerOperation.toFixed(0),
    ratio.allCpu.toFixed(2),
  ]
}

function pageRow([name, figures]: [string, PageFigures]): readonly string[] {
  const { pagesPerSecond, pageP50Ms, otherP50Ms, otherMaxMs, loopDelayMaxMs } = figures
  const each = [pagesPerSecond, pageP50Ms, otherP50Ms, otherMaxMs, loopDelayMaxMs]
  return [name, ...each.map((value) => value.toFixed(1))]
}

function batchRow([name, { answeredMs, activeMs }]: [string, BatchFigures]): readonly string[] {
  return [name, answeredMs.toFixed(0), activeMs.toFixed(0)]
}

function retryRow(
  name: string,
  { servers, choicesAgain, claimsLost }: RetryFigures,
  { ratio }: VariantFigures,
): readonly string[] {
  const lost = `${((1 - ratio.perSecond) * 100).toFixed(0)} %`
  return [name, ...[servers, choicesAgain, claimsLost].map(String), lost]
}

function memoryTable(memory: readonly Held[]): readonly string[] {
  const names = Object.keys(memory[0]?.processesMiB ?? {})
  return table(
    ['after boots', 'database says MiB', 'prepared', ...names],
    memory.map(({ boots, databaseMiB, preparedStatements, processesMiB }) => [
      String(boots),
      databaseMiB.toFixed(0),
      String(preparedStatements),
      ...names.map((name) => processesMiB[name]!.toFixed(0)),
    ]),
  )
}

function idleRow([name, { pssMiB, cpuPercent }]: [string, IdleFigures]): readonly string[] {
  return [name, pssMiB.toFixed(0), cpuPercent.toFixed(1)]
}

function firstRow([what, figures]: [string, FirstFigures]): readonly string[] {
  const { microversions, p50Ms, maxMs, again } = figures
  const latencies = [p50Ms, maxMs, again.p50Ms, again.maxMs].map((ms) => ms.toFixed(1))
  return [what, String(microversions), ...latencies]
}

function comparisonRow([phase, { product, floor, ratio }]: [
  string,
  Comparison,
]): readonly string[] {
  return [
    phase,
    product.perSecond.toFixed(0),
    floor.perSecond.toFixed(0),
    ratio.perSecond.toFixed(2),
    product.p50Ms.toFixed(2),
    product.p99Ms.toFixed(2),
    floor.p99Ms.toFixed(2),
    ratio.p99.toFixed(2),
    product.cpuUsPerOperation.toFixed(0),
    floor.cpuUsPerOperation.toFixed(0),
    ratio.cpu.toFixed(2),
    product.sharedCpuUsPerOperation.toFixed(0),
    floor.sharedCpuUsPerOperation.toFixed(0),
    ratio.allCpu.toFixed(2),
  ]
}
