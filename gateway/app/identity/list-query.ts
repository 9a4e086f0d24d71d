import { type Listed, listed, readLimit } from './listed.ts'
import type { ListFilter } from './model.ts'

/** A list as asked for: which entries, and how many. */
export interface ListQuery extends ListFilter {
  readonly limit?: number | undefined
}

/** The page of a list that was asked for. */
export async function readPage<T extends { readonly id: string }>(
  { limit, ...filter }: ListQuery,
  read: (filter: ListFilter, limit: number) => Promise<readonly T[]>,
): Promise<Listed<T>> {
  return listed(await read(filter, readLimit(limit)), limit)
}
