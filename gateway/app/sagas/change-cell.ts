import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import { findServer } from '../../db/find-server.ts'
import { keepForMove } from '../../db/image-snapshots.ts'
import { findImage } from '../../db/images.ts'
import { type InstanceMapping, lockMapping, reassignMapping } from '../../db/instance-mappings.ts'
import { findRequestSpec, replaceRequestSpec } from '../../db/request-specs.ts'
import { queueIndexReassignment } from '../../db/server-index.ts'
import { queueTraces } from '../../db/traces.ts'
import { choiceMeasure } from '../cells/choose-cell.ts'
import type { ComputeDeps } from '../compute.ts'
import { isHostGone } from '../images/host-content.ts'
import { mayLeaveCell, moveServerGroup, placeOfGroup } from '../server-groups/members.ts'
import { findShelvedImage } from '../servers/acts/shelved-image.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'
import { currentSpec } from '../servers/boot/current-spec.ts'
import { whyNoCell } from '../servers/boot/faults.ts'
import { changeableProperties } from '../servers/boot/requested-properties.ts'
import { refuseElsewhere } from '../volumes/carried.ts'
import { type BuildParams, buildRounds } from './build-rounds.ts'
import { chooseForServer } from './choose-for-server.ts'
import type { Target } from './next-cell.ts'

export interface ChangeCellParams extends BuildParams {
  readonly serverId: InstanceId
  readonly attempt: number
  /** The cell that has it, offloaded; null: none, after no cell could build it, or its cell was lost. */
  readonly fromCellId: CellId | null
  /** Null: any other. */
  readonly toCellId: CellId | null
  /** Of the wire's delete in the cell that it leaves. */
  readonly deleteOperationId: string
}

type Call = StepCall<ComputeDeps, ChangeCellParams>
type Reassigned = { readonly next: Target }

const reassign: LocalStep<ComputeDeps, ChangeCellParams> = {
  kind: 'local',
  name: 'reassign',
  run: async (tx, { deps, params, sagaId }): Promise<Reassigned> => {
    const { serverId, fromCellId } = params
    const { mapping, flavor } = await offloadedServer(tx, params)
    const request = await findRequestSpec(tx, serverId)
    if (request === undefined) throw changed(serverId)
    const spec = await currentSpec(deps, tx, serverId, request.spec)
    if (fromCellId !== null && !(await mayLeaveCell(tx, spec.group, serverId)))
      throw new Failure(
        'conflict',
        `Server ${serverId} cannot leave its cell: other servers of its affinity group are there.`,
      )
    const savedDisk = await savedDiskOf(tx, deps, params, spec)
    const leaving: BuildSpec = { ...spec, flavor, requestedHost: null, savedDisk }
    const next = await chooseCellFor(tx, deps, mapping, leaving, params.toCellId)
    // They went there before.
    await refuseElsewhere(tx, serverId, next.cellId)
    const isMine = await reassignMapping(tx, {
      ...{ serverId, attempt: mapping.attempt, sagaId: null, nextSagaId: sagaId },
      ...{ cellId: next.cellId, triedCells: [] },
    })
    if (!isMine) throw changed(serverId)
    await replaceRequestSpec(tx, { ...request, spec: leaving }, changeableProperties(leaving))
    await keepForMove(tx, serverId)
    await moveServerGroup(tx, spec.group, next.cellId)
    queueIndexReassignment(tx, {
      ...{ serverId, ...next },
      ...{ vmState: 'building', taskState: 'scheduling', fault: null },
    })
    tx.afterCommit(() => deps.specCache.drop(serverId))
    return { next }
  },
  // From here on the server goes to a cell, or back to the one that it left.
  undo: 'none',
}

/** Locks the mapping of a server that no cell runs; with its present flavor. Throws `conflict` where it is otherwise. */
async function offloadedServer(
  tx: Tx,
  { serverId, attempt, fromCellId }: ChangeCellParams,
): Promise<{ readonly mapping: InstanceMapping; readonly flavor: FlavorSnapshot }> {
  const mapping = await lockMapping(tx, serverId)
  const server = await findServer(tx, serverId)
  const isIdle = mapping?.sagaId === null && !mapping.isDeleting && server?.taskState === null
  const isThere = mapping?.cellId === fromCellId && mapping.attempt === attempt
  const isOffloaded = fromCellId === null || server?.vmState === 'shelved_offloaded'
  if (mapping === undefined || server === undefined || !isIdle || !isThere || !isOffloaded)
    throw changed(serverId)
  return { mapping, flavor: server.flavor }
}

function changed(serverId: string): Failure {
  return new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
}

