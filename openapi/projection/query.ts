import { Failure } from '#common/errors.ts'
import type { Microversion } from '../microversions.ts'
import { existsAt, isNode, type Node } from './annotations.ts'
import type { Compiler } from './compiler.ts'
import { explain, type Subject } from './explain.ts'
import { coerceScalar } from './lenient.ts'
import { projectSchema } from './project.ts'

/** The typed parameters of a query string; throws `invalid`, naming the microversion asked for. */
export type ReadQuery = (
  query: URLSearchParams,
  asked: Microversion,
) => Readonly<Record<string, unknown>>

/** What may follow the name of a parameter, by the names of `x-suffix`. */
const SUFFIXES = {
  number: /^[1-9][0-9]*$/,
  name: /^[a-zA-Z0-9_-]{1,64}$/,
} as const
type Suffix = keyof typeof SUFFIXES

/** How one query parameter is read. */
interface Parameter {
  readonly name: string
  /** What may follow its name, each then being a parameter of its own; undefined: nothing. */
  readonly suffix: Suffix | undefined
  /** The schema of one value. */
  readonly schema: Node
  /** A list takes every value given; others take the last one, as Nova's MultiDict does. */
  readonly isList: boolean
  readonly isRequired: boolean
  /** `x-once`: giving it twice is refused. */
  readonly once: boolean
  /** `allowEmptyValue` on a boolean: the bare name means true. */
  readonly emptyIsTrue: boolean
}

/**
 * The reader of an operation's query string at one microversion. Unknown names are ignored, as Nova did, except
 * where `x-strict-query` says they are refused.
 */
export function queryReader(operation: Node, version: Microversion, compiler: Compiler): ReadQuery {
  const annotated = queryParameters(operation)
  const byName = new Map<string, Parameter>()
  for (const node of annotated) {
    if (!existsAt(node, version)) continue
    const parameter = parameterOf(node, version)
    byName.set(parameter.name, parameter)
  }
  const parameters = new Parameters(byName)
  const strict = isTrueAt(operation['x-strict-query'], version)
  const validate = compiler.validator(valuesSchema(parameters, strict))
  const names = asSchema(annotated)

  return (query, asked) => {
    const values = collect(query, parameters, strict)
    const subject: Subject = { annotated: names, version: asked, what: 'query parameter' }
    if (!validate(Object.fromEntries(values)))
      throw new Failure('invalid', explain(validate.errors ?? [], subject))
    return pick(values, parameters)
  }
}

/** The annotated query parameters of an operation, its path's included. */
export function queryParameters(operation: Node): readonly Node[] {
  const parameters = (operation['parameters'] ?? []) as readonly Node[]
  return parameters.filter((parameter) => parameter['in'] === 'query')
}

function parameterOf(node: Node, version: Microversion): Parameter {
  const schema = projectSchema(node['schema'], version) as Node
  const isList = schema['type'] === 'array'
  return {
    name: String(node['name']),
    suffix: suffixOf(node, version),
    schema: isList ? (schema['items'] as Node) : schema,
    isList,
    isRequired: node['required'] === true,
    once: isTrueAt(node['x-once'], version),
    emptyIsTrue: node['allowEmptyValue'] === true,
  }
}

/** `x-suffix` lists kinds, each with its range. */
function suffixOf(node: Node, version: Microversion): Suffix | undefined {
  const suffixes = (node['x-suffix'] ?? []) as readonly Node[]
  const found = suffixes.find((each) => existsAt(each, version))
  return found && (found['kind'] as Suffix)
}

/** The parameters of an operation by their names in a request, with suffixes. */
class Parameters {
  readonly #byName: ReadonlyMap<string, Parameter>
  readonly #suffixed: readonly Parameter[]

  constructor(byName: ReadonlyMap<string, Parameter>) {
    this.#byName = byName
    this.#suffixed = [...byName.values()].filter(({ suffix }) => suffix !== undefined)
  }

  all(): readonly Parameter[] {
    return [...this.#byName.values()]
  }

  find(given: string): Parameter | undefined {
    const isMeant = ({ name, suffix }: Parameter) =>
      given.startsWith(name) && SUFFIXES[suffix!].test(given.slice(name.length))
    return this.#byName.get(given) ?? this.#suffixed.find(isMeant)
  }
}

/** An annotation that is true always, or an object with the range in which it is. */
function isTrueAt(annotation: unknown, version: Microversion): boolean {
  return annotation === true || (isNode(annotation) && existsAt(annotation, version))
}

/** Every parameter is validated as the list of its values, so that a wrong value hides behind no later one. */
function valuesSchema(parameters: Parameters, strict: boolean): Node {
  const listOf = ({ schema, once }: Parameter) => {
    return { type: 'array', items: schema, ...(once && { maxItems: 1 }) }
  }
  const all = parameters.all()
  const properties = all.map((parameter) => [parameter.name, listOf(parameter)])
  const suffixed = all.flatMap((parameter) => {
    const { name, suffix } = parameter
    if (suffix === undefined) return []
    return [[SUFFIXES[suffix].source.replace('^', `^${name}`), listOf(parameter)]]
  })
  const required = all.filter(({ isRequired }) => isRequired)
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: required.map(({ name }) => name),
    ...(suffixed.length > 0 && { patternProperties: Object.fromEntries(suffixed) }),
    ...(strict && { additionalProperties: false }),
  }
}

/** For messages only: what `explain` looks a name up in. */
function asSchema(parameters: readonly Node[]): Node {
  const properties = parameters.map((node) => {
    const { schema, ...rest } = node
    return [node['name'], { ...(isNode(schema) ? schema : {}), ...rest }]
  })
  return { properties: Object.fromEntries(properties) }
}

type Values = ReadonlyMap<string, readonly unknown[]>

function collect(query: URLSearchParams, parameters: Parameters, strict: boolean): Values {
  const values = new Map<string, unknown[]>()
  for (const [name, text] of query) {
    const parameter = parameters.find(name)
    if (parameter === undefined && !strict) continue
    const value = parameter === undefined ? text : read(text, parameter)
    const before = values.get(name)
    if (before === undefined) values.set(name, [value])
    else before.push(value)
  }
  return values
}

function read(text: string, { schema, emptyIsTrue }: Parameter): unknown {
  if (text === '' && emptyIsTrue) return true
  return coerceScalar(schema['type'], text)
}

function pick(values: Values, parameters: Parameters): Readonly<Record<string, unknown>> {
  // As own properties under any name: an assignment to `__proto__` would make none.
  return Object.fromEntries(
    [...values].map(([name, all]) => [
      name,
      parameters.find(name)?.isList === true ? all : all.at(-1),
    ]),
  )
}
