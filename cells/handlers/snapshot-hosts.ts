import { withinBytes } from '#common/bus/within-bytes.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { hostPage } from '../db/hosts.ts'
import { hostView } from '../hosts/host.ts'

const PAGE_ROWS = 500

/** A page of the cell's hosts, in order of id. */
export async function snapshotHosts(
  { conductor, incarnation }: Cell,
  { afterHost }: CellAsk<'snapshot.hosts'>,
): Promise<CellAnswer<'snapshot.hosts'>> {
  const { db, ratios } = conductor
  const rows = await hostPage(db, afterHost ?? '', PAGE_ROWS)
  const views = rows.map((host) => hostView(host, ratios))
  const hosts = withinBytes(views)
  const isLast = rows.length < PAGE_ROWS && hosts.length === views.length
  return { incarnation, hosts: [...hosts], isLast }
}
