import type { operations } from '#openapi/compute.gen.ts'

/** The query parameters of a list of servers, as the document types them. */
export type ServerListQuery = NonNullable<operations['listServers']['parameters']['query']>

/** Every filter of any microversion; unknown ones are refused earlier. */
export type ServerFilterName = keyof ServerListQuery
