import { Failure } from '#common/errors.ts'
import { isVolume } from './requested-volumes.ts'
import type { RequestedDisk, ServerRequest } from './server-request.ts'

const SEQUENCE =
  'Boot sequence for the instance and image/block device mapping combination is not valid.'

/**
 * Throws `invalid`, in Nova's words (nova/block_device.py and nova/exception.py), for disks that are neither volumes, nor the one
 * made from the image, which clients describe as a block device too, nor a blank one of the host's; and where not
 * exactly one of them is the first.
 */
export function refuseDisks({ disks, imageRef }: Pick<ServerRequest, 'disks' | 'imageRef'>): void {
  const own = disks.filter((disk) => !isVolume(disk))
  for (const disk of own) {
    if (disk.sourceType === 'blank') refuseBlank(disk)
    else if (disk.sourceId !== imageRef || (disk.bootIndex ?? 0) !== 0)
      refuse('Mapping image to local is not supported.')
  }
  if (own.filter(({ sourceType }) => sourceType === 'image').length > 1) refuse(SEQUENCE)
  const roots = disks.filter((disk) => isVolume(disk) && disk.bootIndex === 0).length
  if (imageRef === null && roots === 0) throw new Failure('invalid', 'Invalid imageRef provided.')
  if (roots + (imageRef === null ? 0 : 1) > 1) refuse(SEQUENCE)
  refuseGaps(disks)
}

/** Those that a guest may boot from are numbered without gaps; the first is the image's, or the volume with the number 0. */
function refuseGaps(disks: readonly RequestedDisk[]): void {
  const others = disks
    .flatMap(({ bootIndex }) => (bootIndex != null && bootIndex > 0 ? [bootIndex] : []))
    .toSorted((a, b) => a - b)
  if (others.some((bootIndex, index) => bootIndex !== index + 1)) refuse(SEQUENCE)
}

function refuseBlank({ sourceId, bootIndex, guestFormat }: RequestedDisk): void {
  if (sourceId !== undefined) refuse('Invalid device UUID.')
  if ((bootIndex ?? -1) >= 0) refuse(SEQUENCE)
  if (guestFormat !== undefined && guestFormat !== 'swap')
    refuse(`guests format their disks themselves; guest_format '${guestFormat}' is not supported.`)
}

/**
 * Throws `invalid` for blank disks that the flavor does not bring. One ephemeral disk and one for swapping come with
 * the flavor, in its sizes, whether they are asked for or not.
 */
export function refuseBlankBeyond(
  disks: readonly RequestedDisk[],
  flavor: { readonly ephemeralGb: number; readonly swapMb: number },
): void {
  const blank = disks.filter((disk) => disk.sourceType === 'blank' && !isVolume(disk))
  const swap = blank.filter(({ guestFormat }) => guestFormat === 'swap')
  const ephemeral = blank.filter(({ guestFormat }) => guestFormat !== 'swap')
  if (swap.length > 1) refuse('More than one swap drive requested.')
  const swapMb = swap[0]?.size ?? flavor.swapMb
  if (swapMb > flavor.swapMb)
    throw new Failure('invalid', 'Swap drive requested is larger than instance type allows.')
  if (swapMb < flavor.swapMb) refuse(`the swap drive has the flavor's ${flavor.swapMb} MiB.`)
  const sizes = ephemeral.map(({ size }) => size ?? flavor.ephemeralGb)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total > flavor.ephemeralGb)
    throw new Failure(
      'invalid',
      'Ephemeral disks requested are larger than the instance type allows. ' +
        'If no size is given in one block device mapping, flavor ephemeral size will be used.',
    )
  if (sizes.length > 0 && sizes[0] !== flavor.ephemeralGb)
    refuse(`the ephemeral disk is one and has the flavor's ${flavor.ephemeralGb} GiB.`)
}

function refuse(details: string): never {
  throw new Failure('invalid', `Block Device Mapping is Invalid: ${details}`)
}
