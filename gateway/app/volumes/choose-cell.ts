import type { CellId } from '#common/ids.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import type { Cell } from '../../cell-client/cell.ts'

/** What a volume needs of the cell that is to have it. */
export interface VolumeCellRequest {
  readonly sizeGb: number
  readonly zone: string | null
  /** The extra specs of its type. */
  readonly specs: Readonly<Record<string, string>>
  /** The cell of what it is made from; null: any. */
  readonly only: CellId | null
  /** Cells that refused it. */
  readonly tried: readonly CellId[]
}

/** The cell to ask for a volume; `reason`: why there is none, for operators. */
export type VolumeCellChoice =
  | { readonly chosen: Cell }
  | { readonly chosen: undefined; readonly reason: string }

/**
 * Picks the cell whose stores have the most room. The room that a cell reported is seconds old, so where none seems to
 * have enough, the one with the most is asked all the same. Decides only.
 */
export function chooseVolumeCell(
  cells: readonly Cell[],
  request: VolumeCellRequest,
): VolumeCellChoice {
  const judged = cells.map((cell) => ({ cell, reason: refusalOf(cell, request) }))
  const fitting = judged.filter(({ reason }) => reason === undefined).map(({ cell }) => cell)
  const ranked = fitting.toSorted(
    (a, b) => roomIn(b, request) - roomIn(a, request) || (a.name < b.name ? -1 : 1),
  )
  const [chosen] = ranked
  if (chosen !== undefined) return { chosen }
  const reasons = judged.map(({ cell, reason }) => `cell ${cell.name} ${reason}`)
  return { chosen: undefined, reason: reasons.join('; ') || 'there is no cell' }
}

function refusalOf(cell: Cell, request: VolumeCellRequest): string | undefined {
  if (request.only !== null && request.only !== cell.id) return 'does not have its source'
  if (request.tried.includes(cell.id)) return 'refused it before'
  if (!cell.isEnabled) return 'is disabled'
  if (!cell.isReachable || cell.summary === undefined) return 'sends no heartbeats'
  const stores = cell.summary.stores ?? []
  if (stores.length === 0) return 'has no store'
  if (request.zone !== null && !stores.some(({ zones }) => zones.includes(request.zone!)))
    return `has no store in zone ${request.zone}`
  return suitable(stores, request).length === 0 ? 'has no store that its type allows' : undefined
}

/** The stores that are up, in the zone, and allowed by the specs of the type. */
function suitable(
  stores: readonly StoreSummary[],
  { zone, specs }: VolumeCellRequest,
): readonly StoreSummary[] {
  return stores.filter(
    (store) =>
      store.isUp && (zone === null || store.zones.includes(zone)) && isAllowed(store, specs),
  )
}

/** True if a volume of a type with these extra specs may be in the store. */
export function isAllowed(
  store: Pick<StoreSummary, 'name' | 'multiattach'>,
  specs: VolumeCellRequest['specs'],
): boolean {
  const { volume_backend_name: backend } = specs
  return (
    (backend === undefined || backend === store.name) && (!isShared(specs) || store.multiattach)
  )
}

/** True if several servers may use a volume of a type with these extra specs at once. */
export function isShared(specs: VolumeCellRequest['specs']): boolean {
  return specs['multiattach'] === '<is> True'
}

function roomIn(cell: Cell, request: VolumeCellRequest): number {
  const rooms = suitable(cell.summary?.stores ?? [], request).map(
    ({ totalGb, promisedGb, freeGb }) => Math.min(totalGb - promisedGb, freeGb),
  )
  return Math.max(...rooms) * cell.weight
}
