import { Failure } from '#common/errors.ts'
import type { VmState } from '#common/states/instance-states.ts'
import type { ServerRecord } from '../list/server-record.ts'

/** Throws `conflict`: no host here can attach a file share, as Nova says where it is not set up for them. */
export function refuseShare(server: ServerRecord): never {
  refuseUnless(server, ['stopped'], 'create share')
  throw new Failure(
    'conflict',
    'Feature not supported because either compute or instance are not configured correctly.',
  )
}

/** Throws `not-found`, or `conflict` for a server that runs, which is told first, as in Nova. */
export function refuseNoShare(server: ServerRecord, shareId: string): never {
  refuseUnless(server, ['stopped', 'error'], 'delete share')
  throw new Failure('not-found', `Share ${shareId} could not be found.`)
}

function refuseUnless({ id, vmState }: ServerRecord, states: readonly VmState[], what: string) {
  if (states.includes(vmState)) return
  throw new Failure(
    'conflict',
    `Cannot '${what}' instance ${id} while it is in vm_state ${vmState}`,
  )
}
