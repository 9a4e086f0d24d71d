import { isAllowed } from '../../app/policy.ts'
import type { RequestContext } from '../../app/request-context.ts'
import { visibleSpecs } from '../../app/volumes/type-specs.ts'
import type { VolumeType } from '../../db/volume-types.ts'

/** A type at its widest. Parts are left out where the caller's rules hide them. */
export function typeView(type: VolumeType, context: RequestContext) {
  const shows = (rule: string) => isAllowed(context, rule)
  return {
    id: type.id,
    name: type.name,
    is_public: type.isPublic,
    description: type.description,
    ...(shows('volume_extension:access_types_extra_specs') && {
      extra_specs: visibleSpecs(context, type),
    }),
    ...(shows('volume_extension:access_types_qos_specs_id') && { qos_specs_id: null }),
    ...(shows('volume_extension:volume_type_access') && {
      'os-volume-type-access:is_public': type.isPublic,
    }),
  }
}
