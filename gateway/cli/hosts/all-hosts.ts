import type { Session } from '../cloud/session.ts'
import { everyPage } from '../output/pages.ts'
import type { Host } from './host-listing.ts'

/** Hosts of a cell, or of all, however many pages that takes. */
export function allHosts({ federation }: Session, cell?: string): Promise<readonly Host[]> {
  const of = cell === undefined ? {} : { cell }
  return everyPage(async (cursor) => {
    const page = await federation.ask('get', '/v1/hosts', { query: { ...of, ...cursor } })
    return { items: page.hosts, next: page.next }
  })
}
