import type { PortForwarding, PortRange } from '../../db/port-forwardings.ts'

/** A port forwarding with all attributes. */
export function portForwardingView({ external, internal, ...forwarding }: PortForwarding) {
  return {
    id: forwarding.id,
    description: forwarding.description,
    protocol: forwarding.protocol,
    internal_port_id: forwarding.portId,
    internal_ip_address: forwarding.address,
    internal_port: onlyPort(internal),
    internal_port_range: rangeText(internal),
    external_port: onlyPort(external),
    external_port_range: rangeText(external),
  }
}

function onlyPort({ first, last }: PortRange): number | null {
  return first === last ? first : null
}

/** Both ends, also of one port. */
function rangeText({ first, last }: PortRange): string {
  return `${first}:${last}`
}
