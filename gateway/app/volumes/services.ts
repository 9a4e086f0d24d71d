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
