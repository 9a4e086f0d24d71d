/** The names and values of a query string in order, for lists that can be narrowed by names no document has. */
export function queryPairs(search: string): readonly (readonly [name: string, value: string])[] {
  return [...new URLSearchParams(search)]
}
