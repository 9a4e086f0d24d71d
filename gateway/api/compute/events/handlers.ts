import { createServerExternalEvents } from './create-server-external-events.ts'

export const eventHandlers = { createServerExternalEvents }