/** What the server is built from, and where it comes from. */
async function savedDiskOf(
  tx: Tx,
  deps: ComputeDeps,
  { serverId, fromCellId }: ChangeCellParams,
  { image: own, savedDisk, volumes = [] }: BuildSpec,
): Promise<NonNullable<BuildSpec['savedDisk']>> {
  if (fromCellId === null && savedDisk !== undefined) {
    await refuseLostDisk(tx, deps, serverId, savedDisk.image)
    return savedDisk
  }
  // The disk of some is a volume, which is there already.
  const isInVolume = volumes.some(({ isRoot }) => isRoot === true)
  const purpose = fromCellId === null ? 'move' : 'shelve'
  const image = isInVolume ? own : await findShelvedImage(tx, serverId, own, purpose)
  if (image !== undefined) {
    await refuseLostDisk(tx, deps, serverId, image)
    return { image, home: fromCellId }
  }
  if (fromCellId !== null)
    throw new Failure('conflict', `The image that server ${serverId} was saved in is gone.`)
  throw new Failure(
    'not-found',
    `The cell of server ${serverId} was lost before the disk was saved. Recover that cell, or rebuild the server.`,
  )
}

/** Throws `not-found` where the disk was lost with the host that had saved it. */
async function refuseLostDisk(
  tx: Tx,
  { cells }: ComputeDeps,
  serverId: string,
  { id, changes }: BuildSpec['image'],
): Promise<void> {
  for (const imageId of [id, changes?.id]) {
    const image = imageId === undefined ? undefined : await findImage(tx, imageId)
    const hostId = image?.content?.hostId
    if (hostId !== undefined && (await isHostGone({ db: tx, cells }, hostId)))
      throw new Failure(
        'not-found',
        `The disk of server ${serverId} is lost: host ${hostId}, which had saved it, has left its cell, or the cell was lost. Recover that cell, or rebuild the server.`,
      )
  }
}

/** Throws `conflict`, with each filter's reason, where no cell can take the server. */
async function chooseCellFor(
  tx: Tx,
  deps: ComputeDeps,
  { serverId, projectId, cellId, attempt }: InstanceMapping,
  spec: BuildSpec,
  to: CellId | null,
): Promise<Target> {
  const all = deps.cells.cells()
  const home = cellId ?? spec.savedDisk?.home
  const others = all.filter(({ id }) => id !== home && (to === null || id === to))
  if (cellId !== null && others.length === 0)
    throw new Failure('conflict', 'There is no other cell.')
  const group = cellId === null ? await placeOfGroup(tx, spec.group) : null
  const placing = { serverId, projectId, spec, tried: [], group }
  const away = await chooseForServer(tx, deps, { ...placing, cells: others })
  // A server in no cell takes any that can build it.
  const goesBack = cellId === null && away.chosen === undefined
  const back = goesBack
    ? all.filter(({ id }) => id === home).map((cell) => ({ ...cell, isEnabled: true }))
    : undefined
  const choice = back && (await chooseForServer(tx, deps, { ...placing, cells: back }))
  const { chosen, trace } = choice ?? away
  choiceMeasure.report(trace)
  if (chosen === undefined) throw new Failure('conflict', whyNoCell(trace))
  queueTraces(tx, [{ serverId, attempt: attempt + 1, trace }])
  tx.afterCommit(() => deps.cells.reserve(chosen.id, flavorResources(spec.flavor)).answered())
  return { cellId: chosen.id, attempt: attempt + 1 }
}

const leave: RemoteStep<ComputeDeps, ChangeCellParams> = {
  kind: 'remote',
  name: 'leave',
  when: ({ params }) => params.fromCellId !== null,
  forwardOnly: true,
  run: async (call: Call) => {
    const { deps, params, work } = call
    const { serverId, attempt, fromCellId, deleteOperationId: id } = params
    const cell = deps.cells.cell(fromCellId!)
    // Before a lost cell serves again, it destroys the servers that are no longer its own.
    if (cell === undefined || cell.isLost) return null
    const operation = { id, serverId, attempt }
    const { outcome } = await deps.askCell(cell, 'instance.delete', { operation }, { work })
    if (outcome === 'deleted') return null
    throw new Failure('unavailable', `Cell ${cell.name} is still deleting the server.`)
  },
  // The server is another cell's by then.
  undo: 'none',
}

/**
 * Gives an offloaded server to another cell, and builds it there from the image it was saved in, with the ports and the
 * quota it has. The cell that it left has nothing of it when the other begins. Where no other builds it, the one that it
 * left does; where that does not either, it is in ERROR in no cell, and its image is kept. Its volumes are in the cell that
 * is to build it: one that has some is in ERROR in no cell where that does not build it, and keeps them. Throws `conflict`
 * when no cell can be chosen, or volumes are elsewhere, and `not-found` for a server in no cell that no image has been made
 * of; nothing has changed then.
 */
export const changeCellSaga: Saga<ComputeDeps, ChangeCellParams> = {
  name: 'change-cell',
  version: 1,
  steps: [
    reassign,
    leave,
    ...buildRounds<ChangeCellParams>((call) => call.output<Reassigned>('reassign')?.next),
  ],
}
