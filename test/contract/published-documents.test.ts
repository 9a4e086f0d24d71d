import { createConfig, lintFromString } from '@redocly/openapi-core'
import { describe, expect, test } from 'vitest'
import { contractOf } from '#openapi/contract.ts'
import { type DocumentName, presentDocuments } from '#openapi/load-document.ts'
import { MAX, type Microversion } from '#openapi/microversions.ts'
import { isNode, type Node } from '#openapi/projection/annotations.ts'

const VERSIONS: readonly Microversion[] = ['2.1', '2.37', '2.53', '2.79', '2.93', MAX]
const VOLUME_VERSIONS: readonly Microversion[] = ['3.0', '3.3', '3.13', '3.27', '3.62', '3.71']

/** Of services with many microversions, some of them. */
const SAMPLED: Readonly<Partial<Record<DocumentName, readonly Microversion[]>>> = {
  compute: VERSIONS,
  volume: VOLUME_VERSIONS,
}

const config = await createConfig({
  extends: ['recommended'],
  rules: {
    // The roots of Keystone and Glance answer 300, and lists of versions do not fail.
    'operation-2xx-response': 'off',
    'operation-4xx-response': 'off',
  },
})

const published = presentDocuments().flatMap((name) => {
  const contract = contractOf(name)
  const versions = SAMPLED[name] ?? contract.versions
  return versions.map((version) => ({ name, version, document: contract.document(version) }))
})

describe.each(published)('the document of $name at $version', ({ name, document }) => {
  test('has nothing a linter would warn of', async () => {
    const source = JSON.stringify(document)
    const problems = await lintFromString({ source, absoluteRef: `/${name}.json`, config })
    const warnings = problems.map(({ ruleId, message, location }) => [
      ruleId,
      message,
      location[0]?.pointer,
    ])
    expect(warnings).toEqual([])
  })

  test('names each operation once, in camel case', () => {
    const ids = operationsOf(document).map(({ operationId }) => String(operationId))
    expect(ids.filter((id) => !/^[a-z][a-zA-Z0-9]*$/.test(id))).toEqual([])
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('describes the content of every success that has some', () => {
    for (const operation of operationsOf(document))
      for (const content of successContents(document, operation))
        expect(content, String(operation['operationId'])).toHaveProperty('schema')
  })
})

test('each action is a component of its own, and its path takes one of them', () => {
  const contract = contractOf('compute')
  for (const version of VERSIONS) {
    const document = contract.document(version)
    const { schemas } = document['components'] as { schemas: Record<string, Node> }
    const there = contract.operations.filter(
      (each) => each.action !== undefined && each.isAvailable(version),
    )
    const paths = Map.groupBy(there, ({ path }) => path)
    expect([...paths.keys()]).toContain('/v2.1/servers/{server_id}/action')
    for (const [path, actions] of paths) {
      const names = actions.map(({ id }) => `${id.charAt(0).toUpperCase()}${id.slice(1)}Request`)
      const oneOf = names.map((name) => ({ $ref: `#/components/schemas/${name}` }))
      expect((document['paths'] as Record<string, Node>)[path]).toMatchObject({
        post: { requestBody: { content: { 'application/json': { schema: { oneOf } } } } },
      })
      for (const [i, { action, id }] of actions.entries())
        expect(schemas[names[i]!]).toMatchObject({ title: id, required: [action] })
    }
  }
})

function operationsOf(document: Node): readonly Node[] {
  return Object.values(document['paths'] as Record<string, Node>).flatMap((item) =>
    Object.values(item).filter((entry): entry is Node => isNode(entry) && 'operationId' in entry),
  )
}

function successContents(document: Node, operation: Node): readonly unknown[] {
  const { responses: shared = {} } = document['components'] as { responses?: Record<string, Node> }
  return Object.entries(operation['responses'] as Record<string, Node>)
    .filter(([status]) => Number(status) < 300)
    .map(([, { $ref, ...own }]) =>
      typeof $ref === 'string' ? (shared[$ref.split('/').at(-1)!] ?? {}) : own,
    )
    .flatMap(({ content }) => (isNode(content) ? Object.values(content) : []))
}
