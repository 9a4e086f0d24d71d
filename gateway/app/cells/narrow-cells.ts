import type { Cell } from '../../cell-client/cell.ts'
import { unevenReason } from '../placement-policies/spread.ts'
import { taintText, tolerates } from '../placement-policies/taints.ts'
import type { CellRequest } from './cell-filters.ts'
import { overflow } from './preference.ts'

/**
 * Says which of the cells that could all take the server are better left to others, and why; undefined: none. It leaves one at
 * least.
 */
export type Narrowing = (
  cells: readonly Cell[],
  request: CellRequest,
) => ((cell: Cell) => string | undefined) | undefined

/** In the order they run, after the filters. */
export const NARROWINGS: Readonly<Record<string, Narrowing>> = {
  OverflowFilter: overflow,
  PreferNoScheduleFilter: avoidTainted,
  SpreadPreferenceFilter: evenOut,
  ReplicaFilter: besideReplica,
}

function evenOut(cells: readonly Cell[], { spread }: CellRequest): ReturnType<Narrowing> {
  if (spread === null || spread.isRequired) return undefined
  const reasonOf = ({ id }: Cell) => unevenReason(spread, id)
  return cells.every((cell) => reasonOf(cell) !== undefined) ? undefined : reasonOf
}

/** A server starts fastest where its backup is. */
function besideReplica(
  cells: readonly Cell[],
  { replicaCellId }: CellRequest,
): ReturnType<Narrowing> {
  const holder = cells.find(({ id }) => id === replicaCellId)
  if (holder === undefined) return undefined
  return ({ id }) =>
    id === holder.id
      ? undefined
      : `has no backup of the server; cell ${holder.name} has, and can take it`
}

function avoidTainted(cells: readonly Cell[], { policy }: CellRequest): ReturnType<Narrowing> {
  const tolerations = policy?.rules.tolerations ?? []
  const taintOf = ({ taints }: Cell) =>
    taints.find((taint) => taint.effect === 'PreferNoSchedule' && !tolerates(tolerations, taint))
  if (cells.every((cell) => taintOf(cell) !== undefined)) return undefined
  if (cells.every((cell) => taintOf(cell) === undefined)) return undefined
  return (cell) => {
    const taint = taintOf(cell)
    return taint && `has the taint ${taintText(taint)}, and others can take the server`
  }
}
