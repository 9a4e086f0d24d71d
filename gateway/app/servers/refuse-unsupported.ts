import { Failure } from '#common/errors.ts'
import type { RequestedDisk, ServerRequest } from './server-request.ts'

/** Hints that promise something about where a server runs; any other is ignored, as in Nova. */
const UNSUPPORTED_HINTS = ['query', 'build_near_host_ip', 'target_cell', 'different_cell'] as const

/** Throws `invalid` for wishes that would have to be broken: better none than a server that is not what was asked. */
export function refuseUnsupported(request: ServerRequest): void {
  const hint = UNSUPPORTED_HINTS.find((name) => request.hints[name] !== undefined)
  if (hint !== undefined) refuse(`Scheduler hint '${hint}' is not supported.`)
  refuseUnkept(request)
  for (const disk of request.disks) refuseDisk(disk, request.imageRef)
  if (request.imageRef === null)
    refuse('Invalid imageRef provided. Servers boot from an image only.')
}

/** The same for wishes about the guest, which a rebuild may have as well. */
export function refuseUnkept(
  request: Pick<ServerRequest, 'personalityCount' | 'hasTrustedCertificates'>,
): void {
  if (request.personalityCount > 0)
    refuse('Invalid personality: files are not injected; use user_data with cloud-init instead.')
  if (request.hasTrustedCertificates)
    refuse('Invalid trusted_image_certificates: signatures of images are not checked.')
}

/** Clients of today describe the disk of an image boot as a block device; only that one is there. */
function refuseDisk(disk: RequestedDisk, imageRef: string | null): void {
  const isOwn =
    disk.sourceType === 'image' &&
    (disk.destinationType ?? 'local') === 'local' &&
    (disk.bootIndex ?? 0) === 0 &&
    disk.imageId === imageRef
  if (!isOwn)
    refuse(
      'Block Device Mapping is Invalid: only the disk made from imageRef is supported ' +
        '(source_type image, destination_type local, boot_index 0); there are no volumes.',
    )
}

function refuse(message: string): never {
  throw new Failure('invalid', message)
}
