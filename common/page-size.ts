/** Of a guest's memory: one of Nova's words, or a size. */
export type PageSize = 'small' | 'large' | 'any' | { readonly kib: number }

type Properties = Readonly<Record<string, string>>

/** The size of small pages; operators reserve larger ones on the host. */
export const SMALL_PAGE_KIB = 4

const KIB_OF_UNIT: Readonly<Record<string, number>> = { K: 1, M: 1024, G: 1024 ** 2, T: 1024 ** 3 }

/**
 * What flavor and image say of the pages of a guest's memory, as they say it; undefined: nothing. Large pages are the
 * operator's to give, so an image chooses only where the flavor leaves it open (nova: `hw:mem_page_size`).
 */
export function requestedPageSize(extraSpecs: Properties, image: Properties): string | undefined {
  const own = extraSpecs['hw:mem_page_size']
  return own === 'large' || own === 'any' ? (image['hw_mem_page_size'] ?? own) : own
}

/** Undefined for text that is not a page size. A number without unit is KiB. */
export function readPageSize(text: string): PageSize | undefined {
  if (text === 'small' || text === 'large' || text === 'any') return text
  const [, digits, unit = 'K'] = /^([1-9]\d{0,8})(?:([kKMGT])i?[bB]?)?$/.exec(text) ?? []
  return digits === undefined
    ? undefined
    : { kib: Number(digits) * KIB_OF_UNIT[unit.toUpperCase()]! }
}
