import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Of this software: the version in package.json. */
export function readRelease(): string {
  const text = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')
  return (JSON.parse(text) as { readonly version: string }).version
}
