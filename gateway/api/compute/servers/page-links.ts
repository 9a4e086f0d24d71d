import type { ServerPage } from '../../../app/servers/list-servers.ts'
import type { Call } from '../../../http/operation.ts'
import { nextPageLinks } from '../page.ts'

/** The link to the page after this one, where the list says there is one. */
export function serverPageLinks(call: Pick<Call, 'links' | 'raw'>, { next }: ServerPage) {
  return nextPageLinks(call, 'servers_links', { size: 1, limit: 1, last: next })
}
