import { createHash } from 'node:crypto'
import type { HostId } from '#common/ids.ts'
import type { HostKind, HostState } from './host-state.ts'
import { DEVICE_CLASS } from './resource-classes.ts'

/** The numbers of a host of which a server needs some. */
export type Room = 'vcpus' | 'memoryMb' | 'diskGb' | 'instances'

/** What changes while a cell works. */
export type HostUsage = Pick<
  HostState,
  'used' | 'instances' | 'ioOps' | 'buildFailures' | 'metrics' | 'imagePropertyUses'
>

/** All of them, so that no field of a kind is forgotten. */
const KIND_FIELDS: Readonly<Record<keyof HostKind, null>> = {
  zone: null,
  isUp: null,
  isDisabled: null,
  simulated: null,
  filtersPorts: null,
  machineSegments: null,
  mappedNetworks: null,
  hypervisorType: null,
  hypervisorVersion: null,
  architecture: null,
  traits: null,
  machineTraits: null,
  isOfMachines: null,
  numa: null,
  extraSpecs: null,
  imageProperties: null,
  hasOwnFlavors: null,
  imageFormats: null,
  aggregates: null,
}
const KIND_KEYS = Object.keys(KIND_FIELDS) as readonly (keyof HostKind)[]

/**
 * The hosts of a cell in order of their names, with the numbers that decisions compare in columns and the hosts of one
 * kind together: a decision over thousands of hosts then reads little besides numbers.
 */
export class HostTable {
  /** For each host the kind that it is of, by its place in `kinds`. */
  readonly kindOf: Int32Array
  /** One host of each kind. */
  readonly kinds: readonly HostState[]
  /** What each host has left. */
  readonly free: Readonly<Record<Room, Float64Array>>
  /** What one more server may have of each host: what is left, and no more than the host gives one. */
  readonly mostOfOne: Readonly<Record<Room, Float64Array>>
  /** Where a decision notes the hosts that are left, and their scores; each one overwrites them. */
  readonly workspace: { readonly left: Int32Array; readonly scores: Float64Array }
  /** Some host has PCI devices for servers. */
  readonly hasDevices: boolean
  readonly #states: HostState[]
  #hasFailures = false
  readonly #places: ReadonlyMap<HostId, number>

  constructor(states: readonly HostState[]) {
    const sorted = states.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    const size = sorted.length
    const kinds = new Map<string, { readonly place: number; readonly kind: HostState }>()
    const column = () => new Float64Array(size)
    this.#states = sorted
    this.#places = new Map(sorted.map(({ hostId }, place) => [hostId, place]))
    this.kindOf = new Int32Array(size)
    this.free = { vcpus: column(), memoryMb: column(), diskGb: column(), instances: column() }
    const { instances } = this.free
    this.mostOfOne = { vcpus: column(), memoryMb: column(), diskGb: column(), instances }
    this.workspace = { left: new Int32Array(size), scores: column() }
    for (const [place, state] of sorted.entries()) {
      const key = kindKey(state)
      const known = kinds.get(key) ?? { place: kinds.size, kind: state }
      kinds.set(key, known)
      this.kindOf[place] = known.place
      this.#fill(place, state)
    }
    this.hasDevices = sorted.some(({ limits: { custom = {} } }) =>
      Object.keys(custom).some((name) => DEVICE_CLASS.test(name)),
    )
    this.kinds = Array.from(kinds.values(), ({ kind }) => kind)
  }

  get states(): readonly HostState[] {
    return this.#states
  }

  /** True where builds have failed on some host. */
  get hasFailures(): boolean {
    return this.#hasFailures
  }

  /** Undefined for a host that is not in the table. */
  state(id: HostId): HostState | undefined {
    const place = this.#places.get(id)
    return place === undefined ? undefined : this.#states[place]
  }

  /** Afterwards the host, if it is in the table, has this usage. Its kind stays. */
  put(id: HostId, usage: HostUsage): void {
    const place = this.#places.get(id)
    if (place === undefined) return
    const state = { ...this.#states[place]!, ...usage }
    this.#states[place] = state
    this.#fill(place, state)
  }

  #fill(place: number, state: HostState): void {
    const { limits, maxUnits, used, instances, instancesMax } = state
    const { free, mostOfOne } = this
    if (state.buildFailures > 0) this.#hasFailures = true
    free.vcpus[place] = limits.vcpus - used.vcpus
    free.memoryMb[place] = limits.memoryMb - used.memoryMb
    free.diskGb[place] = limits.diskGb - used.diskGb
    mostOfOne.vcpus[place] = Math.min(free.vcpus[place], maxUnits.vcpus)
    mostOfOne.memoryMb[place] = Math.min(free.memoryMb[place], maxUnits.memoryMb)
    mostOfOne.diskGb[place] = Math.min(free.diskGb[place], maxUnits.diskGb)
    free.instances[place] = (instancesMax ?? Number.POSITIVE_INFINITY) - instances
  }
}

/** The same for all hosts of a kind, and for no other. */
function kindKey(state: HostState): string {
  let key = ''
  for (const field of KIND_KEYS) {
    const value = state[field]
    key += typeof value === 'object' && value !== null ? fingerprint(value) : String(value)
    key += '|'
  }
  return key
}

/** Lists stay the same objects while their host does not change, so few have to be read again. */
const fingerprints = new WeakMap<object, string>()

function fingerprint(value: object): string {
  const known = fingerprints.get(value)
  if (known !== undefined) return known
  const made = createHash('sha256').update(JSON.stringify(value)).digest('base64url')
  fingerprints.set(value, made)
  return made
}
