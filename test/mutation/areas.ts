import { existsSync } from 'node:fs'
import { dirname } from 'node:path'

/** Code that is mutated together, and the tests that must notice every mutant. */
export interface Area {
  /** A folder or a file below the root of the repository, or some lines of a file, as in `common/saga/log.ts:10-20`. */
  readonly path: string
  /** Globs of test files. */
  readonly tests: readonly string[]
}

/** What decides who gets what, and what must survive a crash: a mistake here is not seen by looking at answers. */
export const AREAS: readonly Area[] = [
  { path: 'cells/scheduler', tests: ['cells/scheduler/**/*.test.ts'] },
  { path: 'cells/placement', tests: ['cells/placement/**/*.test.ts'] },
  { path: 'gateway/app/quotas', tests: ['gateway/app/quotas/**/*.test.ts'] },
  { path: 'gateway/app/policy.ts', tests: ['gateway/app/policy.test.ts'] },
  { path: 'common/saga', tests: ['common/saga/**/*.test.ts'] },
  { path: 'gateway/app/feed', tests: ['gateway/app/feed/**/*.test.ts'] },
]

/** Which lines of a file: the first and the last one. */
const LINES = /:\d+-\d+$/

/** The areas of these paths, all of them where none is given: a path that no area covers is tried with the tests of its folder. Throws an Error for a path that does not exist. */
export function areasOf(paths: readonly string[]): readonly Area[] {
  if (paths.length === 0) return AREAS
  return paths.map((given) => {
    const path = given.replace(/\/$/, '')
    const file = path.replace(LINES, '')
    if (!existsSync(file))
      throw new Error(`${file} does not exist. Name a folder or a file of the repository.`)
    const area = AREAS.find((each) => file === each.path || file.startsWith(`${each.path}/`))
    if (area !== undefined) return { path, tests: area.tests }
    const folder = file.endsWith('.ts') ? dirname(file) : file
    return { path, tests: [`${folder}/**/*.test.ts`] }
  })
}

/** Globs of the files that are mutated: what runs, and neither tests nor schemas, which migrations test. */
export function mutatedFiles(path: string): readonly string[] {
  if (path.replace(LINES, '').endsWith('.ts')) return [path]
  return [
    `${path}/**/*.ts`,
    `!${path}/**/*.test.ts`,
    `!${path}/**/schema.ts`,
    `!${path}/testing.ts`,
  ]
}
