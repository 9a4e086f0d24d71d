import type { InstanceId } from '#common/ids.ts'
import type { InstanceReport } from '../driver.ts'
import { powerStateOf } from './compute/cloud-server.ts'
import type { NestedHost } from './host.ts'

/** Every instance of this owner that has come into being. */
export async function list(
  host: NestedHost,
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  await host.view.catchUp(signal)
  const reports = new Map<InstanceId, InstanceReport>()
  for (const server of host.view.all()) {
    const id = host.view.instanceOf(server)
    if (id === undefined || server.status === 'BUILD') continue
    const isKnown = host.records.get(id)?.serverId === server.id
    if (isKnown || !reports.has(id)) reports.set(id, { id, powerState: powerStateOf(server) })
  }
  return [...reports.values()]
}
