import { listExtensions } from './list-extensions.ts'
import { showExtension } from './show-extension.ts'

export const extensionHandlers = { listExtensions, showExtension }
