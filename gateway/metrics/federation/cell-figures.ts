import type { Registry } from 'prom-client'
import type { CellId } from '#common/ids.ts'
import { type Sample, sampledGauge } from '#common/metrics/sampled-gauge.ts'
import type { Cell, Resources } from '../../cell-client/cell.ts'
import { type AppliedPosition, type Heard, lagOf } from '../../db/federation-counts.ts'

const BYTES_PER_MIB = 2 ** 20
const BYTES_PER_GIB = 2 ** 30

/** The last heartbeat that this gateway received of a cell, and its age. */
interface HeardNow extends Heard {
  readonly ageMs: number
}

export interface CellsRead {
  readonly cells: readonly Cell[]
  readonly heardOf: (id: CellId) => HeardNow | undefined
  readonly applied: readonly AppliedPosition[]
  /** Servers by cell that a full copy of it had not. */
  readonly missing: ReadonlyMap<string, number>
}

/** Afterwards the registry has the cells, as they are given to what is returned. */
export function cellFigures(registry: Registry): (read: CellsRead) => void {
  const gauge = (name: string, help: string, ...more: readonly string[]) =>
    sampledGauge(registry, { name, help, labels: ['cell', ...more] })
  const up = gauge('weir_cell_up', 'Whether the cell is heard, and is not lost')
  const state = gauge('weir_cell_state', 'The state of the cell, always 1', 'state')
  const age = gauge('weir_cell_heartbeat_age_seconds', 'Time since this gateway heard the cell')
  const release = gauge('weir_cell_release_info', 'The release of the cell, always 1', 'release')
  const stuck = gauge('weir_cell_stuck_sagas', 'Sagas of the cell that wait for an operator')
  const unknown = gauge(
    'weir_store_unknown_objects',
    'Volumes and snapshots in the store that its cell does not know',
    'store',
  )
  const missing = gauge(
    'weir_index_missing_servers',
    'Servers the index has and a full copy of their cell had not',
  )
  const lag = gauge(
    'weir_feed_lag_rows',
    'Changes of the cell that no gateway has applied, at its last heartbeat',
  )
  const setAmounts = amountFigures(registry)
  return ({ cells, heardOf, applied, missing: missingOf }) => {
    up(cells.map(({ name, isReachable }) => [Number(isReachable), name]))
    state(cells.map((cell) => [1, cell.name, cellState(cell)]))
    age(cells.flatMap(({ id, name }) => sampleIf(ageS(heardOf(id)), name)))
    release(cells.map(({ name, summary }) => [1, name, summary?.release ?? '']))
    stuck(cells.map(({ name, summary }) => [summary?.stuckSagas ?? 0, name]))
    unknown(
      cells.flatMap(({ name, summary }) =>
        (summary?.stores ?? []).map(
          (store): Sample => [store.unknownObjects ?? 0, name, store.name],
        ),
      ),
    )
    missing(cells.map(({ id, name }) => [missingOf.get(id) ?? 0, name]))
    const positions = new Map(applied.map((each) => [each.cellId, each]))
    lag(cells.flatMap(({ id, name }) => sampleIf(lagOf(heardOf(id), positions.get(id)), name)))
    setAmounts(cells)
  }
}

/** In one word, as health and metrics have it. */
export function cellState({
  isLost,
  isReachable,
  isEnabled,
}: Pick<Cell, 'isLost' | 'isReachable' | 'isEnabled'>): string {
  if (isLost) return 'lost'
  if (!isReachable) return 'unreachable'
  return isEnabled ? 'up' : 'disabled'
}

function ageS(heard: HeardNow | undefined): number | undefined {
  return heard === undefined ? undefined : heard.ageMs / 1_000
}

function sampleIf(value: number | undefined, label: string): readonly Sample[] {
  return value === undefined ? [] : [[value, label]]
}

/** What the cells have used, may promise, and have; the memory and the disks in bytes. */
function amountFigures(registry: Registry): (cells: readonly Cell[]) => void {
  const amounts = [
    ['used', 'in use'],
    ['limits', 'that may be promised, overcommit included'],
    ['total', 'of its hosts'],
  ] as const
  const kinds = [
    ['vcpus', 'vCPUs', 'vcpus', 1],
    ['memory_bytes', 'Memory', 'memoryMb', BYTES_PER_MIB],
    ['disk_bytes', 'Disk space', 'diskGb', BYTES_PER_GIB],
  ] as const
  const named = { used: 'used', limits: 'limit', total: 'physical' } as const
  const gauges = kinds.flatMap(([name, what, key, factor]) =>
    amounts.map(([amount, help]) => {
      const text = { name: `weir_cell_${name}_${named[amount]}`, help: `${what} ${help}` }
      const set = sampledGauge(registry, { ...text, labels: ['cell'] })
      const valueOf = (of: Pick<Resources, 'vcpus' | 'memoryMb' | 'diskGb'>) => of[key] * factor
      return { amount, set, valueOf }
    }),
  )
  return (cells) => {
    for (const { amount, set, valueOf } of gauges)
      set(
        cells.flatMap(({ name, summary }) => {
          const of = summary?.[amount]
          return of === undefined ? [] : [[valueOf(of), name]]
        }),
      )
  }
}
