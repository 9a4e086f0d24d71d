import { Failure } from '#common/errors.ts'
import type { VmState } from '#common/states/instance-states.ts'
import { refuseInState } from '#common/states/refuse-in-state.ts'
import { SERVER_ACTIONS, type ServerActionName } from '#common/states/server-actions.ts'
import type { Requester } from '../../requester.ts'
import type { ServerRecord } from '../list/server-record.ts'

/**
 * Throws `conflict` for a lock that holds the action up, and in a state that forbids it; the lock comes first, as in
 * Nova. Throws `invalid` for a backup of a server that starts from a volume.
 */
export function refuseAction(
  server: ServerRecord,
  requester: Requester,
  action: ServerActionName,
): void {
  if (SERVER_ACTIONS[action].ignoresLock !== true) refuseLocked(server, requester)
  refuseInState(server, action)
  if (action === 'create-backup' && startsFromVolume(server))
    throw new Failure('invalid', 'Backup is not supported for volume-backed instances.')
}

/** Whether the server's first disk is a volume. */
export function startsFromVolume({ volumes }: Pick<ServerRecord, 'volumes'>): boolean {
  return volumes.some(({ isRoot }) => isRoot === true)
}

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

/** Throws `conflict` for a locked server, unless an administrator asks (`os_compute_api:os-lock-server`). */
export function refuseLocked(server: ServerRecord, requester: Requester): void {
  if (server.isLocked && !requester.isAdmin)
    throw new Failure('conflict', `Instance ${server.id} is locked`)
}

/** Throws `conflict`: no host here can attach a file share, as Nova says where it is not set up for them. */
export function refuseShare(server: ServerRecord): never {
  refuseUnless(server, ['stopped'], 'create share')
  throw new Failure(
    'conflict',
    'Feature not supported because either compute or instance are not configured correctly.',
  )
}

/** Throws `not-found`, or, before that, `conflict` for a server that runs, as Nova does. */
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

/** Throws `invalid`, as Nova for a volume that no server has: there are none here. */
export function refuseAssistedSnapshot(volumeId: string): never {
  throw new Failure('invalid', `No volume Block Device Mapping with id ${volumeId}.`)
}

/** The volume that `delete_info` names. Throws `invalid` for text that is not JSON, or that names no volume. */
export function volumeToDeleteFrom(text: string | undefined): string {
  if (text === undefined) throw new Failure('invalid', "'delete_info'")
  const volumeId = parsed(text)?.['volume_id']
  if (typeof volumeId !== 'string') throw new Failure('invalid', "'volume_id'")
  return volumeId
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    throw new Failure('invalid', 'delete_info is not JSON.')
  }
}
