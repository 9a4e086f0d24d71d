import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import type { Program } from './program.ts'

/**
 * Changes when anything changes that the program is told, the content of the files it is pointed to included. A file that is
 * not there is for the program to name.
 */
export function settingsDigest({ settings }: Program): string {
  const hash = createHash('sha256')
  for (const [name, value] of Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(JSON.stringify([name, name.endsWith('_FILE') ? contentOf(value) : value]))
  }
  return hash.digest('hex')
}

function contentOf(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}
