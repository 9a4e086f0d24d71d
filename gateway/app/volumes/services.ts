import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import type { Cell } from '../../cell-client/cell.ts'

const BINARY = 'cinder-scheduler'

export interface VolumeServiceQuery {
  readonly host?: string
  readonly binary?: string
}

/** What places volumes in a cell, by the name of the cell. */
export interface VolumeService {
  readonly cell: Cell
  readonly binary: typeof BINARY
}

/** Those that fit, by the names of their cells. A cell that was given up has none. */
export function listVolumeServices(
  cells: readonly Cell[],
  { host, binary }: VolumeServiceQuery,
): readonly VolumeService[] {
  if (binary !== undefined && binary !== BINARY) return []
  return cells
    .filter((cell) => !cell.isLost && (host === undefined || host === cell.name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((cell) => ({ cell, binary: BINARY }))
}

/** A store, and the cell that has it. */
export interface CellStore {
  readonly cell: Cell
  readonly store: StoreSummary
}

/** The stores of cells that can be reached, by the names of cell and store. */
export function listStores(cells: readonly Cell[]): readonly CellStore[] {
  const stores = cells
    .filter(({ isReachable }) => isReachable)
    .flatMap((cell) => (cell.summary?.stores ?? []).map((store) => ({ cell, store })))
  const nameOf = ({ cell, store }: CellStore) => `${cell.name} ${store.name}`
  return stores.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}
