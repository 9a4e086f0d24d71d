import { listVersions } from './list-versions.ts'
import { showOldVersion } from './show-old-version.ts'
import { showVersion } from './show-version.ts'

export const versionHandlers = { listVersions, showOldVersion, showVersion }
