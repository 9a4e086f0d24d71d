import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Values = Readonly<Record<string, string | number | boolean>>

/** A span as the collector was sent it, with the program that it is of. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Undefined: it is the first of its trace. */
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: Values
  readonly status?: { readonly code: number; readonly message: string }
  readonly resource: Values
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, string | number | boolean>>
}
interface Body {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'attributes' | 'resource'> & {
        readonly attributes: readonly Attribute[]
      })[]
    }[]
  }[]
}

/** A collector of OpenTelemetry on a loopback port, which takes requests of OTLP/HTTP. */
export class OtlpReceiver implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    void this.#take(request).then(([status, headers]) => response.writeHead(status, headers).end())
  })
  readonly #spans: ReceivedSpan[] = []
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[] = []
  /** Answers of the next requests, in this order; after them every request is taken. */
  readonly refusals: (readonly [status: number, headers?: Readonly<Record<string, string>>])[] = []

  static async open(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver()
    await once(receiver.#server.listen(0, '127.0.0.1'), 'listening')
    return receiver
  }

  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Those that it took: of one trace, or all. */
  spans(traceId?: string): readonly ReceivedSpan[] {
    return this.#spans.filter((span) => traceId === undefined || span.traceId === traceId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
  }

  async #take(
    request: IncomingMessage,
  ): Promise<readonly [status: number, headers?: Readonly<Record<string, string>>]> {
    const { resourceSpans } = JSON.parse(await text(request)) as Body
    this.requests.push({ path: request.url ?? '', headers: request.headers })
    const refusal = this.refusals.shift()
    if (refusal !== undefined) return refusal
    for (const { resource, scopeSpans } of resourceSpans)
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.#spans.push({
          ...span,
          attributes: valuesOf(span.attributes),
          resource: valuesOf(resource.attributes),
        })
    return [200]
  }
}

function valuesOf(attributes: readonly Attribute[]): Values {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]!]))
}

/** Those whose parent no span of theirs is. */
export function rootsOf(spans: readonly ReceivedSpan[]): readonly ReceivedSpan[] {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  return spans.filter(({ parentSpanId }) => parentSpanId === undefined || !ids.has(parentSpanId))
}

/** The names of a span's ancestors and its own, from the root on. */
export function pathOf(spans: readonly ReceivedSpan[], span: ReceivedSpan): readonly string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return [...(parent === undefined ? [] : pathOf(spans, parent)), span.name]
}
