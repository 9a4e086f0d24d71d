import type { Tx } from '#common/db/database.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import type { CellId, SagaId } from '#common/ids.ts'
import type { Fault } from '#openapi/wire/instance.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { type InstanceMapping, reassignMapping } from '../../db/instance-mappings.ts'
import { findRequestSpec, queuePasswordErasure } from '../../db/request-specs.ts'
import { queueActionEvents } from '../../db/server-actions.ts'
import { queueIndexReassignment } from '../../db/server-index.ts'
import { listTraces, queueTraces } from '../../db/traces.ts'
import { choiceMeasure } from '../cells/choose-cell.ts'
import { refuseAllUnreachable } from '../cells/unheard-cells.ts'
import type { ComputeDeps } from '../compute.ts'
import { mayLeaveCell, moveServerGroup, placeOfGroup } from '../server-groups/members.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'
import { failedChoice, noValidHost } from '../servers/boot/faults.ts'
import { releaseVolumes } from '../volumes/hold-volume.ts'
import { chooseForServer } from './choose-for-server.ts'

/** Where a server is to be built. */
export type Target = { readonly cellId: CellId; readonly attempt: number }

/** More cells than this are not asked for one server, however many there are. */
export const CELLS_TRIED_MAX = 5

/** Whose turn it is. */
export interface Round {
  /** Who owns the server now, and who will. */
  readonly owner: SagaId | null
  readonly next: SagaId
  /** Why the last cell did not build it. */
  readonly reason: string
  /** What asked for the build. */
  readonly requestId: string
}

/**
 * Points a server that its cell will not build at the next cell that could, and one in no cell at any; or shows it in
 * ERROR and in no cell when none is left. Undefined when the server is not to be built: no cell is left, it is being
 * deleted, or another saga owns it. Throws `unavailable` when every cell is unreachable.
 */
export async function assignNextCell(
  tx: Tx,
  deps: ComputeDeps,
  mapping: InstanceMapping,
  round: Round,
): Promise<Target | undefined> {
  const { serverId, attempt, cellId } = mapping
  const request = await findRequestSpec(tx, serverId)
  if (request === undefined) return undefined
  const { spec } = request
  const { flavor, group } = spec
  const isUnassigned = cellId === null
  const tried = isUnassigned ? [] : [...mapping.triedCells, cellId]
  const mayLeave = isUnassigned || (await mayLeaveCell(tx, group, serverId))
  // Its volumes are in the cell that it leaves.
  const hasVolumes = spec.volumes !== undefined
  const mayGo = tried.length < CELLS_TRIED_MAX && mayLeave && !hasVolumes
  const near = isUnassigned ? await placeOfGroup(tx, group) : null
  if (mayGo) refuseAllUnreachable(deps.cells.cells())
  const cells = mayGo ? cellsFor(deps, spec) : []
  const { projectId } = mapping
  const placing = { serverId, projectId, spec, cells, tried, group: near }
  const choice = await chooseForServer(tx, deps, placing)
  choiceMeasure.report(choice.trace)
  const chosen = choice.chosen?.id ?? null
  const isMine = await reassignMapping(tx, {
    serverId,
    attempt,
    sagaId: round.owner,
    cellId: chosen,
    triedCells: tried,
    nextSagaId: chosen === null ? null : round.next,
  })
  if (!isMine) return undefined
  if (mayGo && !(isUnassigned && chosen === null)) await moveServerGroup(tx, group, chosen)
  const isLast = chosen === null
  const fault = isLast ? await faultOf(tx, deps, mapping, choice.trace, round.reason) : null
  queueIndexReassignment(tx, {
    serverId,
    cellId: chosen,
    attempt: attempt + 1,
    vmState: isLast ? 'error' : 'building',
    taskState: isLast ? null : 'scheduling',
    fault,
  })
  queueTraces(tx, [{ serverId, attempt: attempt + 1, trace: choice.trace }])
  if (chosen === null) {
    // One that changes cells keeps them, and goes back with them.
    if (hasVolumes && spec.savedDisk === undefined) await releaseVolumes(tx, [serverId])
    queuePasswordErasure(tx, null, [{ serverId, attempt: attempt + 1 }])
    const { requestId } = round
    if (fault !== null) queueActionEvents(tx, null, [failedChoice({ serverId, requestId }, fault)])
    return undefined
  }
  tx.afterCommit(() => deps.cells.reserve(chosen, flavorResources(flavor)).answered())
  return { cellId: chosen, attempt: attempt + 1 }
}

/** A server that another cell was to take goes back to the one that it left, also where no new server is placed there. */
function cellsFor({ cells }: ComputeDeps, { savedDisk }: BuildSpec): readonly Cell[] {
  const all = cells.cells()
  const home = savedDisk?.home ?? null
  if (home === null) return all
  return all.filter(({ id }) => id === home).map((cell) => ({ ...cell, isEnabled: true }))
}

async function faultOf(
  tx: Tx,
  { clock }: ComputeDeps,
  { serverId, cellId }: InstanceMapping,
  choice: Trace,
  reason: string,
): Promise<Fault> {
  if (cellId === null) return noValidHost(clock.now(), choice)
  const decisions = await listTraces(tx, serverId)
  const trace = decisions.findLast((decision) => decision.trace.level === 'hosts')?.trace
  return noValidHost(clock.now(), choice, { trace, reason })
}
