import type { HostId } from '#common/ids.ts'
import type { VolumeRequest } from '#openapi/wire/cell-volume.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { GIB, promiseLimitGb, type Store } from './store.ts'

/** A host through which a volume can be made, in its zone. */
export interface StoreHost {
  readonly id: HostId
  readonly name: string
  readonly zone: string
  readonly isUp: boolean
}

/** A store with the hosts that reach it. */
export interface StoreState extends Store {
  readonly hosts: readonly StoreHost[]
}

/** A place for a volume: a store, and the host that is to make it there. */
export interface VolumePlace {
  readonly storeId: string
  readonly storeName: string
  readonly hostId: HostId
  readonly zone: string
}

interface StoreFilter {
  readonly name: string
  /** Why the store cannot take the volume; undefined: it can. */
  readonly refusal: (store: StoreState, request: StoreRequest, ratio: number) => string | undefined
}

/** The extra spec by which a type names its store, as in Cinder. */
const BACKEND_NAME = 'volume_backend_name'
const MULTIATTACH = 'multiattach'

/** What decides on a store: the request, and the store that has its source; null: there is no source. */
export interface StoreRequest extends Omit<VolumeRequest, 'source'> {
  readonly sourceStoreId: string | null
}

const FILTERS: readonly StoreFilter[] = [
  {
    name: 'SourceFilter',
    refusal: ({ id }, { sourceStoreId }) =>
      sourceStoreId === null || sourceStoreId === id ? undefined : 'it does not have the source',
  },
  {
    name: 'SameBackendFilter',
    refusal: ({ id }, { amongStores }) =>
      amongStores === undefined || amongStores.includes(id)
        ? undefined
        : 'it has none of the volumes of the hint same_host',
  },
  {
    name: 'DifferentBackendFilter',
    refusal: ({ id }, { notInStores = [] }) =>
      notInStores.includes(id) ? 'it has a volume of the hint different_host' : undefined,
  },
  {
    name: 'AvailabilityZoneFilter',
    refusal: ({ hosts }, { zone }) =>
      zone === null || hosts.some((host) => host.zone === zone)
        ? undefined
        : `no host that reaches it is in the zone ${zone}`,
  },
  {
    name: 'ReachableFilter',
    refusal: ({ hosts }, { zone }) =>
      hosts.some((host) => host.isUp && isInZone(host, zone))
        ? undefined
        : 'no host that reaches it is up',
  },
  {
    name: 'CapabilitiesFilter',
    refusal: ({ name, multiattach }, { specs }) => {
      const backend = specs[BACKEND_NAME]
      if (backend !== undefined && backend !== name) return `its name is not ${backend}`
      if (specs[MULTIATTACH] === '<is> True' && !multiattach)
        return 'its volumes cannot be attached to several servers'
      return undefined
    },
  },
  {
    name: 'EncryptionFilter',
    refusal: ({ engine, encrypts }, { encryption }) =>
      encryption === undefined || encrypts === true
        ? undefined
        : `volumes in stores of engine ${engine} are not encrypted`,
  },
  {
    name: 'CapacityFilter',
    refusal: (store, { sizeGb }, ratio) => {
      const left = promiseLimitGb(store, ratio) - store.promisedGb
      if (sizeGb > left) return `it can promise ${Math.max(left, 0)} GiB more`
      const free = Math.floor((store.freeBytes * ratio) / GIB)
      if (sizeGb > free) return `it has ${free} GiB free`
      const largest = Math.floor((store.largestVolumeBytes ?? Number.POSITIVE_INFINITY) / GIB)
      return sizeGb > largest ? `no part of it has more than ${largest} GiB free` : undefined
    },
  },
]

/** Where a volume may go: stores that the wanted host reaches come first, then those with the most room; and why each other store cannot take it. */
export interface StoreChoice extends Pick<Trace, 'considered' | 'filters' | 'scores'> {
  readonly places: readonly VolumePlace[]
  readonly refusals: readonly string[]
}

/** In a trace. */
const EXAMPLES_MAX = 5
const SCORES_MAX = 5

/** Decides which stores can take the volume. `ratio`: how many times stores promise their size. */
export function chooseStore(
  stores: readonly StoreState[],
  request: StoreRequest,
  ratio: number,
): StoreChoice {
  let fitting = stores
  const refusals: string[] = []
  const filters: Trace['filters'] = []
  for (const { name, refusal } of FILTERS) {
    const examples: Trace['filters'][number]['examples'] = []
    fitting = fitting.filter((store) => {
      const reason = refusal(store, request, ratio)
      if (reason !== undefined) examples.push({ candidate: store.name, reason })
      return reason === undefined
    })
    refusals.push(...examples.map((each) => `${each.candidate}: ${each.reason} (${name})`))
    filters.push({ name, refused: examples.length, examples: examples.slice(0, EXAMPLES_MAX) })
  }
  const room = (store: StoreState) => promiseLimitGb(store, ratio) - store.promisedGb
  const isNear = ({ hosts }: StoreState) => Number(hosts.some(({ name }) => name === request.host))
  const ranked = fitting.toSorted(
    (a, b) => isNear(b) - isNear(a) || room(b) - room(a) || (a.id < b.id ? -1 : 1),
  )
  const scores = ranked.slice(0, SCORES_MAX).map((store) => {
    const parts = { onHostOfServer: isNear(store), roomGb: room(store) }
    return { candidate: store.name, score: room(store), parts }
  })
  const places = ranked.map((store) => placeIn(store, request))
  return { places, refusals, considered: stores.length, filters, scores }
}

function placeIn(
  { id, name, hosts }: StoreState,
  { zone, host: wanted }: StoreRequest,
): VolumePlace {
  const usable = hosts.filter((each) => each.isUp && isInZone(each, zone))
  const host = usable.find((each) => each.name === wanted) ?? usable[0]
  if (host === undefined) throw new Error('A store was chosen that no host reaches')
  return { storeId: id, storeName: name, hostId: host.id, zone: host.zone }
}

function isInZone(host: StoreHost, zone: string | null): boolean {
  return zone === null || host.zone === zone
}
