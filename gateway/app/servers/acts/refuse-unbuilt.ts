import { Failure } from '#common/errors.ts'
import type { VmState } from '#common/states/instance-states.ts'
import type { ServerRecord } from '../list/server-record.ts'

const BUILT: ReadonlySet<VmState> = new Set(['active', 'paused', 'suspended', 'stopped'])

/**
 * Throws `conflict`, in Nova's words, for a server without a whole guest: its metadata and tags cannot be changed
 * (`check_instance_state` in nova/compute/api.py, nova/api/openstack/compute/server_tags.py). `action` is as in
 * the message.
 */
export function refuseUnbuilt({ id, vmState }: ServerRecord, action: string): void {
  if (!BUILT.has(vmState))
    throw new Failure(
      'conflict',
      `Cannot '${action}' instance ${id} while it is in vm_state ${vmState}`,
    )
}
