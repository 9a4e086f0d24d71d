import { normalPath } from '#gateway/http/normal-path.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { Method } from '#openapi/projection/operation.ts'
import { checkAnswer } from './check-answer.ts'

/** A request to a server called inside the process. */
export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  /** The JSON that was sent, which names the action on an action path. */
  readonly body: unknown
}

/** The parsed answer, checked against its document; content that is not JSON is given as text. */
export async function checkedAnswer(asked: Asked, response: Response): Promise<unknown> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  const answer: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text
  check(asked, response.status, isJson ? answer : undefined)
  return answer
}

/** The response itself, whose body is unread: of a success only that the document has it is checked. */
export async function checkedStream(asked: Asked, response: Response): Promise<Response> {
  if (response.status >= 400) await checkedAnswer(asked, response.clone())
  else check(asked, response.status, undefined)
  return response
}

/** Paths that belong to no service: the documents themselves, pages for people, and probes. */
const UNDESCRIBED = /^\/(openapi|docs|version|metrics|healthz|healthcheck|readyz)(\/|$)/

function check({ method, url, headers, body }: Asked, status: number, answer: unknown): void {
  const version = versionAsked(headers)
  const path = normalPath(new Request(url))
  if (UNDESCRIBED.test(path)) return
  checkAnswer({ method: method as Method, path, version, request: body, status, answer })
}

/** An unknown version counts as the oldest, in which such a request is refused. */
function versionAsked(headers: Headers): Microversion {
  const asked = headers.get('openstack-api-version') ?? headers.get('x-openstack-nova-api-version')
  const last = asked?.split(' ').at(-1) ?? ''
  return (/^\d+\.\d+$/.test(last) ? last : '2.1') as Microversion
}
