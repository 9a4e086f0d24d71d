import { Failure } from '#common/errors.ts'
import type { Port } from '../../db/network.ts'
import type { Requester } from '../requester.ts'

export interface DeviceFields {
  readonly device_id?: string
  readonly device_owner?: string
  readonly 'binding:host_id'?: string
}

/** The prefix of `device_owner` for servers; only boots give ports to servers. */
const OF_SERVERS = 'compute:'

/** True if the device is a server that knows of the port: the id alone can be set by any user. */
export function isServerPort({ deviceOwner }: Pick<Port, 'deviceOwner'>): boolean {
  return deviceOwner.startsWith(OF_SERVERS)
}

/** Throws `forbidden` when someone other than an administrator claims a port for a server, or a host. */
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

/** Throws `conflict` when someone other than an administrator takes a port from the server that uses it. */
export function refuseDetaching(requester: Requester, port: Port, fields: DeviceFields): void {
  if (requester.isAdmin || !isServerPort(port)) return
  const { device_id: id = port.deviceId, device_owner: owner = port.deviceOwner } = fields
  if (id === port.deviceId && owner === port.deviceOwner) return
  throw new Failure(
    'conflict',
    `Port ${port.id} is in use by server ${port.deviceId}: delete the server before giving the port another device.`,
  )
}
