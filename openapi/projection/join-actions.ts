import type { Microversion } from '../microversions.ts'
import { existsAt, isNode, type Node } from './annotations.ts'
import { lookUp } from './inline.ts'
import { contentSchema } from './operation.ts'

/**
 * The document with the actions of each path as one plain operation: its body is `oneOf` the components that describe
 * them, one per action and named after its operationId, and a status that several answer with has `anyOf` their bodies.
 * Actions that do not exist at the microversion are gone; all else is still annotated.
 */
export function joinActions(annotated: Node, version: Microversion): Node {
  const requests: Record<string, unknown> = {}
  const paths = Object.entries(annotated['paths'] as Node).map(([path, item]) => [
    path,
    joinPath(annotated, item as Node, version, requests),
  ])
  const components = annotated['components'] as Node
  const schemas = components['schemas'] as Node
  const twice = Object.keys(requests).find((name) => name in schemas)
  if (twice !== undefined) throw new Error(`${twice} is also the name of an action's request`)
  return {
    ...annotated,
    paths: Object.fromEntries(paths),
    components: { ...components, schemas: { ...schemas, ...requests } },
  }
}

function joinPath(
  document: Node,
  item: Node,
  version: Microversion,
  requests: Record<string, unknown>,
): Node {
  const entries = Object.entries(item).map(([method, operation]) => {
    const actions = isNode(operation) ? operation['x-actions'] : undefined
    if (!isNode(actions)) return [method, operation]
    const there = Object.entries(actions).filter(([, entry]) => existsAt(entry, version))
    const bodies = there.map(([key, entry]) => {
      const name = `${pascalCase(String((entry as Node)['operationId']))}Request`
      requests[name] = actionRequest(key, entry as Node)
      return { $ref: `#/components/schemas/${name}` }
    })
    const { 'x-actions': _, ...rest } = operation as Node
    const content = { 'application/json': { schema: { oneOf: bodies } } }
    return [
      method,
      {
        ...rest,
        requestBody: { required: true, content },
        responses: joinResponses(document, there),
      },
    ]
  })
  return Object.fromEntries(entries) as Node
}

/** The schema of a request for one action. An unchecked value may be anything; clients send null. */
function actionRequest(key: string, entry: Node): Node {
  const body = entry['requestBody']
  const value = (isNode(body) ? contentSchema(body) : undefined) ?? {}
  const { summary } = entry as { summary?: string }
  return {
    title: String(entry['operationId']),
    ...(summary !== undefined && { description: summary }),
    type: 'object',
    required: [key],
    properties: { [key]: value },
    additionalProperties: false,
  }
}

function joinResponses(document: Node, actions: readonly (readonly [string, unknown])[]): Node {
  const byStatus = new Map<string, Node[]>()
  for (const [, entry] of actions)
    for (const [status, response] of Object.entries((entry as Node)['responses'] as Node))
      byStatus.set(status, [...(byStatus.get(status) ?? []), response as Node])
  const joined = [...byStatus].map(([status, responses]) => [
    status,
    joinStatus(document, responses),
  ])
  return Object.fromEntries(joined) as Node
}

/** The first of several responses without content, or of one that several share, represents all. */
function joinStatus(document: Node, responses: readonly Node[]): Node {
  const whole = responses.map(({ $ref, ...own }) =>
    typeof $ref === 'string' ? (lookUp(document, $ref) as Node) : own,
  )
  const schemas = new Map(
    whole.flatMap((response) => {
      const schema = contentSchema(response)
      return schema === undefined ? [] : [[JSON.stringify(schema), schema] as const]
    }),
  )
  const [first] = responses
  if (first === undefined) throw new Error('a status has at least one response')
  if (schemas.size === 0) return first
  const telling = whole.findIndex((response) => contentSchema(response) !== undefined)
  if (schemas.size === 1) return responses[telling] ?? first
  const schema = { anyOf: [...schemas.values()] }
  return {
    description: 'What the action asked for answers with.',
    content: { 'application/json': { schema } },
  }
}

function pascalCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
