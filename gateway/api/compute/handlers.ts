import type { Handlers } from '../../http/operation.ts'
import { flavorHandlers } from './flavors/handlers.ts'
import { keypairHandlers } from './keypairs/handlers.ts'
import { quotaHandlers } from './quotas/handlers.ts'

/** The handlers of openapi/compute.yaml. */
export const computeHandlers: Handlers = {
  ...flavorHandlers,
  ...keypairHandlers,
  ...quotaHandlers,
}
