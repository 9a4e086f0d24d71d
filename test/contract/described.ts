import { type Contract, contractOf } from '#openapi/contract.ts'
import { type DocumentName, loadDocument } from '#openapi/load-document.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { isNode, type Node } from '#openapi/projection/annotations.ts'
import { breakpointsOf, rangeIndexOf } from '#openapi/projection/breakpoints.ts'
import { inliner } from '#openapi/projection/inline.ts'
import { contentSchema, type Operation } from '#openapi/projection/operation.ts'
import { queryParameters } from '#openapi/projection/query.ts'
import { chosen } from './sample.ts'

/** A document as its author wrote it, for tests that walk over all it describes. */
export class Described {
  readonly contract: Contract
  readonly #paths: Readonly<Record<string, Node>>

  constructor(name: DocumentName) {
    this.contract = contractOf(name)
    const annotated = loadDocument(name)
    this.#paths = inliner(annotated)(annotated['paths']) as Record<string, Node>
  }

  /** The annotated node of an operation or action, references inlined. */
  nodeOf({ path, method, action }: Operation): Node {
    const node = this.#paths[path]?.[method.toLowerCase()] as Node
    return action === undefined ? node : ((node['x-actions'] as Node)[action] as Node)
  }

  /** The schema of its body, of an action the value under its key; undefined where it takes none. */
  bodySchema(operation: Operation): Node | undefined {
    const holder = this.nodeOf(operation)['requestBody']
    const schema = isNode(holder) ? contentSchema(holder) : undefined
    return isNode(schema) ? schema : undefined
  }

  queryParameters(operation: Operation): readonly Node[] {
    return queryParameters(this.nodeOf(operation))
  }

  /** The first microversion of each stretch in which an operation does not change, while there is one. */
  turningPoints(operation: Operation): readonly Microversion[] {
    const breakpoints = breakpointsOf(this.nodeOf(operation))
    const seen = new Set<number>()
    return this.contract.versions.filter((version) => {
      const stretch = rangeIndexOf(breakpoints, version)
      if (!operation.isAvailable(version) || seen.has(stretch)) return false
      seen.add(stretch)
      return true
    })
  }
}

/** Pairs of an object's schema and its sample, from the body down. */
export function* objectsIn(
  schema: unknown,
  value: unknown,
  version: Microversion,
): Generator<readonly [Node, Record<string, unknown>]> {
  const node = chosen(schema, version)
  if (Array.isArray(value)) for (const item of value) yield* objectsIn(node['items'], item, version)
  if (!isNode(value)) return
  yield [node, value as Record<string, unknown>]
  const properties = isNode(node['properties']) ? node['properties'] : {}
  for (const [name, child] of Object.entries(value))
    yield* objectsIn(properties[name], child, version)
}
