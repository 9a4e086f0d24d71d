import type { Session } from '../cloud/session.ts'
import { everyPage } from '../output/pages.ts'
import type { Host } from './host-listing.ts'

/** Hosts of a cell, or of all, by name, however many pages that takes. */
export async function allHosts({ federation }: Session, cell?: string): Promise<readonly Host[]> {
  const of = cell === undefined ? {} : { cell }
  const hosts = await everyPage(async (cursor) => {
    const page = await federation.ask('get', '/v1/hosts', { query: { ...of, ...cursor } })
    return { items: page.hosts, next: page.next }
  })
  return hosts.toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
}
