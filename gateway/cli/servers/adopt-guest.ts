import { findHost } from '../hosts/find-host.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, type Listing } from '../output/view.ts'

export interface AdoptOptions extends ViewOptions {
  readonly host: string
  readonly cell?: string
  readonly project: string
  readonly flavor: string
  readonly image: string
  readonly name?: string
}

const LISTING: Listing<{ readonly server_id: string }> = {
  plural: 'servers',
  nameOf: ({ server_id }) => server_id,
  columns: [{ head: 'SERVER ID', of: ({ server_id }) => server_id }],
}

/** Afterwards the guest is on its way to be a server of the project, whose id is shown. */
export async function adoptGuest(
  operator: Operator,
  guest: string,
  options: AdoptOptions,
): Promise<void> {
  const { project, flavor, image, name } = options
  await present(operator, options, async (session) => {
    const { id: host } = await findHost(session, options.host, options.cell)
    const adopted = await session.federation.ask('post', '/v1/hosts/{host}/adopt', {
      path: { host },
      body: { guest, project, flavor, image, ...(name === undefined ? {} : { name }) },
    })
    return fieldsView(adopted, LISTING)
  })
}
