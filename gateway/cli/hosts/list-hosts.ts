import { cellNames } from '../cells/cell-names.ts'
import { warnOfUnreachable } from '../cells/warn-of-unreachable.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { listView } from '../output/view.ts'
import { allHosts } from './all-hosts.ts'
import { hostListing } from './host-listing.ts'

export interface HostOptions extends ViewOptions {
  readonly cell?: string
}

export async function listHosts(operator: Operator, options: HostOptions): Promise<void> {
  await present(operator, options, async (session) => {
    const [{ cells }, hosts] = await Promise.all([
      session.federation.ask('get', '/v1/cells'),
      allHosts(session, options.cell),
    ])
    const { cell: wanted } = options
    const concerned = cells.filter(
      ({ id, name }) => wanted === undefined || wanted === id || wanted === name,
    )
    warnOfUnreachable(operator, concerned)
    return listView(hosts, hostListing(cellNames(cells), Date.now()))
  })
}
