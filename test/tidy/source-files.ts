import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')

const IMPORT =
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s*['"]([^'"]+)['"]/gm
const TYPE_IMPORT = /^\s*(?:import|export) type\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm

const COMPONENTS = '{common,openapi,drivers,cells,gateway,deploy,test}'

/** One hand-written file of TypeScript, by its path in the repository. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly lines: number
  readonly isTest: boolean
  /** What it imports, types too: files as paths in the repository, packages by name. */
  readonly imports: readonly string[]
  /** Those of `imports` that bring types only, and so nothing at run time. */
  readonly typeImports: readonly string[]
}

export function sourceFiles(): readonly SourceFile[] {
  return globSync(`${COMPONENTS}/**/*.ts`, { cwd: root, exclude: ['**/node_modules'] })
    .filter((path) => !path.endsWith('.gen.ts'))
    .sort()
    .map(read)
}

function read(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8')
  return {
    path,
    text,
    lines: text.split('\n').length - 1,
    isTest: path.endsWith('.test.ts') || path.startsWith('test/'),
    imports: importsOf(path, text, IMPORT),
    typeImports: importsOf(path, text, TYPE_IMPORT),
  }
}

function importsOf(path: string, text: string, statement: RegExp): readonly string[] {
  return [...text.matchAll(statement)].map(([, from, dynamic, bare]) => {
    const specifier = from ?? dynamic ?? bare ?? ''
    if (specifier.startsWith('#')) return specifier.slice(1)
    return specifier.startsWith('.') ? normalize(join(dirname(path), specifier)) : specifier
  })
}
