import type { operations } from '#openapi/volume.gen.ts'
import type { Handler } from '../../http/operation.ts'

/** The query parameters of each list that choose what is in it, as openapi/volume/ has them. */
export const RESOURCE_FILTERS: Readonly<Record<string, readonly string[]>> = {
  volume: ['name', 'status', 'bootable', 'size', 'availability_zone', 'encrypted', 'metadata'],
  snapshot: ['name', 'status', 'volume_id', 'metadata'],
  attachment: ['volume_id', 'instance_id', 'status'],
  message: ['event_id', 'message_level', 'request_id', 'resource_type', 'resource_uuid'],
}

/** GET /v3/resource_filters */
export const listResourceFilters: Handler<operations['listResourceFilters']> = async ({
  query,
}) => {
  const asked = Object.entries(RESOURCE_FILTERS).filter(
    ([resource]) => query.resource === undefined || resource === query.resource,
  )
  return {
    body: { resource_filters: asked.map(([resource, filters]) => ({ resource, filters })) },
  }
}
