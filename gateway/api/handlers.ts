import type { DocumentName } from '#openapi/load-document.ts'
import type { Handlers } from '../http/operation.ts'
import { computeHandlers } from './compute/handlers.ts'
import { federationHandlers } from './federation/handlers.ts'
import { identityHandlers } from './identity/handlers.ts'
import { imageHandlers } from './image/handlers.ts'
import { networkHandlers } from './network/handlers.ts'
import { placementHandlers } from './placement/handlers.ts'
import { volumeHandlers } from './volume/handlers.ts'

/** The handlers of each document, by operationId. A service's own table lies in its folder. */
export const HANDLERS: Readonly<Record<DocumentName, Handlers>> = {
  compute: computeHandlers,
  federation: federationHandlers,
  identity: identityHandlers,
  image: imageHandlers,
  network: networkHandlers,
  placement: placementHandlers,
  volume: volumeHandlers,
}

/** operationIds, of any document, whose handlers read the request body as a stream. */
export const STREAMING: ReadonlySet<string> = new Set([
  'stageImage',
  'uploadImage',
  'uploadImageWithTicket',
])
