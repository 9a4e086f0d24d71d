import type { RequestedAddress } from './address-requests.ts'

interface AddressPair {
  readonly ip_address: string
  readonly mac_address?: string
}

interface ExtraDhcpOption {
  readonly opt_name: string
  /** Null: not set any more. */
  readonly opt_value?: string | null
  readonly ip_version?: 4 | 6
}

/** The fields of a port that both a create and an update may carry. */
export interface PortFields {
  readonly name?: string
  readonly description?: string
  readonly admin_state_up?: boolean
  /** Absent in a new port: one address per IP version of the network; empty: none. */
  readonly fixed_ips?: readonly RequestedAddress[]
  readonly security_groups?: readonly string[]
  readonly device_id?: string
  readonly device_owner?: string
  readonly port_security_enabled?: boolean
  readonly 'binding:host_id'?: string
  readonly allowed_address_pairs?: readonly AddressPair[] | null
  readonly extra_dhcp_opts?: readonly ExtraDhcpOption[] | null
  readonly dns_name?: string | null
}
