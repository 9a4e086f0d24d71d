import type { Phase } from '../../app/federation/phases.ts'
import type { TracedServer } from '../../app/federation/trace.ts'
import type { Cells } from '../../app/hosts/host-state.ts'
import { decisionViews } from './decision.ts'

/** How a server came to where it is, as the federation API shows it. */
export function traceView({ server, chain, decisions, phases }: TracedServer, cells: Cells) {
  const { id, cellId, host, vmState, fault } = server
  return {
    server_id: id,
    ...chain,
    cell_id: cellId,
    cell: cellId === null ? null : (cells.cell(cellId)?.name ?? null),
    host,
    state: vmState,
    fault: fault === null ? null : `${fault.message} ${fault.details}`.trimEnd(),
    decisions: decisionViews(decisions),
    phases: phases.map(phaseView),
  }
}

function phaseView({ name, startedAt, tookMs, result }: Phase) {
  return { name, started_at: new Date(startedAt).toISOString(), took_ms: tookMs, result }
}
