import type { ThingType } from '../record/record.ts'

/** The state of a quiet deployment, as each of its parts reports it. */
export interface Snapshot {
  readonly api: ApiState
  readonly gateway: GatewayState
  readonly cells: readonly CellState[]
}

/** What users see. */
export interface ApiState {
  readonly servers: readonly ApiServer[]
  /** Of every type but servers. */
  readonly things: Readonly<Record<Exclude<ThingType, 'server'>, readonly ApiThing[]>>
}

export interface ApiServer {
  readonly id: string
  readonly projectId: string
  readonly name: string
  readonly description: string | null
  readonly status: string
  readonly vmState: string
  readonly taskState: string | null
  readonly host: string | null
  readonly vcpus: number
  readonly metadata: Readonly<Record<string, string>>
  readonly tags: readonly string[]
  readonly addresses: readonly string[]
  readonly fault: string | undefined
}

export interface ApiThing {
  /** A key pair's is its user's and its name. */
  readonly id: string
  readonly name: string
  /** Fields that users change. */
  readonly fields: Readonly<Record<string, string | number | boolean | null>>
}

/** The global database. Numbers and flags are as SQL gives them. */
export interface GatewayState {
  readonly mappings: readonly MappingRow[]
  readonly index: readonly IndexRow[]
  readonly ports: readonly PortRow[]
  readonly addresses: readonly { readonly portId: string; readonly address: string }[]
  readonly quotas: readonly QuotaRow[]
  readonly audit: readonly { readonly requestId: string; readonly status: number }[]
  readonly actions: readonly ActionRow[]
  readonly openSagas: readonly SagaRow[]
  readonly intents: readonly { readonly serverId: string; readonly action: string }[]
}

export interface MappingRow {
  readonly serverId: string
  readonly projectId: string
  readonly cellId: string | null
  readonly attempt: number
  readonly cores: number
  readonly ramMb: number
  readonly isCharged: number
  readonly isResizing: number
  readonly isDeleting: number
  readonly sagaId: string | null
}

/** Of servers that are not deleted. */
export interface IndexRow {
  readonly serverId: string
  readonly cellId: string | null
  readonly attempt: number
  readonly vmState: string
  readonly taskState: string | null
  readonly powerState: number
  readonly host: string | null
}

export interface PortRow {
  readonly id: string
  readonly deviceId: string
  readonly isBootMade: number
  readonly status: string
  readonly host: string
}

/** One line of a ledger, with the sum that it should show. */
export interface QuotaRow {
  readonly owner: string
  readonly resource: string
  readonly used: number
  readonly counted: number
  /** Undefined where none is set for this owner; -1: none. */
  readonly limit: number | undefined
}

export interface ActionRow {
  readonly serverId: string
  readonly requestId: string
  readonly action: string
  /** Events that have begun and not ended. */
  readonly openEvents: number
}

export interface SagaRow {
  readonly name: string
  readonly state: string
  readonly subject: string
}

/** One cell's database, and the records of its hosts. */
export interface CellState {
  readonly id: string
  readonly name: string
  readonly instances: readonly InstanceRow[]
  readonly allocations: readonly AllocationRow[]
  readonly providers: readonly ProviderRow[]
  readonly openSagas: readonly SagaRow[]
  /** Changes that no gateway has acknowledged. */
  readonly feedBehind: number
  /** By the host's name. */
  readonly guests: Readonly<Record<string, readonly Guest[]>>
}

export interface InstanceRow {
  readonly serverId: string
  readonly attempt: number
  readonly vmState: string
  readonly taskState: string | null
  readonly host: string | null
  readonly sagaId: string | null
}

export interface AllocationRow {
  readonly consumerId: string
  /** The host's name. */
  readonly provider: string
  readonly resourceClass: string
  readonly used: number
}

export interface ProviderRow {
  readonly name: string
  readonly used: Readonly<Record<'VCPU' | 'MEMORY_MB' | 'DISK_GB', number>>
}

export interface Guest {
  readonly id: string
  readonly powerState: string
  readonly console: readonly string[]
}
