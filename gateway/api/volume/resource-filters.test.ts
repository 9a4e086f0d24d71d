import { expect, test } from 'vitest'
import { loadDocument } from '#openapi/load-document.ts'
import { isNode, type Node } from '#openapi/projection/annotations.ts'
import { RESOURCE_FILTERS } from './resource-filters.ts'

/** Parameters that choose whose objects a list has, and what it tells of them. */
const OTHERS: ReadonlySet<unknown> = new Set([
  'all_tenants',
  'host',
  'project_id',
  'sort_key',
  'with_count',
])

/** The names of the parameters of a list that no other list has. */
function filtersOf(path: string): readonly unknown[] {
  const paths = loadDocument('volume')['paths'] as Readonly<Record<string, { readonly get: Node }>>
  const parameters = paths[path]?.get['parameters'] as readonly unknown[]
  return parameters
    .filter(isNode)
    .filter((each) => 'name' in each && !OTHERS.has(each['name']))
    .map(({ name }) => name)
}

test.each(Object.entries(RESOURCE_FILTERS))(
  'the filters of %ss are those of the document',
  (resource, filters) => {
    expect(new Set(filtersOf(`/v3/${resource}s`))).toEqual(new Set(filters))
  },
)
