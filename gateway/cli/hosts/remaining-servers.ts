import type { operations } from '#openapi/federation.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import type { Session } from '../cloud/session.ts'
import { everyPage } from '../output/pages.ts'
import { type Listing, listView, type View } from '../output/view.ts'

export type RemainingServer = AnswerOf<operations['listHostServers']>['servers'][number]

const REMAINING: Listing<RemainingServer> = {
  plural: 'servers',
  nameOf: ({ id }) => id,
  columns: [
    { head: 'SERVER', of: ({ name }) => name },
    { head: 'STATUS', of: ({ status }) => status },
    { head: 'ID', of: ({ id }) => id },
  ],
}

const TO_OTHER_CELLS: Listing<RemainingServer> = {
  ...REMAINING,
  columns: [
    ...REMAINING.columns,
    { head: 'OTHER CELL', of: ({ move }) => move?.cell ?? '-' },
    { head: 'OBSTACLE', of: ({ move }) => move?.obstacle ?? '-' },
  ],
}

/** The servers on a host; with `toOtherCells`, also which other cell would take each, or why none would. */
export async function remainingServers(
  { federation }: Session,
  host: { readonly id: string },
  toOtherCells: boolean,
): Promise<readonly RemainingServer[]> {
  const path = { host: host.id }
  const asked = toOtherCells ? { to_other_cells: true } : {}
  return everyPage(async (cursor) => {
    const query = { ...cursor, ...asked }
    const page = await federation.ask('get', '/v1/hosts/{host}/servers', { path, query })
    return { items: page.servers, next: page.next }
  })
}

export function remainingView(servers: readonly RemainingServer[], toOtherCells: boolean): View {
  return listView(servers, toOtherCells ? TO_OTHER_CELLS : REMAINING)
}
