import { Failure } from '#common/errors.ts'
import type { HeaderReader } from './http-input.ts'

/** The cells of other clouds that a request came through, outermost first. A gateway that knows it says it again. */
export const VIA = 'x-weir-via'

/** The cells there are here, by id. */
interface OwnCells {
  cell(id: string): { readonly name: string } | undefined
}

const HOPS_MAX = 16

/** The cells that a request came through. */
export function hopsOf(header: HeaderReader): readonly string[] {
  return (
    header(VIA)
      ?.split(',')
      .map((id) => id.trim()) ?? []
  )
}

/** Throws `conflict` for a request that came through a cell of ours, or through too many: it would go round for ever. */
export function refuseRing(header: HeaderReader, cells: OwnCells): void {
  const hops = hopsOf(header)
  const ours = hops.map((id) => cells.cell(id)).find((cell) => cell !== undefined)
  if (ours !== undefined)
    throw new Failure(
      'conflict',
      `This request came through cell ${ours.name} of this same cloud: its clouds form a ring.`,
    )
  if (hops.length > HOPS_MAX)
    throw new Failure('conflict', `A request goes through at most ${HOPS_MAX} clouds.`)
}
