import type { components } from '#openapi/federation.gen.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Column, renderTable } from '../output/table.ts'
import { decisionText } from './decision-text.ts'
import { findServer } from './find-server.ts'

type Phase = components['schemas']['Phase']
type Event = components['schemas']['Event']

/** The newest are shown. */
const DECIDED_MAX = 20

const PHASES: readonly Column<Phase>[] = [
  { head: 'PHASE', of: ({ name }) => name },
  { head: 'BEGUN', of: ({ started_at }) => started_at },
  { head: 'MS', of: ({ took_ms }) => took_ms },
  {
    head: 'RESULT',
    of: ({ result }) => result,
    emphasis: ({ result }) => (result === 'error' ? 'error' : undefined),
  },
]

/** What a policy or an operator has decided about a server since it was built: to start it again, to move it, or to leave it. */
const DECIDED: readonly Column<Event>[] = [
  { head: 'DECIDED', of: ({ at }) => at },
  { head: 'ACTION', of: ({ action }) => action },
  { head: 'STATE', of: ({ state }) => state },
  { head: 'REASON', of: ({ message }) => message },
]

/**
 * Shows where a server is and why: every decision about its place, with what was refused and how the rest scored, what was
 * decided about it later, and how long each part of its way took.
 */
export async function explainServer(
  operator: Operator,
  wanted: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const path = { server: await findServer(session, wanted) }
    const trace = await session.federation.ask('get', '/v1/servers/{server}/trace', { path })
    const { events } = await session.federation.ask('get', '/v1/events', {
      query: { server: path.server, type: 'operation.state', limit: DECIDED_MAX },
    })
    const { state, cell, host, host_problem, fault, decisions, phases } = trace
    const { above, below, server_id } = trace
    const places = [
      ...(cell === null ? [] : [`in cell ${cell}`]),
      ...(host === null ? [] : [`on host ${host}`]),
    ]
    const where = places.length === 0 ? 'in no cell' : places.join(' ')
    return {
      data: trace,
      names: [host ?? cell ?? '-'],
      text: (isWide, style) =>
        [
          `Server ${wanted} is ${state} ${where}.\n`,
          ...chainLines([...above, server_id, ...below]),
          ...(host_problem === null ? [] : [`${style('error', host_problem)}\n`]),
          ...(fault === null ? [] : [`${style('error', fault)}\n`]),
          ...decisions.map((decision) => decisionText(decision, isWide, style)),
          ...(events.length === 0 ? [] : [renderTable(events, DECIDED, style)]),
          renderTable(phases, PHASES, style),
        ].join('\n'),
    }
  })
}

/** From the topmost cloud down; nothing for a server that is in one cloud alone. */
function chainLines(ids: readonly string[]): readonly string[] {
  return ids.length === 1 ? [] : [`From the topmost cloud down it is ${ids.join(', ')}.\n`]
}
