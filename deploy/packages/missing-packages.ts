import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { programsDirectory } from '../paths.ts'
import { programPath } from '../process/find-program.ts'
import { PACKAGES, type Package, type Purpose } from './packages.ts'

const QUERY_LIMIT_MS = 20_000
/** Every package of Debian has a folder in it. */
const DOCUMENTS = 'usr/share/doc'

/** The packages of these purposes that this machine lacks. */
export function missingPackages(purposes: readonly Purpose[]): readonly Package[] {
  const wanted = PACKAGES.filter(({ purpose }) => purposes.includes(purpose))
  const byProgram = wanted.filter(({ program }) => program !== undefined)
  const isByFiles = ({ program, isUnpacked }: Package) => program === undefined && isUnpacked
  const byFiles = wanted.filter(isByFiles)
  const byName = wanted.filter((each) => each.program === undefined && !isByFiles(each))
  const installed = installedPackages(byName.map(({ name }) => name))
  return [
    ...byProgram.filter(({ program }) => programPath(program ?? '') === undefined),
    ...byFiles.filter(({ name }) => !existsSync(join(programsDirectory, DOCUMENTS, name))),
    ...byName.filter(({ name }) => !installed.has(name)),
  ]
}

/** The packages among `names` that dpkg has installed; none on a machine without dpkg. */
function installedPackages(names: readonly string[]): ReadonlySet<string> {
  if (names.length === 0) return new Set()
  // It fails when it does not know one of them, and still lists the others.
  const { stdout } = spawnSync(
    'dpkg-query',
    ['--show', '--showformat=${Package} ${db:Status-Abbrev}\n', ...names],
    { encoding: 'utf8', timeout: QUERY_LIMIT_MS },
  )
  const lines = (stdout ?? '').split('\n').map((line) => line.split(' '))
  return new Set(lines.filter(([, status]) => status === 'ii').map(([name = '']) => name))
}
