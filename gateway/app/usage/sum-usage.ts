import { listResourceRuns, type ResourceRun, recordResourceRuns } from '../../db/resource-runs.ts'
import { listServerRuns, type ServerRun } from '../../db/server-runs.ts'
import type { UsageDeps } from './list-usage.ts'
import { hourlyCost, type Prices, resourceCost } from './prices.ts'
import { hoursWithin, serverUsage } from './server-usage.ts'
import type { UsagePeriod } from './usage-period.ts'

/** What sums may be told apart by. */
export const USAGE_KEYS = ['project', 'cell', 'flavor'] as const
export type UsageKey = (typeof USAGE_KEYS)[number]

/** What servers and resources with the same keys took in a period. A key by which sums are not told apart is null. */
export interface UsageSum {
  readonly projectId: string | null
  readonly cellId: string | null
  /** Null also of what has no flavor. */
  readonly flavor: string | null
  servers: number
  serverHours: number
  vcpuHours: number
  memoryMbHours: number
  diskGbHours: number
  volumeGbHours: number
  imageGbHours: number
  floatingIpHours: number
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

/**
 * The sums over all servers that ran in the period, and all volumes, images and floating IPs that were there, deleted
 * ones included for as long as they are remembered.
 */
export async function sumUsage(deps: UsageDeps, options: SumOptions): Promise<readonly UsageSum[]> {
  const sums = new Map<string, UsageSum>()
  await addServers(deps, sums, options)
  await addResources(deps, sums, options)
  return [...sums.values()]
}

async function addServers(
  { db, clock }: UsageDeps,
  sums: Map<string, UsageSum>,
  options: SumOptions,
): Promise<void> {
  const now = new Date(clock.now())
  const { period, projectId } = options
  for (let marker: string | undefined; ; ) {
    const runs = await listServerRuns(db, { projectId, ...period, marker, limit: PAGE })
    for (const run of runs) addServer(sums, run, options, now)
    if (runs.length < PAGE) return
    marker = runs.at(-1)!.id
  }
}

async function addResources(
  { db }: UsageDeps,
  sums: Map<string, UsageSum>,
  options: SumOptions,
): Promise<void> {
  const { period, projectId } = options
  await recordResourceRuns(db)
  for (let after = 0; ; ) {
    const runs = await listResourceRuns(db, { projectId, ...period, after, limit: PAGE })
    for (const run of runs) addResource(sums, run, options)
    if (runs.length < PAGE) return
    after = runs.at(-1)!.id
  }
}

const HOURS_OF = {
  volume: 'volumeGbHours',
  image: 'imageGbHours',
  'floating-ip': 'floatingIpHours',
} as const satisfies Record<ResourceRun['kind'], keyof UsageSum>

function addResource(
  sums: Map<string, UsageSum>,
  run: ResourceRun,
  { period, by, cellNames, prices }: SumOptions,
): void {
  const sum = sumOf(sums, by, { ...run, flavor: null })
  const amountHours = run.amount * hoursWithin(run, period)
  sum[HOURS_OF[run.kind]] += amountHours
  if (prices === undefined) return
  const cell = run.cellId === null ? null : (cellNames.get(run.cellId) ?? null)
  sum.cost += amountHours * resourceCost(prices, cell, run.kind)
}

function sumOf(
  sums: Map<string, UsageSum>,
  by: SumOptions['by'],
  { projectId, cellId, flavor }: Pick<UsageSum, 'cellId' | 'flavor'> & { projectId: string },
): UsageSum {
  const keys = {
    projectId: by.has('project') ? projectId : null,
    cellId: by.has('cell') ? cellId : null,
    flavor: by.has('flavor') ? flavor : null,
  }
  const name = JSON.stringify(keys)
  const sum = sums.get(name) ?? { ...keys, ...NOTHING }
  sums.set(name, sum)
  return sum
}

function addServer(
  sums: Map<string, UsageSum>,
  run: ServerRun,
  { period, by, cellNames, prices }: SumOptions,
  now: Date,
): void {
  const { hours, diskGb, flavor } = serverUsage(run, period, now)
  const sum = sumOf(sums, by, { ...run, flavor: flavor.name })
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
  volumeGbHours: 0,
  imageGbHours: 0,
  floatingIpHours: 0,
  cost: 0,
}
