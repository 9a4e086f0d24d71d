import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { isNode, type Node } from './projection/annotations.ts'

/** The documents of the APIs served; each is `<name>.yaml`, its parts (if any) are in `<name>/`. */
const DOCUMENT_NAMES = [
  'compute',
  'federation',
  'identity',
  'image',
  'network',
  'placement',
  'volume',
] as const
export type DocumentName = (typeof DOCUMENT_NAMES)[number]

const FOLDER = import.meta.dirname

/** The names of the documents that are there. */
export function presentDocuments(): readonly DocumentName[] {
  return DOCUMENT_NAMES.filter((name) => existsSync(join(FOLDER, `${name}.yaml`)))
}

/**
 * One annotated document, its parts joined and `x-faults` lists written out as responses.
 * A part may add paths and components but not define one again.
 */
export function loadDocument(name: DocumentName): Node {
  const main = read(join(FOLDER, `${name}.yaml`))
  const parts = globSync(join(FOLDER, name, '*.yaml'))
    .sort()
    .map(read)
  return expandFaults([main, ...parts].reduce(joinPart))
}

function read(path: string): Node {
  const parsed: unknown = parse(readFileSync(path, 'utf8'), { merge: true })
  if (!isNode(parsed)) throw new Error(`${path} is not a document`)
  return parsed
}

const JOINED = new Set(['paths', 'components'])

function joinPart(a: Node, b: Node): Node {
  const joined: Record<string, unknown> = { ...a }
  for (const [key, value] of Object.entries(b)) {
    if (!JOINED.has(key)) throw new Error(`a part of a document may not hold ${key}`)
    joined[key] = key === 'paths' ? disjoint(a[key], value) : joinComponents(a[key], value)
  }
  return joined
}

function joinComponents(a: unknown, b: unknown): Node {
  const left = asNode(a)
  const right = asNode(b)
  const kinds = new Set([...Object.keys(left), ...Object.keys(right)])
  return Object.fromEntries([...kinds].map((kind) => [kind, disjoint(left[kind], right[kind])]))
}

function disjoint(a: unknown, b: unknown): Node {
  const left = asNode(a)
  const right = asNode(b)
  const twice = Object.keys(right).find((key) => key in left)
  if (twice !== undefined) throw new Error(`${twice} is defined twice`)
  return { ...left, ...right }
}

function asNode(value: unknown): Node {
  return isNode(value) ? value : {}
}

/** `x-faults: [400, 404]` on an operation or action is short for responses that are `#/components/responses/Fault`. */
function expandFaults(node: Node): Node {
  const entries = Object.entries(node).map(([key, value]) => [
    key,
    isNode(value) ? expandFaults(value) : value,
  ])
  const out = Object.fromEntries(entries) as Record<string, unknown>
  const faults = node['x-faults']
  if (!Array.isArray(faults)) return out
  const responses = faults.map((status) => [
    String(status),
    { $ref: '#/components/responses/Fault' },
  ])
  const { 'x-faults': _, ...rest } = out
  return { ...rest, responses: { ...asNode(out['responses']), ...Object.fromEntries(responses) } }
}
