import type { Microversion } from '#openapi/microversions.ts'
import { existsAt, isNode, type Node } from '#openapi/projection/annotations.ts'

/** Texts of which at least one fits each pattern and length in our documents. */
const TEXTS = [
  'sample',
  'sample-1',
  '/dev/vdb',
  '/24',
  'a',
  '',
  '2030-01-31T12:00:00',
  'http://192.0.2.1/sample',
  '02:00:00:00:00:01',
  '1',
  `U${'A'.repeat(55)}`,
  'CUSTOM_SAMPLE',
  '5a3e0b7e-1111-4222-8333-444455556666',
  ...[32, 64, 128].map((length) => '0'.repeat(length)),
]

const FORMATS: Readonly<Record<string, string>> = {
  uuid: '5a3e0b7e-1111-4222-8333-444455556666',
  'date-time': '2026-11-21T07:00:00Z',
  byte: 'AAAA',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'http://192.0.2.1/compute/v2.1/servers',
  regex: '^sample$',
}

/**
 * A value for an annotated schema with every property filled in: those of one microversion, or of all of them
 * (where shapes exclude one another, that of the microversion). This is how handlers build responses.
 */
export function sampleOf(node: unknown, version: Microversion, all = false): unknown {
  const schema = chosen(node, version, all)
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return sampleEnum(schema, version)
  const type = [schema['type']].flat()[0]
  if (type === 'object') return sampleObject(schema, version, all)
  if (type === 'array') return sampleArray(schema, version, all)
  if (type === 'integer' || type === 'number') return Number(schema['minimum'] ?? 1)
  if (type === 'boolean') return true
  if (type === 'string') return sampleText(schema)
  return null
}

/** The alternative of a schema that `sampleOf` samples. */
export function chosen(node: unknown, version: Microversion, all = false): Node {
  if (!isNode(node)) return {}
  const { 'x-variants': variants, oneOf, anyOf, ...rest } = node
  if (Array.isArray(variants))
    return chosen({ ...rest, ...variant(variants, version, all) }, version, all)
  const branches = [oneOf, anyOf].flat().filter(isNode)
  return branches[0] === undefined ? node : chosen({ ...rest, ...branches[0] }, version, all)
}

function variant(variants: readonly Node[], version: Microversion, all: boolean): Node {
  const hit = variants.find((one) => existsAt(one, version)) ?? variants[0] ?? {}
  if (!all || variants.some((one) => one['type'] !== 'object')) return hit
  return { ...hit, properties: Object.assign({}, ...variants.map((one) => one['properties'])) }
}

function sampleObject(schema: Node, version: Microversion, all: boolean): Node {
  const properties = isNode(schema['properties']) ? schema['properties'] : {}
  const named = Object.entries(properties)
    .filter(([, child]) => all || existsAt(child, version))
    .map(([name, child]) => [name, sampleOf(child, version, all)])
  const others = isNode(schema['additionalProperties'])
    ? [['sample', sampleOf(schema['additionalProperties'], version, all)]]
    : []
  const most = Number(schema['maxProperties'] ?? Number.POSITIVE_INFINITY)
  return Object.fromEntries([...named, ...others].slice(0, most)) as Node
}

function sampleArray(schema: Node, version: Microversion, all: boolean): readonly unknown[] {
  return schema['maxItems'] === 0 ? [] : [sampleOf(schema['items'], version, all)]
}

function sampleEnum(schema: Node, version: Microversion): unknown {
  const ranged = isNode(schema['x-values']) ? schema['x-values'] : {}
  return (schema['enum'] as unknown[]).find((value) => existsAt(ranged[String(value)], version))
}

function sampleText(schema: Node): string {
  const format = FORMATS[String(schema['format'])]
  if (format !== undefined) return format
  const pattern = new RegExp((schema['pattern'] as string | undefined) ?? '', 'u')
  const least = Number(schema['minLength'] ?? 0)
  const most = Number(schema['maxLength'] ?? Number.POSITIVE_INFINITY)
  const fits = (text: string) => pattern.test(text) && text.length >= least && text.length <= most
  const text = TEXTS.find(fits)
  if (text === undefined) throw new Error(`no sample fits ${JSON.stringify(schema)}`)
  return text
}
