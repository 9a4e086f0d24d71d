import type { Microversion } from '../microversions.ts'
import { existsAt, isNode, type Node } from './annotations.ts'

const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs'])
const SCHEMA_LISTS = new Set(['oneOf', 'anyOf', 'allOf', 'prefixItems'])
const SCHEMAS = new Set(['items', 'additionalProperties', 'propertyNames', 'not'])

/** The annotations that a projection keeps: none for readers, some for our own compilers. */
export type Keep = ReadonlySet<string>
const NOTHING: Keep = new Set()

/**
 * The plain schema of one microversion: parts that do not exist then are gone, of the variants the one of that
 * time is left, and `required` names only the remaining properties. A schema without a variant at that time is `false`.
 */
export function projectSchema(node: unknown, version: Microversion, keep: Keep = NOTHING): unknown {
  if (!isNode(node)) return node
  const variants = node['x-variants']
  if (Array.isArray(variants)) return projectVariant(node, variants, version, keep)

  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(node)) {
    if (key.startsWith('x-') && !keep.has(key)) continue
    out[key] = projectKeyword(key, value, version, keep)
  }
  if (Array.isArray(out['enum'])) out['enum'] = projectEnum(node, version)
  const required = projectRequired(node, version)
  if (required.length > 0) out['required'] = required
  else delete out['required']
  return out
}

function projectKeyword(key: string, value: unknown, version: Microversion, keep: Keep): unknown {
  if (SCHEMA_MAPS.has(key) && isNode(value)) {
    const there = Object.entries(value).filter(([, child]) => existsAt(child, version))
    return Object.fromEntries(
      there.map(([name, child]) => [name, projectSchema(child, version, keep)]),
    )
  }
  if (SCHEMA_LISTS.has(key) && Array.isArray(value))
    return value
      .filter((child) => existsAt(child, version))
      .map((child) => projectSchema(child, version, keep))
  return SCHEMAS.has(key) ? projectSchema(value, version, keep) : value
}

/** Keywords beside `x-variants` (such as a description) belong to every variant. */
function projectVariant(
  node: Node,
  variants: readonly unknown[],
  version: Microversion,
  keep: Keep,
): unknown {
  const hit = variants.find((variant) => existsAt(variant, version))
  if (hit === undefined) return false
  const { 'x-variants': _, ...shared } = node
  return projectSchema({ ...shared, ...(hit as Node) }, version, keep)
}

/** `x-values` beside an `enum` holds the ranges of those of its values that do not exist always. */
function projectEnum(node: Node, version: Microversion): readonly unknown[] {
  const ranged = isNode(node['x-values']) ? node['x-values'] : {}
  return (node['enum'] as readonly unknown[]).filter((value) =>
    existsAt(ranged[String(value)], version),
  )
}

/** A property with `x-required` is required in that range only; others as the schema's `required` says. */
function projectRequired(node: Node, version: Microversion): readonly string[] {
  const properties = isNode(node['properties']) ? node['properties'] : {}
  const always = (node['required'] ?? []) as readonly string[]
  const sometimes = Object.keys(properties).filter((name) => {
    const property = properties[name]
    return (
      isNode(property) &&
      isNode(property['x-required']) &&
      existsAt(property['x-required'], version)
    )
  })
  return [...always, ...sometimes].filter(
    (name) => !(name in properties) || existsAt(properties[name], version),
  )
}
