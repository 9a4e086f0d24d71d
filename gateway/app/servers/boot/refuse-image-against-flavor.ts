import { Failure } from '#common/errors.ts'
import { requestedPageSize } from '#common/page-size.ts'
import { isAllowed } from '../../policy.ts'
import type { Caller } from '../../request-context.ts'

type Properties = Readonly<Record<string, string>>

/**
 * Throws `invalid`, in Nova's words, where the image asks for more of a host's CPUs or memory than the flavor leaves to
 * it: these are the operator's to give.
 */
export function refuseImageAgainstFlavor(
  image: { readonly properties: Properties },
  { extraSpecs }: { readonly extraSpecs: Properties },
): void {
  const { hw_mem_page_size: pages, hw_cpu_policy: policy } = image.properties
  if (pages !== undefined && requestedPageSize(extraSpecs, image.properties) !== pages)
    throw new Failure(
      'invalid',
      `Page size ${pages} forbidden against '${extraSpecs['hw:mem_page_size'] ?? '<empty>'}'`,
    )
  if (policy === 'dedicated' && extraSpecs['hw:cpu_policy'] === 'shared')
    throw new Failure(
      'invalid',
      "Image property 'hw_cpu_policy' is not permitted to override CPU pinning policy set against the flavor",
    )
}

const ZERO_DISK = 'os_compute_api:servers:create:zero_disk_flavor'

/**
 * Throws `forbidden` where the guest's disk would be as large as its image asks for, and the rule does not let the
 * caller have such ones (nova/compute/api.py, `_validate_flavor_image_nostatus`).
 */
export function refuseWithoutDisk({ rootGb }: { readonly rootGb: number }, caller: Caller): void {
  if (rootGb === 0 && !isAllowed(caller, ZERO_DISK))
    throw new Failure(
      'forbidden',
      'Only volume-backed servers are allowed for flavors with zero disk: boot from a volume, or choose a flavor with a root disk.',
    )
}
