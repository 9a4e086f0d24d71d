import type { Cell } from '../../cell-client/cell.ts'
import type { CellSelector } from '../../db/placement-policies.ts'
import type { CellRequest } from './cell-filters.ts'

/** Refuses a cell that no entry of the policy's preference selects; without one every cell will do. */
export function preferenceReason(cell: Cell, { policy }: CellRequest): string | undefined {
  if (policy === null || policy.rules.preference.length === 0) return undefined
  return entryOf(policy.rules.preference, cell) === -1
    ? `is in no entry of the preference of policy ${policy.name}`
    : undefined
}

/** Leaves later entries of the preference alone while a cell of an earlier one can take the server. */
export function overflow(
  cells: readonly Cell[],
  { policy }: CellRequest,
): ((cell: Cell) => string | undefined) | undefined {
  if (policy === null || policy.rules.preference.length === 0) return undefined
  const { preference } = policy.rules
  const first = Math.min(...cells.map((cell) => entryOf(preference, cell)))
  return (cell) => {
    const entry = entryOf(preference, cell)
    return entry === first
      ? undefined
      : `is in entry ${entry + 1} of the preference of policy ${policy.name}, and a cell of entry ${first + 1} can take the server`
  }
}

/** The first entry that selects the cell; -1: none does. */
function entryOf(preference: readonly CellSelector[], cell: Cell): number {
  return preference.findIndex(
    ({ cells, labels }) =>
      (cells.length === 0 || cells.includes(cell.name)) &&
      Object.entries(labels).every(([key, value]) => cell.labels[key] === value),
  )
}
