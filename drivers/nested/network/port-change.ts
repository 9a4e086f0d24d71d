import { type Static, Type } from 'typebox'
import type { NicSpec } from '../../driver.ts'
import { Id } from '../cloud/id.ts'

/** Of a port as the cloud shows it, what the driver reads. */
export const CloudPort = Type.Object({
  id: Id,
  name: Type.String(),
  network_id: Id,
  created_at: Type.Optional(Type.String()),
  fixed_ips: Type.Array(Type.Object({ ip_address: Type.String() })),
  security_groups: Type.Array(Type.String()),
  /** Absent where the cloud cannot do without. */
  port_security_enabled: Type.Optional(Type.Boolean()),
})
export type CloudPort = Static<typeof CloudPort>

export function hasAddresses({ fixed_ips: ips }: CloudPort, { fixedIps }: NicSpec): boolean {
  return isSame(
    ips.map(({ ip_address }) => ip_address),
    fixedIps.map(({ address }) => address),
  )
}

/**
 * The change of groups to request from the cloud; null: nothing holds the port up. Empty when the port has these
 * groups.
 */
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
