import { Failure } from '#common/errors.ts'
import type { Microversion } from '../microversions.ts'
import { existsAt, isNode, type Node, rangesOf, type VersionRange } from './annotations.ts'
import { breakpointsOf, rangeIndexOf } from './breakpoints.ts'
import type { Compiler, Serialize } from './compiler.ts'
import { explain } from './explain.ts'
import { coercerFor } from './lenient.ts'
import { projectSchema } from './project.ts'
import { queryReader } from './query.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The policy of what needs no token. */
export const PUBLIC_POLICY = 'public'

/** The conditions on a request at one microversion. */
export interface RequestContract {
  /** The parsed body in its documented spelling; throws `invalid`, naming each field and what it must be. */
  validateBody(body: unknown): unknown
  /** As `validateBody`, of a copy without the keys that the document does not have. */
  validateLegacyBody(body: unknown): unknown
  /** The typed query parameters; throws `invalid`. */
  validateQuery(query: URLSearchParams): Readonly<Record<string, unknown>>
}

/** One operation or one server action of a document, compiled per microversion when first asked for. */
export interface Operation {
  readonly id: string
  readonly method: Method
  /** As in the document, such as `/servers/{server_id}`. */
  readonly path: string
  /** The body key of an action; undefined for every other operation. */
  readonly action: string | undefined
  /** The name of its rule in the policy table, or PUBLIC_POLICY. */
  readonly policy: string
  readonly ranges: readonly VersionRange[]
  /** True for what clients know and is always answered with a fault. */
  readonly isRefused: boolean
  /** True for a list of which a page is asked for, with `limit`. */
  readonly isPaged: boolean
  /** The answer at microversions without the operation: 404, or 400 where its path means something else there. */
  readonly absentAs: 404 | 400
  isAvailable(version: Microversion): boolean
  /** The status of success at a microversion; the lowest, where there are several. */
  successStatus(version: Microversion): number
  request(version: Microversion): RequestContract
  /** Writes the widest object as JSON, pruned to the microversion; '' for a response without content. */
  response(version: Microversion, status: number): Serialize
  /** For tests: the problems of a response body, none where it is as documented. */
  validateResponse(version: Microversion, status: number, body: unknown): readonly string[]
}

/** The place of an operation in its document; the references of `node` are inlined. */
export interface OperationSource {
  readonly method: Method
  readonly path: string
  readonly action: string | undefined
  readonly node: Node
}

const EMPTY: Serialize = () => ''

/** Makes an operation of the document callable. */
export function createOperation(source: OperationSource, compiler: Compiler): Operation {
  const { responses: documented, ...node } = source.node
  const id = String(node['operationId'])
  const responses = responsesOf(documented)
  const breakpoints = breakpointsOf(documented)
  const schemaOf = (version: Microversion, status: number) => {
    const response = responses.get(status)
    if (response === undefined || !existsAt(response, version))
      throw new Error(`${id} has no response ${status} at ${version}`)
    return responseSchema(response, version)
  }

  return {
    id,
    method: source.method,
    path: source.path,
    action: source.action,
    policy: String(node['x-policy']),
    ranges: rangesOf(node),
    isRefused: node['x-refused'] === true,
    isPaged: hasLimit(node['parameters']),
    absentAs: node['x-absent'] === 400 ? 400 : 404,
    isAvailable: (version) => existsAt(node, version),
    successStatus: perStretch(breakpoints, (version) => successStatus(responses, version, id)),
    request: requests(node, source.action, compiler),
    response: perStatus(breakpoints, (version, status) => {
      const schema = schemaOf(version, status)
      if (schema === undefined) return EMPTY
      const serialize = compiler.serializer(schema)
      return mayBeEmpty(responses, status)
        ? (value) => (value === undefined ? '' : serialize(value))
        : serialize
    }),
    validateResponse: (version, status, body) => {
      const schema = schemaOf(version, status)
      const isEmpty = body === undefined || body === ''
      if (schema === undefined) return isEmpty ? [] : [`${status} has no body`]
      if (isEmpty && mayBeEmpty(responses, status)) return []
      const validate = compiler.validator(schema)
      if (validate(body)) return []
      return (validate.errors ?? []).map(
        ({ instancePath, message, params }) =>
          `${instancePath} ${message} ${JSON.stringify(params)}`,
      )
    },
  }
}

/** Microversions of one stretch share the compiled validators; each has its own wrapper, which names it in messages. */
function requests(
  node: Node,
  action: string | undefined,
  compiler: Compiler,
): (version: Microversion) => RequestContract {
  const bodies = perVersion(node['requestBody'], (version) =>
    bodyReader(node, action, version, compiler),
  )
  const legacyBodies = perVersion(node['requestBody'], (version) =>
    bodyReader(node, action, version, compiler, 'dropping unknown keys'),
  )
  const queries = perVersion([node['parameters'], node['x-strict-query']], (version) =>
    queryReader(node, version, compiler),
  )
  const made = new Map<Microversion, RequestContract>()
  return (version) => {
    const known = made.get(version)
    if (known !== undefined) return known
    const request: RequestContract = {
      validateBody: (body) => bodies(version)(body, version),
      validateLegacyBody: (body) => legacyBodies(version)(structuredClone(body), version),
      validateQuery: (query) => queries(version)(query, version),
    }
    made.set(version, request)
    return request
  }
}

