import { cellNames } from '../cells/cell-names.ts'
import type { Session } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, type Listing } from '../output/view.ts'
import { findServer } from './find-server.ts'

/** Where a server is. */
export interface ServerPlace {
  readonly server_id: string
  readonly name: string
  readonly status: string
  readonly zone: string | null
  readonly cell: string | null
  readonly cell_id: string | null
  readonly host: string | null
}

const LISTING: Listing<ServerPlace> = {
  plural: 'servers',
  nameOf: ({ host, cell }) => host ?? cell ?? '-',
  columns: [
    { head: 'SERVER', of: ({ name }) => name },
    { head: 'STATUS', of: ({ status }) => status },
    { head: 'CELL', of: ({ cell }) => cell },
    { head: 'HOST', of: ({ host }) => host },
    { head: 'ZONE', of: ({ zone }) => zone },
    { head: 'SERVER ID', of: ({ server_id }) => server_id },
    { head: 'CELL ID', of: ({ cell_id }) => cell_id },
  ],
}

export async function locateServer(
  operator: Operator,
  wanted: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async (session) =>
    fieldsView(await placeOf(session, await findServer(session, wanted)), LISTING),
  )
}

async function placeOf(session: Session, id: string): Promise<ServerPlace> {
  const { federation, compute } = session
  const [{ server }, trace, { cells }] = await Promise.all([
    compute.ask('get', '/v2.1/servers/{server_id}', { path: { server_id: id } }),
    federation.ask('get', '/v1/servers/{server}/trace', { path: { server: id } }),
    federation.ask('get', '/v1/cells'),
  ])
  const { cell_id, host } = trace
  return {
    server_id: id,
    name: server.name,
    status: server.status,
    zone: server['OS-EXT-AZ:availability_zone'] || null,
    cell: cell_id === null ? null : (cellNames(cells).get(cell_id) ?? null),
    cell_id,
    host,
  }
}
