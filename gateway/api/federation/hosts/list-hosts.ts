import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../../app/federation/cells.ts'
import { hostPage } from '../../../app/federation/hosts.ts'
import type { Handler } from '../../../http/operation.ts'
import { hostView } from '../../../views/federation/host.ts'

const LIMIT = 1_000

/** GET /v1/hosts */
export const listHosts: Handler<operations['listHosts']> = async ({ app, query, links, raw }) => {
  const { cells } = app.compute
  const { limit = LIMIT, cursor } = query
  const cellId =
    query.cell === undefined ? undefined : (await findOperatedCell(app.db, cells, query.cell)).id
  const { hosts, next } = await hostPage(app.db, { cellId, limit, cursor })
  const body = { hosts: hosts.map((host) => hostView(host, cells)), next }
  if (next === null) return { body }
  const search = new URLSearchParams(raw.search)
  search.set('cursor', next)
  const href = links.to(`${raw.path}?${search.toString()}`)
  return { body, headers: { Link: `<${href}>; rel="next"` } }
}
