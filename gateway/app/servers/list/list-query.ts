import type { operations } from '#openapi/compute.gen.ts'

/** The query parameters of a list of servers, as the document types them. */
export type ServerListQuery = NonNullable<operations['listServers']['parameters']['query']>

/** Every filter, whatever the microversion: unknown ones do not get this far. */
export type ServerFilterName = keyof ServerListQuery
