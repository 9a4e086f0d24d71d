import { Failure } from '#common/errors.ts'
import type { Requester } from '../requester.ts'

export interface DeviceFields {
  readonly device_id?: string
  readonly device_owner?: string
  readonly 'binding:host_id'?: string
}

/**
 * Throws `forbidden` when someone other than an administrator claims a port for a server, or a host: only boots give
 * ports to servers, so that a port's device is always one that knows of it.
 */
export function checkDevice(requester: Requester, fields: DeviceFields): void {
  if (requester.isAdmin) return
  if (fields['binding:host_id'] !== undefined)
    throw new Failure('forbidden', 'Only an administrator may set binding:host_id.')
  const isReserved = /^(?:compute|network):/.test(fields.device_owner ?? '')
  if (isReserved)
    throw new Failure(
      'forbidden',
      `Only an administrator may set device_owner to '${fields.device_owner}'.`,
    )
}
