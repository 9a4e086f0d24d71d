import type { Handlers } from '../../../http/operation.ts'
import { listExtensions } from './list-extensions.ts'
import { showExtension } from './show-extension.ts'

export const extensionHandlers: Handlers = { listExtensions, showExtension }
