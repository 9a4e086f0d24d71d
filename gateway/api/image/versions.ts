import type { operations } from '#openapi/image.gen.ts'
import type { Links } from '../../http/links.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /versions */
export const listVersionsPlainly: Handler<operations['listVersionsPlainly']> = async (call) => {
  return { body: { versions: versionViews(call.links) } }
}

/** GET /: 300, as clients of Glance look for it. */
export const listVersions: Handler<operations['listVersions']> = async (call) => {
  return { body: { versions: versionViews(call.links) } }
}

/** GET /v2 */
export const showVersion: Handler<operations['showVersion']> = async (call) => {
  return { body: { version: newestVersionView(call.links) } }
}

/** Minor versions of Glance's v2 up to the last before images can be in several stores. */
const NEWEST_MINOR = 9

/** Every version, newest first; clients take the first they know. */
function versionViews(links: Links) {
  const minors = Array.from({ length: NEWEST_MINOR + 1 }, (_, i) => NEWEST_MINOR - i)
  return minors.map((minor) => versionView(links, minor))
}

/** The newest version. */
function newestVersionView(links: Links) {
  return versionView(links, NEWEST_MINOR)
}

function versionView(links: Links, minor: number) {
  const status = minor === NEWEST_MINOR ? ('CURRENT' as const) : ('SUPPORTED' as const)
  return { id: `v2.${minor}`, status, links: [{ rel: 'self', href: links.to('/image/v2/') }] }
}
