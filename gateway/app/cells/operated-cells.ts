import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import {
  type CellChoices,
  type CellMapping,
  type Labels,
  listCellMappings,
  type Taint,
  updateCellMapping,
} from '../../db/cell-mappings.ts'
import { listTunnels } from '../../db/cell-tunnels.ts'
import type { Cells } from '../hosts/host-state.ts'

/** A cell as an operator sees it: its settings, and the state that it reports. */
export interface OperatedCell extends CellMapping {
  /** Undefined during the second before this gateway has noticed the cell. */
  readonly reported: Cell | undefined
  /** The other cells with which the last test of the tunnels between their hosts failed. */
  readonly failedTunnels: readonly FailedTunnel[]
}

export interface FailedTunnel {
  readonly cellId: CellId
  readonly cell: string
  readonly failure: string
  readonly testedAt: Date
}

/** By name. */
export async function listOperatedCells(
  db: Executor,
  cells: Cells,
): Promise<readonly OperatedCell[]> {
  const [mappings, tunnels] = await Promise.all([listCellMappings(db), listTunnels(db)])
  const names = new Map(mappings.map(({ id, name }) => [id, name]))
  const failedOf = (id: CellId) =>
    tunnels.flatMap(({ cellIds, failure, testedAt }): FailedTunnel[] => {
      const [cellId] = cellIds.filter((each) => each !== id)
      if (failure === null || !cellIds.includes(id) || cellId === undefined) return []
      return [{ cellId, cell: names.get(cellId) ?? cellId, failure, testedAt }]
    })
  return mappings.map((mapping) => {
    const { id } = mapping
    return { ...mapping, reported: cells.cell(id), failedTunnels: failedOf(id) }
  })
}

/** The cell of this id or name. Throws `not-found`, saying which there are. */
export async function findOperatedCell(
  db: Executor,
  cells: Cells,
  idOrName: string,
): Promise<OperatedCell> {
  const all = await listOperatedCells(db, cells)
  const found = all.find(({ id, name }) => id === idOrName || name === idOrName)
  if (found !== undefined) return found
  const names = all.map(({ name }) => name).join(', ')
  throw new Failure('not-found', `There is no cell ${idOrName}. There are: ${names || 'none'}.`)
}

/** What to decide again; the rest stays. */
export interface CellChange {
  readonly isEnabled?: boolean | undefined
  readonly disabledReason?: string | null | undefined
  readonly weight?: number | undefined
  /** Null: the one of all cells for which none is named. */
  readonly transportZone?: string | null | undefined
  /** All that it is to have. */
  readonly labels?: Labels | undefined
  /** All that it is to have. */
  readonly taints?: readonly Taint[] | undefined
  /** Null: its servers are never rebuilt by themselves. */
  readonly recoverAfterS?: number | null | undefined
}

/**
 * Afterwards it is decided, and every gateway follows within a second, or as soon as it is told. Throws `invalid` for a reason that explains
 * nothing and for two taints of one key and effect, and `conflict` when another operator was quicker, and for a cell to be
 * recovered whose hosts do not stop their guests.
 */
export async function updateCell(
  db: Transactional,
  cell: OperatedCell,
  change: CellChange,
): Promise<void> {
  if (change.recoverAfterS != null) requireFence(cell)
  const chosen = choices(cell, change)
  if (!(await db.transaction((tx) => updateCellMapping(tx, cell, chosen))))
    throw new Failure('conflict', `Cell ${cell.name} was changed meanwhile. Read it again.`)
}

/** Enabling a cell forgets why it was not. */
function choices(cell: CellMapping, change: CellChange): CellChoices {
  const isDisabled = change.isEnabled === undefined ? cell.isDisabled : !change.isEnabled
  if (!isDisabled && typeof change.disabledReason === 'string')
    throw new Failure(
      'invalid',
      'Only a disabled cell can have a disabled_reason. Set is_enabled to false too.',
    )
  const { disabledReason = cell.disabledReason, weight = cell.weight } = change
  const { transportZone = cell.transportZone, labels = cell.labels, taints = cell.taints } = change
  const { recoverAfterS = cell.recoverAfterS } = change
  refuseDoubleTaints(taints)
  return {
    isDisabled,
    disabledReason: isDisabled ? disabledReason : null,
    weight,
    transportZone,
    labels,
    taints,
    recoverAfterS,
  }
}

/** Servers that were rebuilt elsewhere must not run on hosts that only cannot be reached. */
function requireFence({ name, reported, summary }: OperatedCell): void {
  if ((reported?.summary ?? summary)?.fenceAfterS !== undefined) return
  throw new Failure(
    'conflict',
    `Hosts of cell ${name} go on running their servers when no gateway reaches them, so they cannot be rebuilt elsewhere without an operator. Set CELL_FENCE_AFTER_S of its processes first.`,
  )
}

/** As Kubernetes does: of two with different values nobody could say which one is meant. */
function refuseDoubleTaints(taints: readonly Taint[]): void {
  const names = taints.map(({ key, effect }) => `${key}:${effect}`)
  const double = names.find((name, nth) => names.indexOf(name) !== nth)
  if (double === undefined) return
  throw new Failure('invalid', `A cell can have only one taint ${double}: give it one value.`)
}
