import { currentWork } from '#common/current-work.ts'
import { Failure } from '#common/errors.ts'
import { beginSpan, isTraced } from '#common/trace/span.ts'
import type { CloudService } from './catalog.ts'
import type { Message, Sent } from './session.ts'

const REFUSED = 400

/** Sends a request, as a span where it is part of traced work; the cloud is told of that span. */
export async function withinRequestSpan<S extends Pick<Sent, 'status'>>(
  message: Message,
  service: CloudService,
  send: (message: Message) => Promise<S>,
): Promise<S> {
  const work = currentWork()
  if (work === undefined || !isTraced(work)) return send(message)
  const { method, url } = message
  const span = beginSpan(work, {
    name: `${method} ${service}`,
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'server.address': url.hostname,
      'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
      'url.path': url.pathname,
    },
  })
  try {
    const sent = await send({
      ...message,
      headers: { ...message.headers, traceparent: span.work.traceparent },
    })
    const { status } = sent
    const answered = { 'http.response.status_code': status }
    if (status < REFUSED) span.end(undefined, answered)
    else {
      const refusal = new Failure('unavailable', `The cloud answered ${status}.`)
      span.end(refusal, { ...answered, 'error.type': String(status) })
    }
    return sent
  } catch (error) {
    span.end(error)
    throw error
  }
}
