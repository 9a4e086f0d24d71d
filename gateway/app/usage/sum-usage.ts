import { listServerRuns, type ServerRun } from '../../db/server-runs.ts'
import type { UsageDeps } from './list-usage.ts'
import { hourlyCost, type Prices } from './prices.ts'
import { serverUsage } from './server-usage.ts'
import type { UsagePeriod } from './usage-period.ts'

/** What sums may be told apart by. */
export const USAGE_KEYS = ['project', 'cell', 'flavor'] as const
export type UsageKey = (typeof USAGE_KEYS)[number]

/** What the servers with the same keys took in a period. A key by which sums are not told apart is null. */
export interface UsageSum {
  readonly projectId: string | null
  readonly cellId: string | null
  readonly flavor: string | null
  servers: number
  serverHours: number
  vcpuHours: number
  memoryMbHours: number
  diskGbHours: number
  /** 0 without prices. */
  cost: number
}

export interface SumOptions {
  readonly period: UsagePeriod
  readonly by: ReadonlySet<UsageKey>
  /** Null: those of all projects. */
  readonly projectId: string | null
  /** By id. */
  readonly cellNames: ReadonlyMap<string, string>
  readonly prices: Prices | undefined
}

const PAGE = 1_000

/** The sums over all servers that ran in the period, deleted ones included for as long as they are remembered. */
export async function sumUsage(
  { db, clock }: UsageDeps,
  options: SumOptions,
): Promise<readonly UsageSum[]> {
  const now = new Date(clock.now())
  const { period, projectId } = options
  const sums = new Map<string, UsageSum>()
  for (let marker: string | undefined; ; ) {
    const runs = await listServerRuns(db, { projectId, ...period, marker, limit: PAGE })
    for (const run of runs) addTo(sums, run, options, now)
    if (runs.length < PAGE) return [...sums.values()]
    marker = runs.at(-1)!.id
  }
}

function addTo(
  sums: Map<string, UsageSum>,
  run: ServerRun,
  { period, by, cellNames, prices }: SumOptions,
  now: Date,
): void {
  const { hours, diskGb, flavor } = serverUsage(run, period, now)
  const keys = {
    projectId: by.has('project') ? run.projectId : null,
    cellId: by.has('cell') ? run.cellId : null,
    flavor: by.has('flavor') ? flavor.name : null,
  }
  const name = JSON.stringify(keys)
  const sum = sums.get(name) ?? { ...keys, ...NOTHING }
  sums.set(name, sum)
  sum.servers += 1
  sum.serverHours += hours
  sum.vcpuHours += hours * flavor.vcpus
  sum.memoryMbHours += hours * flavor.memoryMb
  sum.diskGbHours += hours * diskGb
  if (prices === undefined) return
  const cell = run.cellId === null ? null : (cellNames.get(run.cellId) ?? null)
  const { vcpus, memoryMb } = flavor
  sum.cost += hours * hourlyCost(prices, cell, { vcpus, memoryMb, diskGb })
}

const NOTHING = {
  servers: 0,
  serverHours: 0,
  vcpuHours: 0,
  memoryMbHours: 0,
  diskGbHours: 0,
  cost: 0,
}
