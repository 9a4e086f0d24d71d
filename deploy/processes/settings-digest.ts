import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Program } from './program.ts'

/** Changes when any setting of the program changes, the content of the files it names included. */
export function settingsDigest({ settings }: Program): string {
  const hash = createHash('sha256')
  for (const [name, value] of Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const content = name.endsWith('_FILE') ? readFileSync(value, 'utf8') : value
    hash.update(JSON.stringify([name, content]))
  }
  return hash.digest('hex')
}
