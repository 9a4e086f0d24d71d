import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import type { CellId } from '#common/ids.ts'
import type { Cell, Resources } from '../../../cell-client/cell.ts'
import type { CellRequest } from '../../cells/cell-filters.ts'
import { type CellRequirements, cellRequest, nearGroup } from '../../cells/cell-request.ts'
import { areHostsRecovering, cellsAsIndexed } from '../../cells/cells-as-indexed.ts'
import { type CellChoice, choiceSources, chooseCell } from '../../cells/choose-cell.ts'
import { spansWith } from '../../cells/tunnels.ts'
import { refuseAllUnreachable } from '../../cells/unheard-cells.ts'
import type { ComputeDeps } from '../../compute.ts'
import { addedUse, NO_USE } from '../../placement-policies/cell-limits.ts'
import { withServer } from '../../placement-policies/spread.ts'
import type { HeldRoom } from './held-room.ts'

type Deps = Pick<
  ComputeDeps,
  'cells' | 'clock' | 'random' | 'schedulingPolicy' | 'prices' | 'groupJoins'
>

/** How long a request waits for hosts that were up a short while ago. */
const COMING_BACK_MS = 5_000
const POLL_MS = 250
/** Filters that refuse a cell which is unreachable or has no hosts up: it may be usable in a moment. */
const PASSING: ReadonlySet<string | undefined> = new Set(['AliveFilter', 'ComputeFilter'])

/** How many equal servers are wanted, and how many of them the cells that were asked have hosts for. */
export interface Wanted {
  readonly count: number
  /** By cell; absent: the cell was not asked, or cannot say. */
  readonly fitting: ReadonlyMap<string, number>
  /** Afterwards it has what the choices take. */
  readonly room: HeldRoom
}

/**
 * A cell for each of `count` equal servers, each choice knowing of those before it. Hosts that were up a short while ago
 * are waited for, where none else is left. Throws `unavailable` when every cell is unreachable, or those hosts do not come back in
 * time: asking again later makes sense, unlike when none fits.
 */
export async function chooseCells(
  deps: Deps,
  db: Executor,
  required: CellRequirements,
  wanted: Wanted,
): Promise<readonly CellChoice[]> {
  refuseAllUnreachable(deps.cells.cells())
  const { clock } = deps
  for (const end = clock.elapsed() + COMING_BACK_MS; ; await clock.sleep(POLL_MS)) {
    const choices = await chooseNow(deps, db, required, wanted)
    if (!PASSING.has(choices[0]?.emptiedBy)) return choices
    // None is coming back where all are back: one may have come back after it was passed over.
    if (!(await areHostsRecovering(db, deps.cells.cells())))
      return chooseNow(deps, db, required, wanted)
    if (clock.elapsed() >= end)
      throw new Failure(
        'unavailable',
        'The hosts that could take the server are not back yet. Please try again.',
      )
  }
}

/** The summaries of cells may be a second old: if they leave no cell, the index of hosts is read as well. */
async function chooseNow(
  deps: Deps,
  db: Executor,
  required: CellRequirements,
  wanted: Wanted,
): Promise<readonly CellChoice[]> {
  const cells = deps.cells.cells()
  const choices = await chooseAmong(deps, db, { cells, required, wanted })
  if (choices.every(({ chosen }) => chosen !== undefined)) return choices
  return chooseAmong(deps, db, { cells: await cellsAsIndexed(db, cells), required, wanted })
}

async function chooseAmong(
  deps: Deps,
  db: Executor,
  {
    cells,
    required,
    wanted: { count, fitting, room: held },
  }: {
    readonly cells: readonly Cell[]
    readonly required: CellRequirements
    readonly wanted: Wanted
  },
): Promise<readonly CellChoice[]> {
  const room = new Map(fitting)
  const full = new Set([...room].flatMap(([id, servers]) => (servers === 0 ? [id] : [])))
  const { apart: group, ...ofCells } = required
  const read = group && (await deps.groupJoins.read(db, group.id))
  const asked = await cellRequest(db, ofCells, cells)
  // From here on no other request is decided: each knows what those before it took.
  held.release()
  const apart =
    group && read ? { members: deps.groupJoins.members(read), maxPerHost: group.maxPerHost } : null
  let request: CellRequest = { ...asked, full, apart }
  const sources = choiceSources(deps)
  const choices: CellChoice[] = []
  let left = deps.cells.asReserved(cells)
  for (let index = 0; index < count; index += 1) {
    const choice = chooseCell(left, request, sources)
    choices.push(choice)
    if (choice.chosen !== undefined) {
      held.take(choice.chosen.id, flavorResources(required.flavor), group?.id)
      request = withServerIn(request, required, choice.chosen)
      const roomLeft = (room.get(choice.chosen.id) ?? Number.POSITIVE_INFINITY) - 1
      room.set(choice.chosen.id, roomLeft)
      if (roomLeft === 0) full.add(choice.chosen.id)
    }
    left = left.map((cell) => (cell.id === choice.chosen?.id ? less(cell, required) : cell))
  }
  return choices
}

/** What the next server of the request needs, after one went to this cell. */
function withServerIn(before: CellRequest, { group }: CellRequirements, chosen: Cell): CellRequest {
  const request = {
    ...before,
    spans: spansWith(before.spans, chosen),
    apart: before.apart && withMember(before.apart, chosen.id),
    spread: before.spread && withServer(before.spread, chosen.id),
    use: new Map(before.use).set(
      chosen.id,
      addedUse(before.use.get(chosen.id) ?? NO_USE, before.charge),
    ),
  }
  if (group === null || request.group !== null) return request
  return { ...request, group: nearGroup(group.policy, chosen.id) }
}

function withMember(
  apart: NonNullable<CellRequest['apart']>,
  cellId: CellId,
): NonNullable<CellRequest['apart']> {
  const members = new Map(apart.members).set(cellId, (apart.members.get(cellId) ?? 0) + 1)
  return { ...apart, members }
}

function less(cell: Cell, { flavor }: CellRequirements): Cell {
  const taken = flavorResources(flavor)
  const reserved: Resources = {
    vcpus: cell.reserved.vcpus + taken.vcpus,
    memoryMb: cell.reserved.memoryMb + taken.memoryMb,
    diskGb: cell.reserved.diskGb + taken.diskGb,
  }
  return { ...cell, reserved, reservedServers: cell.reservedServers + 1 }
}
