import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { compiledDirectory } from '#deploy/paths.ts'

/**
 * A folder for what Node makes of the sources. All programs that tests start share it, because filling one of its own takes
 * a program longer than it takes to start from a full one.
 */
export function compileCache(): string {
  const folder = join(compiledDirectory, 'node')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
