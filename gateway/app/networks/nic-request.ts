import type { Network, Port, Subnet } from '../../db/network.ts'

/** One entry of a server request's `networks`. */
export interface RequestedNic {
  readonly networkId?: string
  readonly portId?: string
  readonly fixedIp?: string
  readonly tag?: string
}

/** The networks of a server request; `undefined` is a missing attribute, which was allowed before 2.37. */
export type RequestedNetworks = 'auto' | 'none' | readonly RequestedNic[] | undefined

export interface NicRequest {
  readonly networks: RequestedNetworks
  /** Names or ids; empty: the project's default group. */
  readonly securityGroups: readonly string[]
  /** How many servers the request makes at most. */
  readonly serversMax: number
}

/** One NIC of every server of the request; decided before anything is written. */
export type PlannedNic =
  | {
      readonly kind: 'new'
      readonly network: Network
      readonly subnets: readonly Subnet[]
      readonly fixedIp: { readonly subnet: Subnet; readonly address: string } | null
      readonly tag: string | null
    }
  | {
      readonly kind: 'existing'
      readonly network: Network
      readonly subnets: readonly Subnet[]
      readonly port: Port
      readonly tag: string | null
    }

export interface NicPlan {
  readonly projectId: string
  readonly nics: readonly PlannedNic[]
  /** For new ports, and as the server shows them. */
  readonly securityGroups: readonly { readonly id: string; readonly name: string }[]
}

/** A NIC of a server: its port, and the settings that its network gives it. */
export interface ServerNic {
  readonly port: Port
  readonly network: Network
  readonly subnets: readonly Subnet[]
}
