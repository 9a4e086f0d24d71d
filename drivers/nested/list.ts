import type { InstanceId } from '#common/ids.ts'
import type { InstanceReport } from '../driver.ts'
import { LOST, reportOf } from './compute/server-view.ts'
import type { NestedHost } from './host.ts'

/** Every instance of this owner that has come into being. */
export async function list(
  host: NestedHost,
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  await host.view.catchUp(signal)
  const reports = new Map<InstanceId, InstanceReport>()
  for (const [id, { hasRun, serverId }] of host.records.all()) {
    if (!hasRun || serverId === null) continue
    await host.view.seek(serverId, signal)
    if (host.view.isLost(serverId)) reports.set(id, { id, powerState: 'nostate', fault: LOST })
  }
  for (const server of host.view.all()) {
    const id = host.view.instanceOf(server)
    if (id === undefined || server.status === 'BUILD') continue
    const isKnown = host.records.get(id)?.serverId === server.id
    if (isKnown || !reports.has(id)) reports.set(id, reportOf(id, server))
  }
  return [...reports.values()]
}
