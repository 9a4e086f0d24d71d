/** The most entries of one answer. */
const LISTED_MAX = 5_000
/** One more than shown, to know whether there are more. */
export const READ_MAX = LISTED_MAX + 1

export interface Listed<T> {
  readonly items: readonly T[]
  /** True when there are more than shown. */
  readonly isTruncated: boolean
  /** The id after which the rest begins, where a limit was asked for and there is a rest. */
  readonly next?: string | undefined
}

/** How many entries to read for a page of so many. */
export function readLimit(limit: number | undefined): number {
  return Math.min(limit ?? LISTED_MAX, LISTED_MAX) + 1
}

/** The page shown of up to `readLimit(limit)` entries read. */
export function listed<T extends { readonly id: string }>(
  read: readonly T[],
  limit?: number,
): Listed<T> {
  const shown = read.slice(0, readLimit(limit) - 1)
  const hasMore = read.length > shown.length
  return {
    items: shown,
    isTruncated: hasMore && limit === undefined,
    next: hasMore && limit !== undefined ? shown.at(-1)?.id : undefined,
  }
}

/** Entries that are not paged, of up to READ_MAX read. */
export function unpaged<T>(read: readonly T[]): Listed<T> {
  return { items: read.slice(0, LISTED_MAX), isTruncated: read.length > LISTED_MAX }
}

export const NO_ENTRIES: Listed<never> = { items: [], isTruncated: false }
