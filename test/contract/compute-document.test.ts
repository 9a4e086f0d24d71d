import { describe, expect, test } from 'vitest'
import { loadDocument } from '#openapi/load-document.ts'
import { compareMicroversions, HISTORY, type Microversion } from '#openapi/microversions.ts'
import { existsAt, isNode, isRanged, type Node, rangesOf } from '#openapi/projection/annotations.ts'
import { contentSchema } from '#openapi/projection/operation.ts'
import { Described, objectsIn } from './described.ts'
import { sampleOf } from './sample.ts'

/** The keys below which a projection prunes members by their range. */
const PRUNED_BELOW = [
  'content',
  'parameters',
  'properties',
  'responses',
  'x-actions',
  'x-values',
  'x-variants',
]
/** The annotations that themselves apply only within a range. */
const RANGED_ANNOTATIONS = ['x-once', 'x-required', 'x-strict-query']

const compute = new Described('compute')
const { contract } = compute
const KNOWN = HISTORY.map(([version]) => version)

/** Every node of the document as written, with its path. */
function* nodesOf(node: unknown, ...path: string[]): Generator<readonly [string, Node]> {
  if (Array.isArray(node))
    for (const [i, child] of node.entries()) yield* nodesOf(child, ...path, String(i))
  if (!isNode(node)) return
  yield [path.map(escaped).join('/'), node]
  for (const [key, child] of Object.entries(node)) yield* nodesOf(child, ...path, key)
}

/** A name as a step of a JSON pointer. */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

const nodes = [...nodesOf(loadDocument('compute'))]

describe('the ranges of compute.yaml', () => {
  test('stand where a projection heeds them', () => {
    const ranged = nodes.filter(([, node]) => isRanged(node)).map(([at]) => at)
    const isHeeded = (at: string) => {
      const [holder = '', name = ''] = at.split('/').slice(-2)
      const isOperation = at.startsWith('paths/') && at.split('/').length === 3
      return isOperation || PRUNED_BELOW.includes(holder) || RANGED_ANNOTATIONS.includes(name)
    }

    expect(ranged).not.toHaveLength(0)
    expect(ranged.filter((at) => !isHeeded(at))).toEqual([])
  })

  test('name microversions that exist, as text, and follow one another', () => {
    for (const [at, node] of nodes) {
      const ends = rangesOf(node)
        .flatMap(({ since, until }) => [since, until])
        .filter((end) => end !== undefined)
      for (const end of ends) expect(KNOWN, at).toContain(end)
      expect(ends.toSorted(compareMicroversions), at).toEqual(ends)
    }
  })

  test('of variants cover the life of their subject without gap or overlap', () => {
    for (const [at, node] of nodes) {
      const variants = node['x-variants']
      if (!Array.isArray(variants)) continue
      for (const version of KNOWN.filter((one) => existsAt(node, one))) {
        const hits = variants.filter((variant) => existsAt(variant, version))
        expect(hits.length, `${at} at ${version}`).toBe(1)
      }
    }
  })

  test('of enum values belong to values of the enum', () => {
    for (const [at, node] of nodes)
      for (const value of Object.keys((node['x-values'] ?? {}) as Node))
        expect(node['enum'], at).toContain(value)
  })
})

const withBody = contract.operations.filter(
  (operation) => compute.bodySchema(operation) !== undefined,
)

describe.each(withBody)('a body of $id', (operation) => {
  const { action } = operation
  const keyed = (value: unknown) => (action === undefined ? value : { [action]: value })
  const points = compute.turningPoints(operation)

  test.each(points)('with everything there is at %s is accepted', (version) => {
    const body = keyed(sampleOf(compute.bodySchema(operation), version))
    expect(() => operation.request(version).validateBody(body)).not.toThrow()
  })

  test.each(points)('with a misspelt field at %s is refused', (version) => {
    const sample = sampleOf(compute.bodySchema(operation), version)
    for (const [schema, object] of objectsIn(compute.bodySchema(operation), sample, version)) {
      if (schema['additionalProperties'] !== false) continue
      object['misspelt'] = null
      const validate = () => operation.request(version).validateBody(keyed(sample))
      expect(validate).toThrow(/'misspelt' is not known\./)
      delete object['misspelt']
    }
  })

  test.each(points)(
    'with a field of another microversion at %s is refused, naming that',
    (version) => {
      const sample = sampleOf(compute.bodySchema(operation), version)
      for (const [schema, object] of objectsIn(compute.bodySchema(operation), sample, version)) {
        const properties = isNode(schema['properties']) ? schema['properties'] : {}
        const foreign = Object.keys(properties).filter(
          (name) => !existsAt(properties[name], version),
        )
        for (const name of foreign) {
          object[name] = null
          const validate = () => operation.request(version).validateBody(keyed(sample))
          expect(validate).toThrow(
            new RegExp(
              `'${name}' is not known at microversion ${version}; it (needs|was known until) \\d`,
            ),
          )
          delete object[name]
        }
      }
    },
  )
})

const withQuery = contract.operations.filter(
  (operation) => compute.queryParameters(operation).length > 0,
)

describe.each(withQuery)('a query of $id', (operation) => {
  const points = compute.turningPoints(operation)

  function queryOf(parameters: readonly Node[], version: Microversion): URLSearchParams {
    const pairs = parameters.map((parameter): [string, string] => [
      String(parameter['name']),
      String([sampleOf(parameter['schema'], version)].flat()[0]),
    ])
    return new URLSearchParams(pairs)
  }

  test.each(points)('with every parameter of %s is read', (version) => {
    const there = compute
      .queryParameters(operation)
      .filter((parameter) => existsAt(parameter, version))
    const read = operation.request(version).validateQuery(queryOf(there, version))
    expect(Object.keys(read)).toEqual(there.map(({ name }) => name))
  })

  test.each(points)(
    'with a parameter of another microversion at %s is refused or ignored',
    (version) => {
      const strict = compute.nodeOf(operation)['x-strict-query']
      const isStrict = isNode(strict) && existsAt(strict, version)
      for (const parameter of compute.queryParameters(operation)) {
        if (existsAt(parameter, version)) continue
        const query = queryOf([parameter], version)
        const read = () => operation.request(version).validateQuery(query)
        if (isStrict)
          expect(read).toThrow(
            `'${String(parameter['name'])}' is not known at microversion ${version}`,
          )
        else expect(read()).toEqual({})
      }
    },
  )
})

const ANSWERED = contract.operations.filter(({ isRefused }) => !isRefused)

describe.each(ANSWERED)('a response of $id', (operation) => {
  test.each(compute.turningPoints(operation))(
    'at %s is pruned to the documented members',
    (version) => {
      const status = operation.successStatus(version)
      const response = (compute.nodeOf(operation)['responses'] as Node)[status] as Node
      const widest = sampleOf(contentSchema(response), version, true)
      const text = operation.response(version, status)(widest)
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      expect(operation.validateResponse(version, status, body)).toEqual([])
    },
  )
})
