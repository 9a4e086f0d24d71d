import type { Microversion } from '../microversions.ts'
import { existsAt, isNode, type Node } from './annotations.ts'
import { lookUp } from './inline.ts'
import { joinActions } from './join-actions.ts'
import { projectSchema } from './project.ts'

const METHODS = new Set(['get', 'head', 'post', 'put', 'patch', 'delete'])

/**
 * The plain OpenAPI document of one microversion: no annotations, no parts of other microversions, no component
 * that nothing refers to. The actions of a path become one operation whose body is `oneOf` theirs.
 */
export function projectDocument(annotated: Node, version: Microversion): Node {
  const joined = joinActions(annotated, version)
  const whole = projectNode(joined, version) as Record<string, unknown>
  const paths = Object.entries(joined['paths'] as Node)
    .map(([path, item]) => [path, projectPath(item as Node, version)] as const)
    .filter(([, item]) => Object.keys(item).some((key) => METHODS.has(key)))
  whole['paths'] = Object.fromEntries(paths)
  whole['components'] = referencedComponents(whole)
  const info = whole['info'] as Node
  if (annotated['x-microversions'] === true) whole['info'] = { ...info, version }
  return whole
}

function projectPath(item: Node, version: Microversion): Node {
  const entries = Object.entries(item)
    .filter(([, child]) => existsAt(child, version))
    .map(([key, child]) => [key, projectNode(child, version)] as const)
  return Object.fromEntries(entries)
}

/** Projects everything but schemas: operations, parameters, responses, maps of them. */
function projectNode(node: unknown, version: Microversion): unknown {
  if (Array.isArray(node))
    return node
      .filter((child) => existsAt(child, version))
      .map((child) => projectNode(child, version))
  if (!isNode(node)) return node
  const out: Record<string, unknown> = {}
  for (const [key, child] of Object.entries(node)) {
    if (key.startsWith('x-') || !existsAt(child, version)) continue
    if (key === 'schema') out[key] = projectSchema(child, version)
    else if (key === 'schemas') out[key] = projectSchemas(child as Node, version)
    else out[key] = projectNode(child, version)
  }
  return out
}

function projectSchemas(schemas: Node, version: Microversion): Node {
  const there = Object.entries(schemas).filter(([, schema]) => existsAt(schema, version))
  return Object.fromEntries(there.map(([name, schema]) => [name, projectSchema(schema, version)]))
}

/** The components that paths refer to, directly or through others, and the security schemes. */
function referencedComponents(document: Node): Node {
  const kept: Record<string, Record<string, unknown>> = {}
  const components = isNode(document['components']) ? document['components'] : {}
  const keep = (ref: string) => {
    const [, , kind = '', name = ''] = ref.split('/')
    kept[kind] ??= {}
    if (name in kept[kind]) return
    kept[kind][name] = lookUp(document, ref)
    for (const next of refsIn(kept[kind][name])) keep(next)
  }
  for (const ref of refsIn(document['paths'])) keep(ref)
  return {
    ...kept,
    ...(isNode(components['securitySchemes']) && {
      securitySchemes: components['securitySchemes'],
    }),
  }
}

function refsIn(node: unknown): readonly string[] {
  if (Array.isArray(node)) return node.flatMap(refsIn)
  if (!isNode(node)) return []
  return Object.entries(node).flatMap(([key, child]) =>
    key === '$ref' && typeof child === 'string' ? [child] : refsIn(child),
  )
}
