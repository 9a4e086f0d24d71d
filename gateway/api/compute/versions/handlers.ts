import type { Handlers } from '../../../http/operation.ts'
import { listVersions } from './list-versions.ts'
import { showVersion } from './show-version.ts'

export const versionHandlers: Handlers = { listVersions, showVersion }
