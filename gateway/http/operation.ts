import type { RequestContext } from '../app/request-context.ts'
import type { Gateway } from '../context.ts'
import type { HeaderReader } from './http-input.ts'
import type { Links } from './links.ts'

/** The input of a handler: read, checked and permitted. `Op` is an entry of a generated `operations`. */
export interface Call<Op = unknown> {
  readonly app: Gateway
  /** The anonymous caller, where the operation's policy is `public`. */
  readonly context: RequestContext
  readonly params: ParamsOf<Op>
  readonly query: QueryOf<Op>
  readonly body: BodyOf<Op>
  readonly links: Links
  readonly raw: RawRequest
}

/** The request as it came, for streams, page links and the headers a document describes. */
export interface RawRequest {
  /** The body, on the operations registered as streaming only; null when there is none. */
  stream(): ReadableStream<Uint8Array> | null
  /** Without the headers by which a client might claim an identity. */
  readonly header: HeaderReader
  /** The path as routed, prefix included, and the query with its `?`; escaped as in a URI. */
  readonly path: string
  readonly search: string
  /** The address of the sender, as `peerOf` returns it. */
  peer(): string
  /** Aborts when the client goes away. */
  signal(): AbortSignal
}

/**
 * The answer of a handler: the widest object; the document prunes it and has the status. `Answer<Op>` checks the body
 * against the types of the document, if the widest object is one of them.
 */
export interface Answer<Op = unknown> {
  readonly body?: Absent<SuccessOf<Op>>
  /** A list of `body` that may be long: made and written a slice at a time, between which others are answered. */
  readonly list?: LongList
  readonly headers?: Readonly<Record<string, string>>
  /** Only where the document declares several successes. */
  readonly status?: number
  /** Instead of `body`, for content that is not JSON. */
  readonly stream?: ReadableStream<Uint8Array>
}

/** The entries of a list by the name it has in the body, in slices that are each made at once. */
export interface LongList {
  readonly name: string
  readonly slices: readonly (() => readonly unknown[])[]
}

export type Handler<Op = unknown> = (call: Call<Op>) => Promise<Answer<Op>>

/** A handler for every operation of a document, of which `Operations` has the types. */
export type HandlerTable<Operations> = {
  readonly [Id in keyof Operations]: Handler<Operations[Id]>
}

/** Handlers by operationId. Their parameter differs by operation, so the table cannot name it. */
export type Handlers = Readonly<Record<string, (call: never) => Promise<Answer>>>

export type ParamsOf<Op> = Op extends { parameters: { path: infer P } }
  ? P
  : Readonly<Record<string, string>>

export type QueryOf<Op> = Op extends { parameters: { query?: infer Q } }
  ? NonNullable<Q>
  : Readonly<Record<string, unknown>>

export type BodyOf<Op> = Op extends {
  requestBody?: { content: { 'application/json': infer B } }
}
  ? B
  : unknown

type SuccessStatus = 200 | 201 | 202 | 203 | 204 | 300

/** The JSON of any success the document declares. */
export type SuccessOf<Op> = Op extends { responses: infer R }
  ? {
      [S in keyof R & SuccessStatus]: R[S] extends { content: { 'application/json': infer B } }
        ? B
        : undefined
    }[keyof R & SuccessStatus]
  : unknown

/** The same shape, in which what may be absent may also be undefined: a serializer leaves both out. */
type Absent<T> = T extends readonly (infer E)[]
  ? readonly Absent<E>[]
  : T extends object
    ? { readonly [K in keyof T as IsOptional<T, K> extends true ? never : K]: Absent<T[K]> } & {
        readonly [K in keyof T as IsOptional<T, K> extends true ? K : never]?:
          | Absent<T[K]>
          | undefined
      }
    : T

type IsOptional<T, K extends keyof T> = Pick<T, K> extends Required<Pick<T, K>> ? false : true
