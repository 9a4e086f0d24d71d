import type { Described } from '../../db/network.ts'
import { zonedTime } from '../time.ts'

/** The attributes every object of Neutron's has; `tenant_id` is the older name of `project_id`. */
export function describedView(object: Described) {
  return { ...unnamedView(object), name: object.name }
}

/** Those of an object that has no name. */
export function unnamedView(object: Omit<Described, 'name'>) {
  return {
    id: object.id,
    description: object.description,
    project_id: object.projectId,
    tenant_id: object.projectId,
    tags: object.tags,
    created_at: zonedTime(object.createdAt),
    updated_at: zonedTime(object.updatedAt),
    revision_number: object.revision,
  }
}
