import { isNode, type Node } from './annotations.ts'

/** A document's schema with every `$ref` replaced by what it names, annotations kept. Refs are not recursive. */
export type Inline = (node: unknown) => unknown

/** Inlines references to `document`; what a reference names is inlined once and shared. */
export function inliner(document: Node): Inline {
  const resolved = new Map<string, unknown>()
  const pending = new Set<string>()

  const follow = (ref: string): unknown => {
    if (resolved.has(ref)) return resolved.get(ref)
    if (pending.has(ref)) throw new Error(`${ref} refers to itself`)
    pending.add(ref)
    const target = inline(lookUp(document, ref))
    pending.delete(ref)
    resolved.set(ref, target)
    return target
  }

  const inline: Inline = (node) => {
    if (Array.isArray(node)) return node.map(inline)
    if (!isNode(node)) return node
    const children = Object.entries(node).filter(([key]) => key !== '$ref')
    const own = Object.fromEntries(children.map(([key, child]) => [key, inline(child)]))
    const ref = node['$ref']
    return typeof ref === 'string' ? { ...(follow(ref) as Node), ...own } : own
  }
  return inline
}

/** The target of a local reference such as `#/components/schemas/Server`. */
export function lookUp(document: Node, ref: string): unknown {
  let at: unknown = document
  for (const part of ref.slice(2).split('/')) at = isNode(at) ? at[part] : undefined
  if (at === undefined) throw new Error(`${ref} names nothing`)
  return at
}
