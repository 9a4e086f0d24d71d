import type { ResourcePage } from '../../db/resource-page.ts'

/** The objects whose shown fields match every filter; for short lists. */
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
