import { Failure } from '#common/errors.ts'
import type { Cell } from '../../cells/cell.ts'

/** The cell of a host, which can be asked now. Throws `unavailable`. */
export function reachable(cell: Cell | undefined): Cell {
  if (cell?.isAlive === true) return cell
  throw new Failure(
    'unavailable',
    `Cell ${cell?.name ?? 'of this host'} does not answer. Please try again when it is back.`,
  )
}
