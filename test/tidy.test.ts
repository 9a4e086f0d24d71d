import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  COMPONENTS,
  DRIVER_REGISTRY,
  FOLDER_RULES,
  SHARED_BY_DRIVERS,
} from './tidy/import-rules.ts'
import { MARIADB_FILE, MARIADB_ONLY } from './tidy/mariadb-only.ts'
import { orderedAssignments } from './tidy/ordered-assignments.ts'
import { ROW_LOCK, ROW_LOCK_FILES } from './tidy/row-locks.ts'
import { root, type SourceFile, sourceFiles } from './tidy/source-files.ts'
import { DISPLAYED_AGES, WALL_CLOCK, WALL_CLOCK_FILES, WALL_DIFFERENCE } from './tidy/wall-clock.ts'

// Goal: every file obeys the rules that readers rely on.

const LINES_MAX = 400

const files = sourceFiles()
const product = files.filter((file) => !file.isTest)

/** Paths of the files for which `isWrong` holds: an empty list in every test that passes. */
function offenders(
  of: readonly SourceFile[],
  isWrong: (file: SourceFile) => boolean,
): readonly string[] {
  return of.filter(isWrong).map((file) => file.path)
}

function component(path: string): string {
  return path.split('/')[0] ?? ''
}

describe('imports', () => {
  test.each(Object.keys(COMPONENTS))('%s imports only the components it may', (own) => {
    const allowed = new Set([own, ...(COMPONENTS[own] ?? [])])
    const foreign = product
      .filter((file) => component(file.path) === own)
      .flatMap((file) => file.imports.map((target) => [file.path, target] as const))
      .filter(([, target]) => [...Object.keys(COMPONENTS), 'test'].includes(component(target)))
      .filter(([, target]) => target.includes('/') && !allowed.has(component(target)))

    expect(foreign).toEqual([])
  })

  test.each(FOLDER_RULES)('$folder: $why', ({ folder, never, allowsTypes, allows = [] }) => {
    const broken = product
      .filter(({ path }) => path.startsWith(folder))
      .flatMap(({ path, imports, typeImports }) =>
        imports
          .filter((target) => allowsTypes !== true || !typeImports.includes(target))
          .filter((target) => !allows.includes(target))
          .map((target) => [path, target] as const),
      )
      .filter(([, target]) => never.some((prefix) => target.startsWith(prefix)))

    expect(broken).toEqual([])
  })

  test('a driver is imported only by itself and the registry', () => {
    const driverOf = (path: string) => {
      const name = /^drivers\/([^/]+)\//.exec(path)?.[1]
      return name !== undefined && SHARED_BY_DRIVERS.includes(name) ? undefined : name
    }
    const broken = product
      .filter(({ path }) => path !== DRIVER_REGISTRY && component(path) !== 'deploy')
      .flatMap((file) => file.imports.map((target) => [file.path, target] as const))
      .filter(
        ([path, target]) => driverOf(target) !== undefined && driverOf(target) !== driverOf(path),
      )

    expect(broken).toEqual([])
  })

  test('every import names an existing file with its extension', () => {
    const broken = files.flatMap((file) =>
      file.imports
        .filter((target) => [...Object.keys(COMPONENTS), 'test'].includes(component(target)))
        .filter((target) => target.includes('/') && !existsSync(join(root, target)))
        .map((target) => [file.path, target]),
    )

    expect(broken).toEqual([])
  })

  test('across components by #name, inside one relatively', () => {
    const broken = product.flatMap((file) =>
      [...file.text.matchAll(/\bfrom '([#.][^']*)'/g)]
        .map(([, specifier = '']) => specifier)
        .filter((specifier) =>
          specifier.startsWith('#')
            ? component(specifier.slice(1)) === component(file.path)
            : component(join(file.path, '..', specifier)) !== component(file.path),
        )
        .map((specifier) => [file.path, specifier]),
    )

    expect(broken).toEqual([])
  })
})

describe('size', () => {
  test('no file is longer than a reader can hold', () => {
    expect(offenders(files, ({ lines }) => lines > LINES_MAX)).toEqual([])
  })
})

