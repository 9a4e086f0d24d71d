import { refusalOf } from './refusal.ts'
import type { Transport } from './transport.ts'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type Success = 200 | 201 | 202 | 204

/** The methods that a path of the document has. */
type MethodOf<Item> = {
  [M in Method]: M extends keyof Item ? (Item[M] extends object ? M : never) : never
}[Method]

type OperationOf<Item, M> = M extends keyof Item ? NonNullable<Item[M]> : never

type Body<Response> = Response extends {
  readonly content: { readonly 'application/json': infer B }
}
  ? B
  : undefined

/** The body of a successful answer, by the document. */
export type AnswerOf<Operation> = Operation extends { readonly responses: infer Responses }
  ? { [S in keyof Responses & Success]: Body<Responses[S]> }[keyof Responses & Success]
  : never

type Parameters<Operation, Place extends 'path' | 'query'> = Operation extends {
  readonly parameters: infer All
}
  ? Place extends keyof All
    ? All[Place]
    : never
  : never

type Optional<Name extends string, Value> = [NonNullable<Value>] extends [never]
  ? object
  : undefined extends Value
    ? { readonly [K in Name]?: NonNullable<Value> }
    : { readonly [K in Name]: Value }

/** The parameters of a call, by the document. */
export type CallOf<Operation> = Optional<'path', Parameters<Operation, 'path'>> &
  Optional<'query', Parameters<Operation, 'query'>> &
  Optional<'body', BodyOf<Operation>> & { readonly headers?: Readonly<Record<string, string>> }

type BodyOf<Operation> = Operation extends {
  readonly requestBody: { readonly content: { readonly 'application/json': infer B } }
}
  ? B
  : Operation extends {
        readonly requestBody?: { readonly content: { readonly 'application/json': infer B } }
      }
    ? B | undefined
    : undefined

/** A parameter that may be left out where nothing in it is needed. */
type OptionalIfEmpty<Call> = object extends Call ? [call?: Call] : [call: Call]

interface AnyCall {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One service of a cloud, called by the paths of its document, with the types made from that. */
export class ServiceClient<Paths> {
  readonly #endpoint: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #send: Transport

  constructor(endpoint: string, headers: Readonly<Record<string, string>>, send: Transport) {
    this.#endpoint = endpoint
    this.#headers = headers
    this.#send = send
  }

  /** The answer. Throws the refusal of the service. */
  async ask<Path extends keyof Paths & string, M extends MethodOf<Paths[Path]>>(
    method: M,
    path: Path,
    ...[call]: OptionalIfEmpty<CallOf<OperationOf<Paths[Path], M>>>
  ): Promise<AnswerOf<OperationOf<Paths[Path], M>>> {
    const response = await this.open(method, path, call ?? {})
    const text = await response.text()
    return (text === '' ? undefined : JSON.parse(text)) as AnswerOf<OperationOf<Paths[Path], M>>
  }

  /** The answer before it is read, which has begun well. */
  async open(method: Method, path: string, call: AnyCall): Promise<Response> {
    const url = this.#endpoint + filled(path, call.path ?? {}) + search(call.query ?? {})
    const { body } = call
    const response = await this.#send(url, {
      method: method.toUpperCase(),
      headers: {
        ...this.#headers,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...call.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (response.ok) return response
    throw refusalOf(response.status, url, await response.text())
  }
}

function filled(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
}

function search(query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  if (given.length === 0) return ''
  const texts = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
  return `?${new URLSearchParams(texts).toString()}`
}
