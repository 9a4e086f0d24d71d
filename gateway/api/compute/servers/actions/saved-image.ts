import type { RequestContext } from '../../../../app/request-context.ts'
import type { Links } from '../../../../http/links.ts'
import { isSince } from '../../../../views/since.ts'

/** The image that a server is saved in: its id from 2.45 on, before that where it is. */
export function savedImage(
  { context, links }: { readonly context: RequestContext; readonly links: Links },
  id: string,
): { body: { image_id: string } } | { headers: { Location: string } } {
  if (isSince(context, '2.45')) return { body: { image_id: id } }
  return { headers: { Location: links.to(`/image/v2/images/${id}`) } }
}
