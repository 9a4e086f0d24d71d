import type { Handlers } from '../../../http/operation.ts'
import { createServerExternalEvents } from './create-server-external-events.ts'

export const eventHandlers: Handlers = { createServerExternalEvents }
