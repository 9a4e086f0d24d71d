import { describe, expect, test } from 'vitest'
import { contractOf } from '#openapi/contract.ts'
import { loadDocument, presentDocuments } from '#openapi/load-document.ts'
import { isNode, type Node } from '#openapi/projection/annotations.ts'
import { inliner } from '#openapi/projection/inline.ts'
import type { Operation } from '#openapi/projection/operation.ts'
import { queryParameters } from '#openapi/projection/query.ts'

const PATH_PARAMETER = /\{(\w+)\}/g

describe.each(presentDocuments())('%s.yaml', (name) => {
  const contract = contractOf(name)
  const annotated = loadDocument(name)
  const newest = contract.versions.at(-1)!
  const inlined = inliner(annotated)(annotated['paths']) as Record<string, Node>

  test('gives every operation an id of its own, in camel case', () => {
    const ids = contract.operations.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z][a-zA-Z0-9]+$/.test(id))).toEqual([])
  })

  test('gives every operation a policy', () => {
    const without = contract.operations.filter(({ policy }) => !/^[a-z]/.test(policy))
    expect(without.map(({ id }) => id)).toEqual([])
    expect(contract.operations.filter(({ policy }) => policy === 'undefined')).toEqual([])
  })

  test('gives every operation that is not always refused a success at every microversion it has, which compiles', () => {
    for (const operation of contract.operations)
      for (const version of contract.versions) {
        if (!operation.isAvailable(version)) continue
        const query = new URLSearchParams(requiredQuery(inlined, operation))
        const read = () => operation.request(version).validateQuery(query)
        expect(read, operation.id).not.toThrow()
        if (operation.isRefused) {
          expect(() => operation.successStatus(version), operation.id).toThrow('has no success')
          continue
        }
        const write = operation.response(version, operation.successStatus(version))
        expect(write, operation.id).toBeTypeOf('function')
      }
  })

  test('declares the parameters that stand in its paths, no more and no fewer', () => {
    for (const [path, item] of Object.entries(inlined)) {
      const inPath = [...path.matchAll(PATH_PARAMETER)].map(([, parameter]) => parameter)
      for (const [method, operation] of Object.entries(item)) {
        if (method === 'parameters' || !isNode(operation)) continue
        const declared = [item['parameters'] ?? [], operation['parameters'] ?? []]
          .flat()
          .filter(isNode)
          .filter((parameter) => parameter['in'] === 'path')
          .map((parameter) => parameter['name'])
        expect(new Set(declared), `${method} ${path}`).toEqual(new Set(inPath))
      }
    }
  })

  test.runIf(name === 'federation')(
    'lets a POST be repeated under a key, or says why none is needed',
    () => {
      const posts = Object.values(inlined).flatMap(({ post }) => (isNode(post) ? [post] : []))
      expect(posts.length).toBeGreaterThan(5)
      const isKeyed = (post: Node) =>
        [post['parameters'] ?? []]
          .flat()
          .some((each) => isNode(each) && each['name'] === 'Idempotency-Key')
      for (const post of posts)
        expect([isKeyed(post), 'x-unkeyed' in post], String(post['operationId'])).toContain(true)
      expect(posts.filter((post) => isKeyed(post) && 'x-unkeyed' in post)).toEqual([])
    },
  )

  test('closes every object of a response, so that serializing prunes', () => {
    const inlined = inliner(annotated)(annotated['paths'])
    expect(openObjects(inlined, false)).toEqual([])
  })

  test('has patterns that a long text does not slow down', () => {
    for (const pattern of new Set(patternsIn(annotated)))
      for (const filler of ['a', ' ', '-', '0', '.', '='])
        expect(
          new RegExp(pattern, 'u').test(`${filler.repeat(100_000)}\u0000`),
          pattern,
        ).toBeTypeOf('boolean')
  })

  test('is plain OpenAPI once projected: no annotation, every reference named', () => {
    const document = contract.document(newest)
    const text = JSON.stringify(document)
    expect(text).not.toMatch(/"x-/)
    for (const [, ref] of text.matchAll(/"\$ref":"#\/([^"]+)"/g))
      expect(document, ref).toHaveProperty(ref!.split('/'))
    expect(document['openapi']).toMatch(/^3\.1\./)
  })
})

/** A value for each query parameter that must be there. */
function requiredQuery(
  paths: Readonly<Record<string, Node>>,
  { path, method }: Operation,
): [string, string][] {
  const operation = paths[path]?.[method.toLowerCase()]
  const parameters = isNode(operation) ? queryParameters(operation) : []
  return parameters
    .filter((parameter) => parameter['required'] === true)
    .map((parameter) => [String(parameter['name']), 'x'])
}

/** Objects under `responses` whose schema says nothing of further properties. */
function openObjects(node: unknown, inResponse: boolean, at = ''): readonly string[] {
  if (Array.isArray(node))
    return node.flatMap((child, i) => openObjects(child, inResponse, `${at}/${i}`))
  if (!isNode(node)) return []
  const isObject = [node['type']].flat().includes('object')
  const own = inResponse && isObject && node['additionalProperties'] === undefined ? [at] : []
  const below = Object.entries(node).flatMap(([key, child]) =>
    openObjects(child, inResponse || key === 'responses', `${at}/${key}`),
  )
  return [...own, ...below]
}

function patternsIn(node: unknown): readonly string[] {
  if (Array.isArray(node)) return node.flatMap(patternsIn)
  if (!isNode(node)) return []
  return Object.entries(node).flatMap(([key, child]) =>
    key === 'pattern' && typeof child === 'string' ? [child] : patternsIn(child),
  )
}
