import { Failure, isFailure } from '#common/errors.ts'
import type { components } from '#openapi/federation.gen.ts'
import { AUDIT_LISTING, type AuditRecord } from '../audit/list-audit.ts'
import type { Session } from '../cloud/session.ts'
import { type Event, eventsView } from '../events/event-line.ts'
import type { LogLine, Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import type { Style } from '../output/style.ts'
import { type Listing, listView, type Part, partsText } from '../output/view.ts'
import { decisionText } from '../servers/decision-text.ts'

type Decision = components['schemas']['Decision']

/** The most servers that are shown of a request that changed many. */
const SERVERS_MAX = 10
const EVENTS_MAX = 1_000
const REQUEST_ID = /^[\w-]{1,64}$/

/** A part of an action, as its server's history has it. */
interface Work {
  readonly server_id: string
  readonly action: string
  readonly work: string
  readonly host: string | null
  readonly result: string | null
  readonly details: string | null
  readonly start_time: string
  readonly finish_time: string | null
}

const WORK: Listing<Work> = {
  plural: 'actions',
  nameOf: ({ server_id }) => server_id,
  columns: [
    { head: 'BEGUN', of: ({ start_time }) => start_time },
    { head: 'ENDED', of: ({ finish_time }) => finish_time },
    { head: 'ACTION', of: ({ action }) => action },
    { head: 'WORK', of: ({ work }) => work },
    { head: 'HOST', of: ({ host }) => host },
    {
      head: 'RESULT',
      of: ({ result }) => result,
      emphasis: ({ result }) => (result === 'Error' ? 'error' : undefined),
    },
    { head: 'DETAILS', of: ({ details }) => details },
    { head: 'SERVER', of: ({ server_id }) => server_id },
  ],
}

/** All that is known of a request. */
interface Request {
  readonly request_id: string
  readonly audit: readonly AuditRecord[]
  readonly actions: readonly Work[]
  readonly events: readonly Event[]
  readonly decisions: readonly (Decision & { readonly server_id: string })[]
  readonly log: readonly LogLine[]
}

/** Shows what a request asked for, what it led to, and the lines that the logs of the deployment here have about it. Throws `not-found` for a request that left no trace. */
export async function showRequest(
  operator: Operator,
  id: string,
  options: ViewOptions,
): Promise<void> {
  if (!REQUEST_ID.test(id))
    throw new Failure(
      'invalid',
      `'${id}' is no id of a request. Clients print it with --debug: req-01a1ff42-…`,
    )
  await present(operator, options, async (session) => {
    const request = await readRequest(operator, session, id)
    const parts = partsOf(request)
    if (parts.length === 0)
      throw new Failure(
        'not-found',
        `There are no records of a request ${id}. They may have been purged.`,
      )
    return {
      data: request,
      names: [id],
      text: (isWide, style) => partsText(parts, isWide, style),
    }
  })
}

async function readRequest(operator: Operator, session: Session, id: string): Promise<Request> {
  const { federation } = session
  const [{ records }, { events }, log] = await Promise.all([
    federation.ask('get', '/v1/audit', { query: { request: id } }),
    federation.ask('get', '/v1/events', { query: { request: id, limit: EVENTS_MAX } }),
    operator.logLines(id),
  ])
  const servers = [...new Set(events.map(({ server_id }) => server_id))]
    .filter((server) => server !== null)
    .slice(0, SERVERS_MAX)
  const actions = await Promise.all(servers.map((server) => workOn(session, server, id)))
  const decisions = await Promise.all(servers.map((server) => decisionsOn(session, server, events)))
  return {
    request_id: id,
    audit: records,
    actions: actions.flat(),
    events,
    decisions: decisions.flat(),
    log,
  }
}

/** The actions of the request on a server; none for a server whose record was purged. */
async function workOn(session: Session, server: string, id: string): Promise<readonly Work[]> {
  const path = { server_id: server, request_id: id }
  try {
    const { instanceAction } = await session.compute.ask(
      'get',
      '/v2.1/servers/{server_id}/os-instance-actions/{request_id}',
      { path },
    )
    const { action, events = [] } = instanceAction
    return events.map((each) => ({
      server_id: server,
      action,
      work: each.event,
      host: each.host ?? null,
      result: each.result,
      details: each.details ?? null,
      start_time: each.start_time,
      finish_time: each.finish_time,
    }))
  } catch (error) {
    if (isFailure(error, 'not-found')) return []
    throw error
  }
}

/** The decisions about a server that were taken for the request. */
async function decisionsOn({ federation }: Session, server: string, events: readonly Event[]) {
  const own = events.filter(({ server_id }) => server_id === server)
  // The cell of a new server is chosen before its first event is recorded.
  const first = own.some(({ action }) => action === 'create') ? '' : (own.at(0)?.at ?? '')
  const last = own.at(-1)?.at ?? ''
  try {
    const { decisions } = await federation.ask('get', '/v1/servers/{server}/trace', {
      path: { server },
    })
    return decisions
      .filter(({ at }) => at >= first && at <= last)
      .map((decision) => ({ ...decision, server_id: server }))
  } catch (error) {
    if (isFailure(error, 'not-found')) return []
    throw error
  }
}

function traceLine({ trace_id, trace_url }: AuditRecord): readonly string[] {
  if (trace_id === null) return []
  return [`${trace_id}${trace_url === null ? '' : `  ${trace_url}`}\n`]
}

/** The parts of which there is something. */
function partsOf({ audit, actions, events, decisions, log }: Request): readonly Part[] {
  const lines = {
    text: (_isWide: boolean, style: Style) =>
      log.map(({ process, line }) => `${style('muted', process)}  ${line}\n`).join(''),
  }
  const traces = [...new Set(audit.flatMap(traceLine))]
  return [
    ...(audit.length === 0 ? [] : [{ heading: 'AUDIT', view: listView(audit, AUDIT_LISTING) }]),
    ...(traces.length === 0 ? [] : [{ heading: 'TRACE', view: { text: () => traces.join('') } }]),
    ...(actions.length === 0 ? [] : [{ heading: 'ACTIONS', view: listView(actions, WORK) }]),
    ...(events.length === 0 ? [] : [{ heading: 'EVENTS', view: eventsView(events) }]),
    ...decisions.map((decision) => ({
      heading: `DECISION ABOUT ${decision.server_id}`,
      view: {
        text: (isWide: boolean, style: Style) => decisionText(decision, isWide, style),
      },
    })),
    ...(log.length === 0 ? [] : [{ heading: 'LOG', view: lines }]),
  ]
}
