import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { programsDirectory } from '../paths.ts'
import { PACKAGES, type Package, type Purpose } from './packages.ts'

/** The packages of these purposes that this machine lacks. */
export function missingPackages(purposes: readonly Purpose[]): readonly Package[] {
  return PACKAGES.filter(
    ({ purpose, file }) =>
      purposes.includes(purpose) && !existsSync(file) && !existsSync(join(programsDirectory, file)),
  )
}
