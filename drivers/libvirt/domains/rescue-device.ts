import { Failure } from '#common/errors.ts'

const KINDS = ['disk', 'cdrom'] as const
const BUSES = ['virtio', 'ide', 'sata', 'scsi'] as const
type DiskKind = (typeof KINDS)[number]
export type DiskBus = (typeof BUSES)[number]

/** The boot device of a guest in rescue. */
export interface RescueDevice {
  readonly kind: DiskKind
  readonly bus: DiskBus
  /**
   * True: the guest's own disks keep their names, and the rescue disk is one more. False, where its image does not
   * say: the rescue disk is the first and the others come after it.
   */
  readonly isStable: boolean
}

/**
 * The device that the rescue image's properties request (nova: user/rescue). Throws `invalid` for one that no guest can
 * have.
 */
export function rescueDevice(properties: Readonly<Record<string, string>>): RescueDevice {
  const { hw_rescue_device: requestedKind, hw_rescue_bus: requestedBus } = properties
  const kind = KINDS.find((known) => known === (requestedKind ?? 'disk'))
  if (kind === undefined)
    throw new Failure('invalid', `Requested rescue device '${requestedKind}' is not supported`)
  const bus = BUSES.find(
    (known) => known === (requestedBus ?? (kind === 'disk' ? 'virtio' : 'ide')),
  )
  if (bus === undefined || (kind === 'cdrom' && bus === 'virtio'))
    throw new Failure('invalid', `Requested rescue bus '${requestedBus}' is not supported`)
  return { kind, bus, isStable: requestedKind !== undefined || requestedBus !== undefined }
}
