import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'vitest/node'
import { parse } from 'yaml'
import { root, sourceFiles } from '../tidy/source-files.ts'

/** A regular expression that stands in a file. */
export interface Literal {
  readonly path: string
  readonly source: string
  readonly flags: string
}

/** What of the product's files decides which texts they take: expressions, the patterns of schemas, and those made at run time. */
export interface Expressions {
  readonly literals: readonly Literal[]
  /** Files that make expressions from texts. */
  readonly made: readonly string[]
}

export function expressionsOfProduct(): Expressions {
  const literals: Literal[] = []
  const made: string[] = []
  for (const { path, text } of sourceFiles().filter((file) => !file.isTest))
    each(parseAst(text, { lang: 'ts' }), (node) => {
      const { regex, type, callee, key, value } = node as Node
      if (regex !== undefined) literals.push({ path, source: regex.pattern, flags: regex.flags })
      if (/^(?:New|Call)Expression$/.test(type ?? '') && callee?.name === 'RegExp') made.push(path)
      if (key?.name === 'pattern' && typeof value?.value === 'string')
        literals.push({ path, source: value.value, flags: 'u' })
    })
  for (const path of globSync('openapi/*.yaml', { cwd: root }))
    each(parse(readFileSync(join(root, path), 'utf8')), (node) => {
      const { pattern } = node as { readonly pattern?: unknown }
      if (typeof pattern === 'string') literals.push({ path, source: pattern, flags: 'u' })
    })
  return { literals, made }
}

interface Node {
  readonly type?: string
  readonly regex?: { readonly pattern: string; readonly flags: string }
  readonly callee?: { readonly name?: string }
  readonly key?: { readonly name?: string }
  readonly value?: { readonly value?: unknown }
}

function each(node: unknown, visit: (node: object) => void): void {
  if (typeof node !== 'object' || node === null) return
  visit(node)
  for (const child of Object.values(node)) each(child, visit)
}
