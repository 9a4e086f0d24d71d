/** Below the 1 MiB that NATS servers take by default, with room for what frames the items. */
export const PAGE_MAX_BYTES = 512 * 1024

/** The first of the items, at least one where there are any, that together take no more as JSON than a page may. */
export function withinBytes<T>(items: readonly T[], maxBytes = PAGE_MAX_BYTES): readonly T[] {
  let bytes = 0
  const end = items.findIndex((item, place) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1
    return bytes > maxBytes && place > 0
  })
  return end === -1 ? items : items.slice(0, end)
}
