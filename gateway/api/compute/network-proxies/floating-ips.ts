import { Failure } from '#common/errors.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /os-floating-ips: without routers there are none, and Nova shows the same where Neutron has none. */
export const listFloatingIps: Handler = async () => ({ body: { floating_ips: [] } })

/** GET /os-floating-ip-pools */
export const listFloatingIpPools: Handler = async () => ({ body: { floating_ip_pools: [] } })

/** Whatever names a floating IP: 404. */
export const noFloatingIp: Handler = async (call) => {
  const id = call.params['floating_ip_id']
  throw new Failure('not-found', `Floating IP not found for ID ${id}`)
}

/** POST /os-floating-ips */
export const createFloatingIp: Handler = async () => {
  throw new Failure('not-found', 'Floating IP pool not found.')
}
