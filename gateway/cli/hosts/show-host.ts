import { cellNames } from '../cells/cell-names.ts'
import type { Session } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { fieldsView, type View } from '../output/view.ts'
import { findHost } from './find-host.ts'
import { type Host, hostListing } from './host-listing.ts'
import type { HostOptions } from './list-hosts.ts'

export async function showHost(
  operator: Operator,
  name: string,
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) =>
    hostView(session, await findHost(session, name, options.cell)),
  )
}

/** One host, with the name of its cell. */
export async function hostView({ federation }: Session, host: Host): Promise<View> {
  const { cells } = await federation.ask('get', '/v1/cells')
  return fieldsView(host, hostListing(cellNames(cells), Date.now()))
}
