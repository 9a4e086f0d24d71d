import type { Executor } from '#common/db/database.ts'
import { type HostRecord, listHosts } from '../../db/host-list.ts'

/** Hosts that are not disabled, of one zone where it is named. */
export async function listServingHosts(
  db: Executor,
  zone: string | undefined,
): Promise<readonly HostRecord[]> {
  const hosts = await listHosts(db)
  return hosts.filter(({ view }) => !view.isDisabled && (!zone || view.zone === zone))
}
