import { Counter, Histogram, type Registry } from 'prom-client'
import { boundedLabel } from '#common/metrics/bounded-label.ts'
import { BUILD_EVENT, type FeedRow } from '#openapi/wire/feed.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { choiceMeasure } from '../app/cells/choose-cell.ts'
import { appliedMeasure } from '../app/feed/measures.ts'

const BOOT_S = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600]
/** Filters are known to the programs, whose names a cell sends: more than these are no filters. */
const FILTERS_MAX = 100
const MS_PER_S = 1_000

/**
 * Afterwards the registry counts what this gateway decided and what cells report of builds and of their own decisions, until
 * it is disposed. A cell's report is counted by the one gateway that applies it, so sums over all gateways are right.
 */
export function countPlacement(registry: Registry): Disposable {
  const registers = [registry]
  const rowsApplied = new Counter({
    name: 'weir_feed_rows_applied_total',
    help: 'Changes of a cell that this gateway applied',
    labelNames: ['cell'],
    registers,
  })
  const boots = new Histogram({
    name: 'weir_boot_duration_seconds',
    help: 'Time that a cell took to build a server, or until it gave up',
    labelNames: ['cell', 'result'],
    buckets: BOOT_S,
    registers,
  })
  const decide = countDecisions(registry)
  const listening = new DisposableStack()
  listening.use(choiceMeasure.listen((trace) => decide('', trace)))
  listening.use(
    appliedMeasure.listen(({ cell, rows }) => {
      rowsApplied.inc({ cell }, rows.length)
      for (const { result, seconds } of endedBuilds(rows)) boots.observe({ cell, result }, seconds)
      for (const { body } of rows) if (body.kind === 'trace') decide(cell, body.trace)
    }),
  )
  return listening
}

/** Counts a decision: by which filters it refused how many, and how it ended. */
function countDecisions(registry: Registry): (cell: string, trace: Trace) => void {
  const registers = [registry]
  const decisions = new Counter({
    name: 'weir_scheduling_decisions_total',
    help: 'Choices of a cell by gateways, and of a host by cells',
    labelNames: ['level', 'cell', 'result'],
    registers,
  })
  const refusals = new Counter({
    name: 'weir_scheduling_refusals_total',
    help: 'Cells or hosts that a filter refused in these choices',
    labelNames: ['level', 'filter'],
    registers,
  })
  const lost = new Counter({
    name: 'weir_claims_lost_total',
    help: 'Claims on a host that had filled up since it was chosen',
    labelNames: ['cell'],
    registers,
  })
  const nameOf = boundedLabel(FILTERS_MAX)
  return (cell, { level, filters, lostClaims, chosen }) => {
    decisions.inc({ level, cell, result: chosen === null ? 'none' : 'chosen' })
    if (lostClaims.length > 0) lost.inc({ cell }, lostClaims.length)
    for (const { name, refused } of filters)
      if (refused > 0) refusals.inc({ level, filter: nameOf(name) }, refused)
  }
}

interface EndedBuild {
  readonly result: 'active' | 'failed'
  readonly seconds: number
}

function endedBuilds(rows: readonly FeedRow[]): readonly EndedBuild[] {
  return rows.flatMap(({ body }) => {
    if (body.kind !== 'action-event' || body.event.event !== BUILD_EVENT) return []
    const { startedAt, finishedAt, result } = body.event
    if (finishedAt === null || result === null) return []
    // Both by the clock of the cell.
    const seconds = Math.max(0, (finishedAt - startedAt) / MS_PER_S)
    return [{ result: result === 'Success' ? 'active' : 'failed', seconds }]
  })
}
