import type { NicSpec } from '../../driver.ts'

/** Of a port as the cloud shows it, what the driver reads. */
export interface CloudPort {
  readonly id: string
  readonly network_id: string
  readonly fixed_ips: readonly { readonly ip_address: string }[]
  readonly security_groups: readonly string[]
  /** Absent where the cloud cannot do without. */
  readonly port_security_enabled?: boolean
}

export function hasAddresses({ fixed_ips: ips }: CloudPort, { fixedIps }: NicSpec): boolean {
  return isSame(
    ips.map(({ ip_address }) => ip_address),
    fixedIps.map(({ address }) => address),
  )
}

/** What to tell the cloud so that the port has these groups; null: it holds nothing up. Empty when it is so. */
export function groupsChange(port: CloudPort, groups: readonly string[] | null): object {
  const isSecured = groups !== null
  const changes = isSecured !== (port.port_security_enabled ?? true)
  return {
    ...(changes ? { port_security_enabled: isSecured } : {}),
    ...(isSame(port.security_groups, groups ?? []) ? {} : { security_groups: groups ?? [] }),
  }
}

function isSame(these: readonly string[], those: readonly string[]): boolean {
  return these.length === those.length && these.every((each) => those.includes(each))
}
