import type { FloatingIp } from '../../db/floating-ips.ts'
import { NetworkFailure } from './network-failure.ts'

/** Throws `conflict` for a floating IP with forwarded ports, which is neither associated nor given back. */
export function refuseForwarded({ id, forwardings }: Pick<FloatingIp, 'id' | 'forwardings'>): void {
  if (forwardings.length === 0) return
  throw new NetworkFailure(
    'conflict',
    'FipInUseByPortForwarding',
    `Floating IP ${id} in use by Port Forwarding resources.`,
  )
}
