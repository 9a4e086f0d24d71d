/** A part of a list, and where the next one begins. */
interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

/** Everything that `read` gives, page after page; with `max`, no more than that. */
export async function everyPage<Item>(
  read: (cursor: { readonly cursor?: string }) => Promise<Page<Item>>,
  max = Number.POSITIVE_INFINITY,
): Promise<readonly Item[]> {
  const all: Item[] = []
  for (let cursor: string | null | undefined; cursor !== null && all.length < max; ) {
    const page: Page<Item> = await read(cursor === undefined ? {} : { cursor })
    all.push(...page.items)
    cursor = page.next
  }
  return all.slice(0, max)
}
