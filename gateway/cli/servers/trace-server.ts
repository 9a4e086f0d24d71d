import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import type { Listing } from '../output/view.ts'
import { listView } from '../output/view.ts'
import type { Decision } from './decision-text.ts'
import { findServer } from './find-server.ts'

const LISTING: Listing<Decision> = {
  plural: 'decisions',
  nameOf: ({ chosen }) => chosen ?? '-',
  columns: [
    { head: 'ATTEMPT', of: ({ attempt }) => attempt },
    { head: 'LEVEL', of: ({ level }) => level },
    { head: 'AT', of: ({ at }) => at },
    { head: 'CONSIDERED', of: ({ considered }) => considered },
    {
      head: 'REFUSED',
      of: ({ filters }) => filters.reduce((sum, { refused }) => sum + refused, 0),
    },
    { head: 'LOST CLAIMS', of: ({ lost_claims }) => lost_claims.join(','), isWide: true },
    {
      head: 'CHOSEN',
      of: ({ chosen }) => chosen ?? 'none',
      emphasis: ({ chosen }) => (chosen === null ? 'error' : 'success'),
    },
    { head: 'MS', of: ({ took_ms }) => took_ms },
  ],
}

/** Shows every decision about a server; its data is the whole trace. */
export async function traceServer(
  operator: Operator,
  wanted: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const server = await findServer(session, wanted)
    const trace = await session.federation.ask('get', '/v1/servers/{server}/trace', {
      path: { server },
    })
    return { ...listView(trace.decisions, LISTING), data: trace }
  })
}