describe('text', () => {
  test('no default exports', () => {
    const demandedByTool = /((drizzle|vitest)\.config|global-setup)\.ts$/
    const broken = offenders(
      files,
      ({ path, text }) => /^export default/m.test(text) && !demandedByTool.test(path),
    )

    expect(broken).toEqual([])
  })

  test('no barrel files', () => {
    const isBarrel = ({ text }: SourceFile) =>
      /^export \*/m.test(text) ||
      (/^export [^;\n]* from /m.test(text) &&
        !/^(export )?(const|function|class|async)/m.test(text))
    const allowed = ({ path }: SourceFile) =>
      !/^cells\/db\/schema\/|^gateway\/db\/schema\//.test(path)

    expect(offenders(files.filter(allowed), isBarrel)).toEqual([])
  })

  test.each([
    ['a promise to do it later', /\b(TODO|FIXME|XXX|HACK)\b(?! ?\(#\d+\))/],
    [
      'an escape from the type system',
      /\bas any\s*([;,)\]}]|$)|@ts-(ignore|nocheck|expect-error)/m,
    ],
    ['printing past the log', /\bconsole\.(log|error|warn|info|debug)\(/],
    ['talk of a real system elsewhere', /\b(in a real (system|world)|simplified)\b/i],
    ['a path of one machine', /['"`\s](\/home\/|\/root\/|\/work\/|\/Users\/)/],
    ['a folder outside the repository', /\.\.\/shared\b/],
    [
      'a server in a log line by another name than server_id',
      /\blog\??\.\w+\(\s*\{[^}]*\b(instance|server|serverId|guest):/,
    ],
    ['an assertion of how long something took', /\.now\(\) - \w+\)\s*\.toBeLessThan/],
    [
      'a poll that gives up sooner than others (see vitest.config.ts)',
      /\.poll\([^;\n]*\{ (interval: \w+, )?timeout: ([12]?\d_000|\d{1,4}) \}/,
    ],
  ])('no file holds %s', (_what, pattern) => {
    const self = ['test/tidy.test.ts']
    const broken = offenders(
      files.filter(({ path }) => !self.includes(path)),
      ({ text }) => pattern.test(text),
    )

    expect(broken).toEqual([])
  })

  test('no assignment by the query builder reads a column that another assignment writes', () => {
    const broken = product.flatMap(({ path, text }) =>
      orderedAssignments(text).map((column) => `${path}: ${column}`),
    )

    expect(broken).toEqual([])
  })

  test('differences of times are taken by a clock that is never set', () => {
    const lines = product
      .filter(({ path }) => !DISPLAYED_AGES.test(path))
      .flatMap(({ path, text }) => text.split('\n').map((line) => ({ path, line: line.trim() })))
      .filter(({ line }) => WALL_DIFFERENCE.test(line) || WALL_CLOCK.test(line))
    const known = new Set(Object.keys(WALL_CLOCK_FILES))

    expect(lines.filter(({ path }) => !known.has(path))).toEqual([])
    expect([...known].filter((path) => !lines.some((each) => each.path === path))).toEqual([])
  })

  test('rows are locked in a way that all nodes of a cluster of databases know of', () => {
    const locking = offenders(product, ({ text }) => ROW_LOCK.test(text))

    expect(locking.toSorted()).toEqual(Object.keys(ROW_LOCK_FILES).toSorted())
  })

  test('SQL that only MariaDB knows stands in one file', () => {
    const using = offenders(product, ({ text }) => MARIADB_ONLY.test(text))
    const migrations = globSync('{gateway,cells}/db/migrations/*.sql', { cwd: root })

    expect(using).toEqual([MARIADB_FILE])
    expect(migrations.length).toBeGreaterThan(0)
    expect(
      migrations.filter((path) => MARIADB_ONLY.test(readFileSync(join(root, path), 'utf8'))),
    ).toEqual([])
  })

  test('only main files and programs that start others read the environment of the process', () => {
    const mayRead = /(^|\/)(main|isolated)\.ts$|^deploy\/|^test\//
    const broken = offenders(
      product,
      ({ path, text }) => /\bprocess\.env\b/.test(text) && !mayRead.test(path),
    )

    expect(broken).toEqual([])
  })
})
