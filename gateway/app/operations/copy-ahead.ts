import { formatBeforeChanges } from '#common/changed-format.ts'
import type { Executor } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { type HostId, newId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { findServer } from '../../db/find-server.ts'
import { findHost, type HostRecord, hostsNamed } from '../../db/host-list.ts'
import { findImage } from '../../db/images.ts'
import { savedDiskOf } from '../../db/parts-of-moves.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { hasAction } from '../../db/server-actions.ts'
import type { NextMoveStep, ServerMoveRecord } from '../../db/server-moves.ts'
import type { Compute } from '../compute.ts'
import { isHostUp, reachable } from '../hosts/host-state.ts'
import type { RequestContext } from '../request-context.ts'
import { chooseForServer } from '../sagas/choose-for-server.ts'
import { placementQuestion } from '../sagas/host-for-volumes.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'
import type { MoveCopy } from './move-copy-plan.ts'
import type { MovedServer, MoveStep } from './server-move-plan.ts'

const MIB = 2 ** 20
const NOTHING: MoveCopy = {
  ...{ isPossible: false, hostId: null },
  ...{ isWhole: false, isFetched: false, hasBegun: false },
}

/** How far the first of two passes has come; while a host is to fetch the copy, it is asked to. */
export async function copySeen(
  compute: Compute,
  work: RequestContext,
  move: ServerMoveRecord,
  server: MovedServer | undefined,
): Promise<MoveCopy> {
  const { db } = compute
  const { step, subjectId, stepRequestId, copyImageId } = move
  if (server === undefined || server.isBusy || move.fromCellId !== server.cellId) return NOTHING
  if (step === 'waiting') return { ...NOTHING, ...(await twoPasses(compute, work, move)) }
  if (copyImageId === null && step !== 'saving') return NOTHING
  const hasBegun = await hasAction(db, subjectId, stepRequestId)
  if (copyImageId === null) return { ...NOTHING, hasBegun }
  if (step === 'copying') {
    const image = await findImage(db, copyImageId)
    return { ...NOTHING, hasBegun, isWhole: image?.status === 'active' }
  }
  const isFetched = step === 'fetching' && (await fetched(compute, work, move))
  return { ...NOTHING, hasBegun, isFetched }
}

/** Whether the server can go to another cell in two passes, and which host would build it there now: others there may not be able to. */
async function twoPasses(
  compute: Compute,
  work: RequestContext,
  { subjectId: serverId, fromCellId, toCellId }: ServerMoveRecord,
): Promise<Pick<MoveCopy, 'isPossible' | 'hostId'>> {
  const { db, cells } = compute
  const server = await findServer(db, serverId)
  const request = await findRequestSpec(db, serverId)
  if (server?.vmState !== 'active' || server.host === null || request === undefined) return NOTHING
  // The disk of some is a volume, which is not copied.
  if (request.spec.volumes?.some(({ isRoot }) => isRoot === true)) return NOTHING
  const source = (await hostsNamed(db, server.host)).find(({ cellId }) => cellId === fromCellId)
  if (source === undefined || !knowsChanges(source)) return NOTHING
  const { projectId, flavor } = server
  const { savedDisk: _before, ...rest } = request.spec
  const spec = { ...rest, flavor, requestedHost: null }
  const cell = await db.transaction(async (tx) => {
    const others = cells.cells().filter(
      ({ id, summary }) =>
        id !== fromCellId &&
        (toCellId === null || id === toCellId) &&
        // The format of the copy is known once there is one.
        summary?.imageFormats.some((format) => formatBeforeChanges(format) !== undefined),
    )
    const placing = { serverId, projectId, spec, cells: others, tried: [], group: null }
    return (await chooseForServer(tx, compute, placing)).chosen
  })
  if (cell === undefined) return NOTHING
  const hostId = await hostThatBuilds(compute, work, cell, spec)
  return { isPossible: hostId !== null, hostId }
}

function knowsChanges({ view }: HostRecord): boolean {
  return view.capabilities.includes('diskChanges')
}

/** Null where the cell would build it on a host that knows no changes, on none, or does not say. */
async function hostThatBuilds(
  { db, askCell, log }: Compute,
  work: RequestContext,
  cell: Cell,
  spec: BuildSpec,
): Promise<HostId | null> {
  try {
    const question = placementQuestion(spec, new Set())
    const { trace } = await askCell(cell, 'placement.explain', question, { work })
    const best = trace.scores[0]?.candidate
    const found = best === undefined ? [] : await hostsNamed(db, best)
    const host = found.find((each) => each.cellId === cell.id && knowsChanges(each))
    return (host?.view.hostId as HostId | undefined) ?? null
  } catch (error) {
    if (!isFailure(error)) throw error
    log.info({ cell: cell.name, ...errorFields(error) }, 'cell cannot say which host would build')
    return null
  }
}

/** False while the host fetches the copy; true once it has it, and where it cannot. */
async function fetched(
  { db, cells, askHost, imageTicket }: Compute,
  work: RequestContext,
  { copyImageId, copyHostId }: ServerMoveRecord,
): Promise<boolean> {
  const host = copyHostId === null ? undefined : await findHost(db, copyHostId)
  const content = copyImageId === null ? null : (await findImage(db, copyImageId))?.content
  if (host === undefined || !content || !isHostUp(host, cells)) return true
  const { sizeBytes, sha256 } = content
  const id = copyImageId!
  const image = { id, sizeBytes, sha256, ticket: imageTicket(id, host.cellId) }
  try {
    const cell = reachable(cells.cell(host.cellId))
    const hostId = host.view.hostId as HostId
    return (await askHost(cell, hostId, 'image-fetch', { image }, work)).state !== 'fetching'
  } catch (error) {
    if (!isFailure(error)) throw error
    return error.kind !== 'unavailable'
  }
}

type Noted = Partial<
  Pick<NextMoveStep, 'copyImageId' | 'copyHostId' | 'copiedBytes' | 'savedBytes'>
>

/** What is noted of the disk as the step begins. */
export async function notedWith(
  db: Executor,
  move: ServerMoveRecord,
  step: MoveStep,
  { hostId }: MoveCopy,
): Promise<Noted> {
  if (step === 'copying') return { copyImageId: newId<string>(), copyHostId: hostId }
  // Its host has forgotten a copy that failed. A saving that is begun again is in as many passes as before.
  const goesOn = move.step === 'fetching' || move.step === 'saving'
  if (step === 'saving' && !goesOn) return { copyImageId: null, copyHostId: null }
  if (move.savedBytes !== null || (step !== 'offloading' && step !== 'changing')) return {}
  return (await savedDiskOf(db, move.subjectId)) ?? {}
}

/** For operators: in how many passes the disk was saved, and how much of it while the server was off. */
export function howSaved({
  copiedBytes,
  savedBytes,
}: Pick<ServerMoveRecord, 'copiedBytes' | 'savedBytes'>): string | null {
  if (savedBytes === null) return null
  const rest = `${mib(savedBytes)} while it was off`
  return copiedBytes === null
    ? `Its disk was saved in one pass: ${rest}.`
    : `Its disk was saved in two passes: ${mib(copiedBytes)} while it ran, ${rest}.`
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`
}
