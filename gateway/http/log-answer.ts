import type { Logger } from '#common/log.ts'
import { isTraced } from '#common/trace/span.ts'
import { traceIdOf } from '#common/trace/traceparent.ts'
import { READING } from './audited.ts'
import type { Exchange } from './endpoint.ts'

/** Answers from this status on refuse. */
const REFUSED = 400

/**
 * A line for each accepted change, with the server or volume that it is about, or makes; reads and refusals are logged at the
 * level debug only. `location`: of what was made.
 */
export function logAnswer(
  log: Logger,
  {
    c,
    work,
    caller,
    operation,
  }: Pick<Exchange, 'work' | 'caller' | 'operation'> & {
    readonly c: { readonly req: { readonly path: string } }
  },
  answered: { readonly method: string; readonly status: number },
  location: string | null,
): void {
  const isAcceptedChange = !READING.has(answered.method) && answered.status < REFUSED
  const level = isAcceptedChange ? 'info' : 'debug'
  if (!log.isLevelEnabled(level)) return
  const who = { user_id: caller?.userId, project_id: caller?.projectId }
  const what = { operation: operation?.id, path: c.req.path }
  const trace = isTraced(work) && { trace_id: traceIdOf(work.traceparent) }
  const about = subjectOf(c.req.path) ?? subjectOf(location ?? '')
  const ids = { request_id: work.requestId, ...trace, ...about }
  log[level]({ ...ids, ...answered, ...who, ...what }, 'request answered')
}

const SUBJECT = /\/(server|volume)s\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![^/?])/i

/** The server or volume that a path or URL is about, as log lines name it. */
function subjectOf(path: string): Readonly<Record<string, string>> | undefined {
  const [, kind, id] = SUBJECT.exec(path) ?? []
  return kind === undefined || id === undefined
    ? undefined
    : { [`${kind.toLowerCase()}_id`]: id.toLowerCase() }
}
