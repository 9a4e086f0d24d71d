import type { Handlers } from '../../http/operation.ts'

export const identityHandlers: Handlers = {}
