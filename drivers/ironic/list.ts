import type { InstanceId } from '#common/ids.ts'
import type { InstanceReport } from '../driver.ts'
import { heldNodes } from './held-node.ts'
import type { IronicHost } from './host.ts'
import type { IronicNode } from './ironic-node.ts'

/** Every instance that has a node by this host. */
export async function list(
  host: IronicHost,
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  return (await heldNodes(host, signal)).map(reportOf)
}

/** Of a node that has an instance. While it is being written nothing of the instance runs. */
export function reportOf({ extra, provision_state, power_state }: IronicNode): InstanceReport {
  const runs = provision_state === 'active' && power_state === 'power on'
  return {
    id: extra.weir!.instance as InstanceId,
    powerState: runs ? 'running' : 'shutdown',
  }
}
