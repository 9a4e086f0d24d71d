import type { operations } from '#openapi/federation.gen.ts'
import type { Handler } from '../../http/operation.ts'

/** GET / */
export const listVersions: Handler<operations['listVersions']> = async ({ links }) => {
  const self = { rel: 'self', href: links.to('/federation/v1') }
  return { body: { versions: [{ id: 'v1.0', status: 'CURRENT', links: [self] }] } }
}
