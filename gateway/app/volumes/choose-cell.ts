import type { CellId } from '#common/ids.ts'
import type { StoreSummary, VolumeEncryption } from '#openapi/wire/cell-volume.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import type { Cell } from '../../cell-client/cell.ts'

/** What a volume needs of the cell that is to have it. */
export interface VolumeCellRequest {
  readonly sizeGb: number
  readonly zone: string | null
  /** The extra specs of its type. */
  readonly specs: Readonly<Record<string, string>>
  /** Null: it is not encrypted. */
  readonly encryption: VolumeEncryption | null
  /** The cell of what it is made from; null: any. */
  readonly only: CellId | null
  /** Cells that refused it. */
  readonly tried: readonly CellId[]
  /** Absent: it may be in any store. */
  readonly stores?: WantedStores | undefined
}

/** The stores that a volume may be in, by their ids. */
export interface WantedStores {
  /** Absent: any. */
  readonly amongStores?: readonly string[]
  /** Not in these; absent: in any. */
  readonly notInStores?: readonly string[]
}

/** The cell to ask for a volume; `reason`: why there is none, for operators. */
export type VolumeCellChoice =
  | { readonly chosen: Cell; readonly trace: Trace }
  | { readonly chosen: undefined; readonly trace: Trace; readonly reason: string }

/** In a trace. */
const EXAMPLES_MAX = 5
const SCORES_MAX = 5

/**
 * Picks the cell whose stores have the most room. The room that a cell reported is seconds old, so where none seems to
 * have enough, the one with the most is asked all the same. `at`: now, in milliseconds since the epoch. Decides only.
 */
export function chooseVolumeCell(
  cells: readonly Cell[],
  request: VolumeCellRequest,
  at: number,
): VolumeCellChoice {
  let fitting = cells
  const reasons: string[] = []
  const filters: Trace['filters'] = []
  for (const [name, refusal] of FILTERS) {
    const examples: Trace['filters'][number]['examples'] = []
    fitting = fitting.filter((cell) => {
      const reason = refusal(cell, request)
      if (reason !== undefined) examples.push({ candidate: cell.name, reason })
      return reason === undefined
    })
    reasons.push(...examples.map(({ candidate, reason }) => `cell ${candidate} ${reason}`))
    filters.push({ name, refused: examples.length, examples: examples.slice(0, EXAMPLES_MAX) })
  }
  const scored = fitting.map((cell) => ({ cell, roomGb: roomIn(cell, request) }))
  const score = ({ cell, roomGb }: (typeof scored)[number]) => roomGb * cell.weight
  const ranked = scored.toSorted(
    (a, b) => score(b) - score(a) || (a.cell.name < b.cell.name ? -1 : 1),
  )
  const chosen = ranked[0]?.cell
  const scores = ranked.slice(0, SCORES_MAX).map((each) => {
    const parts = { roomGb: each.roomGb, weight: each.cell.weight }
    return { candidate: each.cell.name, score: score(each), parts }
  })
  const end = { lostClaims: [], chosen: chosen?.name ?? null, tookMs: 0 }
  const trace: Trace = { at, level: 'cells', considered: cells.length, filters, scores, ...end }
  if (chosen !== undefined) return { chosen, trace }
  return { chosen, trace, reason: reasons.join('; ') || 'there is no cell' }
}

/** In their order. */
const FILTERS: readonly (readonly [
  name: string,
  refusal: (cell: Cell, request: VolumeCellRequest) => string | undefined,
])[] = [
  [
    'SourceFilter',
    ({ id }, { only }) => (only !== null && only !== id ? 'does not have its source' : undefined),
  ],
  ['RetryFilter', ({ id }, { tried }) => (tried.includes(id) ? 'refused it before' : undefined)],
  ['EnabledFilter', ({ isEnabled }) => (isEnabled ? undefined : 'is disabled')],
  [
    'ReachableFilter',
    ({ isReachable, summary }) =>
      isReachable && summary !== undefined ? undefined : 'sends no heartbeats',
  ],
  [
    'StoreFilter',
    ({ summary }) => ((summary?.stores ?? []).length === 0 ? 'has no store' : undefined),
  ],
  [
    'AvailabilityZoneFilter',
    ({ summary }, { zone }) =>
      zone === null || summary?.stores?.some(({ zones }) => zones.includes(zone))
        ? undefined
        : `has no store in zone ${zone}`,
  ],
  [
    'AffinityFilter',
    ({ summary }, { stores: wanted }) =>
      wanted === undefined || summary?.stores?.some(({ id }) => isWanted(id, wanted))
        ? undefined
        : 'has no store that its hints allow',
  ],
  [
    'CapabilitiesFilter',
    ({ summary }, request) =>
      suitable(summary?.stores ?? [], request).length === 0
        ? 'has no store that its type allows'
        : undefined,
  ],
  [
    'EncryptionFilter',
    ({ summary }, request) =>
      request.encryption !== null && encrypting(summary?.stores ?? [], request).length === 0
        ? 'has no store that encrypts volumes'
        : undefined,
  ],
]

