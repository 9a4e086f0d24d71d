import type { Handlers } from '../../http/operation.ts'
import { flavorHandlers } from './flavors/handlers.ts'

/** The handlers of openapi/compute.yaml. */
export const computeHandlers: Handlers = {
  ...flavorHandlers,
}
