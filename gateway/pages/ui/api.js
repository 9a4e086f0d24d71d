// Requests to the gateway that served the page. The session is a cookie that no script can read.
import { EventSourceParserStream } from './events/stream.js'

const ROOT = new URL('..', document.baseURI)
const COMPUTE = 'compute 2.90'

/** An answer that is none, with its reason for people. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

/** The body of the answer. Throws `Refusal`. */
export async function ask(path, { method = 'GET', body, signal } = {}) {
  const answer = await send(path, { method, body, signal })
  const text = await answer.text()
  const said = text === '' ? undefined : parsed(text)
  if (!answer.ok) throw new Refusal(answer.status, reasonIn(said) ?? `The answer was ${answer.status}.`)
  return said
}

/** Calls `tell` with each event from now on, until it is aborted; begins again after an interruption. */
export async function follow(path, tell, signal) {
  let last
  while (!signal.aborted) {
    try {
      last = await readStream(path, last, (id, event) => {
        last = id
        tell(event)
      }, signal)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Refusal && error.status < 500 && error.status !== 410) throw error
      if (error instanceof Refusal && error.status === 410) last = undefined
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

async function readStream(path, last, tell, signal) {
  const headers = { accept: 'text/event-stream', ...(last && { 'last-event-id': last }) }
  const answer = await send(path, { headers, signal })
  if (!answer.ok) throw new Refusal(answer.status, reasonIn(parsed(await answer.text())) ?? 'No events come.')
  const events = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { id, data } of events) {
    last = id
    tell(id, JSON.parse(data))
  }
  return last
}

function send(path, { method = 'GET', body, headers = {}, signal }) {
  return fetch(new URL(path, ROOT), {
    method,
    signal,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      'x-weir-page': '1',
      'openstack-api-version': COMPUTE,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Of a problem (RFC 9457), a fault in an envelope of OpenStack, or the session's. */
function reasonIn(said) {
  if (typeof said !== 'object' || said === null) return undefined
  if (typeof said.detail === 'string') return said.detail
  if (typeof said.message === 'string') return said.message
  const [inner] = Object.values(said)
  return typeof inner === 'object' && inner !== null ? reasonIn(inner) : undefined
}

export const query = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
