import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import type { Cell, Resources } from '../../cells/cell.ts'
import { cellRequest, nearGroup, type Wish } from '../cells/cell-request.ts'
import { type CellChoice, chooseCell } from '../cells/choose-cell.ts'
import type { ComputeDeps } from '../compute.ts'

/**
 * A cell for each of `count` equal servers, each choice knowing of those before it. Throws `unavailable` when every
 * cell is dark: asking again later makes sense, unlike when none fits.
 */
export async function chooseCells(
  deps: Pick<ComputeDeps, 'cells' | 'clock' | 'random'>,
  db: Executor,
  wish: Wish,
  count: number,
): Promise<readonly CellChoice[]> {
  const cells = deps.cells.cells()
  refuseAllDark(cells)
  let request = await cellRequest(db, wish, [])
  if (request.withHost?.size === 0)
    throw new Failure('invalid', `Compute host ${wish.requestedHost} could not be found.`)
  const sources = { now: () => deps.clock.now(), random: deps.random }
  const choices: CellChoice[] = []
  let left = cells
  for (let index = 0; index < count; index += 1) {
    const choice = chooseCell(left, request, sources)
    choices.push(choice)
    if (choice.chosen !== undefined && wish.group !== null && request.group === null)
      request = { ...request, group: nearGroup(wish.group.policy, choice.chosen.id) }
    left = left.map((cell) => (cell.id === choice.chosen?.id ? less(cell, wish) : cell))
  }
  return choices
}

/** Throws `unavailable` when every cell is dark. */
export function refuseAllDark(cells: readonly Cell[]): void {
  const enabled = cells.filter((cell) => cell.isEnabled)
  if (enabled.length === 0 || enabled.some((cell) => cell.isAlive)) return
  throw new Failure('unavailable', 'No cell can be reached at the moment. Please try again.')
}

function less(cell: Cell, { flavor }: Wish): Cell {
  const taken = flavorResources(flavor)
  const promised: Resources = {
    vcpus: cell.promised.vcpus + taken.vcpus,
    memoryMb: cell.promised.memoryMb + taken.memoryMb,
    diskGb: cell.promised.diskGb + taken.diskGb,
  }
  return { ...cell, promised }
}
