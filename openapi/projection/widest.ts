import { isNode, isRanged, type Node } from './annotations.ts'
import { lookUp } from './inline.ts'

/** Which way a schema's values go: handlers take requests of any microversion and give the widest response. */
type Way = 'request' | 'response'

/**
 * The document types are generated from: everything of every microversion at once. In requests what does not exist
 * always is optional and variants stand side by side. In responses variants that are closed objects are joined to the
 * object that has all they have, which the serializer prunes; other variants stand side by side. Every server
 * action has a path of its own, so that it gets a type.
 */
export function widestDocument(annotated: Node): Node {
  const requested = schemasOfRequests(annotated)
  const components = annotated['components'] as Node
  const schemas = Object.entries((components['schemas'] ?? {}) as Node).map(([name, schema]) => [
    name,
    widestSchema(schema, requested.has(name) ? 'request' : 'response'),
  ])
  const paths = Object.entries(annotated['paths'] as Node).flatMap(([path, item]) =>
    splitActions(path, item as Node),
  )
  const plain = widestNode({ ...annotated, paths: Object.fromEntries(paths) }, 'response') as Node
  return {
    ...plain,
    components: { ...(plain['components'] as Node), schemas: Object.fromEntries(schemas) },
  }
}

/** The part of a path after `#` does not reach a server; it only tells the actions apart. */
function splitActions(path: string, item: Node): readonly (readonly [string, Node])[] {
  const post = item['post']
  const actions = isNode(post) ? post['x-actions'] : undefined
  if (!isNode(actions)) return [[path, item]]
  return Object.entries(actions).map(([key, entry]) => [
    `${path}#${key}`,
    { ...item, post: keyedBody(entry as Node, key) },
  ])
}

function keyedBody(entry: Node, key: string): Node {
  const body = entry['requestBody'] as Node
  const json = (body['content'] as Node)['application/json'] as Node
  const schema = { type: 'object', required: [key], properties: { [key]: json['schema'] } }
  return { ...entry, requestBody: { ...body, content: { 'application/json': { schema } } } }
}

function widestNode(node: unknown, way: Way): unknown {
  if (Array.isArray(node)) return node.map((child) => widestNode(child, way))
  if (!isNode(node)) return node
  const entries = Object.entries(node)
    .filter(([key]) => !key.startsWith('x-'))
    .map(([key, child]) => {
      if (key === 'schema') return [key, widestSchema(child, way)]
      return [key, widestNode(child, key === 'requestBody' ? 'request' : way)]
    })
  return Object.fromEntries(entries)
}

function widestSchema(node: unknown, way: Way): unknown {
  if (Array.isArray(node)) return node.map((child) => widestSchema(child, way))
  if (!isNode(node)) return node
  const variants = node['x-variants']
  if (Array.isArray(variants)) return widestVariants(node, variants as readonly Node[], way)
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(node)) {
    if (key.startsWith('x-')) continue
    out[key] = key === 'properties' ? mapNode(value as Node, way) : widestSchema(value, way)
  }
  if (way === 'request' && Array.isArray(node['required'])) {
    const properties = (node['properties'] ?? {}) as Node
    out['required'] = node['required'].filter((name: string) => !isRanged(properties[name]))
  }
  return out
}

function mapNode(properties: Node, way: Way): Node {
  const entries = Object.entries(properties)
  return Object.fromEntries(entries.map(([name, child]) => [name, widestSchema(child, way)]))
}

function widestVariants(node: Node, variants: readonly Node[], way: Way): unknown {
  const { 'x-variants': _, description, ...shared } = node
  const canJoin = way === 'response' && variants.every(isClosedObject)
  if (canJoin) return widestSchema({ description, ...shared, ...joinObjects(variants) }, way)
  const whole = variants.map((variant) => ({ ...shared, ...variant }))
  return widestSchema({ description, anyOf: whole }, way)
}

/** Only what it names can be in it. */
function isClosedObject(variant: Node): boolean {
  return variant['type'] === 'object' && (variant['additionalProperties'] ?? false) === false
}

function joinObjects(variants: readonly Node[]): Node {
  const properties = Object.assign({}, ...variants.map((variant) => variant['properties']))
  const required = [
    ...new Set(variants.flatMap((variant) => (variant['required'] ?? []) as string[])),
  ]
  return { type: 'object', additionalProperties: false, properties, required }
}

/** The component schemas a request body refers to, directly or through others. */
function schemasOfRequests(document: Node): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (node: unknown) => {
    if (Array.isArray(node)) for (const child of node) visit(child)
    if (!isNode(node)) return
    const ref = node['$ref']
    const name = typeof ref === 'string' ? ref.split('/').at(-1)! : undefined
    if (name !== undefined && !found.has(name)) {
      found.add(name)
      visit(lookUp(document, ref as string))
    }
    for (const child of Object.values(node)) visit(child)
  }
  for (const body of bodiesIn(document['paths'])) visit(body)
  return found
}

function bodiesIn(node: unknown): readonly unknown[] {
  if (Array.isArray(node)) return node.flatMap(bodiesIn)
  if (!isNode(node)) return []
  return Object.entries(node).flatMap(([key, child]) =>
    key === 'requestBody' ? [child] : bodiesIn(child),
  )
}
