import { Failure } from '#common/errors.ts'
import { askedPageSize } from '#common/page-size.ts'

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
  if (pages !== undefined && askedPageSize(extraSpecs, image.properties) !== pages)
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
