import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'

/** Keeps which site is active; the processes of the cell reach its gateways first from then on. */
export async function siteAnnounce(
  { sites }: Cell,
  announcement: CellAsk<'site.announce'>,
): Promise<CellAnswer<'site.announce'>> {
  return { generation: await sites.announce(announcement) }
}
