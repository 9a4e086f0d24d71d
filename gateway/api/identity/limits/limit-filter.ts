interface LimitParameters {
  readonly service_id?: string
  readonly region_id?: string
  readonly resource_name?: string
  readonly limit?: number
  readonly marker?: string
}

/** What a list of limits is asked for. */
export function limitFilter(query: LimitParameters) {
  const { service_id: serviceId, region_id: regionId, resource_name: resourceName } = query
  return { serviceId, regionId, resourceName, limit: query.limit, marker: query.marker }
}
