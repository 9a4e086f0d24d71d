import { IMAGE_STATUSES } from '#common/states/image-states.ts'
import type { ListQuery } from './list-filters.ts'

const NAMES: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['type', 'image_type'],
  ['minRam', 'min_ram'],
  ['minDisk', 'min_disk'],
  ['limit', 'limit'],
  ['marker', 'marker'],
])

/** Nova's statuses stand for several of Glance's (nova/api/openstack/compute/views/images.py). */
const STATUSES: ReadonlyMap<string, string> = new Map([
  ['SAVING', 'in:queued,saving'],
  ['DELETED', 'in:deleted,pending_delete'],
  ['ERROR', 'killed'],
  ['UNKNOWN', 'in:uploading,importing,deactivated'],
])

/** No image has a status that there is not. */
const NONE = 'deleted'

function statusOf(value: string): string {
  const own = value.toLowerCase()
  return STATUSES.get(value.toUpperCase()) ?? IMAGE_STATUSES.find((each) => each === own) ?? NONE
}

/** A query of Nova's image proxy in the form of the image service. Parameters that Nova does not know are left out. */
export function proxiedQuery(query: ListQuery): ListQuery {
  return query.flatMap(([name, value]): ListQuery => {
    if (name === 'status') return [[name, statusOf(value)]]
    if (name === 'changes-since') return [['updated_at', `gte:${value}`]]
    // A server may be named by its link.
    if (name === 'server') return [['instance_uuid', value.slice(value.lastIndexOf('/') + 1)]]
    if (name.startsWith('property-')) return [[name.slice('property-'.length), value]]
    const known = NAMES.get(name)
    return known === undefined ? [] : [[known, value]]
  })
}
