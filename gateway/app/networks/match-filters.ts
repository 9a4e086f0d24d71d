import type { ResourcePage } from '../../db/resource-page.ts'

/** Those of a few objects that fit every filter, by what is shown of them. */
export function matchFilters<T extends object>(
  objects: readonly T[],
  filters: ResourcePage['filters'],
): readonly T[] {
  return objects.filter((object) => {
    const shown = new Map<string, unknown>(Object.entries(object))
    return filters.every(({ attribute, anyOf }) =>
      anyOf.some((value) => shown.get(attribute) === value),
    )
  })
}
