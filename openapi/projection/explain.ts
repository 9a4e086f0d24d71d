import type { ErrorObject } from 'ajv'
import type { Microversion } from '../microversions.ts'
import { existsAt, isNode, type Node, rangesOf, type VersionRange } from './annotations.ts'

/** Where a value came from, for messages: a request body or a query string. */
export interface Subject {
  readonly annotated: unknown
  readonly version: Microversion
  readonly what: 'field' | 'query parameter'
}

const PROBLEMS_MAX = 5

/** Of a body with thousands of wrong items no more are looked at, because sorting out choices is quadratic. */
const EXAMINED_MAX = 100

/** The problems of a value: a sentence for each, naming the field and the value expected there. */
export function explain(errors: readonly ErrorObject[], subject: Subject): string {
  const examined = relevant(errors.slice(0, EXAMINED_MAX))
  const texts = [...new Set(examined.map((error) => sentence(error, subject)))]
  const more = texts.length - PROBLEMS_MAX
  const shown = texts.slice(0, PROBLEMS_MAX).join(' ')
  return more > 0 ? `${shown} And ${more} more.` : shown
}

function sentence(error: ErrorObject, subject: Subject): string {
  const isQuery = subject.what === 'query parameter'
  const field = fieldName(isQuery ? error.instancePath.replace(/\/\d+$/, '') : error.instancePath)
  const problem = problemOf(error, subject)
  return field === ''
    ? `Invalid input: ${problem}.`
    : `Invalid input for ${subject.what} '${field}': ${problem}.`
}

function problemOf(error: ErrorObject, subject: Subject): string {
  const params = error.params as Node
  switch (error.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return unknownName(String(params['additionalProperty']), error.instancePath, subject)
    case 'required':
      return `'${String(params['missingProperty'])}' is required`
    case 'type':
      return `it must be ${typeNames(params['type'])}`
    case 'enum':
      return (
        hintAt(error, subject) ??
        `it must be one of ${(params['allowedValues'] as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`
      )
    case 'const':
      return `it must be ${JSON.stringify(params['allowedValue'])}`
    case 'format':
      return (
        FORMAT_TEXTS[String(params['format'])] ?? `it is not a valid ${String(params['format'])}`
      )
    case 'oneOf':
    case 'anyOf':
      return 'it has none of the permitted forms'
    case 'pattern':
      return hintAt(error, subject) ?? `it does not match ${String(params['pattern'])}`
    case 'propertyNames':
      return `'${String(params['propertyName'])}' is not a permitted name`
    case 'false schema':
      return 'it is not permitted'
    default:
      return `it ${error.message ?? 'is not valid'}`
  }
}

const FORMAT_TEXTS: Readonly<Record<string, string>> = {
  uuid: 'it is not a UUID',
  byte: 'it is not base64',
  'date-time': 'it is not an ISO 8601 time',
  ipv4: 'it is not an IPv4 address',
  ipv6: 'it is not an IPv6 address',
  regex: 'it is not a pattern that can be matched in linear time (RE2 syntax)',
}

function typeNames(type: unknown): string {
  const names = (Array.isArray(type) ? type : String(type).split(',')) as readonly string[]
  return names
    .map((name) => (name === 'null' ? name : `${/^[aio]/.test(name) ? 'an' : 'a'} ${name}`))
    .join(' or ')
}

/** Names the microversions that know a field this one does not. */
function unknownName(name: string, path: string, subject: Subject): string {
  const elsewhere = nodesAt(subject.annotated, path)
    .map((node) => (isNode(node['properties']) ? node['properties'][name] : undefined))
    .filter(isNode)
    .filter((property) => !existsAt(property, subject.version))
  const known = elsewhere[0]
  if (known === undefined) return `'${name}' is not known`
  return `'${name}' is not known at microversion ${subject.version}; it ${needs(rangesOf(known))}`
}

/** `needs 2.90`, `was known until 2.56`, `needs 2.32 to 2.36 or at least 2.42`. */
function needs(ranges: readonly VersionRange[]): string {
  const [only] = ranges
  if (only === undefined || ranges.length > 1) return `needs ${ranges.map(rangeText).join(' or ')}`
  return only.since === undefined ? `was known until ${only.until}` : `needs ${only.since}`
}

function rangeText({ since, until }: VersionRange): string {
  if (until === undefined) return `at least ${since}`
  if (since === undefined) return `at most ${until}`
  return since === until ? since : `${since} to ${until}`
}

function hintAt(error: ErrorObject, subject: Subject): string | undefined {
  const hints = nodesAt(subject.annotated, error.instancePath).map((node) => node['x-hint'])
  const hint = hints.find((text) => typeof text === 'string')
  return hint === undefined ? undefined : `it must be ${hint}`
}

/** Every annotated schema that may describe the value at this path, of any microversion. */
function nodesAt(annotated: unknown, path: string): readonly Node[] {
  const steps = path.split('/').slice(1).map(unescapePointer)
  return steps.reduce<readonly Node[]>(
    (nodes, step) => nodes.flatMap((node) => alternatives(childOf(node, step))),
    alternatives(annotated),
  )
}

function childOf(node: Node, step: string): unknown {
  const properties = isNode(node['properties']) ? node['properties'] : {}
  if (/^\d+$/.test(step) && node['items'] !== undefined) return node['items']
  return properties[step] ?? node['additionalProperties']
}

function alternatives(node: unknown): readonly Node[] {
  if (!isNode(node)) return []
  const below = [node['x-variants'], node['oneOf'], node['anyOf'], node['allOf']]
    .flat()
    .filter(isNode)
  return [node, ...below.flatMap(alternatives)]
}

/** Of a failed choice, only the branch of the right JSON type speaks, if there is exactly one. */
function relevant(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  let kept = errors.filter((error) => error.propertyName === undefined)
  for (const choice of errors.filter(({ keyword }) => keyword === 'oneOf' || keyword === 'anyOf')) {
    const branches = Map.groupBy(
      kept.filter((error) => error.schemaPath.startsWith(`${choice.schemaPath}/`)),
      (error) => error.schemaPath.slice(choice.schemaPath.length + 1).split('/')[0]!,
    )
    const near = [...branches.values()].filter(
      (branch) => !branch.some((e) => isMistyped(e, choice)),
    )
    const chosen = near.length === 1 ? near[0]! : [choice]
    const dropped = new Set([choice, ...[...branches.values()].flat()])
    kept = [...kept.filter((error) => !dropped.has(error)), ...chosen]
  }
  return kept
}

function isMistyped(error: ErrorObject, choice: ErrorObject): boolean {
  return error.keyword === 'type' && error.instancePath === choice.instancePath
}

/** `/server/networks/0/uuid` as a reader writes it: `server.networks[0].uuid`. */
function fieldName(path: string): string {
  const steps = path.split('/').slice(1).map(unescapePointer)
  return steps.reduce((name, step) => {
    if (/^\d+$/.test(step)) return `${name}[${step}]`
    return name === '' ? step : `${name}.${step}`
  }, '')
}

function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