/** Why no store of the cell has room for the volume, as far as the cell says; undefined: one has. */
export function whyNoRoom({ summary }: Cell, request: VolumeCellRequest): string | undefined {
  const stores = suitable(summary?.stores ?? [], request)
  const mayFit = stores.some(({ roomGb }) => roomGb === undefined || roomGb >= request.sizeGb)
  if (mayFit) return undefined
  const rooms = stores.map(({ name, roomGb }) => `${name} has room for ${roomGb}`)
  return `has no store with room for ${request.sizeGb} GiB: ${rooms.join(', ')}`
}

/**
 * Why the stores of a cell cannot take all of these volumes, as far as the cell says; undefined: they can. The largest are
 * placed first, each in the store with the most room.
 */
export function whyNoRoomForAll(
  cell: Cell,
  requests: readonly VolumeCellRequest[],
): string | undefined {
  for (const request of requests) {
    const refused = FILTERS.map(([, refusal]) => refusal(cell, request)).find(Boolean)
    if (refused !== undefined) return refused
  }
  const left = new Map<string, number>()
  const roomOf = ({ id, roomGb = Number.POSITIVE_INFINITY }: StoreSummary) => left.get(id) ?? roomGb
  for (const request of requests.toSorted((a, b) => b.sizeGb - a.sizeGb)) {
    const stores = encrypting(cell.summary?.stores ?? [], request)
    const [roomiest] = stores.toSorted((a, b) => roomOf(b) - roomOf(a))
    if (roomiest === undefined) return 'has no store that its type allows'
    if (roomOf(roomiest) < request.sizeGb)
      return requests.length === 1
        ? whyNoRoom(cell, request)
        : `has no room for ${requests.length} volumes with ${sum(requests)} GiB in its stores`
    left.set(roomiest.id, roomOf(roomiest) - request.sizeGb)
  }
  return undefined
}

function sum(requests: readonly VolumeCellRequest[]): number {
  return requests.reduce((total, { sizeGb }) => total + sizeGb, 0)
}

/** The stores that are up, in the zone, and allowed by the specs of the type. */
function suitable(
  stores: readonly StoreSummary[],
  { zone, specs, stores: wanted = {} }: VolumeCellRequest,
): readonly StoreSummary[] {
  return stores.filter(
    (store) =>
      store.isUp &&
      isWanted(store.id, wanted) &&
      (zone === null || store.zones.includes(zone)) &&
      isAllowed(store, specs),
  )
}

function isWanted(id: string, { amongStores, notInStores = [] }: WantedStores): boolean {
  return (amongStores === undefined || amongStores.includes(id)) && !notInStores.includes(id)
}

/** Those of them in which it can be encrypted, if it is to be. */
function encrypting(
  stores: readonly StoreSummary[],
  request: VolumeCellRequest,
): readonly StoreSummary[] {
  const fitting = suitable(stores, request)
  return request.encryption === null ? fitting : fitting.filter(({ encrypts }) => encrypts === true)
}

/** The stores of the cell that may have the volume, whatever room they have. */
export function storesFor({ summary }: Cell, request: VolumeCellRequest): readonly StoreSummary[] {
  return encrypting(summary?.stores ?? [], request)
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
  const rooms = encrypting(cell.summary?.stores ?? [], request).map(
    ({ totalGb, promisedGb, freeGb }) => Math.min(totalGb - promisedGb, freeGb),
  )
  return Math.max(...rooms)
}
