import { readFileSync } from 'node:fs'
import { Failure } from '#common/errors.ts'

/** The certificates or key that a setting names. Throws `invalid`, naming it. */
export function pemFile(setting: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new Failure('invalid', `${setting}: ${(cause as Error).message}`, { cause })
  }
}
