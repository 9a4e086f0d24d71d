import type { Session } from '../cloud/session.ts'
import type { Host } from './host-listing.ts'

/** Hosts of a cell, or of all, however many pages that takes. */
export async function allHosts({ federation }: Session, cell?: string): Promise<readonly Host[]> {
  const hosts: Host[] = []
  let cursor: string | null = null
  do {
    const query = {
      ...(cell === undefined ? {} : { cell }),
      ...(cursor === null ? {} : { cursor }),
    }
    const page: { readonly hosts: readonly Host[]; readonly next: string | null } =
      await federation.ask('get', '/v1/hosts', { query })
    hosts.push(...page.hosts)
    cursor = page.next
  } while (cursor !== null)
  return hosts
}