function hasLimit(parameters: unknown): boolean {
  const all: readonly unknown[] = Array.isArray(parameters) ? parameters : []
  return all.some((each) => isNode(each) && each['in'] === 'query' && each['name'] === 'limit')
}

function perVersion<T>(
  annotated: unknown,
  make: (version: Microversion) => T,
): (version: Microversion) => T {
  return perStretch(breakpointsOf(annotated), make)
}

/** Remembers what was made per stretch of microversions with equal projections. */
function perStretch<T>(
  breakpoints: readonly number[],
  make: (version: Microversion) => T,
): (version: Microversion) => T {
  const made = new Map<number, T>()
  const byVersion = new Map<Microversion, T>()
  return (version) => {
    const known = byVersion.get(version)
    if (known !== undefined) return known
    const stretch = rangeIndexOf(breakpoints, version)
    const value = made.get(stretch) ?? make(version)
    made.set(stretch, value)
    byVersion.set(version, value)
    return value
  }
}

function perStatus<T>(
  breakpoints: readonly number[],
  make: (version: Microversion, status: number) => T,
): (version: Microversion, status: number) => T {
  const byStatus = new Map<number, (version: Microversion) => T>()
  return (version, status) => {
    let ofStatus = byStatus.get(status)
    if (ofStatus === undefined) {
      ofStatus = perStretch(breakpoints, (at) => make(at, status))
      byStatus.set(status, ofStatus)
    }
    return ofStatus(version)
  }
}

type Responses = ReadonlyMap<number, Node>

/** As a map: V8 keeps 5 KB for each object whose keys are numbers like 404. */
function responsesOf(documented: unknown): Responses {
  const entries = Object.entries(isNode(documented) ? documented : {})
  return new Map(
    entries.flatMap(([status, response]) => (isNode(response) ? [[Number(status), response]] : [])),
  )
}

function successStatus(responses: Responses, version: Microversion, id: string): number {
  const success = [...responses].filter(
    ([status, response]) => status < 400 && existsAt(response, version),
  )
  if (success.length === 0) throw new Error(`${id} has no success at ${version}`)
  return Math.min(...success.map(([status]) => status))
}

/** Undefined when the response has no content. */
function responseSchema(response: Node, version: Microversion): unknown {
  const schema = contentSchema(response, version)
  return schema === undefined ? undefined : projectSchema(schema, version)
}

/** True for a response that `x-may-be-empty` says comes without its content, too. */
function mayBeEmpty(responses: Responses, status: number): boolean {
  return responses.get(status)?.['x-may-be-empty'] === true
}

/**
 * The schema of the JSON content of a request body or response; Glance's JSON patches have a type of their own.
 * `version`: also undefined if there is no content at that microversion.
 */
export function contentSchema(holder: Node, version?: Microversion): unknown {
  const content = isNode(holder['content']) ? holder['content'] : {}
  const type = Object.keys(content).find((name) => name.includes('json'))
  const json = type === undefined ? undefined : content[type]
  if (!isNode(json) || (version !== undefined && !existsAt(json, version))) return undefined
  return json['schema']
}

type ReadBody = (body: unknown, asked: Microversion) => unknown

function bodyReader(
  node: Node,
  action: string | undefined,
  version: Microversion,
  compiler: Compiler,
  unknownKeys?: 'dropping unknown keys',
): ReadBody {
  const holder = node['requestBody']
  if (node['x-refuses-body'] === true) return refuseBody
  const annotated = isNode(holder) ? actionBody(contentSchema(holder), action) : undefined
  if (!isNode(annotated)) return () => undefined
  const projected = projectSchema(annotated, version)
  const validate =
    unknownKeys === undefined ? compiler.validator(projected) : compiler.pruner(projected)
  const coerce = coercerFor(projectSchema(annotated, version, new Set(['x-lenient'])))

  return (body, asked) => {
    if (body === undefined) throw new Failure('invalid', 'A JSON request body is required.')
    const value = coerce === undefined ? body : coerce(body)
    if (!validate(value))
      throw new Failure(
        'invalid',
        explain(validate.errors ?? [], { annotated, version: asked, what: 'field' }),
      )
    return value
  }
}

function refuseBody(body: unknown): undefined {
  if (body !== undefined) throw new Failure('invalid', 'The request has no body here: send none.')
}

/** An action's schema describes the value under its key. */
function actionBody(schema: unknown, action: string | undefined): unknown {
  if (action === undefined) return schema
  return {
    type: 'object',
    required: [action],
    properties: { [action]: schema ?? {} },
    additionalProperties: false,
  }
}
