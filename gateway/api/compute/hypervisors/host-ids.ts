import type { HostIds } from '../../../app/hosts/find-hypervisor.ts'
import type { RequestContext } from '../../../app/request-context.ts'
import { isSince } from '../../../views/since.ts'

/** How a client of this microversion names hosts and services. */
export function hostIdsOf(context: RequestContext): HostIds {
  return isSince(context, '2.53') ? 'uuid' : 'number'
}
